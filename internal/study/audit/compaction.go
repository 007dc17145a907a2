package audit

import (
	"cmp"
	"fmt"
	"github.com/compactsim/compactsim/internal/serving/calls"
	"slices"

	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// Compaction is the cost and effect of one recorded compaction. No log shows most summary calls, so
// the figures are those of a simulation of the recording, the same as in sim audit --compactions.
type Compaction struct {
	Call    string  `json:"call"`     // the call after it, as sim explain takes it
	CallUSD float64 `json:"call_usd"` // its summary calls
	NetUSD  float64 `json:"net_usd"`  // what it saved minus what it cost
	studies.Compaction
}

// compactions adds those of a session whose next call is in the period.
func (a *auditor) compactions(s *traces.Session, threads [][]calls.Call, list []studies.Compaction) {
	for i := range list {
		x := &list[i]
		t := slices.IndexFunc(s.Threads, func(t traces.Thread) bool { return t.ID == x.Thread })
		if t < 0 || len(threads[t]) == 0 {
			continue
		}
		next := &threads[t][min(x.Round, len(threads[t])-1)]
		if next.Out {
			continue
		}
		p := callPlace(next)
		a.report.chains.Compactions = append(a.report.chains.Compactions, *x)
		a.report.Compactions = append(a.report.Compactions, Compaction{p.Call, x.CallCost.Total(), x.NetUSD(), *x})
		if net := x.NetUSD(); net < 0 {
			a.evidence.lost.add(s.Agent, p, x.Saved, -net, fmt.Sprintf("%d calls followed", x.Later))
		}
	}
}

// worstFirst sorts compactions by net saving, least first.
func worstFirst(list []Compaction) {
	slices.SortStableFunc(list, func(a, b Compaction) int { return cmp.Compare(a.NetUSD, b.NetUSD) })
}
