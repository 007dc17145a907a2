package live

import (
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

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

// held tells what the chain does not of a call that declares edits: which of the
// cleared calls and results the client has no more or not whole. It is zero where
// it has them all.
func held(c *prompt.Context) prompt.Digest {
	var d prompt.Digest
	for i := c.Messages(); i < c.Len(); i++ {
		e := c.At(i)
		if e.Form == prompt.FormCleared && (e.Kind == prompt.KindToolUse || e.Kind == prompt.KindToolResult) && e.Had != c.BlockAt(i).Tokens {
			d = d.ExtendInt(uint64(i)).ExtendInt(uint64(e.Had))
		}
	}
	return d
}

// restore puts into the block added last what the client still has of it. As it was,
// it is what the server is taken to leave.
func (p *composer) restore(had wire.Block) {
	b := &p.blocks[len(p.blocks)-1]
	left := b.block
	b.left = &left
	b.block.Text, b.block.Input = had.Text, had.Input
}

// left returns a request as the server is taken to leave it: the request itself
// where nothing is cleared in it.
func left(r *wire.Request, blocks []placed) *wire.Request {
	var rest []placed
	for i := range blocks {
		if blocks[i].left == nil {
			continue
		}
		if rest == nil {
			rest = append(rest, blocks...)
		}
		rest[i].block = *blocks[i].left
		rest[i].block.Cache = blocks[i].block.Cache
	}
	if rest == nil {
		return r
	}
	e := *r
	e.Messages = messages(rest)
	return &e
}
