package profile

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// Openings are the reads of the first calls of sessions that begin with their
// own conversation, of Claude Code and of Codex, and what sessions of all but Claude Code show of losses.
type Openings struct {
	Claude, Codex []FirstRead
	Shown         []Shown
	Own           []Own // of Claude Code's sessions
}

// OpeningsOf returns the openings of sessions; bodies that are not in memory are loaded one by one.
func OpeningsOf(sessions []*traces.Session) (*Openings, error) {
	o := &Openings{}
	for _, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, err
		}
		o.Add(whole)
	}
	return o, nil
}

// Join adds the openings of other sessions.
func (o *Openings) Join(p *Openings) {
	o.Claude, o.Codex = append(o.Claude, p.Claude...), append(o.Codex, p.Codex...)
	o.Shown, o.Own = append(o.Shown, p.Shown...), append(o.Own, p.Own...)
}

// Add adds the opening of a session whose body is in memory.
func (o *Openings) Add(s *traces.Session) {
	if len(s.Threads) == 0 || len(s.Threads[0].Rounds) == 0 {
		return
	}
	if !agents.ClaudeCode(s) && Invented(s) == "" {
		for _, x := range ShownBy(s) {
			if x.Early+x.Later+x.Opened > 0 {
				o.Shown = append(o.Shown, x)
			}
		}
	}
	if agents.ClaudeCode(s) {
		if own, ok := OwnBy(s); ok {
			o.Own = append(o.Own, own)
		}
	}
	if s.Threads[0].Kind != traces.ThreadMain {
		return
	}
	t := &s.Threads[0]
	r := &t.Rounds[0]
	if t.MidContext || t.Since > 0 || !r.Counted() || r.Signs.Has(signs.TurnEnd) {
		return
	}
	f := FirstRead{
		User: Key(s.User()), Version: Name(s.Version()), Model: Name(s.Models[r.Model]), Entry: Name(s.Entry),
		Session: Key(prompt.DigestString(s.ID)), At: r.At / 1e9, Read: r.Usage.Read,
	}
	switch {
	case agents.ClaudeCode(s):
		o.Claude = append(o.Claude, f)
	case s.Agent == facts.Codex:
		o.Codex = append(o.Codex, f)
	}
}

// ShownBy returns what a session shows of losses: its calls soon after the
// last one, with nothing between, that answer tools or, where caches need markers, a person
// too. What one gateway passed on to one provider is a part of its own, under the first model there; parts are in the order of
// their first calls, and have no calls where there are none that say anything. The first one has what the session's first call found.
func ShownBy(s *traces.Session) []Shown {
	var parts []Shown
	at := map[served]int{}
	partOf := func(rd *traces.Round) int {
		model, gateway := s.Models[rd.Model], Name(servers.CallerOf(s, rd).Gateway)
		by := served{promptcache.ProviderOf(model), gateway}
		if _, ok := at[by]; !ok {
			at[by] = len(parts)
			parts = append(parts, Shown{
				Agent: s.Agent, Provider: by.provider, Gateway: gateway, Model: Name(model), Series: Series(s.Version()),
				Session: Key(prompt.DigestString(s.ID)), Marked: agents.Of(s.Agent).Cache(model) != facts.CacheAutomatic,
			})
		}
		return at[by]
	}
	partOf(&s.Threads[0].Rounds[0])
	if t := &s.Threads[0]; s.Agent != facts.Codex && t.Kind == traces.ThreadMain && !t.MidContext && t.Rounds[0].Counted() {
		parts[0].Opened, parts[0].Found = t.Rounds[0].Usage.Input(), t.Rounds[0].Usage.Read
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		var way exchange.Serving
		part := 0
		for r := 1; r < len(t.Rounds); r++ {
			if rd := &t.Rounds[r]; r == 1 || rd.Model != t.Rounds[r-1].Model || rd.Gateway != t.Rounds[r-1].Gateway {
				way = servers.ServingOf(servers.CallerOf(s, rd), s.Models[rd.Model])
				part = partOf(rd)
			}
			parts[part].SeeCall(t, r, way)
			if ratio, ok := way.RatioOf(t.Rounds[r].Usage.Read); ok {
				way.Ratio = ratio
			}
		}
	}
	return parts
}

// served is a provider, and who passes calls on to it.
type served struct{ provider, gateway string }

// SeeCall counts a round of a thread; way is how an automatic cache serves it.
func (s *Shown) SeeCall(t *traces.Thread, round int, way exchange.Serving) {
	s.See(seenOf(t, round, s.Marked, way))
}

// seenOf returns what a call was due to read and did not, tokens, and whether it is one of
// those that lose more often; due is 0 for a call that says nothing about losses. way is how an automatic cache serves it.
func seenOf(t *traces.Thread, r int, marked bool, way exchange.Serving) (due, short int64, early bool) {
	before, rd := &t.Rounds[r-1], &t.Rounds[r]
	asked := marked && rd.Trigger == traces.TriggerPrompt
	if _, untouched := t.Stayed(int32(r)); before.Model != rd.Model || before.Gateway != rd.Gateway || !untouched || !rd.Counted() || !asked && rd.Trigger != traces.TriggerToolResult {
		return 0, 0, false
	}
	due, early = before.Usage.Input(), r <= EarlyCalls
	if way.Step > LossTokens {
		due = way.Floor(due, 0)
	}
	life := int64(IdleSeconds * 1e9)
	if marked {
		if due = before.Usage.Read + before.Usage.Writes(); before.Usage.Writes() == 0 {
			due = before.Usage.Input() // written and billed as plain input
		}
		early, life = asked, Life(exchange.TTL5m)
	}
	if rd.Wait > life || due < LeastPrefix {
		return 0, 0, false
	}
	if short = due - rd.Usage.Read; short <= max(2*LossTokens, int64(way.Step)/2) {
		short = 0
	}
	return due, short, early
}
