package audit

import (
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Of ten pauses of ten minutes, each behind 10,000 tokens more, the eight dearest are kept, the last one first. It lost 100,000 tokens,
// which cost $6.25 a million to write and $0.50 to read: $0.575.
func TestDearest(t *testing.T) {
	k := newScene("dear")
	for i := range int64(11) {
		k.call(10*minute, prompt.Usage{Write5m: 10_000 * (i + 1)})
	}
	prices := auditPrices(t)
	r := k.audit(t)
	if len(r.Dearest) != MostDearest {
		t.Fatalf("%d misses", len(r.Dearest))
	}
	x := r.Dearest[0]
	wantUSD(t, "the dearest", x.USD, 0.575)
	if x.Call != "dear:110" || x.Name != "dear:110" || x.Missed != 100_000 || x.Left != 100_000 || x.Cause != calls.CauseShortPause || x.Confidence != calls.Logged ||
		x.At != "2026-02-01 13:51" {
		t.Errorf("%+v", x)
	}
	if last := r.Dearest[MostDearest-1]; last.Missed != 30_000 {
		t.Errorf("the last has lost %d tokens, want 30,000", last.Missed)
	}
	same, err := Dearest([]*traces.Session{k.s}, prices, time.UTC)
	if err != nil || !slices.Equal(same, r.Dearest) {
		t.Errorf("%v, %v; want %v", same, err, r.Dearest)
	}
}
