package validate

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

func near(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Fatalf("%s: no figure, want %g", name, want)
	}
	if math.Abs(*got-want) > 1e-12 {
		t.Errorf("%s: %.15g, want %.15g", name, *got, want)
	}
}

func madeCall(session string, class Class, predicted, recorded, context int64, usd, want float64) Call {
	return Call{
		Session: session, Class: class, Context: context, Left: context, costs: costs{Priced: true, PredictedUSD: usd, ActualUSD: want},
		Predicted: prompt.Usage{Read: predicted}, Actual: prompt.Usage{Read: recorded},
	}
}

// Four later calls of hand-made sessions: two exact, one off by 5 of 1,000
// (within 1 %), one off by 500 of 1,000. Session a is predicted at 1.10 of its
// cost, b at 0.80.
func TestScoreOfKnownErrors(t *testing.T) {
	calls := []Call{
		madeCall("a", ClassFirst, 0, 900, 1000, 9, 1),
		madeCall("a", ClassToolResult, 990, 990, 1000, 1, 1),
		madeCall("a", ClassPrompt, 995, 990, 1000, 1.2, 1),
		madeCall("b", ClassToolResult, 1000, 1000, 1000, 0.5, 0.5),
		madeCall("b", ClassPrompt, 400, 900, 1000, 0.3, 0.5),
	}
	r := reportOn(ofSessions(calls...), 1)
	if r.Score.Calls != 4 || r.Score.Sessions != 2 {
		t.Fatalf("%d calls of %d sessions, want 4 of 2: first calls stand apart", r.Score.Calls, r.Score.Sessions)
	}
	near(t, "exact", r.Exact, 2.0/4)
	near(t, "within 1 %", r.Within1, 3.0/4)
	near(t, "token-weighted error", r.TokenErr, 505.0/4000)
	near(t, "median of |1.1−1| and |0.8−1|", r.Median, 0.15)
	near(t, "p90", r.P90, 0.1+0.9*0.1)
	near(t, "corpus 3.0/3.0", r.Corpus, 0)
	if len(r.Worst) != 1 || r.Worst[0].Predicted != 400 || r.Worst[0].Recorded != 900 {
		t.Errorf("worst calls %+v, want the one off by 500", r.Worst)
	}
}

// No figure is computed over an empty set.
func TestNothingOverAnEmptySet(t *testing.T) {
	r := reportOn(nil, 5)
	for name, x := range map[string]*float64{
		"exact": r.Exact, "within": r.Within1, "tokens": r.TokenErr, "median": r.Median, "p90": r.P90,
		"corpus": r.Corpus, "coverage": r.BandCoverage,
	} {
		if x != nil {
			t.Errorf("%s of no calls is %g, want none", name, *x)
		}
	}
	if len(r.Classes)+len(r.Versions) > 0 {
		t.Error("groups without calls")
	}
}

// Versions are listed by their numbers, an unknown one first.
func TestVersionsInOrder(t *testing.T) {
	var calls []Call
	for _, v := range []string{"2.1.49", "2.1.5", "", "0.144.2", "0.144.0-alpha.4"} {
		calls = append(calls, Call{Class: ClassToolResult, Version: v, Context: 100})
	}
	var got []string
	for _, g := range reportOn(ofSessions(calls...), 0).Versions {
		got = append(got, g.Name)
	}
	if want := []string{"unknown", "0.144.0-alpha.4", "0.144.2", "2.1.5", "2.1.49"}; !slices.Equal(got, want) {
		t.Errorf("versions are listed as %q, want %q", got, want)
	}
}

// A collapse is a shortfall of more than a tenth that nothing visible explains:
// not one behind an event, and not one whose changed head the model sees.
func TestCollapse(t *testing.T) {
	for _, tc := range []struct {
		class Class
		read  int64
		miss  exchange.MissClass
		want  bool
	}{
		{ClassPrompt, 899, exchange.MissNone, true},
		{ClassPrompt, 900, exchange.MissNone, false},
		{ClassToolResult, 0, exchange.MissNone, true},
		{ClassPrompt, 100, exchange.MissHead, false},
		{ClassExpiry, 0, exchange.MissExpiry, false},
		{ClassCompaction, 100, exchange.MissCompaction, false},
	} {
		c := madeCall("a", tc.class, 0, tc.read, 1000, 0, 0)
		c.Miss = tc.miss
		if got := c.Collapsed(); got != tc.want {
			t.Errorf("%v reading %d of 1000, miss %v: collapsed %v, want %v", tc.class, tc.read, tc.miss, got, tc.want)
		}
	}
}

// Wilson (1927): 0 of 10 gives 0…0.2775, 5 of 10 gives 0.2366…0.7634.
func TestWilson(t *testing.T) {
	for _, tc := range []struct {
		k, n      int
		low, high float64
	}{{0, 10, 0, 0.2775}, {5, 10, 0.2366, 0.7634}, {0, 0, 0, 1}} {
		e := profile.Share(tc.k, tc.n)
		if math.Abs(e.Low-tc.low) > 1e-4 || math.Abs(e.High-tc.high) > 1e-4 || e.N != tc.n {
			t.Errorf("profile.Share(%d, %d) = %+v, want %g…%g", tc.k, tc.n, e, tc.low, tc.high)
		}
	}
}

// ofSessions returns calls, which stand in the order of their sessions, by session.
func ofSessions(calls ...Call) (sessions [][]Call) {
	for i := range calls {
		if i == 0 || calls[i].Session != calls[i-1].Session {
			sessions = append(sessions, nil)
		}
		own := &sessions[len(sessions)-1]
		*own = append(*own, calls[i])
	}
	return sessions
}

// reportOn returns a report on sessions.
func reportOn(sessions [][]Call, worst int) *Report {
	r := newReport(worst)
	for _, own := range sessions {
		r.add(own)
	}
	r.finish()
	return r
}

// A report holds only as many of the calls that the model missed as it lists: the largest errors, and of equal ones the earlier.
func TestWorstOfManyCalls(t *testing.T) {
	var sessions [][]Call
	most := 0
	r := newReport(3)
	for i := range 5000 {
		c := Call{Session: fmt.Sprint(i), Class: ClassPrompt}
		c.Predicted.Read = int64(1 + i*7919%2500) // each error twice, 2500 apart
		sessions = append(sessions, []Call{c})
		r.add(sessions[i])
		most = max(most, len(r.Worst))
	}
	r.finish()
	var got []string
	for _, w := range r.Worst {
		got = append(got, fmt.Sprint(w.Session, " ", w.Predicted))
	}
	var want []string
	for size := int64(2500); len(want) < 3; size-- {
		for i, own := range sessions {
			if own[0].Predicted.Read == size && len(want) < 3 {
				want = append(want, fmt.Sprint(i, " ", size))
			}
		}
	}
	if !slices.Equal(got, want) || most > 2*3+spareWorst {
		t.Errorf("%v of %d held, want %v", got, most, want)
	}
}

// Sessions are folded in their order, whichever is predicted first.
func TestSessionsAreFoldedInOrder(t *testing.T) {
	var got []string
	f := folding{next: make([][]Call, 4), done: make([]bool, 4), fold: func(own []Call) { got = append(got, own[0].Session) }}
	for _, i := range []int{2, 0, 3, 1} {
		f.put(i, []Call{{Session: fmt.Sprint(i)}})
	}
	if want := []string{"0", "1", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("folded %v, want %v", got, want)
	}
}
