package scenarios

import (
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// traits are what the sessions of a run have that settings act on, each once.
type traits struct {
	models    []modelWindow
	clients   []recordedClient
	lifetimes [2][2]bool // asked for as recorded: by whether a sub-agent did, and class
	agents    bool       // there are sub-agents
	events    bool       // a recording did something to its context
	tools     bool       // tools stand ahead of a conversation
	strings   bool       // a message is a bare string
	mcp       bool       // a result of an MCP tool
	kinds     [256]bool  // of blocks
}

// modelWindow is a model with the window that the client of a session has for it,
// tokens, as long as nothing says otherwise.
type modelWindow struct {
	name   string
	window int64
}

// recordedClient is a client that recorded sessions.
type recordedClient struct {
	plain   bool // no markers, no versions of Claude Code
	version string
}

// traitsOf returns what sessions have; others are models that calls may go to
// beside their own.
func traitsOf(sessions []*traces.Session, others []string) *traits {
	t := new(traits)
	for _, s := range sessions {
		c := recordedClient{isPlain(s), s.Version()}
		if !slices.Contains(t.clients, c) {
			t.clients = append(t.clients, c)
		}
		for _, names := range [][]string{s.Models, others} {
			for _, name := range names {
				if m := (modelWindow{name, windowFor(s, name)}); !slices.Contains(t.models, m) {
					t.models = append(t.models, m)
				}
			}
		}
		for i := range s.Blocks {
			b := &s.Blocks[i]
			t.kinds[b.Kind] = true
			t.strings = t.strings || b.Flags&prompt.FlagString != 0
			t.mcp = t.mcp || b.Flags&prompt.FlagMCP != 0
		}
		for i := range s.Threads {
			t.thread(s, &s.Threads[i])
		}
	}
	return t
}

// thread takes what a thread has.
func (t *traits) thread(s *traces.Session, h *traces.Thread) {
	agent := 0
	if h.Kind == traces.ThreadAgent || h.Kind == traces.ThreadOrphan {
		agent, t.agents = 1, true
	}
	t.events = t.events || len(h.Events) > 0
	for _, b := range s.Blocks[h.Prefix.From:h.Prefix.To] {
		t.tools = t.tools || b.Kind == prompt.KindTools
	}
	asked := prompt.TTL5m // until a call has written something
	for i := range h.Rounds {
		switch u := &h.Rounds[i].Usage; {
		case u.Write1h > 0:
			asked = prompt.TTL1h
		case u.Write5m > 0:
			asked = prompt.TTL5m
		}
		t.lifetimes[agent][asked] = true
	}
}

// windowFor returns the window that the client of a session has for a model, tokens.
func windowFor(s *traces.Session, model string) int64 {
	w := new(client.ClaudeCode).Window(model)
	if isPlain(s) {
		w = new(client.Codex).Window(model)
	}
	return sim.RecordedWindow(s, w)
}

// isPlain reports whether requests of a session carry no markers.
func isPlain(s *traces.Session) bool { return agents.Automatic(s) }
