package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// missingMetric is the name under which a check says how much of the baseline's bill is no longer here, and under which --accept takes it
// as meant.
const missingMetric = "missing"

// missed is a session of the last run that is not here, or has fewer calls than there.
type missed struct {
	was   *Past
	calls int     // that are here, 0 for none
	usd   float64 // billed there and not here
}

// mostGone is the share of the baseline's bill that may go beyond what new sessions were billed. In a folder from which a client removes
// old sessions, a week in which little was done takes less.
const mostGone = 0.5

// tellMissing says which sessions of the baseline's last run are not here or have fewer calls, and what these were billed. Recordings only
// grow: a session with fewer calls has lost a part, and breaks the check. So do sessions that are not here, if nothing new stands in their
// place. A run of other sessions alone says nothing of the baseline's. One of both is suspect if its new ones were billed far less than what
// is gone.
func tellMissing(r *Report, b *Baseline, now []Past, key, version string) {
	if b == nil || b.Key != key {
		return
	}
	here := map[string]*Past{}
	for i := range now {
		here[now[i].ID] = &now[i]
	}
	then := map[string]bool{}
	var cut, gone []missed
	billed, gap, other := 0.0, 0.0, 0
	for i := range b.Past {
		was := &b.Past[i]
		own := here[was.ID]
		then[was.ID] = true
		if was.Run > 0 || was.Task != "" || was.Calls == 0 {
			continue
		}
		billed += was.USD
		switch {
		case own == nil:
			gone = append(gone, missed{was, 0, was.USD})
			gap += was.USD
		case own.Calls > 0 && own.Calls < was.Calls && own.Tokens < was.Tokens:
			cut = append(cut, missed{was, own.Calls, was.USD - own.USD})
		}
	}
	status := Breach
	if b.Version != version {
		status = Suspect // another version may count calls otherwise
	}
	missing(r, cut, billed, status, "has fewer calls", "have fewer calls", " than in the baseline, and recordings only grow")
	const one, more = "of the baseline is not here", "of the baseline are not here"
	for i := range now {
		if !then[now[i].ID] {
			gap -= now[i].USD
			other++
		}
	}
	switch {
	case other == 0:
		missing(r, gone, billed, Breach, one, more, ", though all sessions here are the baseline's")
	case other < len(now) && gap > mostGone*billed:
		missing(r, gone, billed, Suspect, one, more, ", and "+counted(other, "new session was", "new sessions were")+" billed far less")
	}
}

// missing adds a result for sessions that lack more than a little of what was billed, USD.
func missing(r *Report, list []missed, billed float64, status Status, one, more, how string) {
	usd := 0.0
	for _, m := range list {
		usd += m.usd
	}
	if billed <= 0 || usd/billed <= noteLost {
		return
	}
	slices.SortStableFunc(list, func(a, b missed) int { return cmp.Compare(b.usd, a.usd) })
	var names []string
	for _, m := range list[:min(len(list), maxLost)] {
		names = append(names, fmt.Sprintf("%s (%d of %d calls)", m.was.ID, m.calls, m.was.Calls))
	}
	if rest := len(list) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	share := usd / billed
	r.Results = append(r.Results, Result{
		Metric: missingMetric, Unit: measures.UnitRatio, Rule: "max " + Amount{noteLost, true}.String(), Status: status, Before: len(list),
		Observed: &share, Bar: new(noteLost), Margin: new(noteLost - share), usd: usd,
		Message: fmt.Sprintf("%s%s: %s; %s of the baseline's bill is missing", counted(len(list), "session "+one, "sessions "+more), how,
			strings.Join(names, ", "), figure(measures.UnitRatio, share)),
		Look: "sim traces ls -v on the same paths, and what was removed, renamed or cut there; --accept " + missingMetric + " takes it as meant",
	})
}
