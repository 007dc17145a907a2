package scenarios

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// ofSessions is of what says which sessions there are and what they share.
func (s *silence) ofSessions(g *given) string {
	all := &s.design.Scenario.Sessions
	switch g.path {
	case "sessions.utc":
		if all.Since == "" && all.Until == "" {
			return "there is no sessions.since and no sessions.until"
		}
	case "sessions.cohort", "sessions.organisations":
		if all.Cohort != CohortSession && !s.shares(all.Cohort) {
			return "no two sessions share a clock: each is the only one of its agent" + map[bool]string{true: " and project"}[all.Cohort == CohortProject]
		}
	}
	return ""
}

// shares reports whether some sessions share a clock.
func (s *silence) shares(c Cohort) bool {
	return slices.ContainsFunc(c.group(s.sessions), func(list []int) bool { return len(list) > 1 })
}

// ofChance is of the seed where nothing is drawn.
func (s *silence) ofChance(g *given) string {
	chance := func(c *Scenario) bool { return c.Server.EvictPerCall > 0 || c.Client.System.UncachedChange > 0 }
	if g.path != "seed" || s.powers.draws || s.any(chance) {
		return ""
	}
	return "nothing is drawn: no strategy has summaries made, server.evict_per_call and client.system.uncached_change are 0"
}

// ofOthers is of what only sessions of another agent, or other layers, go by.
func (s *silence) ofOthers(g *given) string {
	if s.powers.foreign {
		return ""
	}
	switch {
	case g.path == "profile" && !slices.ContainsFunc(s.sessions, func(v *traces.Session) bool { return agents.ClaudeCode(v) }):
		return "all sessions are Codex's, of which profiles tell nothing"
	case g.path == "detector.deleted_baseline" && !s.runs([]string{strategies.CachedClearName}):
		return "no strategy has the layer " + strategies.CachedClearName + " in use, which deletes in the cache"
	case g.path == "latency.output_rate" && !s.powers.calls && !s.traits.events:
		return "calls of the conversation keep their recorded output times, and no strategy makes calls of its own"
	case g.path == "summarizer.fail_as" && !s.any(func(c *Scenario) bool { return len(c.Summarizer.FailCalls) > 0 }):
		return "there are no summarizer.fail_calls"
	case strings.HasPrefix(g.path, failuresPath) && !slices.Contains(s.powers.ways, strings.TrimPrefix(g.path, failuresPath)):
		return "no strategy makes a summary call in that way (full-compact.call)"
	case strings.HasPrefix(g.path, aliasPath) && !s.modelled(strings.TrimPrefix(g.path, aliasPath)):
		return "no session has a model of that name"
	}
	return ""
}

// Settings whose keys are names.
const failuresPath, aliasPath = "summarizer.failures.", "prices.as."

// modelled reports whether calls go to a model whose name may be the one that is
// billed as another.
func (s *silence) modelled(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(s.traits.models, func(m modelWindow) bool {
		has := strings.ToLower(m.name)
		return strings.Contains(has, name) || strings.Contains(name, has)
	})
}
