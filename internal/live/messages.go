package live

import (
	"slices"

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
	// left is what the server is assumed to leave of the block by the edits that are
	// declared; nil for all of it. Its breakpoint is the block's.
	left *wire.Block
}

// pair puts the results of tool calls where the API wants them: at once behind
// the message with the calls, ahead of anything else. A call without a result
// gets one that says so; a result without a call is left out.
func pair(in []placed, n *Composed) []placed {
	results, called := map[string]placed{}, map[string]bool{}
	for _, p := range in {
		if _, twice := results[p.block.ID]; p.block.Kind == wire.KindToolResult && !twice {
			results[p.block.ID] = p
		}
	}
	out := make([]placed, 0, len(in))
	var open []placed
	answer := func() {
		for _, call := range open {
			r, ok := results[call.block.ID]
			if !ok {
				n.Unanswered++
				r = placed{at: call.at, role: wire.RoleUser,
					block: wire.Block{Kind: wire.KindToolResult, ID: call.block.ID, Text: missingResult}}
			}
			out = append(out, r)
		}
		open = open[:0]
	}
	for _, p := range in {
		switch {
		case p.block.Kind == wire.KindToolResult:
			n.Uncalled++
			answer()
			continue
		case p.block.Kind == wire.KindToolUse && called[p.block.ID]:
			n.Repeated++
			continue
		case p.block.Kind == wire.KindToolUse:
			called[p.block.ID] = true
			open = append(open, p)
			if _, ok := results[p.block.ID]; ok {
				n.Uncalled--
			}
		case p.role == wire.RoleUser:
			answer()
		}
		out = append(out, p)
	}
	answer()
	return out
}

// alternate has a message of the user be the first and the last.
func alternate(blocks []placed) []placed {
	said := func(at int, text string) placed {
		return placed{at: at, role: wire.RoleUser, block: wire.Block{Kind: wire.KindText, Text: text}}
	}
	if len(blocks) == 0 {
		return []placed{said(0, leadingText)}
	}
	if blocks[0].role == wire.RoleAssistant {
		blocks = slices.Insert(blocks, 0, said(blocks[0].at, leadingText))
	}
	if last := blocks[len(blocks)-1]; last.role == wire.RoleAssistant {
		blocks = append(blocks, said(last.at, pausedText))
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

// whole reports whether an entry that is cleared in the context is sent as the client
// has it: the server clears it, by edits that the call declares. What the client has
// cleared itself it no longer has.
func (p *composer) whole(e prompt.Entry) bool {
	return len(p.plan.edits.tools) > 0 && e.Form == prompt.FormCleared && e.Had > 0
}

// had returns an entry that the server clears as the client has it: whole, or the
// beginning of what it has stored.
func had(e prompt.Entry, b *prompt.Block) prompt.Entry {
	e.Form, e.Tokens = prompt.FormVerbatim, e.Had
	if e.Had < b.Tokens {
		e.Form = prompt.FormRange
	}
	return e
}

// restore puts into the block added last what the client still has of it. As it was,
// it is what the server is assumed to leave.
func (p *composer) restore(had wire.Block) {
	b := &p.blocks[len(p.blocks)-1]
	left := b.block
	b.left = &left
	b.block.Text, b.block.Input = had.Text, had.Input
}

// left returns a request as the server is assumed to leave it: the request itself
// where nothing is cleared in it.
func left(r *wire.Request, blocks []placed) *wire.Request {
	if !slices.ContainsFunc(blocks, func(p placed) bool { return p.left != nil }) {
		return r
	}
	rest := slices.Clone(blocks)
	for i := range rest {
		if l := rest[i].left; l != nil {
			rest[i].block = *l
			rest[i].block.Cache = blocks[i].block.Cache
		}
	}
	e := *r
	e.Messages = messages(rest)
	return &e
}
