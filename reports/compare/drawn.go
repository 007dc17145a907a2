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
// attempt at one that failed; an eviction from the cache. The summaries of a
// recording have the sizes that were logged, and other calls that layers make
// have fixed ones.
func drawn(r *results.Row) bool {
	if r.MissesByClass[prompt.MissEviction] > 0 || r.Counts[results.CountLiveCalls] > 0 {
		return true
	}
	if r.Strategy == results.StrategyBilled || r.Strategy == results.StrategyRecorded {
		return false
	}
	return r.CallsBySource[results.SourceCompact] > 0 || r.FailedCompaction > 0
}

// drawn reports whether chance had a part in a side.
func (p *pairs) drawn(s int) bool {
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
