package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// ClosedForm is where it pays to compact by a formula: a context that grows steadily
// on a warm cache, for ever. What is read beyond the context a compaction leaves is
// its rent, r·g·n²/2 after n calls, and the best n is the one at which the rent of a
// cycle equals the price of its compaction.
type ClosedForm struct {
	Growth    float64 `json:"growth_tokens"` // of main conversations, a call
	Left      float64 `json:"left_tokens"`   // behind a compaction
	Tokens    float64 `json:"tokens"`        // where the formula compacts
	Simulated float64 `json:"simulated"`     // mean context at which the chosen setting does
	Cold      float64 `json:"cold_share"`    // of calls, behind a pause of more than five minutes
	Calls     int     `json:"median_calls"`  // of a main conversation
	Why       string  `json:"why,omitempty"` // the two differ by more than closeEnough
}

// closeEnough is how far the simulation may be from the formula without a word.
const closeEnough = 0.05

// Expectations of the formula: output and instruction of a summary call, tokens
// (medians of recorded compactions, summarizer.Default; instruction assumed).
const closedOutput, closedInstruction = 4900, 1500

// atCompactions adds up the contexts ahead of compactions and behind them.
type atCompactions struct{ n, before, after float64 }

func (a *atCompactions) Changed(_ sim.Point, _ string, b strategies.Boundary) {
	if b.Kind == strategies.BoundaryCompact && !b.Manual {
		a.n, a.before, a.after = a.n+1, a.before+float64(b.Before), a.after+float64(b.After)
	}
}

// Checked, Answered and Served take no notice.
func (*atCompactions) Checked(sim.Point, strategies.Check)                        {}
func (*atCompactions) Answered(sim.Point, string, string, strategies.Outcome)     {}
func (*atCompactions) Served(sim.Point, string, *prompt.Request, *prompt.Outcome) {}

// closedForm holds the formula against the threshold that was chosen; nil when none
// was, or nothing is known of it.
func (p *Plan) closedForm(ctx context.Context, sessions []*traces.Session, changes []Change) (*ClosedForm, error) {
	at := slices.IndexFunc(changes, func(c Change) bool { return c.at.setting.Group == "threshold" })
	if at < 0 {
		return nil, nil
	}
	c, err := p.Config(strategyOwn, []string{changes[at].Assign})
	if err != nil {
		return nil, err
	}
	seen := &atCompactions{}
	c.Needs, c.Observer = nil, seen
	if _, err := (sim.Runner{Workers: 1}).Run(ctx, sessions, []sim.Config{c}); err != nil {
		return nil, err
	}
	f := growthOf(sessions)
	rate := p.commonRate(sessions)
	if seen.n == 0 || f == nil || rate == nil || rate[results.ClassRead] <= 0 {
		return nil, nil
	}
	f.Simulated, f.Left = seen.before/seen.n, seen.after/seen.n
	write := max(rate[results.ClassWrite5m], rate[results.ClassWriteOther])
	price := f.Left*(write-rate[results.ClassRead]) + closedOutput*rate[results.ClassOutput] +
		closedInstruction*rate[results.ClassUncached]
	// A cycle of n calls reads n·left + g·n²/2 and ends with a call that reads it all:
	// per call that is least where g·n²/2 read once more equals the price.
	n := math.Sqrt(2 * (price + f.Left*rate[results.ClassRead]) / (f.Growth * rate[results.ClassRead]))
	f.Tokens = f.Left + f.Growth*n
	if d := f.Tokens/f.Simulated - 1; math.Abs(d) > closeEnough {
		f.Why = fmt.Sprintf("the formula knows one growth and no end: here %.0f %% of calls come behind a pause of more "+
			"than 5 minutes, and half of the conversations end within %d calls", 100*f.Cold, f.Calls)
	}
	return f, nil
}

// growthOf measures what the formula takes from main conversations; nil without
// growth.
func growthOf(sessions []*traces.Session) *ClosedForm {
	var grown, steps, cold, calls float64
	var lengths []int
	for _, s := range sessions {
		for i := range s.Threads {
			t := &s.Threads[i]
			if t.Kind != traces.ThreadMain || len(t.Rounds) == 0 {
				continue
			}
			lengths = append(lengths, len(t.Rounds))
			for r := range t.Rounds {
				calls++
				if r > 0 && t.Rounds[r].Wait > 5*60e9 {
					cold++
				}
				if r == 0 {
					continue
				}
				if d := t.Rounds[r].Usage.Input() - t.Rounds[r-1].Usage.Input(); d > 0 {
					grown, steps = grown+float64(d), steps+1
				}
			}
		}
	}
	if steps == 0 || grown == 0 {
		return nil
	}
	slices.Sort(lengths)
	return &ClosedForm{Growth: grown / steps, Cold: cold / calls, Calls: lengths[len(lengths)/2]}
}

// commonRate returns the prices of the model that most sessions begin with; nil when
// it has none.
func (p *Plan) commonRate(sessions []*traces.Session) *[results.NumClasses]float64 {
	counts := map[string]int{}
	most, at := "", sessions[0]
	for _, s := range sessions {
		if len(s.Models) == 0 {
			continue
		}
		m := s.Models[0]
		if counts[m]++; counts[m] > counts[most] || most == "" {
			most, at = m, s
		}
	}
	price, err := p.Prices.Lookup(most, at.StartTime())
	if err != nil {
		return nil
	}
	rate := price.Standard()
	prices := rate.PerMTok(0)
	return &prices
}
