package strategies

import (
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
)

// keepParams say which messages a compaction of all of them leaves as they are: the
// newest, after the summary, or the person's own, before it.
type keepParams struct {
	Rounds int     `yaml:"rounds" doc:"newest API rounds that stay" min:"0" off:"0"`
	Tokens int64   `yaml:"tokens" doc:"newest messages that stay, as many as have so many tokens" min:"0" off:"0"`
	Share  float64 `yaml:"share" doc:"newest messages that stay, as a share of the tokens of all, 0…1" min:"0" below:"1" off:"0"`
	User   int64   `yaml:"user_tokens" doc:"the person's own messages that stay, newest first, tokens; the one that passes them is cut, and the summary comes last" min:"0" off:"0"`
	Sent   bool    `yaml:"sent" doc:"the summary call is sent the newest messages all the same" needs:"rounds|tokens|share"`
}

// rules returns contradictions between the parameters.
func (k *keepParams) rules(partial direction) []error {
	n := 0
	for _, set := range []bool{k.Rounds > 0, k.Tokens > 0, k.Share > 0, k.User > 0} {
		if set {
			n++
		}
	}
	var errs []error
	if n > 1 {
		errs = append(errs, spec.Wrong("keep", "takes one of rounds, tokens, share and user_tokens"))
	}
	if n > 0 && partial != partialNone {
		errs = append(errs, spec.Wrong("keep", "has no effect: partial.direction says what is kept"))
	}
	return errs
}

// cut returns the position from which the newest messages among the entries [body, to)
// stay: to when none stays.
func (k *keepParams) cut(c *prompt.Context, body, to int) int {
	budget := k.Tokens
	switch {
	case k.Rounds > 0:
		return lastTurns(c, body, to, k.Rounds)
	case k.Share > 0:
		budget = int64(k.Share * float64(tokensBetween(c, body, to)))
	}
	if budget <= 0 {
		return to
	}
	i := to
	for i > body {
		at := legalCut(c, i-1, body)
		if tokensBetween(c, at, to) > budget {
			break
		}
		i = at
	}
	return i
}

// lastTurns returns the position at which the last n API rounds among the entries [body,
// to) begin; their input comes with the rounds before.
func lastTurns(c *prompt.Context, body, to, n int) int {
	i := to
	for ; n > 0 && i > body; n-- {
		for i > body && !c.At(i-1).Kind.Assistant() {
			i--
		}
		for i > body && c.At(i-1).Kind.Assistant() {
			i--
		}
	}
	return legalCut(c, i, body)
}

// keepUser drops from the entries [low, high) what the person did not write and what is
// over the budget, and returns the position after the rest.
func (k *keepParams) keepUser(c *prompt.Context, low, high int) int {
	left, end, kept := k.User, high, 0
	for i := high - 1; i >= low && left > 0; i-- {
		e := *c.At(i)
		if e.Kind != prompt.KindPrompt {
			continue
		}
		c.Replace(i+1, end, nil, prompt.CauseCompaction)
		if int64(e.Tokens) > left {
			c.SetForm(i, prompt.FormRange, int32(left), prompt.CauseCompaction)
		}
		left -= int64(e.Tokens)
		end = i
		kept++
	}
	c.Replace(low, end, nil, prompt.CauseCompaction)
	return low + kept
}

// measured adjusts what comes back after a summary of that many tokens to the size that
// the context has in recordings of the client, where the profile has one. The reminders
// that open the conversation come first, then what is attached, in order, then others
// that no parameter describes.
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

// fill cuts attachments to that many tokens, the last ones first, or fills up what is
// missing.
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
