package validate

import (
	"context"
	"fmt"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Expect is what the input of a session's logged calls cost, and what the same requests
// cost on average with a cache that works, USD. First calls of threads are left out: what
// other sessions left in the cache decides them.
type Expect struct {
	Session            string
	BilledUSD, MeanUSD float64
	Excess             [NumCauses]Excess
	FirstUSD           float64                 // what first calls of threads cost beyond what was predicted
	Models             map[string]results.Cost // what all calls are predicted to cost, by model, output included
}

// HeadChanges returns before how many calls the system prompt or the tools seem to have
// changed, and of how many calls that is known.
func (e *Expect) HeadChanges() (changes, calls int) {
	for k := range e.Excess {
		calls += e.Excess[k].Calls
	}
	return e.Excess[CauseHead].Calls + e.Excess[CauseEvery].Calls, calls
}

// Against predicts every session by the profile of config, with the expected cost of
// losses, and holds the bill against it. Nothing that the sessions' calls read goes into a
// prediction, neither of their own session nor of others: a cache that breaks in all
// sessions leaves it where it was. Sessions without a priced call that can be predicted
// have no entry.
func Against(ctx context.Context, config loop.Config, workers int, sessions []*traces.Session) ([]Expect, error) {
	config = config.WithProfile(config.Profile)
	config.Blind = true
	o := Options{Config: config}
	found := make([]*Expect, len(sessions))
	err := parallel.Do(ctx, workers, len(sessions), func(i int) error {
		s, err := sessions[i].Load()
		if err != nil {
			return fmt.Errorf("predicting a bill: %w", err)
		}
		calls, _, err := o.session(s)
		if err != nil {
			return err
		}
		found[i] = expect(s.ID, calls)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []Expect
	for _, e := range found {
		if e != nil {
			list = append(list, *e)
		}
	}
	return list, nil
}

// expect sums up the calls of a session.
func expect(id string, calls []Call) *Expect {
	e := &Expect{Session: id, Models: map[string]results.Cost{}}
	every := constantReads(calls)
	for i := range calls {
		c := &calls[i]
		if !c.Priced {
			continue
		}
		cost := e.Models[c.Model]
		cost.Add(&c.cost)
		if e.Models[c.Model] = cost; !later(c) {
			e.FirstUSD += c.ActualUSD - c.PredictedUSD
			continue
		}
		e.BilledUSD += c.ActualUSD
		e.MeanUSD += c.PredictedUSD + c.LossUSD
		e.Excess[causeOf(c, every[i])].add(c)
	}
	if e.MeanUSD == 0 {
		return nil
	}
	return e
}
