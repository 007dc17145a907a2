package scenarios

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// checkCapacity refuses a capacity for sessions whose cache has none.
func checkCapacity(d *Design, sessions []*traces.Session) error {
	automatic, agent := 0, ""
	for _, s := range sessions {
		if agents.Automatic(s) {
			automatic++
			agent = agents.Of(s.Agent).Title
		}
	}
	limited := slices.ContainsFunc(d.Cells, func(c Cell) bool { return c.Scenario.Server.Capacity > 0 || c.Scenario.Server.CapacityBytes > 0 })
	if automatic == 0 || !limited {
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
	return fmt.Errorf("%[1]w: %[2]s%[3]s: the cache of %[4]s's provider is modelled without a limit, and of these sessions %[5]d are of %[4]s; --agent %[6]s leaves them out",
		ErrContradiction, at, key, agent, automatic, traces.AgentClaudeCode)
}

// serve makes a cache of a kind. Of an automatic one a scenario sets where the
// retention counts from and the share of calls that lose their messages.
func (s *Server) serve(kind traces.Cache) sim.Server {
	if kind == traces.CacheAutomatic {
		return promptcache.NewOpenAI(promptcache.OpenAIConfig{
			Anchor: promptcache.Anchor(s.Anchor), OverflowPerCall: s.EvictPerCall,
		})
	}
	return promptcache.New(s.Config())
}
