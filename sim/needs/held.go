package needs

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// What the recording's own context held decides what a simulated agent does otherwise: both lack a thing, and the
// recording shows what the agent did; only the simulated one lacks it, and the agent may fetch it; only the recorded one
// lacked it, and what the agent read again for that reason need not be read.

// Stayed returns the blocks before first, the first that came behind a recorded compaction, that stayed in the context
// word for word: a range that ends at first. kept is the tokens behind the compaction beside its summary.
func Stayed(s *traces.Session, e *traces.Event, first int32) traces.Span {
	if e.Preserved > 0 { // the client logs it
		block, line := first, int32(0)
		for n := e.Preserved; block > 0; block-- {
			if at := s.Blocks[block-1].Line; at != line {
				if n--; n < 0 {
					break
				}
				line = at
			}
		}
		return traces.Span{From: block, To: first}
	}
	if agents.Of(s.Agent).Keeps != traces.KeepsNewest {
		return traces.Span{From: first, To: first}
	}
	block, left := first, e.Kept
	for k := e.Summary.From; k < e.Summary.To; k++ {
		left -= s.Blocks[k].Tokens
	}
	for block > 0 && left >= s.Blocks[block-1].Tokens {
		left -= s.Blocks[block-1].Tokens
		block--
	}
	return traces.Span{From: block, To: first}
}

// enter notes that the recorded context has the blocks of a span.
func (b *builder) enter(span traces.Span) {
	for k := span.From; k < span.To; k++ {
		b.held[k] = true
	}
}

// happen carries out on the recorded context what the recording did to it before a round, and returns the first block of
// the round's input that did not go into it.
func (b *builder) happen(t *traces.Thread, e *traces.Event) int32 {
	if int(e.Round) >= len(t.Rounds) {
		return 0
	}
	in := t.Rounds[e.Round].Input
	first := in.From + e.Absorbed
	switch e.Kind {
	case traces.EventMicrocompact:
		for _, k := range e.Cleared {
			b.held[k] = false
		}
	case traces.EventCompact:
		b.enter(traces.Span{From: in.From, To: first})
		prompts := agents.Of(b.s.Agent).Keeps == traces.KeepsPrompts
		for k := range b.held[:Stayed(b.s, e, first).From] {
			b.held[k] = b.held[k] && prompts && b.s.Blocks[k].Kind == prompt.KindPrompt
		}
		b.brought = b.brought[:0]
		b.enter(t.Prefix)
		b.enter(e.Summary)
	}
	return first
}
