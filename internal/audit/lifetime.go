package audit

import (
	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Lifetime says what the calls of one source would have cost under other cache
// lifetimes, by arithmetic over the recorded pauses: a call reads all that the
// previous one had left, or nothing if the pause before it was longer than the
// lifetime. Calls after a compaction, another change of the context, a change
// of model or an unknown pause read what they did, and so do first calls.
// Output is as billed.
type Lifetime struct {
	Source string  `json:"source"`
	Tier   string  `json:"lifetime"` // billed: 5m or 1h
	Calls  int     `json:"calls"`
	Billed float64 `json:"billed_usd"`
	// Recorded is the result of the arithmetic for the billed lifetimes. Error is
	// its difference from the bill, as a share; nil when nothing was billed.
	Recorded float64  `json:"recorded_usd"`
	Error    *float64 `json:"model_error"`
	All5m    float64  `json:"all_5m_usd"`
	All1h    float64  `json:"all_1h_usd"`
	// Paused5m and Paused1h count the pauses of more than 5 minutes and of more
	// than an hour.
	Paused5m int   `json:"pauses_over_5m"`
	Paused1h int   `json:"pauses_over_1h"`
	Write5m  int64 `json:"cache_write_5m_tokens"` // of this or an unstated lifetime
	Write1h  int64 `json:"cache_write_1h_tokens"`

	sessions []sessionLifetime // of sessions with such calls, in order
}

// sessionLifetime has the figures of a Lifetime for one session, USD.
type sessionLifetime struct {
	session                        *traces.Session
	billed, recorded, all5m, all1h float64
}

// in returns the figures of the current session.
func (l *Lifetime) in(s *traces.Session) *sessionLifetime {
	if n := len(l.sessions); n == 0 || l.sessions[n-1].session != s {
		l.sessions = append(l.sessions, sessionLifetime{session: s})
	}
	return &l.sessions[len(l.sessions)-1]
}

// settable returns the sessions of Claude Code, whose client alone has settings of lifetimes.
func (l *Lifetime) settable() []sessionLifetime {
	var list []sessionLifetime
	for _, x := range l.sessions {
		if agents.ClaudeCode(x.session) {
			list = append(list, x)
		}
	}
	return list
}

// lifetimes has a Lifetime for the conversation, branches included, and one for
// sub-agents, which have their own setting; each by billed lifetime.
type lifetimes [2][2]Lifetime

// billedTier returns the lifetime that a call was billed for, or that of the
// entry it read when it wrote nothing.
func (c *call) billedTier() prompt.TTL {
	switch u := &c.r().Usage; {
	case u.Write1h > 0:
		return prompt.TTL1h
	case u.Writes() > 0:
		return prompt.TTL5m
	}
	return c.tier
}

func (l *lifetimes) add(c *call) {
	if c.automatic() || !c.model.known {
		return
	}
	t := &l[c.side()][c.billedTier()]
	u := &c.r().Usage
	t.Calls++
	billed, recorded := c.cost.Total(), c.under(c.tier, nil)
	all5m, all1h := c.under(prompt.TTL5m, &c.price[results.ClassWrite5m]), c.under(prompt.TTL1h, &c.price[results.ClassWrite1h])
	t.Billed, t.Recorded, t.All5m, t.All1h = t.Billed+billed, t.Recorded+recorded, t.All5m+all5m, t.All1h+all1h
	s := t.in(c.session)
	s.billed, s.recorded, s.all5m, s.all1h = s.billed+billed, s.recorded+recorded, s.all5m+all5m, s.all1h+all1h
	t.Write5m += u.Write5m + u.WriteOther
	t.Write1h += u.Write1h
	if c.gap > breaks.Short {
		t.Paused5m++
	}
	if c.gap > breaks.Long {
		t.Paused1h++
	}
}

// under returns what a call would have cost if the entry of the previous call
// had lived for a tier. Writes cost the given price, USD a token; nil for the
// price they had.
func (c *call) under(tier prompt.TTL, write *float64) float64 {
	u := &c.r().Usage
	cached := u.Read + u.Writes()
	read := u.Read
	if c.predictable() {
		read = min(c.left, cached)
		if life := lives(tier); c.gap > life {
			read = 0
		}
	}
	price := c.writePrice()
	if write != nil {
		price = *write
	}
	return c.cost[results.ClassUncached] + c.cost[results.ClassOutput] +
		float64(read)*c.price[results.ClassRead] + float64(cached-read)*price
}

// predictable reports whether the pause alone decides what a call reads.
func (c *call) predictable() bool {
	return !c.first() && c.gap >= 0 && !c.back && !c.acted.edited() &&
		c.r().Model == c.thread.Rounds[c.round-1].Model && c.r().Usage.Input() > 0
}

// lives returns the lifetime of a tier, ns.
func lives(tier prompt.TTL) int64 {
	if tier == prompt.TTL1h {
		return breaks.Long
	}
	return breaks.Short
}

// writePrice returns the price of a written token in a call, USD; for a call
// that wrote nothing, the price of the lifetime in force.
func (c *call) writePrice() float64 {
	if n := c.r().Usage.Writes(); n > 0 {
		return (c.cost[results.ClassWrite5m] + c.cost[results.ClassWrite1h] + c.cost[results.ClassWriteOther]) / float64(n)
	}
	if c.tier == prompt.TTL1h {
		return c.price[results.ClassWrite1h]
	}
	return c.price[results.ClassWrite5m]
}

func (l *lifetimes) report(r *Report) {
	for side, source := range [2]string{"main", "agent"} {
		for _, tier := range [2]prompt.TTL{prompt.TTL5m, prompt.TTL1h} {
			one := l[side][tier]
			if one.Calls == 0 {
				continue
			}
			one.Source, one.Tier = source, tier.String()
			if one.Billed > 0 {
				e := one.Recorded/one.Billed - 1
				one.Error = &e
			}
			r.Lifetimes = append(r.Lifetimes, one)
		}
	}
}
