package head

import (
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
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

// A log shows a system prompt of 8,000 bytes that goes on behind 500 tokens of tools. Its old text stays where the call read it, and is
// another block of a server that read none of it, as a gateway's own breakpoints leave no trace in bodies.
func TestPromptThatGoesOn(t *testing.T) {
	var c prompt.Context
	c.Reset([]prompt.Block{{Kind: prompt.KindTools, Tokens: 500}, {Kind: prompt.KindSystem, Tokens: 2000, Bytes: 8000}}, new(prompt.Arena))
	c.Append(0)
	c.Append(1)
	for read, want := range map[int64]int{0: 1, 500: 1, 2496: 2, 2500: 2} { // 2,496: in steps of 16 tokens
		r := traces.Round{Verdict: signs.VerdictSystem, Parted: 8001, Usage: prompt.Usage{Read: read, Uncached: 9000 - read}}
		if got := parting(&c, &r, 2); got != want {
			t.Errorf("%d tokens read: %d, want %d", read, got, want)
		}
	}
}
