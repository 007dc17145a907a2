package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// missingMetric is the name under which a check says how much of the baseline's bill is no longer here, and under which --accept takes it
// as meant.
const missingMetric = "missing"

// missed is a session of the last run that is not here, or has fewer calls than there.
type missed struct {
	was   *Past
	calls int     // that are here, 0 for none
	lost  float64 // what was there and is not here, in the measure of the weight
}

// weight measures how much a session is.
type weight struct {
	noun string // and verb
	of   func(*Past) float64
}

// weightOf returns what all sessions of a list have: a bill, else tokens, else that they are there. Sessions of models without a price would
// weigh nothing beside a bill. A session with neither weighs nothing beside either, and decides nothing.
func weightOf(list []*Past) weight {
	list = slices.DeleteFunc(slices.Clone(list), func(p *Past) bool { return p.USD <= 0 && p.Tokens == 0 })
	for _, w := range []weight{{"bill is", func(p *Past) float64 { return p.USD }}, {"tokens are", func(p *Past) float64 { return float64(p.Tokens) }}} {
		if len(list) > 0 && !slices.ContainsFunc(list, func(p *Past) bool { return w.of(p) <= 0 }) {
			return w
		}
	}
	return weight{"sessions are", func(*Past) float64 { return 1 }}
}

// empty reports whether nothing of a session was counted.
func (p *Past) empty() bool { return p.Calls == 0 && p.Tokens == 0 }

// mostGone is the share of the baseline's bill that may go beyond what new sessions were billed. In a folder from which a client removes
// old sessions, a week in which little was done takes less.
const mostGone = 0.5

// tellMissing says which sessions of the baseline's last run are not here or have fewer calls, and how much these were. Recordings only
// grow: a session with fewer calls has lost a part, and breaks the check. So do sessions that are not here, if nothing new stands in their
// place. A run of other sessions alone says nothing of the baseline's. One of both is suspect if its new ones are far less than what
// is gone.
func tellMissing(r *Report, b *Baseline, now []Past, key, version string) {
	if b == nil || b.Key != key {
		return
	}
	here, then := map[string]*Past{}, map[string]bool{}
	for i := range now {
		here[now[i].ID] = &now[i]
	}
	var last []*Past
	for i := range b.Past {
		was := &b.Past[i]
		if then[was.ID] = true; was.Run == 0 && was.Task == "" && !was.empty() {
			last = append(last, was)
		}
	}
	w := weightOf(last)
	var cut, gone []missed
	all, gap, other := 0.0, 0.0, 0
	for _, was := range last {
		all += w.of(was)
		switch own := here[was.ID]; {
		case own == nil || own.empty():
			gone = append(gone, missed{was, 0, w.of(was)})
			gap += w.of(was)
		case own.Calls < was.Calls && own.Tokens < was.Tokens:
			cut = append(cut, missed{was, own.Calls, w.of(was) - w.of(own)})
		}
	}
	status := Breach
	if b.Version != version {
		status = Suspect // another version may count calls otherwise
	}
	w.missing(r, cut, all, status, "has fewer calls", "have fewer calls", " than in the baseline, and recordings only grow")
	const one, more = "of the baseline is not here", "of the baseline are not here"
	for i := range now {
		if !then[now[i].ID] && !now[i].empty() {
			gap -= w.of(&now[i])
			other++
		}
	}
	switch {
	case other == 0:
		w.missing(r, gone, all, Breach, one, more, ", though all sessions here are the baseline's")
	case other < len(now) && gap > mostGone*all:
		w.missing(r, gone, all, Suspect, one, more, ", and "+numbers.Counted(other, "new session is", "new sessions are")+" far less")
	}
}

// missing adds a result for sessions that lack more than a little of all.
func (w weight) missing(r *Report, list []missed, all float64, status Status, one, more, how string) {
	lost, usd := 0.0, 0.0
	for _, m := range list {
		if m.lost > 0 {
			lost, usd = lost+m.lost, usd+m.was.USD*m.lost/w.of(m.was)
		}
	}
	if len(list) == 0 || lost/all <= noteLost {
		return
	}
	slices.SortStableFunc(list, func(a, b missed) int { return cmp.Compare(b.lost, a.lost) })
	var names []string
	for _, m := range list[:min(len(list), maxLost)] {
		names = append(names, fmt.Sprintf("%s (%d of %d calls)", m.was.ID, m.calls, m.was.Calls))
	}
	if rest := len(list) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	share := lost / all
	r.Results = append(r.Results, Result{
		Metric: missingMetric, Unit: measures.UnitRatio, Rule: "max " + Amount{noteLost, true}.String(), Status: status, Before: len(list),
		Observed: &share, Bar: new(noteLost), Margin: new(noteLost - share), usd: usd,
		Message: fmt.Sprintf("%s%s: %s; %s of the baseline's %s missing", numbers.Counted(len(list), "session "+one, "sessions "+more), how,
			strings.Join(names, ", "), figure(measures.UnitRatio, share), w.noun),
		Look: "sim traces ls -v on the same paths, and what was removed, renamed or cut there; --accept " + missingMetric + " takes it as meant",
	})
}
