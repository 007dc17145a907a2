package loop

import (
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/internal/serving/promptcache"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
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
	if p == nil || !t.started {
		return 0
	}
	c := profile.Case{Version: s.version, Model: model, Prompt: t.answersPerson(), Agent: t.agent(), Gap: l.clock.now - t.lastEnd, Ordinal: int(t.round)}
	early := c.Prompt
	var share float64
	if s.automatic {
		if early = c.Ordinal <= profile.EarlyCalls; !t.codex() {
			c.Model = "" // OtherLosses is in proportion to the share of all models
		}
		share, t.automatic.kept = p.Codex.LossFor(&c)
	} else {
		share = p.LossRate(&c)
	}
	return min(1, share*s.lossTimes(p, model, early))
}

// lossTimes returns what early or later calls of the session lose in proportion to the shares
// of the profile.
func (s *replay) lossTimes(p *profile.Profile, model string, early bool) float64 {
	if s.scaled != model {
		s.scaled, s.scale = model, s.lossScales(p, model)
	}
	if early {
		return s.scale[0]
	}
	return s.scale[1]
}

func (s *replay) lossScales(p *profile.Profile, model string) [2]float64 {
	key := profile.Key(prompt.DigestString(s.session.ID))
	switch {
	case agents.ClaudeCode(s.session):
		return [2]float64{1, 1}
	case s.session.Agent == traces.AgentCodex:
		times := p.Codex.LossScale(key, profile.Name(model))
		return [2]float64{times, times}
	}
	o := profile.Other{Agent: s.session.Agent, Provider: promptcache.ProviderOf(model), Session: key, Marked: !s.automatic}
	return [2]float64{p.OtherLosses(&o, false).Times, p.OtherLosses(&o, true).Times}
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
	at := t.context.Messages() - 1
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
