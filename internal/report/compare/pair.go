package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// pairs are the sessions that two sides share.
type pairs struct {
	name     string // of the cell in both runs; "" for cells with different names
	sides    [2]side
	sessions []string // ascending
	// rows are by side, cell and session.
	rows [2][][]*results.Row
}

// match matches the sessions of both sides. The notes say what was averaged and
// what has no counterpart.
func (p *pairs) match() ([]string, error) {
	notes := p.align()
	var at [2][]map[string]*results.Row // by cell and session
	var have [2]map[string]int          // cells with a row, by session
	for s := range p.sides {
		have[s] = map[string]int{}
		for _, c := range p.sides[s].cells {
			rows := make(map[string]*results.Row, len(c.Rows))
			for _, row := range c.Rows {
				rows[row.Session] = row
				have[s][row.Session]++
			}
			at[s] = append(at[s], rows)
		}
	}
	for _, session := range slices.Sorted(maps.Keys(have[0])) {
		if have[0][session] == len(p.sides[0].cells) && have[1][session] == len(p.sides[1].cells) {
			p.sessions = append(p.sessions, session)
		}
	}
	if len(p.sessions) == 0 {
		return nil, fmt.Errorf("no session in common: %s has %s; %s has %s", p.sides[0].label,
			document.Few(slices.Sorted(maps.Keys(have[0]))), p.sides[1].label, document.Few(slices.Sorted(maps.Keys(have[1]))))
	}
	for s := range at {
		for _, all := range at[s] {
			rows := make([]*results.Row, len(p.sessions))
			for i, session := range p.sessions {
				rows[i] = all[session]
			}
			p.rows[s] = append(p.rows[s], rows)
		}
	}
	return append(notes, p.unmatched(have)...), nil
}

// sameLoop refuses sides of which one is of a closed loop and the other of an open one. Rows
// that repeat the recording are of either.
func (p *pairs) sameLoop() error {
	for i, base := range p.rows[0][0] {
		if was, is := base.Loop, p.rows[1][0][i].Loop; was != is && was != results.LoopNone && is != results.LoopNone {
			return fmt.Errorf("%s is of a loop that is %s and %s of one that is %s: run both with --open-loop or both without",
				p.sides[0].label, was, p.sides[1].label, is)
		}
	}
	return nil
}

// unmatched says which sessions are left out.
func (p *pairs) unmatched(have [2]map[string]int) []string {
	var notes []string
	for s := range have {
		var only, partly []string
		for _, session := range slices.Sorted(maps.Keys(have[s])) {
			_, there := have[1-s][session]
			switch {
			case !there:
				only = append(only, session)
			case have[s][session] < len(p.sides[s].cells):
				partly = append(partly, session)
			}
		}
		if len(only) > 0 {
			notes = append(notes,
				fmt.Sprintf("left out, only in %s: %s (%s)", p.sides[s].label, document.Count(len(only), "session"),
					document.Few(only)))
		}
		if len(partly) > 0 {
			notes = append(notes, fmt.Sprintf("left out, not in every cell of %s: %s (%s)",
				p.sides[s].label, document.Count(len(partly), "session"), document.Few(partly)))
		}
	}
	return notes
}

// align keeps on both sides the cells whose parameters the other side has too,
// if the same parameters distinguish the cells of both, and says what is
// averaged.
func (p *pairs) align() []string {
	var notes []string
	names := p.commonParams()
	keys := [2][]string{}
	for s := range p.sides {
		for _, c := range p.sides[s].cells {
			keys[s] = append(keys[s], p.sides[s].settings(c, names))
		}
	}
	if shared := func(k string) bool { return slices.Contains(keys[1], k) }; slices.ContainsFunc(keys[0], shared) {
		for s := range p.sides {
			var kept []*results.Cell
			var left []string
			for i, c := range p.sides[s].cells {
				if slices.Contains(keys[1-s], keys[s][i]) {
					kept = append(kept, c)
				} else {
					left = append(left, keys[s][i])
				}
			}
			p.sides[s].cells = kept
			if len(left) > 0 {
				notes = append(notes, fmt.Sprintf("left out, only in %s: %s", p.sides[s].label, document.Few(left)))
			}
		}
	}
	return append(notes, p.averaged()...)
}

// averaged says over which cells each session is averaged.
func (p *pairs) averaged() []string {
	var texts [2]string
	for s := range p.sides {
		cells := p.sides[s].cells
		if len(cells) < 2 {
			continue
		}
		var own []string
		for _, c := range cells {
			own = append(own, p.sides[s].settings(c, varying(cells)))
		}
		texts[s] = fmt.Sprintf("means of %d cells of each session: %s", len(cells), document.Few(own))
	}
	if texts[0] == texts[1] && texts[0] != "" {
		return texts[:1]
	}
	var notes []string
	for s, text := range texts {
		if text != "" {
			notes = append(notes, p.sides[s].label+": "+text)
		}
	}
	return notes
}

// commonParams returns the names of the parameters that every cell has.
func (p *pairs) commonParams() []string {
	names := map[string]bool{}
	for s := range p.sides {
		for _, c := range p.sides[s].cells {
			for name := range c.Params {
				names[name] = true
			}
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool {
		return name == results.SeedParam && slices.ContainsFunc(p.sides[:], func(s side) bool { return s.anySeed() }) || slices.ContainsFunc(p.sides[:], func(s side) bool {
			return slices.ContainsFunc(s.cells, func(c *results.Cell) bool {
				_, ok := s.param(c, name)
				return !ok
			})
		})
	})
	return slices.Sorted(maps.Keys(names))
}

// varying returns the names of the parameters that differ between cells.
func varying(cells []*results.Cell) []string {
	set := map[string]bool{}
	for _, c := range cells {
		for name, value := range c.Params {
			if cells[0].Params[name] != value {
				set[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// drawn reports whether chance affected a row, so that another seed would give
// other figures: a summary whose size was drawn, or that a model wrote; a
// failed attempt at one; another call whose existence or size a layer draws; an
// eviction from the cache. Recorded summaries have the logged sizes.
func drawn(r *results.Row) bool {
	switch {
	case r.Strategy == results.StrategyBilled:
		return false
	case r.MissesOf(prompt.MissEviction) > 0, r.N(results.LiveCalls) > 0, r.N(results.RereadResults) > 0:
		return true
	case r.Strategy == results.StrategyRecorded:
		return false
	}
	for s := range results.Source(results.NumSources) {
		if r.CallsBy(s) > 0 && !slices.Contains(undrawn, s) {
			return true
		}
	}
	return r.N(results.FailedCompactions) > 0
}

// undrawn are the sources whose calls are the same under any seed. SourceOther has the
// calls at the end of turns that no log shows, which the profile decides on.
var undrawn = []results.Source{
	results.SourceMain, results.SourceAgent, results.SourceBranch, results.SourceKeepalive, results.SourceOther,
}

// chanceful are the settings around a strategy that draw in every simulated
// cell when they are not 0.
var chanceful = []string{"server.evict_per_call", "client.system.uncached_change"}

// drawn reports whether chance affected a side.
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

// seeds returns the seeds of the cells of a side as texts, ascending.
func (p *pairs) seeds(s int) []string {
	var list []string
	for _, c := range p.sides[s].cells {
		seed, _ := p.sides[s].param(c, results.SeedParam)
		list = append(list, seed)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// differentSeeds says under which seeds the runs were drawn if the compared
// ones differ. Seeds that only one run has are omitted where the others match.
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
