package hidden

import (
	"slices"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Now and then a call inside the lifetime loses its messages though nothing
// visible explains it. A prediction takes the likelier case, that it does not,
// and what the loss would have cost is added up beside it, times its rate. With
// draws the same rate decides whether the call loses them.

// LossRate returns the probability that the conversation's call under way loses
// what it would read of its messages. The first call of a thread has none to lose.
func (t *Thread) LossRate(model string, now int64) float64 {
	p, s := t.of.Fitted, t.of
	if p == nil || !t.Started {
		return 0
	}
	// At prompts Codex drops reasoning, of which no line says how much; prompts of others lose no more than tool results.
	asked := t.AnswersPerson() && (!s.Automatic || t.codex())
	c := profile.Case{Automatic: s.Automatic, Prompt: asked, Agent: t.Agent(), Gap: now - t.LastEnd, Ordinal: int(t.Round)}
	share, kept := p.Losses.Rate(&c)
	t.automatic.kept = kept
	if u := t.automatic.of(t.Current().Model); u != nil {
		share *= servers.LossesBehind(model, u.nothing)
	}
	if asked || t.Agent() || !agents.ClaudeCode(s.session) {
		times := s.lossTimes(p, t.Current(), model)
		if c.Gap <= profile.IdleSeconds*1e9 { // what a long pause loses the session's calls do not show
			times = p.Losses.Since(times, s.ownShown(t.Current(), model))
		}
		return min(1, share*times)
	}
	return min(1, share*s.ownTimes(p))
}

// ownTimes returns what conversations of the session's person lose after tool results in proportion to the share of everybody.
func (s *Session) ownTimes(p *profile.Profile) float64 {
	if s.own == 0 {
		s.own = p.OwnTimes(profile.Key(s.session.User()), profile.Key(prompt.DigestString(s.session.ID)))
	}
	return s.own
}

// lossTimes returns what calls of the session lose in proportion to the shares of the profile, which are Claude Code's own.
func (s *Session) lossTimes(p *profile.Profile, r *traces.Round, model string) float64 {
	if agents.ClaudeCode(s.session) {
		return 1
	}
	if of := (scaled{model, r.Gateway}); s.scaled != of {
		at := s.gatherShown(r, model)
		s.scaled, s.scale = of, p.TimesLost(&at).Times
	}
	return s.scale
}

// learnLost counts a call that has ended among those that show what the session loses.
func (s *Session) learnLost(t *Thread, r *traces.Round) {
	if t.Round == 0 || s.Fitted == nil || s.Blind || s.Named != nil || s.Abroad || agents.ClaudeCode(s.session) {
		return
	}
	way := prompt.Serving{}
	if s.Automatic {
		way = servers.ServingOf(servers.CallerOf(s.session, r), s.session.Models[r.Model])
		if u := t.automatic.of(r.Model); u != nil && u.ratio > 0 && way.Ratio > 0 {
			way.Ratio = u.ratio
		}
	}
	s.ownShown(r, s.session.Models[r.Model]).SeeCall(t.Trace, int(t.Round), way)
}

// ownLosses is what calls to a provider, through one gateway, show of a session's losses.
type ownLosses struct {
	provider string
	gateway  uint16
	profile.Shown
}

// ownShown returns what the session's own calls so far show where a round of a model goes: what one provider loses says nothing of the next.
func (s *Session) ownShown(r *traces.Round, model string) *profile.Shown {
	provider := promptcache.ProviderOf(model)
	for i := range s.shown {
		if o := &s.shown[i]; o.provider == provider && o.gateway == r.Gateway {
			return &o.Shown
		}
	}
	s.shown = append(s.shown, ownLosses{provider, r.Gateway, profile.Shown{Marked: !s.Automatic}})
	return &s.shown[len(s.shown)-1].Shown
}

// scaled is what a session's losses depend on.
type scaled struct {
	model   string
	gateway uint16
}

// gatherShown says what of other sessions tells about one of this session's calls, of a model.
func (s *Session) gatherShown(r *traces.Round, model string) profile.Shown {
	return profile.Shown{
		Agent: s.session.Agent, Provider: promptcache.ProviderOf(model), Gateway: profile.Name(servers.CallerOf(s.session, r).Gateway), Model: profile.Name(model), Series: profile.Series(s.Version),
		Session: profile.Key(prompt.DigestString(s.session.ID)), Marked: !s.Automatic,
	}
}

// Lost returns what a loss would take, tokens, of what a request reads.
func (t *Thread) Lost(q *prompt.Request, read int64) int64 {
	if t.of.Automatic {
		return int64((1 - t.automatic.kept) * float64(read))
	}
	return read - t.headTokens(q)
}

// headTokens returns the tokens before the messages of a request, up to its breakpoint.
func (t *Thread) headTokens(q *prompt.Request) int64 {
	at := t.Context.Messages() - 1
	if at < 0 {
		return 0
	}
	head := int64(q.Entries[at].Cum)
	for i := range q.Markers {
		if m := &q.Markers[i]; int(m.Position) == at {
			head += int64(m.Shift)
		}
	}
	return head
}

// A client that sums all its calls says of what a call reads whether another call can have cached it. Where the sum has no
// room for such a call (traces.Session.MayHide), nobody was billed for writing what a call read beyond all that was sent
// before: the server held it already, or counted more than the request had. It is read in every simulation too, and a call
// that does not read it, such as for a summary, does not send it. A call that was billed for reading alone says the same of itself.

// KnowsHeld reports whether the recording says what the server held before the call of the round under way, or of the last one.
func (t *Thread) KnowsHeld() bool {
	u := &t.Recent().Usage
	return t.Session.Summed && !t.of.Hides || u.Uncached+u.Writes() == 0
}

// alreadyHeld returns the tokens at the head of the round's request that were in the cache by that rule, 0 where it says nothing.
func (t *Thread) alreadyHeld() int32 {
	r := t.Current()
	if !t.KnowsHeld() {
		return 0
	}
	before, behind := t.Opening(), t.Opening() // what can have been cached of the recorded request, and the same of this one
	switch {
	case slices.ContainsFunc(t.Trace.Events, func(e traces.Event) bool { return e.Round == t.Round && e.Kind == traces.EventCompact }):
		if t.Chain == 0 {
			return 0 // the recording compacted here, and this strategy did not
		}
	case t.Round > 0:
		u := &t.Trace.Rounds[t.Round-1].Usage
		before, behind = u.Input()+u.Output, int64(t.Ahead())
	}
	surplus := r.Usage.Read - before
	if surplus <= 0 || behind == 0 && t.Round > 0 {
		return 0
	}
	return int32(min(behind+surplus, int64(t.Context.Tokens())))
}

// ReadHeld makes the thread's request read what the server held already, and notes the blocks among what it held that no line shows.
func (t *Thread) ReadHeld(q *prompt.Request) {
	n := t.alreadyHeld()
	if n == 0 || len(q.Markers) == 0 {
		return
	}
	q.Shared = max(q.Shared, n)
	t.unlogged.unsent = nil // what a branch took over from its parent stays the parent's
	for i := t.InputAt; i < len(q.Entries); i++ {
		if e := &q.Entries[i]; e.Kind == prompt.KindUnseen {
			t.unlogged.unsent = append(t.unlogged.unsent, e.Block)
		}
	}
}

// LeaveOut takes what the server held already, and a call beside the conversation does not read, out of its bill.
func (t *Thread) LeaveOut(entries []prompt.Entry, u *prompt.Usage) {
	if len(t.unlogged.unsent) == 0 {
		return
	}
	for i := range slices.Backward(entries) {
		e := &entries[i]
		if int64(e.Cum) <= u.Read {
			break
		}
		if slices.Contains(t.unlogged.unsent, e.Block) {
			left := min(int64(e.Tokens), int64(e.Cum)-u.Read)
			for _, from := range []*int64{&u.Uncached, &u.Write5m, &u.Write1h} {
				take := min(left, *from)
				*from, left = *from-take, left-take
			}
		}
	}
}
