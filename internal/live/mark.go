package live

import (
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

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
