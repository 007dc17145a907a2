package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// Markers stand on entries, each behind the one before.
func TestMarkersInOrder(t *testing.T) {
	for want, at := range map[string][]int32{
		"": {0, 2}, "marker 1 at position 1 is out of order": {1, 1}, "marker 1 at position 0 is out of order": {1, 0}, "marker 0 at position 3 is out of order": {3},
	} {
		l, th := new(Loop), &thread{Course: course.Course{Session: new(traces.Session), Trace: new(traces.Thread), Context: *contextOf(prompt.KindPrompt, 8000, 500, 300)}, replay: new(replay)}
		th.replay.loop = l
		th.hidden.Bind(&th.replay.hidden, &th.Course)
		l.request.Entries = th.Context.Seal()
		l.request.Markers = nil
		for _, p := range at {
			l.request.Markers = append(l.request.Markers, exchange.Marker{Position: p})
		}
		l.verify(th, &call{}, &exchange.Outcome{Usage: prompt.Usage{Uncached: 8800}, Effective: 8800})
		switch {
		case want == "" && l.err != nil:
			t.Errorf("%v: %v", at, l.err)
		case want != "" && (!errors.Is(l.err, ErrInvariant) || !strings.HasSuffix(l.err.Error(), want)):
			t.Errorf("%v: %v, want %q", at, l.err, want)
		}
	}
}

// A request weighs its context, 8,800 tokens, less what is deleted from the cached prefix, 500,
// through the last moment of its life and where a response has shown that there is one.
func TestDeletionsLightenWarmRequests(t *testing.T) {
	for _, tc := range []struct {
		what  string
		gap   int64
		usage prompt.Usage
		want  int64
	}{
		{"warm", 5 * minute, prompt.Usage{Read: 1}, 8300},
		{"cold", 5*minute + 1, prompt.Usage{Read: 1}, 8800},
		{"before a response", 0, prompt.Usage{}, 8800},
	} {
		l, th := new(Loop), &thread{Course: course.Course{Context: *contextOf(prompt.KindPrompt, 8000, 500, 300)}}
		th.Deleted.Delete(&th.Context, 1)
		l.clock.now, th.LastEnd, th.Usage = 1000*second, 1000*second-tc.gap, tc.usage
		if got := th.requestTokens(l.clock.now); got != tc.want {
			t.Errorf("%s: %d tokens, want %d", tc.what, got, tc.want)
		}
	}
}
