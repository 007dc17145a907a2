package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// measured brings what comes back behind a summary of so many tokens to the size
// that the context has in recordings of the client, as far as the profile tells
// one. The reminders the conversation opens with come back first, then what is
// attached, in its order, then others that no parameter describes.
func (l *compact) measured(t *Turn, summary int64, attached []prompt.Ref) []prompt.Ref {
	s, c := &l.call, t.Context
	body := Body(c)
	if !l.params.Measured || t.Profile == nil || isAgent(t.Kind) || s.low != body || s.high != s.end {
		return attached
	}
	size := t.Profile.ContextBehind(t.Version, tokensBetween(c, 0, body))
	if size == 0 {
		return attached
	}
	room := size - tokensBetween(c, 0, c.Messages()) - summary
	for i := s.end; i < c.Len(); i++ {
		if c.At(i).Kind == prompt.KindAttachment {
			room -= int64(c.At(i).Tokens) // came back in the recording
		}
	}
	room = max(0, room)
	return fill(c, attached, room-fitReminders(c, body, room))
}

// fill cuts attachments to so many tokens, the last ones first, and makes up for
// what is missing.
func fill(c *prompt.Context, attached []prompt.Ref, room int64) []prompt.Ref {
	for i, ref := range attached {
		if room <= 0 {
			return attached[:i]
		}
		b := *c.Block(ref)
		if int64(b.Tokens) > room {
			m := memoryOf(&b)
			cut := m.block(int32(room))
			cut.Object, cut.Op, cut.Tool, cut.Flags = b.Object, b.Op, b.Tool, b.Flags
			attached[i] = c.Arena().Add(cut)
		}
		room -= min(room, int64(b.Tokens))
	}
	if room > 0 {
		attached = append(attached, c.Arena().Add(reminder("measured", int32(room))))
	}
	return attached
}

// tokensOf returns the tokens of blocks.
func tokensOf(c *prompt.Context, refs []prompt.Ref) int64 {
	var n int64
	for _, ref := range refs {
		n += int64(c.Block(ref).Tokens)
	}
	return n
}
