package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// drawn reports whether chance had a part in a row, so that another seed would
// give other figures: a summary whose size was drawn, or written by a model; an
// attempt at one that failed; another call that a layer decides on or sizes by a
// draw; an eviction from the cache. The summaries of a recording have the sizes
// that were logged.
func drawn(r *results.Row) bool {
	switch {
	case r.Strategy == results.StrategyBilled:
		return false
	case r.MissesByClass[prompt.MissEviction] > 0, r.Counts.LiveCalls > 0, r.Counts.Reread > 0:
		return true
	case r.Strategy == results.StrategyRecorded:
		return false
	}
	for s, calls := range r.CallsBySource {
		if calls > 0 && !slices.Contains(undrawn, results.Source(s)) {
			return true
		}
	}
	return r.FailedCompaction > 0
}

// undrawn are the sources whose calls are as they are under any seed. SourceOther
// has those at the end of turns that no log shows, which the profile decides on.
var undrawn = []results.Source{
	results.SourceMain, results.SourceAgent, results.SourceBranch, results.SourceKeepalive, results.SourceOther,
}

// chanceful are the settings around a strategy that leave something to chance in
// every cell that is simulated, when they are not 0.
var chanceful = []string{"server.evict_per_call", "client.system.uncached_change"}

// drawn reports whether chance had a part in a side.
func (p *pairs) drawn(s int) bool {
	side := &p.sides[s]
	for _, c := range side.cells {
		set := func(path string) bool { value, ok := side.setting(c, path); return ok && value != "0" }
		if c.Strategy != results.StrategyBilled && slices.ContainsFunc(chanceful, set) {
			return true
		}
	}
	return slices.ContainsFunc(p.rows[s], func(rows []*results.Row) bool { return slices.ContainsFunc(rows, drawn) })
}

// seeds returns the seeds of the cells of a side, ascending as texts.
func (p *pairs) seeds(s int) []string {
	var list []string
	for _, c := range p.sides[s].cells {
		seed, _ := p.sides[s].param(c, seedParam)
		list = append(list, seed)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// chance notes where chance had a part in c.
func (c *Comparison) chance() {
	c.drawn = c.pairs.drawn(0) || c.pairs.drawn(1)
	c.reseeded = c.drawn && !slices.Equal(c.pairs.seeds(0), c.pairs.seeds(1))
}

// differentSeeds says under which seeds the runs were drawn, when those that are
// compared differ. Seeds that only one run has are left out where the others match.
func (r *Report) differentSeeds() []string {
	have := map[string][]string{} // by label
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if !c.reseeded {
			continue
		}
		for s, label := range []string{c.Base, c.Other} {
			have[label] = append(have[label], c.pairs.seeds(s)...)
		}
	}
	var parts []string
	for _, label := range r.Labels {
		if seeds := have[label]; len(seeds) > 0 {
			slices.Sort(seeds)
			parts = append(parts, label+" "+and(slices.Compact(seeds)))
		}
	}
	if len(parts) == 0 || len(r.Inputs) == 1 {
		return nil
	}
	return []string{fmt.Sprintf("The runs have different seeds: %s.", strings.Join(parts, ", "))}
}
