package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// begin runs sim without a verb: what the person's own sessions cost, what cost most and what to set. Without
// sessions it says where it looked.
func begin(cmd *cobra.Command) error {
	found, home, err := survey(cmd.Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(s facts.Stock) bool { return agents.Readable(s.Place) }) {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "No sessions were found. sim looked in %s.\n"+
			"For sessions elsewhere: sim run PATH. For the samples that come with sim: sim run. All commands: sim help.\n", lookedIn(home))
		return err
	}
	var f traceFlags
	verb := &cobra.Command{Use: "sim"}
	f.bind(verb)
	verb.SetContext(cmd.Context())
	verb.SetIn(cmd.InOrStdin())
	verb.SetOut(cmd.OutOrStdout())
	verb.SetErr(cmd.ErrOrStderr())
	prices, err := f.prices.table()
	if err != nil {
		return usageError{err}
	}
	f.read.discover.discover, f.read.lazy, f.read.listener = true, true, needs.NewListener()
	return f.read.reading(verb, nil, func(corpus *traces.Corpus) error {
		d, err := f.overview(verb, corpus, prices, time.Now())
		if err != nil {
			return err
		}
		return d.Write(verb.OutOrStdout(), f.format)
	})
}

// recent is the number of days that the overview holds against as many before them.
const recent = 7

// overview is the bill by agent, this week against the last, the dearest finding and the best setting.
func (f *traceFlags) overview(cmd *cobra.Command, corpus *traces.Corpus, prices *costmodel.Table, now time.Time) (*document.Document, error) {
	o := audit.Options{Prices: prices, Zone: f.read.choice.zone, Top: 1}
	bill := func(in func(at int64) bool) (*audit.Breakdown, error) {
		o := o
		o.In = in
		return audit.Break(corpus.Sessions, []string{"agent"}, o, now)
	}
	after := func(days int) int64 { return now.AddDate(0, 0, -days).UnixNano() }
	all, err := bill(nil)
	if err != nil {
		return nil, err
	}
	this, err := bill(func(at int64) bool { return at >= after(recent) })
	if err != nil {
		return nil, err
	}
	last, err := bill(func(at int64) bool { return at >= after(2*recent) && at < after(recent) })
	if err != nil {
		return nil, err
	}
	report, err := audit.Run(corpus.Sessions, o)
	if err != nil {
		return nil, err
	}
	advice, err := f.advice(cmd, corpus, prices)
	if err != nil {
		return nil, err
	}
	var read results.Workload
	f.read.remark(cmd, &read, corpus)
	all.Remarks = read.Remarks
	d := all.Document(audit.DocumentOptions{})
	d.Sections, d.Data = []document.Section{{Blocks: []document.Block{byAgent(all, this, last)}}}, nil
	said := document.List{}
	if len(report.Findings) > 0 {
		one := &report.Findings[0]
		text := fmt.Sprintf("%s: %s (%s)", one.Title, document.USD(one.USD, 2), document.Share(one.USD, all.Total.USD))
		if len(one.Places) > 0 {
			text += ", such as sim explain --discover " + one.Places[0].Call
		}
		said = append(said, document.Item{Label: "dearest", Text: text})
	}
	said = append(said, document.Item{Label: "to set", Text: advice.Line()},
		document.Item{Label: "the whole bill", Text: "sim audit --discover"}, document.Item{Label: "by day", Text: "sim audit --discover --by day"},
		document.Item{Label: "all settings", Text: "sim advise"})
	d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{said}})
	return d, nil
}

// byAgent lists agents with what they cost in all, in the last days and in the days before.
func byAgent(all, this, last *audit.Breakdown) *document.Table {
	of := func(b *audit.Breakdown, agent string) float64 {
		for _, g := range b.Groups {
			if g.Names[0] == agent {
				return g.USD
			}
		}
		return 0
	}
	t := &document.Table{Columns: slices.Concat(document.Left("AGENT"), document.Right(document.UnitUSD, "COST"), document.Right("", "SHARE", "CALLS", "HIT", "MISSES"),
		document.Right(document.UnitUSD, "THEY COST"))}
	weeks := this.Total.USD+last.Total.USD > 0
	if weeks {
		t.Columns = append(t.Columns, document.Right(document.UnitUSD, fmt.Sprintf("LAST %d DAYS", recent), fmt.Sprintf("%d BEFORE", recent))...)
	}
	add := func(name string, g *audit.Group, now, before float64) {
		row := []any{name, g.USD, document.Share(g.USD, all.Total.USD), g.Calls, document.Share(float64(g.Read), float64(g.Input())), g.Misses, g.MissUSD}
		if weeks {
			row = append(row, now, before)
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range all.Groups {
		g := &all.Groups[i]
		add(agents.Of(g.Names[0]).Title, g, of(this, g.Names[0]), of(last, g.Names[0]))
	}
	if len(all.Groups) > 1 {
		add("all", &all.Total, this.Total.USD, last.Total.USD)
	}
	return t
}

// discoverFlags say whether a person's own sessions may be read without being
// named. Without that permission files are only counted, not opened.
type discoverFlags struct {
	discover bool
	yes      bool
	pays     bool // yes answers only the other question: whether to make real calls
}

// wanted reports whether to look for sessions.
func (f *discoverFlags) wanted() bool { return f.discover || f.yes && !f.pays }

// errDeclined is returned when a person does not want their sessions read.
var errDeclined = errors.New("cancelled: nothing was read")

// survey looks into the usual places of this host.
func survey(ctx context.Context) ([]facts.Stock, string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	found, err := facts.Survey(ctx, agents.Places(home, os.Getenv))
	return found, home, err
}

// choose returns the folders to read, after saying so and, on a terminal,
// asking. origin is for reports: where the sessions come from.
func (f *discoverFlags) choose(cmd *cobra.Command, quiet bool) (paths []string, origin string, err error) {
	found, home, err := survey(cmd.Context())
	if err != nil {
		return nil, "", err
	}
	w := cmd.ErrOrStderr()
	var shown []string
	for _, s := range found {
		if agents.Readable(s.Place) {
			paths = append(paths, s.Path())
			shown = append(shown, tilde(s.Path(), home))
		}
		if !quiet {
			say(w, "found %s", stockText(s, home))
		}
	}
	if len(paths) == 0 {
		return nil, "", usageError{fmt.Errorf("%w in the usual places; looked in %s; give a PATH",
			traces.ErrNoSessions, lookedIn(home))}
	}
	list, leaves := strings.Join(shown, ", "), "nothing leaves this machine"
	if f.pays {
		leaves = "reading sends nothing anywhere" // a model may summarise them, which is asked later
	}
	if (!f.yes || f.pays) && isTerminal(cmd.InOrStdin()) && isTerminal(w) {
		question := fmt.Sprintf("Read the sessions in %s? %s. [y/N] ", list, strings.ToUpper(leaves[:1])+leaves[1:])
		yes, err := ask(cmd.Context(), cmd.InOrStdin(), w, question)
		switch {
		case err != nil:
			return nil, "", fmt.Errorf("interrupted before anything was read: %w", err)
		case !yes:
			return nil, "", errDeclined
		}
	} else if !quiet {
		say(w, "reading the sessions in %s; %s", list, leaves)
	}
	return paths, "Sessions found in " + list, nil
}

// lookedIn lists the places whose sessions can be read.
func lookedIn(home string) string {
	var dirs []string
	for _, p := range agents.Places(home, os.Getenv) {
		if agents.Readable(p) {
			dirs = append(dirs, tilde(p.Path(), home))
		}
	}
	if len(dirs) == 0 {
		return "none, for there is no home folder"
	}
	return strings.Join(dirs, ", ")
}

// ask reports whether the answer to a question is yes. The error is the cause of ctx's end.
func ask(ctx context.Context, r io.Reader, w io.Writer, question string) (bool, error) {
	fmt.Fprint(w, question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n') // the end of input is not a yes
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(w)
		return false, context.Cause(ctx)
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}

// stockText describes what is at a place.
func stockText(s facts.Stock, home string) string {
	text := fmt.Sprintf("%s in %s (%s, %s, newest %s)", document.Count(s.Files, "file"), tilde(s.Path(), home), s.Agent,
		megabytes(s.Bytes), s.Newest.Local().Format(time.DateOnly))
	if !agents.Readable(s.Place) {
		text += ", a format sim does not read"
	}
	return text
}

// tilde shortens a path within the home folder.
func tilde(path, home string) string {
	if home == "" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// megabytes formats bytes in units of 10⁶.
func megabytes(n int64) string {
	switch {
	case n < 1e5:
		return "< 0.1 MB"
	case n < 1e7:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}
