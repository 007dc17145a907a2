package check

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results/measures"
)

const (
	// brokenTimes is how many times its prediction a session of leastWhole calls may be billed by chance: the dearest of the recorded
	// ones that rules were chosen on was billed 1.74 times (docs/ci.md).
	brokenTimes = 2
	// leastWhole is how many calls a session needs to show that its cache does not work: a write for an hour costs 20 reads, so that
	// one miss doubles the bill of fewer calls.
	leastWhole = 20
)

// broken says which sessions were billed more than chance makes, if their excess alone takes bill over prediction beyond its bar; ""
// otherwise. Few such sessions spread the figure so far that no interval over sessions excludes the bar: their own calls are the proof.
func (v *verdict) broken() string {
	m := &v.rule.Metric
	if m.Name != measures.NameOverPredicted || v.sign < 0 {
		return ""
	}
	sessions, calls := 0, 0
	excess, predicted, most := 0.0, 0.0, max(brokenTimes, v.dearest)
	for _, row := range v.slice.cell.Draws[0].Rows.All() {
		if !v.slice.group.has(row.Session) {
			continue
		}
		billed, mean := m.Parts(row)
		predicted += mean
		if n := row.N(measures.Calls); n >= leastWhole && billed > most*mean {
			sessions, calls, excess = sessions+1, calls+n, excess+billed-mean
		}
	}
	was := 1.0
	if v.result.Baseline != nil {
		was = *v.result.Baseline
	}
	if sessions == 0 || excess <= (v.bar-was)*predicted {
		return ""
	}
	return fmt.Sprintf("; in %s of %s the bill is more than %.3g times the prediction: single misses do not make that",
		document.Count(sessions, "session"), document.Count(calls, "call"), most)
}

// dearest returns the largest value of a ratio in a session of leastWhole calls, 0 without any.
func (b *Baseline) dearest(cell, metric string) (most float64) {
	for i := range b.Past {
		if p := &b.Past[i]; p.Calls >= leastWhole {
			if parts, ok := p.Parts[cell][metric]; ok && parts[1] > 0 {
				most = max(most, parts[0]/parts[1])
			}
		}
	}
	return most
}

// Withheld says why no later run is to be held against this one, and what takes it as meant; "" if it may be. Nothing that is beyond its bar
// enters a window, by chance or not: the bar would follow it. Without a window a run replaces the baseline, unless it is beyond a limit that
// holds whatever the baseline.
func (r *Report) Withheld(f *File) string {
	var names []string
	for i := range r.Results {
		s := &r.Results[i]
		beyond := s.Status == Breach || s.Status == Suspect && s.Metric != missingMetric && s.Metric != unreadMetric
		if beyond && (f.Window > 0 || s.limit) && !slices.Contains(names, s.Metric) {
			names = append(names, s.Metric)
		}
	}
	what := "this run is not added to the runs that later runs are held against"
	switch {
	case len(names) > 0:
		slices.Sort(names)
		verb := " is"
		if len(names) > 1 {
			verb = " are"
		}
		return what + ": " + document.Few(names) + verb + " beyond the bar; " + f.Accept.accepting(names...)
	case f.Window > 0 && r.strangers:
		return what + ": its agents are not the baseline's; " + f.Accept.accepting(r.meant...)
	}
	return ""
}
