package assembly

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// A log that has one value for all reads is told where a cache would have read more: at least eight calls behind the first one, most of
// which were sent 8,800 tokens more before, or 1,024 where breakpoints end what is read. A program whose requests show that they mark the
// system prompt alone is not.
func TestConstantReads(t *testing.T) {
	for name, tc := range map[string]struct {
		model              string
		calls              int
		grows, read, write int64
		varies, head       bool
		want               int
	}{
		"one value":            {model: "gemini-3-flash", calls: 9, grows: 5000, read: 8144, want: 8},
		"few calls":            {model: "gemini-3-flash", calls: 8, grows: 5000, read: 8144},
		"another value":        {model: "gemini-3-flash", calls: 9, grows: 5000, read: 8144, varies: true},
		"within a block":       {model: "gemini-3-flash", calls: 9, grows: 500, read: 8144},
		"nothing":              {model: "gemini-3-flash", calls: 9, grows: 5000},
		"writes are not read":  {model: "claude-opus-5", calls: 9, grows: 5000, read: 8144, write: 5000, want: 8},
		"without writes":       {model: "claude-opus-5", calls: 9, grows: 600, read: 8144, want: 8},
		"only the head marked": {model: "claude-opus-5", calls: 9, grows: 5000, read: 8144, head: true},
	} {
		th := traces.Thread{}
		for i := range int64(tc.calls) {
			u := prompt.Usage{Read: tc.read, Write5m: tc.write, Uncached: 10_000 + tc.grows*i - tc.read - tc.write}
			if tc.varies && i == 5 {
				u.Read, u.Uncached = u.Read+10, u.Uncached-10
			}
			th.Rounds = append(th.Rounds, traces.Round{Usage: u})
		}
		s := traces.Session{Models: []string{tc.model}, Threads: []traces.Thread{th}}
		if tc.head {
			s.Placements = []traces.Breakpoints{{N: 1, At: [exchange.MaxMarkers]traces.Breakpoint{{Level: prompt.LevelSystem, Share: 1}}}}
		}
		if n, read := constant(&s); n != tc.want || n > 0 && read != tc.read {
			t.Errorf("%s: %d calls read %d tokens, want %d calls and %d", name, n, read, tc.want, tc.read)
		}
	}
}
