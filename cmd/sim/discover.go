package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// begin runs sim without a verb: what sessions cost, what cost most and what to set; the person's own where no path is given. Without
// sessions it says where it looked. This week ends now.
func (f *traceFlags) begin(cmd *cobra.Command, paths []string, now time.Time) error {
	if len(paths) == 0 {
		found, home, err := recordings.Survey(cmd.Context())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(found, func(s facts.Stock) bool { return agents.Readable(s.Place) }) {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "No sessions were found. sim looked in %s.\n"+
				"For sessions elsewhere: sim PATH. For the samples that come with sim: sim run. All commands: sim help.\n", recordings.LookedIn(home))
			return err
		}
		f.read.Discovery.Asked = true
	}
	prices, err := f.prices.table()
	if err != nil {
		return console.Misuse(err)
	}
	again := f.sameSessions(cmd, paths)
	f.read.Lazy, f.read.Listener, f.read.List = true, needs.NewListener(), "sim audit"+again+" -v"
	corpus, err := f.read.open(cmd, paths)
	if err != nil {
		return err
	}
	defer corpus.Close()
	d, err := f.overview(cmd, corpus, prices, again, now)
	if err != nil {
		return err
	}
	return d.Write(cmd.OutOrStdout(), "table")
}

// sameSessions returns the arguments with which another verb reads the same sessions at the same prices: the flags of sim without a verb,
// which the verbs share, but for some, and the paths.
func (f *traceFlags) sameSessions(cmd *cobra.Command, paths []string, but ...string) (text string) {
	shared, but := cmd.Root().Flags(), append(but, "quiet", "verbose", "yes", "discover", "workers", "no-store", "format")
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case shared.Lookup(flag.Name) == nil || slices.Contains(but, flag.Name):
			case flag.Value.Type() == "bool" && value != "true":
				text += " --" + flag.Name + "=" + value
			case flag.Value.Type() == "bool":
				text += " --" + flag.Name
			default:
				text += " --" + flag.Name + " " + document.Argument(value)
			}
		}
	})
	if f.read.Discovery.Wanted() {
		return text + " --discover"
	}
	return text + placeOf(slices.Sorted(slices.Values(paths))) // in any order they are the same sessions
}

// recent is the number of days that the overview holds against as many before them.
const recent = 7

// overview is the bill by agent, this week against the last, the dearest finding and the best setting.
// Other verbs read the same sessions with the arguments in again.
func (f *traceFlags) overview(cmd *cobra.Command, corpus *recordings.Opened, prices *costmodel.Table, again string, now time.Time) (*document.Document, error) {
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
	advice, err := f.advice(cmd, corpus.Corpus, prices)
	if err != nil {
		return nil, err
	}
	lacks, err := f.unlogged(cmd.Context(), corpus.Corpus, prices)
	if err != nil {
		return nil, err
	}
	all.Remarks = append(corpus.Remarks(), lacks...)
	d := all.Document(audit.DocumentOptions{})
	d.Sections, d.Data = []document.Section{{Blocks: []document.Block{byAgent(all, this, last)}}}, nil
	said := document.List{}
	if len(report.Findings) > 0 {
		one := &report.Findings[0]
		text := fmt.Sprintf("%s: %s (%s)", one.Title, document.USD(one.USD, 2), document.Share(one.USD, all.Total.USD))
		if len(one.Places) > 0 {
			p := &one.Places[0]
			text += fmt.Sprintf(", the most at one place (%s): sim explain %s%s", document.USD(p.USD, 2), p.Call, again)
		}
		said = append(said, document.Item{Label: "dearest", Text: text})
	}
	said = append(said, document.Item{Label: "to set", Text: advice.Line()},
		document.Item{Label: "the whole bill", Text: "sim audit" + again}, document.Item{Label: "by day", Text: "sim audit --by day" + again},
		document.Item{Label: "all settings", Text: "sim advise" + again})
	d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{said}})
	return d, nil
}

// byAgent lists agents with what they cost in all, in the last days and in the days before.
func byAgent(all, this, last *audit.Breakdown) *document.Table {
	of := func(b *audit.Breakdown, agent string) *audit.Group {
		for i := range b.Groups {
			if b.Groups[i].Names[0] == agent {
				return &b.Groups[i]
			}
		}
		return &audit.Group{}
	}
	priced := func(g *audit.Group, usd float64) any { // a dash where no call has a price, as the lines above say
		if g.Priceless() {
			return document.Dash
		}
		return usd
	}
	t := &document.Table{Columns: slices.Concat(document.Left("AGENT"), document.Right(document.UnitUSD, "COST"), document.Right("", "SHARE", "CALLS", "HIT", "MISSES"),
		document.Right(document.UnitUSD, "THEY COST"))}
	weeks := this.Total.Calls+last.Total.Calls > this.Total.Unpriced+last.Total.Unpriced
	if weeks {
		t.Columns = append(t.Columns, document.Right(document.UnitUSD, fmt.Sprintf("LAST %d DAYS", recent), fmt.Sprintf("%d BEFORE", recent))...)
	}
	add := func(name string, g, now, before *audit.Group) {
		row := []any{name, priced(g, g.USD), document.Share(g.USD, all.Total.USD), g.Calls, document.Share(float64(g.Read), float64(g.Input())), g.Misses,
			priced(g, g.MissUSD)}
		if row[1] == document.Dash {
			row[2] = document.Dash
		}
		if weeks {
			row = append(row, priced(now, now.USD), priced(before, before.USD))
		}
		t.Rows = append(t.Rows, row)
	}
	for i := range all.Groups {
		g := &all.Groups[i]
		add(agents.Of(g.Names[0]).Title, g, of(this, g.Names[0]), of(last, g.Names[0]))
	}
	if len(all.Groups) > 1 {
		add("all", &all.Total, &this.Total, &last.Total)
	}
	return t
}
