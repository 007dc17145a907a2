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

// otherShown returns what a session of another agent shows of losses: its calls soon after the
// last one, with nothing between, that answer tools or, where caches need markers, a person
// too. It has no calls where there are none.
func otherShown(s *traces.Session) profile.Other {
	model := s.Models[s.Threads[0].Rounds[0].Model]
	o := profile.Other{
		Agent: s.Agent, Provider: promptcache.ProviderOf(model), Model: profile.Name(model),
		Session: profile.Key(prompt.DigestString(s.ID)), Marked: !agents.Automatic(s),
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

// shownBy returns what a session of Codex shows of losses: its calls that
// answer tools soon, with the model that it begins with. A read that ends more
// than two steps before the end of the previous request is a loss.
func shownBy(s *traces.Session) (shown profile.Shown) {
	model := s.Threads[0].Rounds[0].Model
	for i := range s.Threads {
		t := &s.Threads[i]
		for r := 1; r < len(t.Rounds); r++ {
			rd := &t.Rounds[r]
			if rd.Model != model || rd.Wait > idleSeconds*1e9 || !goesOn(t, r) {
				continue
			}
			due := t.Rounds[r-1].Usage.Input()
			if r <= profile.EarlyCalls {
				shown.Early, shown.EarlyTokens = shown.Early+1, shown.EarlyTokens+due
			} else {
				shown.Later, shown.LaterTokens = shown.Later+1, shown.LaterTokens+due
			}
			if short := due - rd.Usage.Read; short > 2*lossTokens {
				shown.Missing += short
			}
		}
	}
	return shown
}
