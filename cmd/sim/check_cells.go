package main

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/check"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// seedParam is the name of the seed among the parameters of a cell.
const seedParam = "seed"

// undrawn are the layers that leave nothing to chance and ask no summariser.
var undrawn = []string{strategies.RecordedName, strategies.TruncateName}

// drawn reports whether figures of a cell may depend on the seed. A layer that is
// not known to leave nothing to chance is taken to draw: more seeds cost time,
// fewer a wrong alarm.
func drawn(c *scenarios.Cell) bool {
	s := c.Scenario
	if s.Server.EvictPerCall > 0 || s.Client.System.UncachedChange > 0 {
		return true
	}
	return slices.ContainsFunc(c.Strategy.LayerNames(), func(name string) bool { return !slices.Contains(undrawn, name) })
}

// withSeeds returns a design that runs the cells with draws that a check speaks
// of under all its seeds: the scenario's and those that follow it. draws are the
// names of the runs of each cell of d, in the order of the seeds.
func withSeeds(d *scenarios.Design, file *check.File) (seeded *scenarios.Design, draws [][]string) {
	out := *d
	out.Cells = nil
	for i := range d.Cells {
		c := d.Cells[i]
		names := []string{c.Name}
		out.Cells = append(out.Cells, c)
		for k := 1; k < file.Seeds && drawn(&c) && file.Touches(c.Name, c.Strategy.Name); k++ {
			again := c
			scenario := *c.Scenario
			scenario.Seed += uint64(k)
			again.Scenario = &scenario
			again.Name = fmt.Sprintf("%s %s=%d", c.Name, seedParam, scenario.Seed)
			names = append(names, again.Name)
			out.Cells = append(out.Cells, again)
		}
		draws = append(draws, names)
	}
	return &out, draws
}

// checkInput returns a run as a check looks at it.
func checkInput(plan *scenarios.Plan, corpus *traces.Corpus, run *results.Run, draws [][]string, hide hiding) (*check.Input, error) {
	digest, err := scenarioDigest(plan)
	if err != nil {
		return nil, err
	}
	prices, err := pricesDigest(plan, corpus.Sessions)
	if err != nil {
		return nil, err
	}
	table := run.Provenance.Prices
	if plan.Design.Scenario.Prices.File != "" { // the name of a file
		table = hide.name(table)
	}
	in := &check.Input{Version: version(), SessionsDigest: hide.name(run.Provenance.SessionsDigest), ScenarioDigest: digest,
		PricesDigest: prices, Prices: table, Calls: run.Workload.Calls, Sessions: map[string]check.Session{}}
	in.Lost, in.NumLost = lost(corpus, hide)
	in.Key = hide.keyName()
	for _, s := range corpus.Sessions {
		if s.NumCalls() > 0 {
			in.Sessions[s.ID] = check.Session{Project: hide.name(s.Project), Model: hide.model(usualModel(s)), Agent: s.Agent}
		}
	}
	if err := nameUnpriced(in, plan, corpus.Sessions, hide); err != nil {
		return nil, err
	}
	byName := map[string]*results.Cell{}
	for i := range run.Cells {
		c := &run.Cells[i]
		byName[c.Cell] = c
		if c.Strategy == results.StrategyBilled {
			in.Cells = append(in.Cells, check.Cell{Name: c.Cell, Strategy: c.Strategy, Draws: []*results.Cell{c}})
		}
	}
	for i, names := range draws {
		c := check.Cell{Name: names[0], Strategy: plan.Design.Cells[i].Strategy.Name}
		for _, name := range names {
			if byName[name] == nil {
				return nil, fmt.Errorf("cell %s was not simulated", name)
			}
			c.Draws = append(c.Draws, byName[name])
		}
		in.Cells = append(in.Cells, c)
	}
	return in, nil
}

// usualModel returns the model that most calls of a session went to, of equals
// the first seen.
func usualModel(s *traces.Session) string {
	calls := make([]int, len(s.Models))
	for i := range s.Threads {
		for j := range s.Threads[i].Rounds {
			calls[s.Threads[i].Rounds[j].Model]++
		}
	}
	best := 0
	for i, n := range calls {
		if n > calls[best] {
			best = i
		}
	}
	if len(s.Models) == 0 {
		return ""
	}
	return s.Models[best]
}
