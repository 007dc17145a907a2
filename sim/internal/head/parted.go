package head

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// ends is how many bytes at the end of a piece of the system prompt may be brackets, which are others where the text goes on.
const ends = 4

// Part gives the head what the requests of a log show at the round under way: other tools, or a system prompt that is another one from
// some byte on, and behind it what it has grown by, or without what it has lost. That happens under every strategy, unless it is what the recorded one makes of its
// context.
func (h *Head) Part() {
	r := h.course.Current()
	if r.Parted == 0 || h.own && !h.of.repeats {
		return
	}
	end := h.context.Messages()
	switch at := parting(h.context, r, end); {
	case at == end:
	case r.Verdict == signs.VerdictTools:
		list(h, r)
		h.changed()
	default:
		swap(h, at, max(r.Tools, 1-h.context.At(at).Tokens), prompt.DigestString("parted").ExtendInt(uint64(h.index)<<32|uint64(h.course.Round)))
		h.changed()
	}
	for b := r.Input.From; b < r.Input.To; b++ {
		if h.of.session.Blocks[b].Kind.Level() != prompt.LevelMessages {
			with := [1]prompt.Ref{prompt.Ref(b)}
			h.context.Replace(end, end, with[:], prompt.CauseHead)
			end++
			h.course.InputAt++
		}
	}
}

// list gives the head the list of tools of a round. One that was sent before is what it was, so that its cache is found again.
func list(h *Head, r *traces.Round) {
	b := *h.context.BlockAt(0)
	b.Tokens = max(1, h.context.At(0).Tokens+r.Tools)
	if b.Digest != h.listed.now {
		h.listed.first = b.Digest
	}
	b.Digest = h.listed.first
	if r.Parted > 1 {
		b.Digest = b.Digest.Extend(prompt.DigestString("parted").ExtendInt(uint64(h.index)<<32 | uint64(r.Parted)))
	}
	h.listed.now = b.Digest
	was, with := 1+h.context.At(0).ID, [1]prompt.Ref{h.context.Arena().Add(b)}
	h.context.Replace(0, 1, with[:], prompt.CauseHead)
	renamed(h, was, 1+h.context.At(0).ID)
}

// parting returns the position, up to the end of the head, from which on the log shows another head at a round.
func parting(c *prompt.Context, r *traces.Round, end int) int {
	switch r.Verdict {
	case signs.VerdictSystem:
	case signs.VerdictTools:
		return 0
	default:
		return end
	}
	at, _ := Stretch(c, prompt.LevelSystem)
	slack, unread := int32(ends), -r.Usage.Read
	if r.Placement > 0 || !r.Counted() {
		unread = math.MinInt64
	}
	if r.Placement > 0 { // a cache with breakpoints reads whole blocks, and one whose text goes on is another block
		slack = 0
	}
	for i := range at {
		unread += int64(c.At(i).Tokens)
	}
	for same := r.Parted - 1; same > 0 && at < end && c.BlockAt(at).Bytes <= same+slack; at++ {
		size := int64(c.At(at).Tokens)
		if unread += size; unread > size/2 { // where a gateway sets the breakpoints, the bill says up to where the server found the prompt
			break
		}
		same -= c.BlockAt(at).Bytes
	}
	return at
}

// edits reports whether a program changed its system prompt where it edited its messages: the prompt is then a part of what it makes of
// its context, as a summary is, and no other strategy has it.
func edits(t *traces.Thread) bool {
	return slices.ContainsFunc(t.Events, func(e traces.Event) bool {
		if e.Kind != traces.EventCompact && e.Kind != traces.EventMicrocompact || int(e.Round) >= len(t.Rounds) {
			return false
		}
		r := &t.Rounds[e.Round]
		return r.Parted > 0 && r.Verdict == signs.VerdictSystem
	})
}
