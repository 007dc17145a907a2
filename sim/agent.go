package sim

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
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
	if s.Agent == traces.AgentCodex {
		return &client.Codex{}
	}
	return client.ForVersion(s.Version())
}

// namer is a server that treats models differently and is told their names.
type namer interface {
	NameModel(id uint32, name string)
}

// agentServer is the server of an agent's sessions at a provider. A loop keeps
// one for every pair it meets, so that a steady run allocates none.
type agentServer struct {
	agent, provider string
	Server
}

// serverOf returns the server that sessions of an agent call at a provider:
// providers do not share caches.
func (l *Loop) serverOf(agent, provider string) Server {
	for i := range l.servers {
		if l.servers[i].agent == agent && l.servers[i].provider == provider {
			return l.servers[i].Server
		}
	}
	s := l.config.Server(agent)
	l.servers = append(l.servers, agentServer{agent, provider, s})
	return s
}
