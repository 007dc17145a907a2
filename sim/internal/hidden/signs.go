package hidden

import (
	"slices"

	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// entryDesktop is the desktop client, which keeps no state when it is closed.
const entryDesktop = "claude-desktop"

// clues are what the lines of a thread have shown so far of what its client does
// with the next request.
type clues struct {
	thinking signs.Thinking
	ends     bool  // lines show when a turn ends
	searched bool  // tools were searched for
	hooked   int32 // 1 + id of the first entry after a hook of this turn, 0 for none
	lost     bool  // the request under way has another head
	altered  bool  // its messages differ from what was sent, from a hooked tool call on
	// applied are the rules that had something to say about the request under way.
	applied  profile.Set
	coming   profile.Set // the same for the next request
	wasPlain bool        // the last request went without thinking
	shrunk   bool        // the request under way shrank at a prompt
}

// Heed takes from the lines of a round's input what the client did to the
// request that no line shows, and does it to the context.
func (t *Thread) Heed() {
	u, r := &t.unlogged.clues, t.Current()
	u.lost, u.altered, u.applied, u.coming, u.shrunk = false, false, u.coming, 0, false
	u.thinking.Hear(t.Score().Content, r.Signs)
	if t.of.Profile == nil {
		return
	}
	defer func() { u.ends = u.ends || r.Signs.Has(signs.TurnEnd) }()
	if t.otherHead(r) {
		u.lost = true
		t.alter(0)
	}
	asked := r.Trigger == traces.TriggerPrompt
	if asked && u.hooked > 0 {
		i := slices.IndexFunc(t.Context.Seal(), func(e prompt.Entry) bool { return e.ID == u.hooked-1 })
		if i >= 0 && t.rule(profile.RuleHook) {
			u.altered = true
			t.alter(i)
		}
		u.hooked = 0
	}
	if (t.Round == 1 || t.Round == 2) && t.ofTeam() && t.rule(profile.RuleTeam) {
		u.altered = true
		t.alter(t.Context.Messages())
	}
	if r.Signs.Has(signs.Hook) && u.hooked == 0 && t.InputAt < t.Context.Len() {
		u.hooked = 1 + t.Context.At(t.InputAt).ID
	}
	if asked && t.Shrinks() && r.Signs&(signs.Resume|signs.Command) == 0 {
		u.shrunk = t.rule(profile.RuleShrink)
	}
}

// rule notes that a rule has something to say about the request, and reports
// whether it holds for the client.
func (t *Thread) rule(r profile.Rule) bool {
	t.unlogged.applied = t.unlogged.applied.With(r)
	return t.of.rules.Has(r)
}

// ofTeam reports whether the thread is the conversation of a teammate: another one opened it.
func (t *Thread) ofTeam() bool {
	return t.Trace.Kind == traces.ThreadMain && !t.Trace.MidContext && t.Trace.Rounds[0].Signs.Has(signs.Team)
}

// otherHead reports whether the client builds another head for the round's
// request than for the one before.
func (t *Thread) otherHead(r *traces.Round) bool {
	u := &t.unlogged
	switch {
	case !t.Started:
		return false
	case r.Trigger == traces.TriggerPrompt && u.ended && u.ends && t.Session.Entry == entryDesktop &&
		r.Signs&(signs.TurnEnd|signs.Interrupt) == 0:
		return t.rule(profile.RuleRestart)
	case !u.searched && t.Score().Searched:
		u.searched = true
		return t.rule(profile.RuleToolSearch)
	}
	return false
}

// alter gives the entry at a position another content of the same size: the
// client sends something else there from now on.
func (t *Thread) alter(i int) {
	if i < t.Context.Len() && t.Context.At(i).Form == prompt.FormVerbatim {
		cause := prompt.CauseHead
		if t.Context.At(i).Kind.Level() == prompt.LevelMessages {
			cause = prompt.CauseEdit
		}
		head.Swap(&t.Context, i, 0, prompt.DigestString("altered").ExtendInt(uint64(t.Round)), cause)
	}
}

const (
	// leastSteps is how many different reads tell a step from chance: the common divisor of the differences of
	// four random numbers is above one in one case of seven.
	leastSteps = 4
	// leastStep is the least step that counts as one, tokens: below it a read ends at any token.
	leastStep = 16
)

// steps estimates where the reads of a thread end, where no known grid explains them: the step is the greatest common
// divisor of the differences of its reads.
type steps struct {
	n      int   // different reads in a row
	last   int64 // read, tokens
	step   int64 // 0 before the second read
	behind int64 // least distance of a read from the end of the request before, tokens
}

// see adds a read behind a request, tokens.
func (s *steps) see(read, input int64) {
	if read <= 0 || read == s.last {
		return
	}
	if s.n > 0 {
		s.step = divisor(s.step, max(read-s.last, s.last-read))
	}
	if behind := max(0, input-read); s.n == 0 || behind < s.behind {
		s.behind = behind
	}
	s.n, s.last = s.n+1, read
}

// grid returns the estimate, once there are enough reads for one.
func (s *steps) grid() (prompt.Serving, bool) {
	switch {
	case s.n < leastSteps:
		return prompt.Serving{}, false
	case s.step < leastStep:
		return prompt.Serving{Step: 1, Lag: int32(s.behind)}, true
	}
	return prompt.Serving{Step: int32(s.step), Offset: int32(s.last % s.step), Lag: int32(s.behind)}, true
}

// divisor returns the greatest common divisor of two numbers that are not negative.
func divisor(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
