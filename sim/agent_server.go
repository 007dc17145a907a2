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
	// Counting is how the client estimates what follows the last response:
	// data, so that the hot loop calls no method through an interface.
	Counting() client.Counting
	// Window is the context window the client assumes for a model, tokens; 0 where it has the windows of a catalogue.
	Window(model string) int64
}

// clientOf returns the client that recorded a session, for calls to a kind of cache.
func clientOf(s *traces.Session, cache traces.Cache) Client {
	agent := agents.Of(s.Agent)
	switch {
	case agent.ClaudeCode && !agents.Automatic(s):
		return client.ForVersion(s.Version())
	case cache == traces.CacheAutomatic && agent.ClaudeCode:
		return &client.Codex{Windows: client.ForVersion(s.Version()).Window}
	case cache == traces.CacheAutomatic && agent.Name == traces.AgentCodex:
		return &client.Codex{Windows: func(string) int64 { return client.CodexWindow }}
	case cache == traces.CacheAutomatic:
		return &client.Codex{Size: agent.Size}
	}
	c := client.Marking(max(1, agent.Markers), agent.Size)
	c.MarksSummary, c.AsRecorded = readsSummaries(s), true
	return c
}

// namer is a server that treats models differently and is told their names.
type namer interface {
	NameModel(id uint32, name string)
}
