package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
)

// The window a client logged is the session's; a smaller one that the recording
// passed is not believed, and the model's is 200,000 then; what is asked for wins.
func TestWindow(t *testing.T) {
	s := newSession("s").turns(2, 0, 1000).session()
	for _, tc := range []struct{ asked, logged, want int64 }{
		{0, 0, 200_000}, {0, 121_600, 121_600}, {50_000, 121_600, 50_000}, {0, 100, 200_000},
	} {
		s.Window = tc.logged
		c := Config{Window: tc.asked}
		if got := c.window(clientOf(s, c.cache(s)), s, s.Models[0]); got != tc.want {
			t.Errorf("asked %d, logged %d: %d, want %d", tc.asked, tc.logged, got, tc.want)
		}
	}
}

// The head is another than the recording's where the client lays it out itself, or adds to it.
func TestLaidHead(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*client.Assembly)
		want   bool
	}{
		"as recorded":     {func(*client.Assembly) {}, false},
		"in sections":     {divided, true},
		"a marker":        {func(a *client.Assembly) { a.System.ToolMarker = client.ToolMarkerLast }, true},
		"tools of server": {func(a *client.Assembly) { a.System.MCPTools = 1 }, true},
		"a memory":        {func(a *client.Assembly) { a.System.AgentMemory.Tokens = 1 }, true},
	} {
		var a client.Assembly
		tc.change(&a)
		if got := Assemble(a, nil).laid; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
