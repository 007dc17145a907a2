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

// drawRemainder is the ordinal of the draw of what comes back beyond the parts.
const drawRemainder = 0

// remainder adds to what is attached a drawn remainder: what recordings of the client have
// beyond the parts. It returns its tokens, 0 where the profile has none. A compaction of a
// part, or of a sub-agent, has no remainder.
func (l *compact) remainder(t *Turn, attached []prompt.Ref) ([]prompt.Ref, int64) {
	s, c := &l.call, t.Context
	if !l.params.Remainder || t.Profile == nil || isAgent(t.Kind) || s.low != Body(c) || s.high != s.end {
		return attached, 0
	}
	tokens := t.Profile.BehindCompaction(t.Version, t.Draw(CompactName, drawRemainder))
	if tokens > 0 {
		attached = append(attached, c.Arena().Add(reminder("remainder", int32(tokens))))
	}
	return attached, tokens
}
