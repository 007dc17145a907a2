package scenarios

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// checkCapacity refuses a capacity for sessions of Codex, whose cache has none.
func checkCapacity(d *Design, sessions []*traces.Session) error {
	codex := 0
	for _, s := range sessions {
		if s.Agent == traces.AgentCodex {
			codex++
		}
	}
	limited := slices.ContainsFunc(d.Cells, func(c Cell) bool { return c.Scenario.Server.Capacity > 0 || c.Scenario.Server.CapacityBytes > 0 })
	if codex == 0 || !limited {
		return nil
	}
	key, at := "server.capacity", ""
	for _, name := range []string{"capacity", "capacity_bytes"} {
		path := "server." + name
		swept := slices.ContainsFunc(d.axes, func(a spec.Axis) bool { return a.Path == path })
		if n := spec.Find(d.tree.Root, "server", name); n != nil && (swept || n.Value != "0") {
			key, at = path, d.tree.At(n)+": "
		}
	}
	return fmt.Errorf("%w: %s%s: the cache of Codex's provider is modelled without a limit, and of these sessions %d are of Codex; --agent %s leaves them out",
		ErrContradiction, at, key, codex, traces.AgentClaudeCode)
}

// serve makes the cache that the sessions of an agent call: OpenAI's for Codex,
// of which a scenario sets where the retention counts from and the share of
// calls that lose their messages, else Anthropic's.
func (s *Server) serve(agent string) sim.Server {
	if agent == traces.AgentCodex {
		return promptcache.NewOpenAI(promptcache.OpenAIConfig{
			Anchor: promptcache.Anchor(s.Anchor), OverflowPerCall: s.EvictPerCall,
		})
	}
	return promptcache.New(s.Config())
}
