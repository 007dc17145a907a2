package loop

import (
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// Now and then a call inside the lifetime loses its messages though nothing
// visible explains it. A prediction takes the likelier case, that it does not,
// and what the loss would have cost is added up beside it, times its rate. With
// draws the same rate decides whether the call loses them.

// lossRate returns the probability that the conversation's call under way loses
// what it would read of its messages. The first call of a thread has none to lose.
func (l *Loop) lossRate(t *thread, model string) float64 {
	p := t.replay.profile
	if p == nil || !t.started {
		return 0
	}
	c := profile.Case{Prompt: t.answersPerson(), Gap: l.clock.now - t.lastEnd, Ordinal: int(t.round)}
	if t.replay.automatic {
		var share float64
		c.Version, c.Model = t.replay.version, model
		share, t.automatic.kept = p.Codex.LossFor(&c)
		return min(1, share*t.replay.lossScale(model))
	}
	return p.LossRate(&c)
}

// lossScale is profile.Codex.LossScale of the session.
func (s *replay) lossScale(model string) float64 {
	if s.scaled != model {
		key := profile.Key(prompt.DigestString(s.session.ID))
		s.scaled, s.scale = model, s.profile.Codex.LossScale(key, profile.Name(model))
	}
	return s.scale
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
	t.replay.row.ExpectedLossUSD += rate * float64(lost) * max(0, p[writtenAs(u)]-p[results.ClassRead])
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
