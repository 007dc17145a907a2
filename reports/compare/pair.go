package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
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
			rows := make(map[string]*results.Row, c.Rows.Len())
			for i := range c.Rows.Len() {
				session := c.Rows.Session(i)
				rows[session] = c.Rows.At(i)
				have[s][session]++
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
		if was, is := base.Loop, p.rows[1][0][i].Loop; was != is && was != measures.LoopNone && is != measures.LoopNone {
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

// align keeps on both sides the cells whose seeds the other side has too, if there are any, and says what is averaged.
// Cells that draw nothing are compared with every seed.
func (p *pairs) align() []string {
	var notes, texts []string
	have := [2][]string{p.seeds(0), p.seeds(1)}
	shared := func(seed string) bool { return slices.Contains(have[0], seed) && slices.Contains(have[1], seed) }
	if slices.ContainsFunc(have[0], shared) && !p.sides[0].anySeed() && !p.sides[1].anySeed() {
		for s := range p.sides {
			side := &p.sides[s]
			side.cells = slices.DeleteFunc(slices.Clone(side.cells), func(c *results.Cell) bool { return !shared(side.seed(c)) })
			if left := slices.DeleteFunc(slices.Clone(have[s]), shared); len(left) > 0 {
				notes = append(notes, fmt.Sprintf("left out, only in %s: seed %s", side.label, document.Few(left)))
			}
		}
	}
	for s := range p.sides {
		if n := len(p.sides[s].cells); n > 1 {
			texts = append(texts, fmt.Sprintf("%s: means over %d seeds of each session: %s", p.sides[s].label, n, document.Few(p.seeds(s))))
		}
	}
	return append(notes, texts...)
}

// drawn reports whether chance affected a row, so that another seed would give
// other figures: a summary whose size was drawn, or that a model wrote; a
// failed attempt at one; another call whose existence or size a layer draws; an
// eviction from the cache. Recorded summaries have the logged sizes.
func drawn(r *results.Row) bool {
	switch {
	case r.Strategy == measures.StrategyBilled:
		return false
	case r.MissesOf(exchange.MissEviction) > 0, r.N(measures.LiveCalls) > 0, r.N(measures.RereadResults) > 0:
		return true
	case r.Strategy == measures.StrategyRecorded:
		return false
	}
	for s := range measures.Source(measures.NumSources) {
		if r.CallsBy(s) > 0 && !slices.Contains(undrawn, s) {
			return true
		}
	}
	return r.N(measures.FailedCompactions) > 0
}

// undrawn are the sources whose calls are the same under any seed. SourceOther has the
// calls at the end of turns that no log shows, which the profile decides on.
var undrawn = []measures.Source{
	measures.SourceMain, measures.SourceAgent, measures.SourceBranch, measures.SourceAdvisor, measures.SourceKeepalive, measures.SourceOther,
}

// chanceful are the settings around a strategy that draw in every simulated
// cell when they are not 0.
var chanceful = []string{"server.evict_per_call", "client.system.uncached_change"}

// drawn reports whether chance affected a side.
func (p *pairs) drawn(s int) bool {
	side := &p.sides[s]
	for _, c := range side.cells {
		set := func(path string) bool { value, ok := side.setting(c, path); return ok && value != "0" }
		if c.Strategy != measures.StrategyBilled && slices.ContainsFunc(chanceful, set) {
			return true
		}
	}
	return slices.ContainsFunc(p.rows[s], func(rows []*results.Row) bool { return slices.ContainsFunc(rows, drawn) })
}

// seeds returns the seeds of the cells of a side as texts, ascending.
func (p *pairs) seeds(s int) []string {
	var list []string
	for _, c := range p.sides[s].cells {
		list = append(list, p.sides[s].seed(c))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// tellMixed says in what runs differ, each property with the values of all runs,
// and which runs are incomplete.
func tellMixed(inputs []Input, list []*pairs, reseeded bool) []string {
	var notes []string
	for _, property := range []struct {
		what string
		of   func(*results.Provenance) string
	}{
		{"versions of the tool", func(p *results.Provenance) string { return p.Version }},
		{"sets of sessions", func(p *results.Provenance) string { return p.SessionsDigest }},
		{"prices", func(p *results.Provenance) string { return cmp.Or(fmt.Sprintf("%.8s", p.PricesDigest), p.Prices) }},
		{"seeds", func(p *results.Provenance) string { return strconv.FormatUint(p.Seed, 10) }},
	} {
		if property.what == "seeds" && !reseeded {
			continue // the figures do not depend on them
		}
		if values, differ := valuesOf(inputs, property.of); differ {
			notes = append(notes, fmt.Sprintf("The runs have different %s: %s.", property.what, values))
		}
	}
	notes = append(notes, switches(inputs)...)
	used := map[*results.Cell]bool{}
	for _, p := range list {
		for _, c := range slices.Concat(p.sides[0].cells, p.sides[1].cells) {
			used[c] = true
		}
	}
	for _, in := range inputs {
		notes = append(notes, partial(in, used)...)
	}
	return notes
}

// valuesOf formats the values of a property with the runs that have each, in
// the order of the runs, and reports whether there are several.
func valuesOf(inputs []Input, of func(*results.Provenance) string) (text string, differ bool) {
	var values []string
	have := map[string][]string{} // labels by value
	for _, in := range inputs {
		v := of(&in.Run.Provenance)
		if have[v] == nil {
			values = append(values, v)
		}
		have[v] = append(have[v], in.Label)
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, document.And(have[v])+" "+shorten(v))
	}
	return strings.Join(parts, ", "), len(values) > 1
}

// switches says in which switches runs differ, without those that all runs
// share.
func switches(inputs []Input) []string {
	names := map[string]bool{}
	for _, in := range inputs {
		for name := range in.Run.Provenance.Switches {
			names[name] = true
		}
	}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		values, differ := valuesOf(inputs, func(p *results.Provenance) string { return p.Switches[name] })
		if differ {
			notes = append(notes, fmt.Sprintf("The runs differ in the switch %s: %s.", name, values))
		}
	}
	return notes
}

// partial says what a run and its compared cells lack.
func partial(in Input, used map[*results.Cell]bool) []string {
	var notes []string
	add := func(format string, args ...any) {
		notes = append(notes, "Run "+in.Label+fmt.Sprintf(format, args...)+".")
	}
	if n := in.Run.Workload.Unfinished; n > 0 {
		add(" stopped before its end: %s of a session not done", document.Count(n, "simulation"))
	}
	for i := range in.Run.Cells {
		c := &in.Run.Cells[i]
		if n := c.Total.N(measures.UnpricedCalls); n > 0 && used[c] { // notes about others would not help
			add(", cell %s: the cost leaves out %s of models without a price", c.Cell, document.Count(n, "call"))
		}
	}
	return notes
}

// maxValue is the largest length of a value in a note, in characters: two values and their labels
// fit on a line.
const maxValue = 40

// shorten cuts the middle of a long value, which has no blank to break a line
// at. The formats for machines have the whole values.
func shorten(s string) string {
	if strings.ContainsRune(s, ' ') {
		return s
	}
	return document.Shortened(cmp.Or(s, "(none)"), maxValue)
}
