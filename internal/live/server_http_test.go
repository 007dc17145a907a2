package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/devserver"
	"github.com/compactsim/compactsim/sim/prompt"
)

// A real server takes what strategies declare, clears what it is sent whole, and
// says so; it compacts on demand a conversation of any size.
func TestServerOverHTTP(t *testing.T) {
	clearing := Clearing{
		Thinking: &ClearThinking{Keep: 1},
		Tools:    []ClearTools{{InputTokens: 30_000, Keep: 3, AtLeast: 10_000, Only: []string{"Bash"}, Inputs: true}},
	}
	for _, tc := range []struct {
		what    string
		s       *script
		way     string
		o       Options
		cleared int64
		betas   []string
	}{
		{"edits", long("alpha"), "fork", Options{Clear: clearing}, 17, []string{api.BetaEditing}},
		{"edits that think", long("alpha"), "fork", Options{Clear: clearing, Settings: Settings{Thinking: "adaptive"}}, 17, []string{api.BetaEditing}},
		{"on demand", conversation("alpha"), wayServer, Options{Clear: clearing}, 0, []string{api.BetaOnDemand}},
	} {
		_, web := serve(t, devserver.Options{})
		call := tc.s.call()
		call.Intent.Way = tc.way
		for i := tc.s.context.Messages(); tc.way == "fork" && i < 30; i++ { // 14 results stand there, all cleared
			if tc.s.context.At(i).Kind == prompt.KindToolResult {
				tc.s.context.LeaveOut(i, 12)
			}
		}
		tc.o.Backend, tc.o.Texts = web, library(tc.s)
		l := newLive(t, tc.o)
		a := compose(t, l, call)
		if a.Failed != "" || a.Summary < 100 {
			t.Errorf("%s: %+v", tc.what, a)
			continue
		}
		c := l.opts.Shared.Report().Calls[0]
		if c.Cleared.ToolUses != tc.cleared || (c.Cleared.Input > 30_000) != (tc.cleared > 0) {
			t.Errorf("%s: cleared %+v, want %d results", tc.what, c.Cleared, tc.cleared)
		}
		if d := cmp.Diff(tc.betas, c.Betas); d != "" {
			t.Errorf("%s: betas %s", tc.what, d)
		}
	}
}
