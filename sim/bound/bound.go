// Package bound finds the cost of the cheapest schedule for a session whose
// future is known: the least that any strategy can reach that only chooses when
// to compact.
//
// Two replays show everything that a schedule can meet: one without a
// compaction, and one that compacts before every request. They determine what a
// call costs after a compaction: the prefix that it reads, the gap before it
// and what it adds are the same, and only the number of tokens before them
// differs. A dynamic program over (call, last compaction) finds the least sum.
// docs/bound.md lists the assumptions.
package bound

import (
	"fmt"
	"slices"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Bound is the least cost of a session, USD.
type Bound struct {
	// Below is a lower bound of the cost of every schedule.
	Below float64
	// Schedule are the rounds before which each thread compacts in the cheapest
	// schedule found, in order; Reached is its cost in the loop.
	Schedule [][]int32
	Reached  float64
	// Front has the same for each price of what is forgotten.
	Front []Point
}

// Point is the best result if each need that neither the context nor a fetch
// can answer costs so much.
type Point struct {
	// Below is a lower bound of the cost of every schedule plus the price of what it loses, USD.
	Below float64
	Row   results.Row // of the cheapest schedule found
}

// due says before which rounds of a thread an action is taken.
type due func(thread, round int32) bool

// action makes the strategy that takes an action by a schedule.
type action func(due) *strategies.Strategy

// Compact returns the bound over all schedules of compactions as p makes them,
// in the surroundings of a cell, whose strategy is ignored, and points of the
// front of cost and recall for prices of a lost need of weight 1, USD. These
// points need an index of what the session uses; without one there are none.
func Compact(c sim.Config, p strategies.CompactParams, s *traces.Session, prices ...float64) (*Bound, error) {
	with := func(p strategies.CompactParams) action {
		return func(f due) *strategies.Strategy { return strategies.Scheduled(p, f) }
	}
	x := &solver{prices: []float64{0}}
	if len(prices) > 0 && c.Needs != nil {
		if index := c.Needs(s); index != nil {
			x.prices = append(x.prices, prices...)
			x.losses(index, s, needs.Expected(c.Profile), p.Attachments.Files.Count > 0)
		}
	}
	below, schedules, err := x.find(c, s, with(p), with(p.WithoutFiles()))
	if err != nil {
		return nil, err
	}
	b := &Bound{Below: below[0], Schedule: schedules[0]}
	for i, schedule := range schedules {
		point := Point{Below: below[i]}
		same := func(o [][]int32) bool { return slices.EqualFunc(o, schedule, slices.Equal) }
		if at := slices.IndexFunc(schedules[:i], same); at >= 0 { // most prices change nothing
			point.Row = b.Front[at].Row
		} else if point.Row, err = reach(c, with(p), s, schedule); err != nil {
			return nil, err
		}
		b.Front = append(b.Front, point)
	}
	b.Reached = b.Front[0].Row.CostUSD()
	return b, nil
}

// Clear returns a lower bound, USD, of the cost of every schedule that clears in place the tool
// results of earlier requests: clearing all such results each time is never worse.
func Clear(c sim.Config, s *traces.Session) (float64, error) {
	below, _, err := (&solver{clears: true, prices: []float64{0}}).find(c, s, clearing, nil)
	if err != nil {
		return 0, err
	}
	return below[0], nil
}

func clearing(f due) *strategies.Strategy { return strategies.ScheduledClear(f) }

// find returns, by price, lower bounds of all schedules of an action, and the cheapest schedules. least is an action that leaves no
// more than any sequence of actions can; nil if act is one.
func (x *solver) find(c sim.Config, s *traces.Session, act, least action) (below []float64, schedules [][][]int32, err error) {
	x.session = s
	if agents.CacheOf(s, "") == facts.CacheAutomatic {
		x.coarse = automaticStep
	}
	c = unwatched(c)
	c.Agent, c.Needs = sim.Agent{}, nil // an agent that fetches nothing pays least
	if x.never, x.window, err = replay(c, act, s, func(int32, int32) bool { return false }); err != nil {
		return nil, nil, err
	}
	for _, act := range []action{least, act} {
		if act == nil {
			continue
		}
		if x.always, _, err = replay(c, act, s, func(int32, int32) bool { return true }); err != nil {
			return nil, nil, err
		}
		var usd []float64
		if usd, schedules = x.solve(); below == nil {
			below = usd
		}
	}
	return below, schedules, nil
}

// unwatched returns a configuration without what does not change what schedules cost. A request over the window is answered.
func unwatched(c sim.Config) sim.Config {
	c.Levels, c.Breaks, c.Verify, c.Overflow = sim.Levels{}, false, false, sim.OverflowAnswer
	return c
}

// reach simulates a session under a schedule: by thread, the rounds before
// which the action is taken.
func reach(c sim.Config, act action, s *traces.Session, schedule [][]int32) (results.Row, error) {
	c = unwatched(c)
	c.Strategy = act(func(thread, round int32) bool {
		_, found := slices.BinarySearch(schedule[thread], round)
		return found
	})
	row, err := sim.NewLoop(c).Run(s)
	if err != nil {
		return results.Row{}, fmt.Errorf("bound: %w", err)
	}
	return row, nil
}

// automaticStep is the coarsest step of reads from automatic caches, tokens
// (promptcache.Servings).
const automaticStep = 1024

// call is one request of a replay.
type call struct {
	usage    prompt.Usage
	context  int64
	expected int64
	miss     exchange.MissClass
	end      int64
	rate     costmodel.Rate
	limited  bool   // of the session's first model, whose window is known
	hidden   []call // calls that the client adds after it
}

// usd returns the cost of the call with a different usage.
func (c *call) usd(u prompt.Usage) float64 {
	cost := results.Cost(c.rate.Cost(&u))
	return cost.Total()
}

// thread has the calls of a thread: its own by round, and the calls of the compaction before each.
type thread struct {
	own       []call
	summaries [][]call
	acted     []bool // the action was taken before the call
}

// acts records where an action is taken. It observes nothing else.
type acts struct{ threads []thread }

func (a acts) Changed(p sim.Point, _ string, b strategies.Boundary) {
	if b.Kind.Compacts() || b.Cleared > 0 {
		a.threads[p.Thread].acted[p.Round] = true
	}
}
func (acts) Checked(sim.Point, strategies.Check)                            {}
func (acts) Answered(sim.Point, string, string, strategies.Outcome)         {}
func (acts) Served(sim.Point, string, *exchange.Request, *exchange.Outcome) {}

// replayed has the calls of a session under one schedule.
type replayed struct {
	threads []thread
}

// replay simulates a session under a schedule and returns its calls, and the
// window of its first model.
func replay(c sim.Config, act action, s *traces.Session, due due) (*replayed, int64, error) {
	r := &replayed{threads: make([]thread, len(s.Threads))}
	for i := range r.threads {
		r.threads[i].summaries = make([][]call, len(s.Threads[i].Rounds)+1)
		r.threads[i].acted = make([]bool, len(s.Threads[i].Rounds))
	}
	rates := rates{prices: c.Prices, at: c.PricesAt, start: s.StartTime(), known: map[string]costmodel.Price{}}
	c.Strategy, c.Observer = act(due), acts{r.threads}
	c.Record = func(rec *results.CallRecord) {
		t := &r.threads[rec.Thread]
		made := call{
			usage: rec.Usage, context: rec.Context, expected: rec.Expected, miss: rec.Miss, end: rec.End,
			rate: rates.of(rec.Model, rec.Start), limited: len(s.Models) > 0 && rec.Model == s.Models[0],
		}
		switch {
		case rec.Round >= 0:
			t.own = append(t.own, made)
		case rec.Source == measures.SourceCompact:
			at := min(len(t.own), len(t.summaries)-1)
			t.summaries[at] = append(t.summaries[at], made)
		default:
			at := len(t.own) - 1
			for at > 0 && t.own[at].end > rec.Start {
				at--
			}
			if at >= 0 {
				t.own[at].hidden = append(t.own[at].hidden, made)
			}
		}
	}
	loop := sim.NewLoop(c)
	if _, err := loop.Run(s); err != nil {
		return nil, 0, fmt.Errorf("bound: %w", err)
	}
	for i := range s.Threads {
		if len(r.threads[i].own) != len(s.Threads[i].Rounds) {
			return nil, 0, fmt.Errorf("bound of session %s: thread %d has calls that were not simulated", s.ID, i)
		}
	}
	return r, loop.Window(""), nil
}

// rates look up prices as the loop does.
type rates struct {
	prices sim.Prices
	at     time.Time // of all calls; zero: each at its own date
	start  time.Time
	known  map[string]costmodel.Price
}

// of returns the prices of a model for a call so many ns into the session; zero
// for a model without a price.
func (r *rates) of(model string, start int64) costmodel.Rate {
	at := r.at
	if at.IsZero() {
		at = r.start
		if !at.IsZero() && at.Unix() != 0 {
			at = at.Add(time.Duration(start))
		}
	}
	p, ok := r.known[model]
	if !ok || r.at.IsZero() && (!p.From.IsZero() && at.Before(p.From) || !p.Until.IsZero() && !at.Before(p.Until)) {
		p, _ = r.prices.Lookup(model, at)
		r.known[model] = p
	}
	return p.Standard()
}
