package sim

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Client assembles the requests of a session's agent.
type Client interface {
	// Mark appends the cache markers of a request over entries to dst, in order
	// of position.
	Mark(dst []prompt.Marker, entries []prompt.Entry, m client.Marks) []prompt.Marker
	// Counting is how the client estimates what stands behind the last response:
	// data, so that the hot loop calls no method through an interface.
	Counting() client.Counting
	// Window is the context window the client assumes for a model, tokens.
	Window(model string) int64
}

// clientOf returns the client that recorded a session.
func clientOf(s *traces.Session) Client {
	agent := agents.Of(s.Agent)
	switch {
	case agents.Automatic(s):
		return &client.Codex{}
	case agent.ClaudeCode:
		return client.ForVersion(s.Version())
	}
	return client.Marking(agent.Markers)
}

// namer is a server that treats models differently and is told their names.
type namer interface {
	NameModel(id uint32, name string)
}

// agentServer is the server of an agent's sessions at a provider. A loop keeps
// one for every combination it meets, so that a steady run allocates none.
type agentServer struct {
	agent, provider string
	cache           traces.Cache
	Server
}

// serverOf returns the server that a session calls at a provider: providers do
// not share caches, nor do agents.
func (l *Loop) serverOf(session *traces.Session, provider string) Server {
	cache := agents.CacheOf(session)
	for i := range l.servers {
		if s := &l.servers[i]; s.agent == session.Agent && s.cache == cache && s.provider == provider {
			return s.Server
		}
	}
	s := l.config.Server(cache)
	l.servers = append(l.servers, agentServer{session.Agent, provider, cache, s})
	return s
}
