package reports

import (
	"testing"

	"github.com/compactsim/compactsim/internal/studies"
)

// Indices whose intervals overlap, or that are larger by themselves than in all, come from too few pairs of settings.
// Parameters without an effect and those of two strategies are not held against each other.
func TestFewPairsAreSaid(t *testing.T) {
	index := func(strategy, parameter string, first, total, low, high float64) studies.Index {
		return studies.Index{Strategy: strategy, Parameter: parameter, First: first, Total: total, TotalLow: low, TotalHigh: high}
	}
	idle := index("a", "idle", 0, 0, 0, 0)
	for _, c := range []struct {
		pairs int
		list  []studies.Index
		want  string
	}{
		{16, []studies.Index{idle, index("a", "x", 0.3, 0.5, 0.3, 0.8), index("a", "y", 0.3, 0.6, 0.4, 0.9)},
			"16 pairs are too few: which of x and y matters more is open; try --sensitivity 256."},
		{1024, []studies.Index{index("a", "x", 0.5, 0.4, 0.3, 0.45)},
			"1,024 pairs are too few: x makes more by itself than in all; try --sensitivity 4096."},
		{4096, []studies.Index{index("a", "x", 0.5, 0.5, 0.4, 0.6), index("a", "y", 0.5, 0.5, 0.4, 0.6)},
			"4,096 pairs are too few: which of x and y matters more is open."},
		{16, []studies.Index{idle, index("a", "idler", 0, 0, 0, 0), index("a", "x", 0.5, 0.55, 0.5, 0.6), index("a", "y", 0.4, 0.45, 0.4, 0.49),
			index("b", "x", 0.5, 0.55, 0.5, 0.6)}, ""},
	} {
		if got := fewPairs(&studies.Tuning{Pairs: c.pairs, Indices: c.list}); got != c.want {
			t.Errorf("%d pairs: %q, want %q", c.pairs, got, c.want)
		}
	}
}
