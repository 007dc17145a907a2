package sim

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces/facts"
)

// A cache that the client makes with the first call is kept until an hour after the last, at
// $4.50 for a million tokens and hour (ai.google.dev, pricing): gemini-3-pro's. Every later call reads it.
func TestKeptCachesArePaidByTheHour(t *testing.T) {
	c := testConfig(t, "none")
	c.Server = func(facts.Cache) Server {
		return promptcache.NewExplicit(promptcache.ExplicitConfig{Lifetime: int64(time.Hour), Renew: 1 << 30})
	}
	b := newSession("s").turns(2, 0, 1000).turns(1, 100*second, 0)
	b.s.Models = []string{"gemini-3-pro"}
	row, calls := run(t, c, b.session())
	first, last := calls[0], calls[len(calls)-1]
	hours := float64(last.Start-first.Start)/3.6e12 + 1
	if want := float64(first.Usage.Input()) / 1e6 * hours * 4.5; math.Abs(row.Figures[measures.StorageUSD]-want) > 1e-12 {
		t.Errorf("storage $%.9f, want $%.9f", row.Figures[measures.StorageUSD], want)
	}
	usd := 0.0
	for i := range calls {
		usd += calls[i].Cost.Total()
		if i > 0 && calls[i].Usage.Read != first.Usage.Input() {
			t.Errorf("call %d: %+v", i, calls[i].Usage)
		}
	}
	if want := usd + row.Figures[measures.StorageUSD]; math.Abs(row.CostUSD()-want) > 1e-12 {
		t.Errorf("cost $%.9f, want that of calls and storage, $%.9f", row.CostUSD(), want)
	}
}
