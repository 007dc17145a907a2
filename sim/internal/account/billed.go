package account

import (
	"time"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Billed returns the row of what a session was billed: logged usage × price, without a
// model, with the summary calls that are logged and the calls that the client's own sum has
// beyond all lines. Outputs that the log does not have in full are derived. Prices hold at each
// call's date unless at is set.
func Billed(s *traces.Session, prices Prices, at time.Time) results.Row {
	r := results.Row{Strategy: "billed", Session: s.ID, Figures: results.Figures{measures.Sessions: 1}}
	m := Models{Numbers: Numbers{}, Prices: prices, At: at}
	m.Reset(s)
	for i := range s.Threads {
		t := &s.Threads[i]
		src := OwnSource(t.Kind)
		for j := range t.Rounds {
			round := &t.Rounds[j]
			cost := m.cost(int32(round.Model), round.At, &round.Usage)
			r.Bill(src, &round.Usage, &cost)
			r.Most(measures.PeakContext, round.Usage.Input())
			r.Figures[measures.LoggedOutputUSD] += loggedOutput(round, cost[measures.ClassOutput])
			r.Figures[measures.UnloggedWritesUSD] += m.unwritten(s, round)
			r.Figures[measures.SearchUSD] += m.search(s, int32(i), int32(j), round.At)
		}
		countEvents(&r, t)
	}
	for i := range s.Summaries {
		c := &s.Summaries[i]
		cost := m.cost(m.Named(c.Model, 0, s.StartTime()), s.Threads[c.Thread].Events[c.Event].At, &c.Usage)
		r.Bill(measures.SourceCompact, &c.Usage, &cost)
		r.Figures[measures.LoggedOutputUSD] += cost[measures.ClassOutput]
	}
	for i := range s.Unshown {
		c := &s.Unshown[i]
		cost := m.cost(m.Named(c.Model, 0, s.StartTime()), c.At, &c.Usage)
		r.Bill(unshownSource(c), &c.Usage, &cost)
		r.Figures[measures.LoggedOutputUSD] += cost[measures.ClassOutput]
	}
	for i := range s.Advice {
		c := &s.Advice[i]
		cost := m.cost(m.Named(c.Model, 0, s.StartTime()), s.Threads[c.Thread].Rounds[c.Round].At, &c.Usage)
		r.Bill(measures.SourceAdvisor, &c.Usage, &cost)
		r.Figures[measures.LoggedOutputUSD] += cost[measures.ClassOutput]
	}
	r.Figures[measures.UnpricedCalls] = float64(m.Unpriced)
	return r
}

// unshownSource returns who made a call that no line shows.
func unshownSource(c *traces.UnshownCall) measures.Source {
	if c.Summary() {
		return measures.SourceCompact
	}
	return measures.SourceOther
}

// search returns what the searches of the web cost that the server made in a recorded call, USD, which every strategy
// makes as well.
func (m *Models) search(s *traces.Session, thread, round int32, at int64) (usd float64) {
	for i := range s.Searches {
		c := &s.Searches[i]
		if c.Thread != thread || c.Round != round {
			continue
		}
		if model := int32(s.Threads[thread].Rounds[round].Model); m.rate(model, at) != nil {
			usd += float64(c.Times) * m.Of(model).search
		}
	}
	return usd
}

// unwritten returns by how much a call to an automatic cache costs more, USD, if it
// writes what it does not read.
func (m *Models) unwritten(s *traces.Session, r *traces.Round) float64 {
	if agents.Of(s.Agent).Cache(s.Models[r.Model]) != traces.CacheAutomatic {
		return 0
	}
	if rate := m.rate(int32(r.Model), r.At); rate != nil {
		return rate.Unwritten(r.Usage)
	}
	return 0
}

// loggedOutput returns what the output of a call cost as logged, given what its
// final or derived output cost, USD.
func loggedOutput(r *traces.Round, cost float64) float64 {
	if r.Usage.Output == 0 {
		return 0
	}
	return cost * float64(r.Logged) / float64(r.Usage.Output)
}

// countEvents adds what the recorded agent did to its context ahead of a call. What no call
// follows changed none, and a simulation has no call to replay it at.
func countEvents(r *results.Row, t *traces.Thread) {
	compactions := 0
	for i := range t.Events {
		if int(t.Events[i].Round) >= len(t.Rounds) {
			continue
		}
		switch t.Events[i].Kind {
		case traces.EventCompact:
			compactions++
		case traces.EventMicrocompact:
			r.Figures[measures.Microcompactions]++
		}
	}
	r.Figures[measures.Compactions] += float64(compactions)
	r.Figures[measures.Recompactions] += float64(max(0, compactions-1))
	r.Most(measures.ChainMax, int64(compactions))
}

// OwnSource is the source of a conversation's own calls.
func OwnSource(k traces.ThreadKind) measures.Source {
	switch k {
	case traces.ThreadBranch:
		return measures.SourceBranch
	case traces.ThreadMain:
		return measures.SourceMain
	}
	return measures.SourceAgent
}
