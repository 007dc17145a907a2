package live

import (
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// placed is a block of a request, who says it, and the entry of the call's
// context that it shows.
type placed struct {
	at    int
	role  wire.Role
	block wire.Block
	// left is what the server is taken to leave of the block by the edits that are
	// declared; nil for all of it. Its breakpoint is the block's.
	left *wire.Block
}

// pair puts the results of tool calls where the API wants them: at once behind
// the message with the calls, ahead of anything else. A call without a result
// gets one that says so; a result without a call is left out.
func pair(in []placed, n *Composed) []placed {
	results := map[string]placed{}
	for _, p := range in {
		if _, twice := results[p.block.ID]; p.block.Kind == wire.KindToolResult && !twice {
			results[p.block.ID] = p
		}
	}
	given := len(in)
	out := make([]placed, 0, given)
	called := map[string]bool{}
	var open []placed
	answer := func() {
		for _, call := range open {
			r, ok := results[call.block.ID]
			if !ok {
				n.Unanswered++
				r = placed{at: call.at, role: wire.RoleUser, block: wire.Block{Kind: wire.KindToolResult, ID: call.block.ID, Text: missingResult}}
			}
			out = append(out, r)
		}
		open = open[:0]
	}
	uncalled := 0
	for _, p := range in {
		switch {
		case p.block.Kind == wire.KindToolResult:
			uncalled++
			answer()
			continue
		case p.block.Kind == wire.KindToolUse && called[p.block.ID]:
			n.Repeated++
			continue
		case p.block.Kind == wire.KindToolUse:
			called[p.block.ID] = true
			open = append(open, p)
			if _, ok := results[p.block.ID]; ok {
				uncalled--
			}
		case p.role == wire.RoleUser:
			answer()
		}
		out = append(out, p)
	}
	answer()
	n.Uncalled += uncalled
	return out
}

// alternate makes messages of blocks: neighbours of one role stand in one
// message, and a message of the user is the first and the last.
func alternate(blocks []placed) []placed {
	if len(blocks) == 0 || blocks[0].role == wire.RoleAssistant {
		at := 0
		if len(blocks) > 0 {
			at = blocks[0].at
		}
		first := placed{at: at, role: wire.RoleUser, block: wire.Block{Kind: wire.KindText, Text: leadingText}}
		blocks = append([]placed{first}, blocks...)
	}
	if last := blocks[len(blocks)-1]; last.role == wire.RoleAssistant {
		blocks = append(blocks, placed{at: last.at, role: wire.RoleUser, block: wire.Block{Kind: wire.KindText, Text: pausedText}})
	}
	return blocks
}

// messages groups blocks by who says them.
func messages(blocks []placed) []wire.Message {
	var list []wire.Message
	for _, p := range blocks {
		if n := len(list); n == 0 || list[n-1].Role != p.role {
			list = append(list, wire.Message{Role: p.role})
		}
		m := &list[len(list)-1]
		m.Blocks = append(m.Blocks, p.block)
	}
	return list
}

// mark puts cache breakpoints where the client has them: at the block that
// shows the marked entry, or at the last one ahead of it where that is not
// sent. Of two at one block the later one stays.
func mark(r *wire.Request, h headPlaces, blocks []placed, call *summarizer.Call) {
	markers := call.Markers
	if n := len(markers); n > prompt.MaxMarkers {
		markers = markers[n-prompt.MaxMarkers:]
	}
	for _, m := range markers {
		ttl := wire.Cache5m
		if m.TTL == prompt.TTL1h {
			ttl = wire.Cache1h
		}
		if b := breakpoint(r, h, blocks, call.Context, int(m.Position)); b != nil {
			*b = ttl
		}
	}
}

// breakpoint returns where the breakpoint of a marker at a position goes, nil
// where nothing ahead of it is sent.
func breakpoint(r *wire.Request, h headPlaces, blocks []placed, c *prompt.Context, at int) *wire.Cache {
	if at < 0 || at >= c.Len() {
		return nil
	}
	if c.At(at).Kind.Level() == prompt.LevelMessages {
		for i := len(blocks) - 1; i >= 0; i-- {
			if blocks[i].at <= at {
				return &blocks[i].block.Cache
			}
		}
	}
	for i := len(h.system) - 1; i >= 0; i-- {
		if n := len(r.System); h.system[i] <= at && n > 0 {
			return &r.System[min(i, n-1)].Cache
		}
	}
	if n := len(r.Tools); n > 0 && h.tools >= 0 && h.tools <= at {
		return &r.Tools[n-1].Cache
	}
	return nil
}
