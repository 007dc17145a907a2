package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// begin runs sim without a verb: what the person's own sessions cost, what cost most and what to set. Without
// sessions it says where it looked. This week ends now.
func begin(cmd *cobra.Command, now time.Time) error {
	found, home, err := recordings.Survey(cmd.Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(s facts.Stock) bool { return agents.Readable(s.Place) }) {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "No sessions were found. sim looked in %s.\n"+
			"For sessions elsewhere: sim run PATH. For the samples that come with sim: sim run. All commands: sim help.\n", recordings.LookedIn(home))
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
		return console.Misuse(err)
	}
	f.read.Discovery.Asked, f.read.Lazy, f.read.Listener = true, true, needs.NewListener()
	f.read.List = "sim audit --discover -v"
	corpus, err := f.read.open(verb, nil)
	if err != nil {
		return err
	}
	defer corpus.Close()
	d, err := f.overview(verb, corpus, prices, now)
	if err != nil {
		return err
	}
	return d.Write(verb.OutOrStdout(), f.format)
}

// recent is the number of days that the overview holds against as many before them.
const recent = 7

// overview is the bill by agent, this week against the last, the dearest finding and the best setting.
func (f *traceFlags) overview(cmd *cobra.Command, corpus *recordings.Opened, prices *costmodel.Table, now time.Time) (*document.Document, error) {
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
	all.Remarks = corpus.Remarks()
	d := all.Document(audit.DocumentOptions{})
	d.Sections, d.Data = []document.Section{{Blocks: []document.Block{byAgent(all, this, last)}}}, nil
	said := document.List{}
	if len(report.Findings) > 0 {
		one := &report.Findings[0]
		text := fmt.Sprintf("%s: %s (%s)", one.Title, document.USD(one.USD, 2), document.Share(one.USD, all.Total.USD))
		if len(one.Places) > 0 {
			p := &one.Places[0]
			text += fmt.Sprintf(", the most at one place (%s): sim explain --discover %s", document.USD(p.USD, 2), p.Call)
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
	of := func(b *audit.Breakdown, agent string) *audit.Group {
		for i := range b.Groups {
			if b.Groups[i].Names[0] == agent {
				return &b.Groups[i]
			}
		}
		return &audit.Group{}
	}
	priced := func(g *audit.Group, usd float64) any { // a dash where no call has a price, as the lines above say
		if g.Calls > 0 && g.Unpriced == g.Calls {
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
