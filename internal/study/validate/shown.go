package validate

import (
	"slices"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/internal/serving/promptcache"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// goesOn reports whether the recording shows nothing between a call that
// answers tools and the call before it.
func goesOn(t *traces.Thread, r int) bool {
	acted := slices.ContainsFunc(t.Events, func(e traces.Event) bool { return int(e.Round) == r })
	return !acted && t.Rounds[r-1].Model == t.Rounds[r].Model && t.Rounds[r].Trigger == traces.TriggerToolResult
}

// shownBy returns what a session shows of losses: its calls soon after the
// last one, with nothing between, that answer tools or, where caches need markers, a person
// too. It has no calls where there are none. And it returns what its first call found.
func shownBy(s *traces.Session) profile.Shown {
	model := s.Models[s.Threads[0].Rounds[0].Model]
	o := profile.Shown{
		Agent: s.Agent, Provider: promptcache.ProviderOf(model), Model: profile.Name(model), Series: profile.Series(s.Version()),
		Session: profile.Key(prompt.DigestString(s.ID)), Marked: !agents.Automatic(s),
	}
	if t := &s.Threads[0]; s.Agent != traces.AgentCodex && t.Kind == traces.ThreadMain && !t.MidContext && t.Rounds[0].Counted() {
		o.Opened, o.Found = t.Rounds[0].Usage.Input(), t.Rounds[0].Usage.Read
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		for r := 1; r < len(t.Rounds); r++ {
			o.See(seenOf(t, r, o.Marked))
		}
	}
	return o
}

// seenOf returns what a call was due to read and did not, tokens, and whether it is one of
// those that lose more often; due is 0 for a call that says nothing about losses.
func seenOf(t *traces.Thread, r int, marked bool) (due, short int64, early bool) {
	before, rd := &t.Rounds[r-1], &t.Rounds[r]
	asked := marked && rd.Trigger == traces.TriggerPrompt
	acted := slices.ContainsFunc(t.Events, func(e traces.Event) bool { return int(e.Round) == r })
	if before.Model != rd.Model || acted || !rd.Counted() || !asked && rd.Trigger != traces.TriggerToolResult {
		return 0, 0, false
	}
	due, early = before.Usage.Input(), r <= profile.EarlyCalls
	life := int64(idleSeconds * 1e9)
	if marked {
		if due = before.Usage.Read + before.Usage.Writes(); before.Usage.Writes() == 0 {
			due = before.Usage.Input() // written and billed as plain input
		}
		early, life = asked, profile.Life(prompt.TTL5m)
	}
	if rd.Wait > life || due < minStatic {
		return 0, 0, false
	}
	if short = due - rd.Usage.Read; short <= 2*lossTokens {
		short = 0
	}
	return due, short, early
}
