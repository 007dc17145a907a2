package validate

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// By hand: of six calls 20 s after the last response five read what was left, of five after 20 minutes none. A call behind a
// compaction tells nothing of the cache, and a point of fewer than five calls is left out.
func TestSurvival(t *testing.T) {
	call := func(age time.Duration, read int64, class Class) Call {
		return Call{Model: "claude-opus-4-6", TierKnown: true, TTL: prompt.TTL5m, Class: class, Gap: int64(age), Left: 1000, Actual: prompt.Usage{Read: read}}
	}
	var calls []Call
	for i := range 6 {
		calls = append(calls, call(20*time.Second, int64(900*min(i, 1)), ClassPrompt))
	}
	for range 5 {
		calls = append(calls, call(20*time.Minute, 899, ClassExpiry), call(20*time.Second, 0, ClassCompaction))
	}
	calls = append(calls, call(2*time.Hour, 0, ClassExpiry))
	got := (&Report{sessions: [][]Call{calls}}).Survival()
	if len(got) != 1 || got[0].Provider != "anthropic" || got[0].Calls != 11 || len(got[0].Points) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct{ seconds, share float64 }{{20, 0.8333}, {1200, 0}} {
		if p := got[0].Points[i]; p.Value != want.share || p.Seconds < want.seconds*0.999 || p.Seconds > want.seconds*1.001 || p.Low > p.Value || p.High < p.Value {
			t.Errorf("point %d: %+v, want %v", i, p, want)
		}
	}
}
