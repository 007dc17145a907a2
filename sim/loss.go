package sim

import (
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Now and then a call inside the lifetime loses its messages though nothing
// visible explains it. A prediction takes the likelier case, that it does not,
// and what the loss would have cost is added up beside it, times its rate. With
// draws the same rate decides whether the call loses them.

// lossRate returns the probability that the conversation's call under way loses
// what it would read of its messages. The first call of a thread has none to lose.
func (l *Loop) lossRate(t *thread, model string) float64 {
	p, s := l.config.Profile, t.replay
	if p == nil || !t.Started {
		return 0
	}
	// At prompts Codex drops reasoning, of which no line says how much; prompts of others lose no more than tool results.
	asked := t.AnswersPerson() && (!s.automatic || t.codex())
	c := profile.Case{Automatic: s.automatic, Prompt: asked, Agent: t.Agent(), Gap: l.clock.now - t.LastEnd, Ordinal: int(t.Round)}
	share, kept := p.Losses.Rate(&c)
	t.automatic.kept = kept
	if u := t.automatic.of(t.Current().Model); u != nil {
		share *= servers.LossesBehind(model, u.nothing)
	}
	if asked || t.Agent() || !agents.ClaudeCode(s.session) {
		return min(1, share*s.lossTimes(p, t.Current(), model))
	}
	return min(1, share*s.ownTimes(p))
}

// ownTimes returns what conversations of the session's person lose after tool results in proportion to the share of everybody.
func (s *replay) ownTimes(p *profile.Profile) float64 {
	if s.own == 0 {
		s.own = p.OwnTimes(profile.Key(s.session.User()), profile.Key(prompt.DigestString(s.session.ID)))
	}
	return s.own
}

// lossTimes returns what calls of the session lose in proportion to the shares of the profile, which are Claude Code's own.
func (s *replay) lossTimes(p *profile.Profile, r *traces.Round, model string) float64 {
	if agents.ClaudeCode(s.session) {
		return 1
	}
	if of := (scaled{model, r.Gateway}); s.scaled != of {
		at := s.gatherShown(r, model)
		s.scaled, s.scale = of, p.TimesLost(&at).Times
	}
	return s.scale
}

// scaled is what a session's losses depend on.
type scaled struct {
	model   string
	gateway uint16
}

// gatherShown says what of other sessions tells about one of this session's calls, of a model.
func (s *replay) gatherShown(r *traces.Round, model string) profile.Shown {
	return profile.Shown{
		Agent: s.session.Agent, Provider: promptcache.ProviderOf(model), Gateway: profile.Name(servers.CallerOf(s.session, r).Gateway), Model: profile.Name(model), Series: profile.Series(s.version),
		Session: profile.Key(prompt.DigestString(s.session.ID)), Marked: !s.automatic,
	}
}

// expectLoss adds to the row what the call that was just served would cost more if it
// read only what comes before the messages, times the probability of that. What it does
// not read it writes, or sends uncached if it writes nothing.
func (l *Loop) expectLoss(t *thread, model int32, rate float64, u *prompt.Usage) {
	if rate <= 0 {
		return
	}
	lost := u.Read - l.headTokens(t)
	if t.replay.automatic {
		lost = int64((1 - t.automatic.kept) * float64(u.Read))
	}
	if lost <= 0 {
		return
	}
	price := t.replay.models.rate(model, t.replay.date(l.clock.now))
	if price == nil {
		return
	}
	p := price.PerToken(u.Input())
	t.replay.row.Figures[results.ExpectedLossUSD] += rate * float64(lost) * max(0, p[writtenAs(u)]-p[results.ClassRead])
}

// headTokens returns the tokens before the messages of the request under way, up to its
// breakpoint.
func (l *Loop) headTokens(t *thread) int64 {
	at := t.Context.Messages() - 1
	if at < 0 {
		return 0
	}
	head := int64(l.request.Entries[at].Cum)
	for i := range l.request.Markers {
		if m := &l.request.Markers[i]; int(m.Position) == at {
			head += int64(m.Shift)
		}
	}
	return head
}
