package costmodel

import (
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
)

// The provider's table (facts, A11): 100,000 tokens take 11.5 s to the first
// token and 2.4 s from the cache. With the recordings' base of 1.71 s that is
// 97.9 µs and 6.9 µs a token.
func TestLatencyOfTheProvidersTable(t *testing.T) {
	l := Latency{Base: 1710 * time.Millisecond, PerFresh: 97900, PerCached: 6900}
	for _, tc := range []struct {
		usage prompt.Usage
		want  time.Duration
	}{
		{prompt.Usage{Uncached: 100_000}, 11_500 * time.Millisecond},
		{prompt.Usage{Write5m: 60_000, Write1h: 40_000}, 11_500 * time.Millisecond}, // a write is computed too
		{prompt.Usage{Read: 100_000}, 2_400 * time.Millisecond},
	} {
		if got := time.Duration(l.First(tc.usage)); got != tc.want {
			t.Errorf("%+v: %s to the first token, want %s", tc.usage, got, tc.want)
		}
	}
}

// The recordings: a hit on 100,000 tokens with 2,000 new ones and 300 of output
// takes 1.71 + 0.76 + 0.0608 = 2.5308 s to the first token and 4 s more to the
// end; the same prompt cold 1.71 + 3.1008 = 4.8108 s.
func TestDefaultLatency(t *testing.T) {
	l := DefaultLatency()
	hit := prompt.Usage{Read: 100_000, Write5m: 2_000, Output: 300}
	if got, want := time.Duration(l.First(hit)), 2530800*time.Microsecond; got != want {
		t.Errorf("a hit takes %s, want %s", got, want)
	}
	if got, want := time.Duration(l.Total(hit)), 6530800*time.Microsecond; got != want {
		t.Errorf("a hit takes %s in all, want %s", got, want)
	}
	if got, want := time.Duration(l.First(prompt.Usage{Write5m: 102_000})), 4810800*time.Microsecond; got != want {
		t.Errorf("a miss takes %s, want %s", got, want)
	}
	if errs := spec.Validate(l); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestZeroLatencyTakesNoTime(t *testing.T) {
	var l Latency
	if u := (prompt.Usage{Uncached: 9, Read: 99, Output: 999}); l.Total(u) != 0 || len(spec.Validate(l)) > 0 {
		t.Errorf("%d ns, errors %v", l.Total(u), spec.Validate(l))
	}
}

// All problems at once.
func TestLatencyValidate(t *testing.T) {
	l := Latency{Base: -1, PerFresh: 2 * time.Second, PerCached: -1, OutputRate: math.NaN()}
	if errs := spec.Validate(l); len(errs) != 4 {
		t.Errorf("%d problems, want 4: %v", len(errs), errs)
	}
}
