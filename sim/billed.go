package sim

import (
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Billed returns the row of what a session was billed: logged usage × price,
// no model. Outputs that were not logged whole are the derived ones. Prices are
// those of each call's date unless at is set.
func Billed(s *traces.Session, prices Prices, at time.Time) results.Row {
	r := results.Row{Strategy: "billed", Session: s.ID, Sessions: 1}
	m := models{ids: new(Models), prices: prices, at: at}
	m.reset(s)
	for i := range s.Threads {
		t := &s.Threads[i]
		src := ownSource(t.Kind)
		for j := range t.Rounds {
			round := &t.Rounds[j]
			cost := m.cost(int32(round.Model), round.At, round.Usage)
			r.Calls++
			r.Usage.Add(round.Usage)
			r.CostByClass.Add(&cost)
			r.CallsBySource[src]++
			r.UsageBySource[src].Add(round.Usage)
			r.CostBySource[src].Add(&cost)
			r.PeakContext = max(r.PeakContext, round.Usage.Input())
			r.LoggedOutputUSD += loggedOutput(round, cost[costmodel.Output])
		}
		countEvents(&r, t)
	}
	r.Unpriced = m.unpriced
	return r
}

// loggedOutput returns what the output of a call cost as logged, given what its
// final or derived output cost, USD.
func loggedOutput(r *traces.Round, cost float64) float64 {
	if r.Usage.Output == 0 {
		return 0
	}
	return cost * float64(r.Logged) / float64(r.Usage.Output)
}

// countEvents adds what the recorded agent did to its context.
func countEvents(r *results.Row, t *traces.Thread) {
	compactions := 0
	for i := range t.Events {
		switch t.Events[i].Kind {
		case traces.EventCompact:
			compactions++
		case traces.EventMicrocompact:
			r.Microcompactions++
		}
	}
	r.Compactions += compactions
	r.Recompactions += max(0, compactions-1)
	r.ChainMax = max(r.ChainMax, compactions)
}
