// Package validate compares the model with recordings: every call of the
// recorded conversation is predicted and compared with the bill.
//
// The policy is recorded: compactions, microcompactions, model switches, rewinds
// and sub-agents happen where the recording has them, and the total of every
// request is the recording's. What is predicted is how the server split it into
// read, written and uncached tokens. First calls of a thread are kept apart:
// what other sessions left in the cache decides them.
package validate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/signs"
)

// Options say how to validate.
type Options struct {
	// Config is the cell that predicts: the recorded strategy on the modelled
	// server. Its Record is replaced. It has the profile to predict with, nil for
	// the plain cache.
	Config sim.Config
	// ConfigFor, if not nil, gives each session its own cell, as the folds of a
	// cross-validation need.
	ConfigFor    func(*traces.Session) sim.Config
	Workers      int    // sessions at once; 0 for one per core
	Worst        int    // calls listed
	Replications int    // runs with random draws, for bands; 0 for none
	Model        string // the parts of the model that are on, for the report
	Automatic    string // the same where the caches of all sessions are automatic; "" for Model
	Profile      string // name of the profile
	// Calls has Report.Calls and Report.CheckCompactions know every call. Without it a report holds sums alone: a call takes 456 bytes.
	Calls bool
	// DrawnFor returns the cell of a session's replications, with everything random drawn. Each has a seed of its own.
	DrawnFor func(*traces.Session) sim.Config
}

// DefaultWorst is the usual number of calls that a report lists.
const DefaultWorst = 20

// Run predicts every call of the sessions and compares. Sessions that cannot be
// compared are listed in the report with the reason, not dropped.
func Run(ctx context.Context, o Options, sessions []*traces.Session) (*Report, error) {
	r := newReport(o.Worst)
	r.keep = o.Calls
	inOrder := folding{next: make([][]Call, len(sessions)), done: make([]bool, len(sessions)), fold: r.add}
	skipped, unshown := make([]string, len(sessions)), make([]Unshown, len(sessions))
	marked := make([]bool, len(sessions)) // the session's cache is not automatic
	err := parallel.Do(ctx, o.Workers, len(sessions), func(i int) error {
		s, err := sessions[i].Load()
		if err != nil {
			return fmt.Errorf("validate: %w", err)
		}
		marked[i] = !agents.Automatic(s)
		var calls []Call
		calls, skipped[i], unshown[i], err = o.session(s)
		inOrder.put(i, calls)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.finish()
	if r.Model, r.Profile = o.Model, o.Profile; o.Automatic != "" && !slices.Contains(marked, true) {
		r.Model = o.Automatic
	}
	r.profileFor = func(s *traces.Session) *profile.Profile { return o.configFor(s).Profile }
	for i := range unshown {
		if u := &unshown[i]; u.Sessions > 0 {
			if r.Unshown == nil {
				r.Unshown = new(Unshown)
			}
			r.Unshown.add(u)
		}
	}
	for i, why := range skipped {
		if why != "" {
			r.Skipped = append(r.Skipped, Skipped{sessions[i].ID, why})
		}
	}
	if o.Replications > 0 && o.DrawnFor != nil {
		if err := r.Replicate(ctx, o, sessions); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// folding folds the calls of sessions in the order of the sessions, whichever is predicted first, so that sums have the same last digit.
type folding struct {
	mu   sync.Mutex
	next [][]Call
	done []bool
	at   int
	fold func([]Call)
}

// put folds the i-th session, if all before it are folded, and those that waited for it.
func (f *folding) put(i int, calls []Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[i], f.done[i] = calls, true
	for ; f.at < len(f.done) && f.done[f.at]; f.at++ {
		f.fold(f.next[f.at])
		f.next[f.at] = nil
	}
}

// configFor returns the cell that predicts a session.
func (o *Options) configFor(s *traces.Session) sim.Config {
	if o.ConfigFor != nil {
		return o.ConfigFor(s)
	}
	return o.Config
}

// session predicts the calls of one session. Calls without recorded usage are left
// out, and a session whose counts no server gives, with a reason.
func (o *Options) session(s *traces.Session) (list []Call, skipped string, unshown Unshown, err error) {
	if why := profile.Invented(s); why != "" {
		return nil, why, unshown, nil
	}
	config := o.configFor(s)
	table := calls.Of(s, config.Prices)
	row, err := predict(table, config)
	if err != nil {
		return nil, "", unshown, fmt.Errorf("validate: %w", err)
	}
	if s.Summed {
		unshown = Unshown{Sessions: 1, ModelUSD: row.CostBy(measures.SourceCompact).Total() + row.CostBy(measures.SourceOther).Total()}
		for i := range s.Unshown { // behind logged summaries, in the same order
			switch usd := table.Apart[len(s.Summaries)+i].Cost.Total(); {
			case s.Given(&s.Unshown[i]):
				unshown.GivenUSD, unshown.ModelUSD = unshown.GivenUSD+usd, unshown.ModelUSD-usd
			default:
				unshown.BilledUSD += usd
			}
		}
	}
	list = make([]Call, 0, s.NumCalls())
	without, lost, spread := 0, 0, 0
	for _, thread := range table.Threads {
		for i := range thread {
			l := &thread[i]
			switch {
			case l.Recorded.Usage.Input() == 0:
				without++
				continue
			case l.Predicted == nil:
				lost++
				continue
			}
			c := callOf(l)
			if c.Spread {
				spread++
			}
			c.Predicted, c.Miss, c.Rules = input(l.Predicted.Usage), l.Predicted.Miss, l.Predicted.Rules
			c.cost = l.Predicted.Cost
			c.price(l.Model)
			list = append(list, c)
		}
	}
	// Distribute the average cost of losses of a session among its calls, in proportion to their predicted cost.
	usd := row.Figures[measures.ExpectedLossUSD]
	sum := 0.0
	for i := range list {
		if later(&list[i]) {
			sum += list[i].PredictedUSD
		}
	}
	for i := range list {
		if c := &list[i]; later(c) && sum > 0 {
			c.LossUSD = usd * c.PredictedUSD / sum
		}
	}
	return list, reasons(len(list), without, lost, spread), unshown, nil
}

// predict predicts a table. A blind prediction treats the client as one that asks for the cache,
// whatever the recording's client did.
func predict(table *calls.Table, config sim.Config) (results.Row, error) {
	config.Found = false
	asking := asksForCache(table.Session)
	if !config.Blind || asking == nil {
		return sim.Predict(table, config)
	}
	other := calls.Of(asking, config.Prices)
	row, err := sim.Predict(other, config)
	for i := range table.Threads {
		for r := range table.Threads[i] {
			table.Threads[i][r].Predicted = other.Threads[i][r].Predicted
		}
	}
	return row, err
}

// asksForCache returns a copy of a session whose calls write to the cache what they were billed as plain
// input beyond a tail; nil if none was.
func asksForCache(s *traces.Session) *traces.Session {
	if agents.Automatic(s) || agents.Unwritten(s) {
		return nil
	}
	var own *traces.Session
	for i := range s.Threads {
		var hour bool
		for r := range s.Threads[i].Rounds {
			u := s.Threads[i].Rounds[r].Usage
			if hour = hour || u.Write1h > 0; u.Uncached <= signs.MaxTail {
				continue
			}
			if own == nil {
				again := *s
				again.Threads, own = slices.Clone(s.Threads), &again
			}
			if t := &own.Threads[i]; &t.Rounds[0] == &s.Threads[i].Rounds[0] {
				t.Rounds = slices.Clone(t.Rounds)
			}
			mine := &own.Threads[i].Rounds[r].Usage
			if mine.Uncached = 0; hour {
				mine.Write1h += u.Uncached
			} else {
				mine.Write5m += u.Uncached
			}
		}
	}
	return own
}

func reasons(kept, without, lost, spread int) string {
	switch {
	case kept+without+lost == 0:
		return "no calls"
	case lost > 0:
		return numbers.Counted(lost, "call was not reached", "calls were not reached")
	case without > 0 && spread == 0:
		return numbers.Counted(without, "call", "calls") + " without recorded usage"
	case spread > 0:
		text := numbers.Counted(spread, "call whose input is recorded in sum is", "calls whose input is recorded in sum are") +
			" compared by the cost of the session alone"
		if without > 0 {
			text += ", without " + numbers.Counted(without, "more call that has", "more calls that have") + " no recorded usage"
		}
		return text
	case kept == 1:
		return "one call only, and that is a first call"
	}
	return ""
}

// price fills in what the input of a call costs at its date, USD.
func (c *Call) price(m *calls.Price) {
	usd := func(u prompt.Usage) float64 {
		cost := m.Of(u)
		return cost.Total()
	}
	read, unread := c.Predicted, c.Predicted
	read.Read = min(c.Left, c.Context)
	read.Uncached += c.Predicted.Read - read.Read
	unread.Uncached, unread.Read = unread.Uncached+unread.Read, 0
	c.ifRead.left, c.ifRead.nothing = usd(read), usd(unread)
	c.PredictedUSD, c.ActualUSD, c.NaiveUSD, c.Priced = usd(c.Predicted), usd(c.Actual), usd(c.Naive), m.Known
}

// Drawn returns a configuration with a profile and everything random drawn.
func Drawn(c sim.Config, p *profile.Profile) sim.Config {
	c = c.WithProfile(p)
	c.ByDraws = true
	return c
}
