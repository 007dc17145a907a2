package head

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
)

// The head is another than the recording's where the client lays it out itself, or adds to it.
func TestLaidHead(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*client.Assembly)
		want   bool
	}{
		"as recorded":     {func(*client.Assembly) {}, false},
		"in sections":     {func(a *client.Assembly) { a.System.Split = client.SplitSections }, true},
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

// What grows by tokens grows by four bytes for each, and is never less than a token and
// no bytes.
func TestSwapOfAnEntry(t *testing.T) {
	for grow, want := range map[int32][2]int32{50: {150, 600}, -50: {50, 200}, -500: {1, 0}} {
		var c prompt.Context
		c.Reset([]prompt.Block{{Kind: prompt.KindSystem, Tokens: 100, Bytes: 400}}, new(prompt.Arena))
		c.Append(0)
		Swap(&c, 0, grow, prompt.Digest{Lo: 1}, prompt.CauseHead)
		if b := c.BlockAt(0); b.Tokens != want[0] || b.Bytes != want[1] {
			t.Errorf("by %d: %d tokens and %d bytes, want %v", grow, b.Tokens, b.Bytes, want)
		}
	}
}
