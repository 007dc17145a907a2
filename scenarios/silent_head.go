package scenarios

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/strategies"
)

// ofHead is of what stands ahead of the conversation and has nothing to act on.
func (s *silence) ofHead(g *given) string {
	switch g.path {
	case "client.system.tool_marker":
		return s.withoutTools()
	case "client.system.mcp", "client.system.mcp_tools":
		tools := s.any(func(c *Scenario) bool { return c.Client.System.MCPTools > 0 })
		if !tools && !s.does(client.ActionMCPConnect.String()) {
			return "no server is connected: client.system.mcp_tools is 0 and there is no event mcp_connect"
		}
		return s.withoutTools()
	case "client.system.billing_header_in_key":
		return s.ofHeader(g)
	case "client.system.memoised":
		shows := s.does(client.ActionClaudeMD.String()) || s.runs([]string{strategies.MemoryName, strategies.DreamName})
		if !shows && !s.powers.foreign {
			return "nothing memoised changes: there is no event claude_md_edit, and no strategy has the layer " + strategies.MemoryName + " or " + strategies.DreamName + " in use"
		}
	case "client.system.uncached_change":
		if !s.any(func(c *Scenario) bool { return c.Client.System.Sizes.Uncached > 0 && !c.Client.System.Custom }) {
			return "there is no uncached section: client.system.sizes.uncached is 0, or the prompt a custom one"
		}
	}
	return ""
}

// withoutTools returns why what is done to tools changes nothing, "" when it may.
func (s *silence) withoutTools() string {
	if s.traits.tools {
		return ""
	}
	return "the sessions have no tools ahead of their messages"
}

// ofHeader is of the billing header.
func (s *silence) ofHeader(g *given) string {
	inKey := func(c *Scenario) any { return c.Client.System.Divided() && c.Client.HeaderInKey() }
	switch {
	case s.differs(g.path, inKey):
		return ""
	case !s.any(func(c *Scenario) bool { return c.Client.System.Divided() }):
		return "client.system.split is none, so there is no header"
	}
	return "so it is with that client.provider"
}
