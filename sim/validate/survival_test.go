package validate

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// By hand: of six calls 20 s after the last response five read what was left, of five after 20 minutes none. A call behind a
// compaction tells nothing of the cache, and a point of fewer than five calls is left out.
func TestSurvival(t *testing.T) {
	call := func(age time.Duration, read int64, class Class) Call {
		return Call{Model: "claude-opus-4-6", TierKnown: true, TTL: exchange.TTL5m, Class: class, Gap: int64(age), Left: 1000, Actual: prompt.Usage{Read: read}}
	}
	var calls []Call
	for i := range 6 {
		calls = append(calls, call(20*time.Second, int64(900*min(i, 1)), ClassPrompt))
	}
	for range 5 {
		calls = append(calls, call(20*time.Minute, 899, ClassExpiry), call(20*time.Second, 0, ClassCompaction))
	}
	calls = append(calls, call(2*time.Hour, 0, ClassExpiry))
	got := reportOn([][]Call{calls}, 0).Survival()
	if len(got) != 1 || got[0].Provider != "anthropic" || got[0].Calls != 11 || len(got[0].Points) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct{ seconds, share float64 }{{20, 0.8333}, {1200, 0}} {
		if p := got[0].Points[i]; p.Value != want.share || p.Seconds < want.seconds*0.999 || p.Seconds > want.seconds*1.001 || p.Low > p.Value || p.High < p.Value {
			t.Errorf("point %d: %+v, want %v", i, p, want)
		}
	}
}

// The cache of gpt-5.6-luna counts from the start of the request before, whoever calls: six calls 20 s after responses that took 100 s are
// two minutes old, in a curve of their own.
func TestSurvivalFromTheStart(t *testing.T) {
	var calls []Call
	for _, model := range []string{"gpt-5.6-luna", "gpt-5.6-sol"} {
		for i := range 12 {
			age := time.Duration(1+i%2*19) * time.Second
			calls = append(calls, Call{Agent: []string{"codex", "pi"}[i%2], Model: model, Class: ClassPrompt, Gap: int64(age), Since: 6 * int64(age),
				Left: 1000, Actual: prompt.Usage{Read: 1000}})
		}
	}
	got := reportOn([][]Call{calls}, 0).Survival()
	if len(got) != 2 || got[0].Model != "" || got[1].Model != "gpt-5.6-luna" || len(got[1].Points) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []float64{20, 120} {
		if at := got[i].Points[1].Seconds; at < want*0.999 || at > want*1.001 {
			t.Errorf("%q: the older calls are %.0f s old, want %.0f", got[i].Model, at, want)
		}
	}
}
