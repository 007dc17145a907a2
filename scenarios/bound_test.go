package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

const boundText = `
schema: 1
bound: true
verify: true
strategies:
  - none
  - name: at
    preset: auto-compact/167k
    set:
      full-compact.trigger: {measure: client_tokens}
      full-compact.trigger.fixed: [60000, 100000, 140000]
`

// No threshold beats the bound on any session: the run would end with a violated
// invariant.
func TestBoundOfThresholds(t *testing.T) {
	r := run(t, expand(t, boundText))
	value := func(c *results.Cell, name string) float64 {
		m, _ := results.LookupMetric(name)
		v, ok := c.Value(m)
		if !ok {
			t.Errorf("%s: no %s", c.Cell, name)
		}
		return v
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Strategy != "at" {
			continue
		}
		below, found := value(c, "bound_usd"), value(c, "bound_reached_usd")
		if v := value(c, "regret_usd"); v < 0 || v != value(c, "cost_usd")-below || below <= 0 || found < below {
			t.Errorf("%s: regret $%.4f over a bound of $%.4f, which a schedule reaches with $%.4f", c.Cell, v, below, found)
		}
	}
}

// The bound looks at a session alone.
func TestBoundRefusesSharedCaches(t *testing.T) {
	p := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: expand(t, boundText+"sessions: {cohort: all}\n")}
	if _, err := p.Run(t.Context(), scenariostest.Samples(t)); err == nil || !strings.Contains(err.Error(), "sessions.cohort") {
		t.Errorf("error %v, want one that names sessions.cohort", err)
	}
}

// The front loses less the dearer a loss is, costs more, and no threshold lies beyond it. A closed
// loop has a bound too: the open loop's.
func TestFrontOfThresholds(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, loop := range []string{"never", "fitted"} {
		r := run(t, expand(t, boundText+"agent: {refetch: "+loop+"}\n"))
		if r.Front == nil || len(r.Front.Points) != 1+len(lossPrices) {
			t.Fatalf("%s: front %+v, want a point for no price and one for each", loop, r.Front)
		}
		points := r.Front.Points
		if last := points[len(points)-1]; last.Recall <= points[0].Recall || last.CostUSD <= points[0].CostUSD {
			t.Errorf("%s: a loss that costs nothing %+v, one that costs $%v %+v", loop, points[0], last.Price, last)
		}
		recall, _ := results.LookupMetric("needed_recall")
		for i := range r.Cells {
			c := &r.Cells[i]
			if v, ok := c.Value(recall); ok && c.Strategy == "at" && c.Total.CostUSD() < r.Front.Least(v) {
				t.Errorf("%s: %s costs $%.4f at a recall of %.3f, below the front at $%.4f",
					loop, c.Cell, c.Total.CostUSD(), v, r.Front.Least(v))
			}
		}
	}
}

// A run that is stopped while it seeks the bound has all rows and says what it lacks, also where a session was left out.
func TestInterruptedBound(t *testing.T) {
	for _, broken := range []bool{false, true} {
		corpus := sampleCorpus(t)
		if broken {
			breakSession(t, corpus.Sessions[0])
		}
		ctx, stop := context.WithCancel(t.Context())
		p := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: expand(t, boundText+"profile: none\n")}
		p.Done = func(finished, total int) {
			if finished == total {
				stop()
			}
		}
		r, err := p.Run(ctx, corpus)
		stop()
		if !errors.Is(err, context.Canceled) || errors.Is(err, sim.ErrInvariant) != broken || r == nil {
			t.Fatalf("broken %v: %v, %v", broken, r, err)
		}
		if got, want := fmt.Sprint(r.Workload.Remarks), "interrupted before the bound was found"; !strings.Contains(got, want) {
			t.Errorf("broken %v: remarks %s lack %q", broken, got, want)
		}
	}
}
