package scenarios

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// lifetimeKeys are settings by which a client chooses lifetimes.
var lifetimeKeys = []string{
	"client.ttl.choice", "client.ttl.source", "client.ttl.employee", "client.ttl.subscriber", "client.ttl.overage", "client.ttl.allow",
	envPath + "ENABLE_PROMPT_CACHING_1H", envPath + "ENABLE_PROMPT_CACHING_1H_BEDROCK", envPath + "FORCE_PROMPT_CACHING_5M",
	envPath + "CLAUDE_CODE_PROMPT_CACHE_TTL", envPath + "CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL", envPath + "USER_TYPE",
}

// ofLifetimes is of choices of a lifetime that leave all calls the one they have.
func (s *silence) ofLifetimes(g *given) string {
	if !slices.Contains(lifetimeKeys, g.path) || s.powers.foreign || s.differs(g.path, s.lifetimes) {
		return ""
	}
	if g.path == envPath+"CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL" && !s.traits.agents {
		return "no session has sub-agents"
	}
	if only := s.classes(); len(only) == 1 {
		return fmt.Sprintf("all calls ask for %s without it too", only[0])
	}
	return "every call asks for the same lifetime without it"
}

// lifetimes returns the lifetimes that all kinds of calls ask for in a cell.
func (s *silence) lifetimes(c *Scenario) any { return s.asked(c) }

func (s *silence) asked(c *Scenario) []prompt.TTL {
	a := &c.Client.Assembly
	v := a.Env.Variables()
	overages := []bool{a.TTL.Overage}
	if s.does(client.ActionOverage.String()) {
		overages = append(overages, !a.TTL.Overage)
	}
	var list []prompt.TTL
	for _, k := range s.asking {
		for _, k.Overage = range overages {
			list = append(list, a.Lifetime(&v, k, new(client.Latch)))
		}
	}
	return list
}

// asks returns the kinds of calls for which a lifetime is chosen.
func (s *silence) asks() []client.Ask {
	sources, named := []string{"", client.SourceCompact}, []prompt.Lifetime{prompt.LifetimeClient}
	if s.powers.calls {
		for i := results.SourceCompact; i <= results.SourceOther; i++ {
			sources = append(sources, i.String())
		}
	}
	for choice, lifetime := range map[string]prompt.Lifetime{client.Choice5m: prompt.Lifetime5m, client.Choice1h: prompt.Lifetime1h} {
		if s.powers.names(choice) {
			named = append(named, lifetime)
		}
	}
	slices.Sort(named)
	var list []client.Ask
	for agent, recorded := range s.traits.lifetimes {
		for ttl, asked := range recorded {
			// Layers are told the lifetime before a call has been recorded.
			if !asked && (!s.powers.layers || prompt.TTL(ttl) != prompt.TTL5m || agent == 1 && !s.traits.agents) {
				continue
			}
			for _, source := range sources {
				for _, lifetime := range named {
					list = append(list, client.Ask{Source: source, Agent: agent == 1, Recorded: prompt.TTL(ttl), Lifetime: lifetime})
				}
			}
		}
	}
	return list
}

// classes returns the lifetimes that calls ask for in some cell, the shorter one
// first.
func (s *silence) classes() []string {
	var is [2]bool
	for i := range s.design.Cells {
		for _, ttl := range s.asked(s.design.Cells[i].Scenario) {
			is[ttl] = true
		}
	}
	var list []string
	for ttl, name := range []string{prompt.TTL5m: client.Choice5m, prompt.TTL1h: client.Choice1h} {
		if is[ttl] {
			list = append(list, name)
		}
	}
	return list
}

// ofClasses is of settings of the server about lifetimes that no call asks for.
func (s *silence) ofClasses(g *given) string {
	name := map[string]string{"server.lifetime_5m": client.Choice5m, "server.lifetime_1h": client.Choice1h}[g.path]
	if name == "" && g.path != "server.ttl_in_key" || s.powers.foreign {
		return ""
	}
	switch only := s.classes(); {
	case name != "" && !slices.Contains(only, name):
		return fmt.Sprintf("no call asks for %s; client.ttl.choice %s makes them", name, name)
	case name == "" && len(only) == 1:
		return fmt.Sprintf("all calls ask for %s, so that there are no entries of another lifetime; client.ttl.choice policy may make some", only[0])
	}
	return ""
}

// ofProvider is of who serves the requests where nothing goes by it.
func (s *silence) ofProvider(g *given) string {
	divided := s.any(func(c *Scenario) bool { return c.Client.System.Divided() })
	if g.path != "client.provider" || divided || s.powers.foreign || s.differs(g.path, s.lifetimes) {
		return ""
	}
	return "only client.system.split sections and client.ttl.choice policy go by it"
}

// ofMarkers is of more markers than any request carries.
func (s *silence) ofMarkers(g *given) string {
	if g.path != "server.max_markers" || s.any(func(c *Scenario) bool { return c.Server.MaxMarkers < s.markers(c) }) {
		return ""
	}
	most := 0
	for i := range s.design.Cells {
		most = max(most, s.markers(s.design.Cells[i].Scenario))
	}
	return fmt.Sprintf("no request carries more than %d", most)
}

// markers returns the most markers that a request carries in a cell: one ahead of
// the messages, unless the prompt is laid out in some other way.
func (s *silence) markers(c *Scenario) int {
	system := &c.Client.System
	if system.Divided() || system.ToolMarker == client.ToolMarkerLast {
		return prompt.MaxMarkers
	}
	most := 0
	for _, r := range s.traits.clients {
		if !r.plain {
			most = max(most, 1+behaviour(c, r).markers)
		}
	}
	return most
}
