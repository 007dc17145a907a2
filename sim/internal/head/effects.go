package head

import (
	"fmt"
	"strconv"

	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// effect is what an event of a scenario does to a thread's requests.
type effect uint8

const (
	effectNone  effect = iota // nothing: the thread lacks what the event changes
	effectDue                 // a section that is rendered later will show it
	effectShown               // requests differ from here on
)

// effects are what the events of a scenario do in a session, a bit for each event by its position.
type effects struct{ happened, due, shown uint64 }

// happen notes that an event happened to a thread.
func (e *effects) happen(at int, did effect) {
	e.happened |= 1 << at
	switch did {
	case effectDue:
		e.due |= 1 << at
	case effectShown:
		e.shown |= 1 << at
	}
}

// What begins the reason of an event that changes no request of a session.
const (
	EventIdle    = "changes nothing: "
	EventDue     = "is not shown: "
	EventMissing = "does not happen: "
)

// Tell counts the events that changed no request among the session's reasons: at the end.
func (s *Session) Tell() {
	for i := range s.Assembly.changes {
		c, e := &s.Assembly.changes[i], &s.effects
		var why string
		switch bit := uint64(1) << i; {
		case e.shown&bit != 0:
			continue
		case e.due&bit != 0:
			why = EventDue + "no person's prompt follows"
			if c.Action == changes.ActionClaudeMD {
				why = EventDue + "no compaction of the main conversation follows"
			}
		case e.happened&bit != 0:
			why = EventIdle + idle(c.Action)
		default:
			why = EventMissing + "the moment does not come"
		}
		s.host.Refuse(fmt.Sprintf("event %d (%v)", i+1, c.Action), why)
	}
}

// idle says what a session lacks in which an action changes nothing.
func idle(a changes.Action) string {
	switch a {
	case changes.ActionTools, changes.ActionDenyRule, changes.ActionMCPConnect:
		return "no tools stand in the context"
	case changes.ActionMCPLeave:
		return "no server is connected"
	case changes.ActionSystem, changes.ActionFlag:
		return "no system prompt stands in the context"
	case changes.ActionClaudeMD:
		return "no project files stand in the context"
	case changes.ActionModel:
		return "calls go to that model already"
	case changes.ActionPermission, changes.ActionOutputStyle, changes.ActionSkill:
		return "it adds no tokens"
	}
	return "requests have that value already"
}

// Key returns what an action has made of a parameter of the request, the zero digest for nothing.
func (h *Head) Key(a changes.Action) prompt.Digest { return h.keys[a] }

// Tools returns the block of the thread's tools without the tools of servers, once it is known, and the tokens of the tools
// of servers in the prefix.
func (h *Head) Tools() (own prompt.Ref, known bool, servers int32) {
	return h.tools.base, h.tools.know, h.tools.mcp
}

// GlobalStrategy says which part of the prompt the client marks for everyone,
// "" where the recording's client decides.
func (h *Head) GlobalStrategy() string {
	switch system := &h.of.Assembly.System; {
	case !system.Divided():
		return ""
	case h.ownPrompt() || staticScope(h) != exchange.ScopeGlobal:
		return "none"
	}
	return "system_prompt"
}

// Value returns what events have made of a parameter, as text.
func (h *Head) Value(a changes.Action) string {
	key := h.keys[a]
	if key.IsZero() {
		return "as recorded"
	}
	for i := range h.of.Assembly.changes {
		if c := &h.of.Assembly.changes[i]; c.Action == a && c.Given && textKey(a, c.Value) == key {
			return c.Value
		}
	}
	return strconv.FormatUint(key.Lo, 36)
}

// textKey is what a parameter with a text puts into the cache key.
func textKey(a changes.Action, value string) prompt.Digest {
	return prompt.DigestString(a.String() + "\x00" + value)
}
