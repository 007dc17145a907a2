package scenarios

import (
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

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
