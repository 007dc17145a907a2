package scenarios

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/client"
)

// idle returns why an event changes nothing that is already so, or not there, ""
// when it may change something.
func (s *silence) idle(i int) string {
	e := &s.design.Scenario.Events[i]
	action := client.Action(max(0, slices.Index(client.ActionNames(), e.Do)))
	_, key := action.Key()
	switch {
	case action == client.ActionModel:
		return s.onModel(e)
	case action == client.ActionPermission || action == client.ActionOutputStyle || action == client.ActionSkill:
		if c := client.Compile([]client.Event{*e}); c[0].Tokens == 0 {
			return "it adds no tokens: give it a value"
		}
	case action.Stays() && e.Value == "off":
		return "the client never takes it back"
	case key && (e.Value == "off" || e.Value == "default") && !s.others(e):
		return fmt.Sprintf("so it is: no other event %s changes it", e.Do)
	case action == client.ActionTools || action == client.ActionDenyRule:
		return s.withoutTools()
	case action == client.ActionMCPConnect:
		if !s.any(func(c *Scenario) bool { return c.Client.System.MCP == client.MCPDeferred }) {
			return s.withoutTools()
		}
	case action == client.ActionClaudeMD:
		return s.unshown()
	}
	return ""
}

// onModel returns why a change of the model changes nothing: all calls are of that
// model anyway.
func (s *silence) onModel(e *client.Event) string {
	for _, v := range s.sessions {
		if slices.ContainsFunc(v.Models, func(name string) bool { return name != e.Value }) {
			return ""
		}
	}
	if s.others(e) {
		return ""
	}
	return "all sessions are on that model"
}

// others reports whether events of the same action as one give another value.
func (s *silence) others(e *client.Event) bool {
	return slices.ContainsFunc(s.design.Scenario.Events, func(o client.Event) bool { return o.Do == e.Do && o.Value != e.Value })
}

// unshown returns why edited project files stay unseen, "" when they may show.
func (s *silence) unshown() string {
	if s.powers.layers || s.traits.events || s.any(func(c *Scenario) bool { return !c.Client.System.Memoised }) {
		return ""
	}
	return "project files show after a compaction and nothing compacts; with client.system.memoised false they show at once"
}
