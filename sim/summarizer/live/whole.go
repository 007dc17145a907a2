package live

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer/wire"
)

// whole reports whether an entry that is cleared in the context is sent whole: the
// server clears it, the client has it as it was.
func (p *composer) whole(e prompt.Entry) bool {
	return p.plan.edits.whole && e.Form == prompt.FormCleared
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
