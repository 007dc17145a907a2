package traces

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// Breakpoints are the cache breakpoints that the body of a request carries, in order of position: the first N of At.
type Breakpoints struct {
	At [exchange.MaxMarkers]Breakpoint
	N  int8
}

// Breakpoint is the place of one cache breakpoint, told so that it has a meaning for a request whose messages a strategy has changed.
type Breakpoint struct {
	// Share is the part of the bytes of tools, or of the system prompt, that precedes the breakpoint, 0…1.
	Share float32
	// Message is how many messages follow the one with the breakpoint, adjacent messages of one role being one, and Block is how
	// many blocks of that message follow the marked one. From the start, Block is how many blocks of messages precede the
	// breakpoint, the marked one included.
	Message, Block uint16
	Level          prompt.Level
	TTL            exchange.TTL
	Start          bool // counted from the first message
}

// Add adds a breakpoint at the end of the list. Of more than a request may carry the last ones stay.
func (b *Breakpoints) Add(p Breakpoint) {
	if int(b.N) == len(b.At) {
		copy(b.At[:], b.At[1:])
		b.N--
	}
	b.At[b.N] = p
	b.N++
}

// Messages returns how many of the breakpoints are on messages.
func (b *Breakpoints) Messages() (n int) {
	for _, p := range b.At[:b.N] {
		if p.Level == prompt.LevelMessages {
			n++
		}
	}
	return n
}

// Breakpoints returns the breakpoints that the request of a round carries, nil where the recording does not show them.
func (s *Session) Breakpoints(r *Round) *Breakpoints {
	if r.Placement == 0 || int(r.Placement) > len(s.Placements) {
		return nil
	}
	return &s.Placements[r.Placement-1]
}
