package calls

import (
	"path"
	"strings"

	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

const (
	lookBack     = 20 // blocks before a marker in which a server looks for an entry, by the provider's documentation
	toolSearch   = "ToolSearch"
	webSearch    = "web_search"
	entryDesktop = "claude-desktop" // keeps no process when it is closed
	opening      = 10               // calls
)

// Fell reports whether the call read so much less than was left that a client's break detector would say so.
func (c *Call) Fell() bool {
	return c.Missed > breaks.MinDrop && float64(c.Missed) > breaks.MinDropShare*float64(c.Left)
}

// Comparable reports whether only what stands between the call and the one before it can say why it fell: something was left,
// and no compaction, cleared result, model, long pause or switch of thinking settles it.
func (c *Call) Comparable() bool {
	acted := c.Acted
	if c.Automatic() {
		acted &^= 1 << traces.EventForget // such a cache reads up to what was left out
	}
	if c.Left <= 0 || c.First() && !c.Resumed || acted != 0 || c.Gap < 0 || c.Back || c.think ||
		c.Round > 0 && c.Switched() || c.Resumed && !c.Thread.Left.Model {
		return false
	}
	return c.Automatic() || c.Gap <= breaks.Long && (c.Gap <= breaks.Short || c.Tier != exchange.TTL5m)
}

// Between returns what stands between the call and the one before it.
func (c *Call) Between() profile.Kinds {
	var k profile.Kinds
	add := func(kind profile.Kind, is bool) {
		if is {
			k = k.With(kind)
		}
	}
	r := c.Recorded
	asked := r.Trigger == traces.TriggerPrompt
	add(profile.KindVersion, r.Signs.Has(signs.Version))
	add(profile.KindProcess, r.Signs&(signs.Resume|signs.Process) != 0 || asked && c.restarted())
	add(profile.KindFork, c.Resumed)
	if k == 0 { // a new process connects to its servers and lists its skills anew
		add(profile.KindServers, r.Signs.Has(signs.Servers))
		add(profile.KindListing, r.Signs.Has(signs.Listing))
	}
	add(profile.KindPlanMode, r.Signs.Has(signs.PlanMode))
	add(profile.KindEffort, r.Signs.Has(signs.Effort))
	add(profile.KindChosen, r.Signs.Has(signs.Model))
	add(profile.KindBranch, r.Signs.Has(signs.Branch))
	add(profile.KindTeam, r.Signs.Has(signs.Team))
	add(profile.KindRetry, r.Signs.Has(signs.Retry))
	if c.Before != nil && !c.First() {
		add(profile.KindLookBack, !c.Automatic() && c.behindMarker() > lookBack)
		add(profile.KindLoaded, c.uses(c.Round-1, toolSearch) && !c.searched())
		add(profile.KindSearch, c.uses(c.Round-1, webSearch))
		add(profile.KindHook, asked && c.hooked())
		add(profile.KindMemory, c.remembers())
	}
	add(profile.KindSteered, !asked && c.Session.Content(r).Person)
	if c.Automatic() {
		add(profile.KindHour, c.Gap > breaks.Long)
		add(profile.KindLate, c.Gap > breaks.Short && c.Gap <= breaks.Long)
		add(profile.KindOpening, c.Round < opening)
	} else {
		add(profile.KindLate, c.Gap > profile.Life(c.Tier)/2)
	}
	add(profile.KindPrompt, asked && k == 0)
	return k
}

// behindMarker returns the number of blocks behind the last cache marker of the call before: its response, without thinking, and
// what was sent since.
func (c *Call) behindMarker() int {
	n := 0
	count := func(s traces.Span) {
		for _, b := range c.Session.Blocks[s.From:s.To] {
			if b.Kind != prompt.KindThinking && b.Kind != prompt.KindUnseen {
				n++
			}
		}
	}
	count(c.Before.Recorded.Reply)
	count(c.Recorded.Input)
	return n
}

// uses reports whether the response of a round of the thread calls a tool.
func (c *Call) uses(round int32, tool string) bool {
	reply := c.Thread.Rounds[round].Reply
	for _, b := range c.Session.Blocks[reply.From:reply.To] {
		if b.Kind == prompt.KindToolUse && c.Session.Tools[b.Tool] == tool {
			return true
		}
	}
	return false
}

// searched reports whether tools were searched for before the last response.
func (c *Call) searched() bool {
	for i := range c.Round - 1 {
		if c.uses(i, toolSearch) {
			return true
		}
	}
	return false
}

// turn calls see for the rounds of the turn before the call, the latest first, until see returns true.
func (c *Call) turn(see func(i int32, r *traces.Round) bool) bool {
	for i := c.Round - 1; i >= 0; i-- {
		r := &c.Thread.Rounds[i]
		if see(i, r) {
			return true
		}
		if r.Trigger == traces.TriggerPrompt {
			break
		}
	}
	return false
}

// hooked reports whether a hook added context to a tool's result in the turn before.
func (c *Call) hooked() bool {
	return c.Recorded.Signs.Has(signs.Hook) || c.turn(func(_ int32, r *traces.Round) bool {
		return r.Trigger != traces.TriggerPrompt && r.Signs.Has(signs.Hook)
	})
}

// restarted reports whether the desktop client was closed since the last response: it logs the end of every turn but of one
// that it did not live to see.
func (c *Call) restarted() bool {
	const ended = signs.TurnEnd | signs.Interrupt
	if c.First() || c.Session.Entry != entryDesktop || c.Recorded.Signs&ended != 0 || c.Session.Content(c.Before.Recorded).Calls {
		return false
	}
	for i := range c.Round {
		if c.Thread.Rounds[i].Signs.Has(signs.TurnEnd) {
			return true
		}
	}
	return false
}

// remembers reports whether the agent edited its instructions or its memory: in the last response, or for a prompt in the turn before.
func (c *Call) remembers() bool {
	edits := func(i int32, r *traces.Round) bool {
		if i < c.Round-1 && c.Recorded.Trigger != traces.TriggerPrompt {
			return false
		}
		for _, b := range c.Session.Blocks[r.Reply.From:r.Reply.To] {
			if b.Object >= 0 && (b.Op == op.Edit || b.Op == op.Write) && isMemory(c.Session.Objects[b.Object]) {
				return true
			}
		}
		return false
	}
	return c.turn(edits)
}

// isMemory reports whether a file holds what an agent is told in every session.
func isMemory(name string) bool {
	name = strings.ReplaceAll(name, `\`, "/")
	switch path.Base(name) {
	case "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "MEMORY.md", "GEMINI.md":
		return true
	}
	return strings.Contains(name, "/.claude/") && strings.Contains(name, "/memory/")
}

// ranks are the kinds in the order in which they are named: what brings others with it first, what only sets the scene last.
var ranks = [][]profile.Kind{
	{profile.KindProcess, profile.KindFork, profile.KindVersion},
	{profile.KindHour}, // what has expired is gone, whatever else came between
	{profile.KindLookBack, profile.KindLoaded, profile.KindServers, profile.KindListing, profile.KindHook, profile.KindPlanMode,
		profile.KindEffort, profile.KindChosen, profile.KindMemory, profile.KindBranch, profile.KindTeam, profile.KindRetry,
		profile.KindSearch},
	{profile.KindLate, profile.KindOpening},
	{profile.KindSteered, profile.KindPrompt},
}

// Likely returns the lift of the kind of event that most likely made the call fall, and false for none whose lift is large enough
// in recordings: of the first rank that has one, the kind of the largest lift.
func (c *Call) Likely() (profile.Lift, bool) {
	var best profile.Lift
	p, err := profile.Default()
	lifts, errLifts := profile.DefaultLifts()
	if err != nil || errLifts != nil || !c.Fell() || !c.Comparable() {
		return best, false
	}
	rows := lifts.Marked
	if c.Automatic() {
		rows = lifts.Automatic
	}
	epoch, between := p.EpochOf(c.Session), c.Between()
	if c.Recorded.Trigger == traces.TriggerPrompt {
		between = between.With(profile.KindPrompt)
	}
	for _, rank := range ranks {
		for _, k := range rank {
			if between.Has(k) && c.Explains(k) {
				if l := rows.Of(k, c.Session.Agent, epoch); l.Named() && l.Here > best.Here {
					best = l
				}
			}
		}
		if best.Fell > 0 {
			return best, true
		}
	}
	return best, false
}
