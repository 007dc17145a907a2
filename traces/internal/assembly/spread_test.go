package assembly

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Shares add up to any total that can be, and none has a part that is negative.
func TestSpread(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		total := Total{Read: r.Int64N(50_000), Write: r.Int64N(50_000), Output: r.Int64N(900)}
		if total.Input = total.Read + total.Write; r.IntN(2) == 0 {
			total.Input += r.Int64N(5000)
		}
		usages := make([]Usage, 1+r.IntN(5))
		calls := make([]Portion, len(usages))
		for i := range calls {
			calls[i] = Portion{Of: &usages[i], Context: r.Int64N(40_000), Before: r.Int64N(60_000)}
		}
		if err := total.Spread(calls); err != nil {
			t.Fatal(err)
		}
		var got prompt.Usage
		for i := range usages {
			u := &usages[i].Usage
			if min(u.Uncached, u.Read, u.Write5m, u.Output) < 0 || total.Input > 0 && !usages[i].Spread {
				t.Fatalf("seed %d: share %+v", seed, u)
			}
			got.Uncached, got.Read, got.Write5m, got.Output = got.Uncached+u.Uncached, got.Read+u.Read, got.Write5m+u.Write5m, got.Output+u.Output
		}
		if want := (prompt.Usage{Uncached: total.Input - total.Read - total.Write, Read: total.Read, Write5m: total.Write, Output: total.Output}); got != want {
			t.Fatalf("seed %d: %+v, want %+v", seed, got, want)
		}
	}
}

// What no estimate has is the head of every call, which later calls read.
func TestSpreadHead(t *testing.T) {
	usages := make([]Usage, 3)
	err := Total{Input: 30_600, Read: 20_300, Write: 10_300}.Spread([]Portion{{&usages[0], 100, 0}, {&usages[1], 200, 100}, {&usages[2], 300, 200}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []prompt.Usage{{Write5m: 10_100}, {Read: 10_100, Write5m: 100}, {Read: 10_200, Write5m: 100}} {
		if usages[i].Usage != want {
			t.Errorf("call %d: %+v, want %+v", i, usages[i].Usage, want)
		}
	}
}

func TestSpreadRefuses(t *testing.T) {
	for _, total := range []Total{{Input: -1}, {Input: 5, Read: 6}, {Input: 5, Read: 3, Write: 3}, {Input: 1 << 60}} {
		if err := total.Spread([]Portion{{Of: new(Usage)}}); err == nil || errors.Is(err, ErrNoCalls) {
			t.Errorf("%+v: %v", total, err)
		}
	}
	if err := (Total{Input: 5}).Spread(nil); !errors.Is(err, ErrNoCalls) {
		t.Error(err)
	}
	if err := (Total{}).Spread(nil); err != nil {
		t.Error(err)
	}
}
