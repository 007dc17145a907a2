package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/advise"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// changed compares the sessions before and since the day of a change, agent by agent.
func (f *adviseFlags) changed(cmd *cobra.Command, args []string, prices *costmodel.Table) error {
	if err := f.read.check(cmd); err != nil { // which sets the zone
		return err
	}
	at, err := traces.FilterText{Since: f.since}.Parse(time.Now(), f.read.choice.zone)
	if err != nil {
		return usageError{fmt.Errorf("--since-change: %w", err)}
	}
	return f.read.reading(cmd, args, func(corpus *traces.Corpus) error {
		plan, err := f.plan(prices)
		if err != nil {
			return err
		}
		if err := plan.Prepare(cmd.Context(), corpus); err != nil {
			return err
		}
		var read results.Workload
		f.read.remark(cmd, &read, corpus)
		remarks, untimed, uncounted := read.Remarks, 0, 0
		sides := map[string]*[2][]*traces.Session{}
		var order []string
		for _, s := range corpus.Sessions {
			switch {
			case s.NumCalls() == 0:
				continue
			case s.Start == 0:
				untimed++
				continue
			case advise.Uncounted(s):
				uncounted++
				continue
			}
			if sides[s.Agent] == nil {
				sides[s.Agent] = new([2][]*traces.Session)
				order = append(order, s.Agent)
			}
			side := 0
			if !s.StartTime().Before(at.Since) {
				side = 1
			}
			sides[s.Agent][side] = append(sides[s.Agent][side], s)
		}
		if untimed > 0 {
			remarks = append(remarks, document.Count(untimed, "session")+" without a time: on neither side")
		}
		if uncounted > 0 {
			remarks = append(remarks, document.Count(uncounted, "session")+" without counts of input: on neither side")
		}
		var list []*check.Since
		for _, agent := range order {
			one, err := f.compare(cmd.Context(), plan, agent, sides[agent])
			if err != nil {
				return fmt.Errorf("%s: %w", agents.Of(agent).Title, err)
			}
			list = append(list, one)
		}
		return check.SinceDocument(at.Since.In(f.read.choice.zone).Format("2006-01-02 15:04 MST"), list, remarks).Write(cmd.OutOrStdout(), f.format)
	})
}

// compare compares two sides of an agent's sessions.
func (f *adviseFlags) compare(ctx context.Context, plan *scenarios.Plan, agent string, sides *[2][]*traces.Session) (*check.Since, error) {
	var in [2]*check.Input
	for i, sessions := range sides {
		var err error
		if in[i], err = f.billed(ctx, plan, sessions); err != nil {
			return nil, err
		}
	}
	byID := map[string]*traces.Session{}
	for _, s := range sides[1] {
		byID[s.ID] = s
	}
	units := func(ids []string) []stats.Units {
		list := make([]*traces.Session, len(ids))
		for i, id := range ids {
			list[i] = byID[id]
		}
		return choose.UnitsOf(list)
	}
	say := func(fact string, value float64) (*check.Saving, error) {
		e, ok, err := advise.Said(ctx, plan, sides[0], fact, value)
		if err != nil || !ok {
			return nil, err
		}
		return check.SavingOf(&e), nil
	}
	since, err := check.SinceOf(agents.Of(agent).Title, in[0], in[1], units, say)
	if since != nil {
		since.Agent = agent
	}
	return since, err
}

// billed returns what sessions were billed and are predicted to be, in the form that a check judges.
func (f *adviseFlags) billed(ctx context.Context, plan *scenarios.Plan, sessions []*traces.Session) (*check.Input, error) {
	cell := results.Cell{Cell: results.StrategyBilled, Strategy: results.StrategyBilled}
	in := &check.Input{Version: version(), Sessions: map[string]check.Session{}}
	for _, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, err
		}
		row := sim.Billed(whole, plan.Prices, time.Time{})
		cell.Rows.Keep(&row)
		in.Calls += s.NumCalls()
	}
	run := results.Run{Cells: []results.Cell{cell}}
	run.Sum()
	shaped := *plan
	shaped.Design = &scenarios.Design{Scenario: scenarios.Default()}
	if err := sessionsInto(in, &shaped, sessions, hiding{}); err != nil {
		return nil, err
	}
	var judge checkFlags
	judge.read = f.read
	if err := judge.foretell(ctx, plan, sessions, &run, in, hiding{}); err != nil {
		return nil, err
	}
	in.Cells = []check.Cell{{Name: cell.Cell, Strategy: cell.Strategy, Draws: []*results.Cell{&run.Cells[0]}}}
	return in, nil
}
