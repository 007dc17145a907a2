package sim

import (
	"github.com/compactsim/compactsim/internal/changes"
	"github.com/compactsim/compactsim/sim/client"
)

// Assembly is how the client of a session assembles requests and what happens
// to it beside what the session says. It is not changed by use: sessions of
// several loops may share one.
type Assembly struct {
	client.Assembly
	variables client.Variables
	changes   []changes.Change
	header    bool // the billing header is in the cache key
	laid      bool // the head is not that of the recording
}

// Assemble returns an assembly with events, at most changes.Max, that
// happen to every session that has it. What Validate refuses in either has no
// meaning.
func Assemble(a client.Assembly, events []client.Event) *Assembly {
	return &Assembly{
		Assembly: a, variables: a.Env.Variables(), changes: changes.Compile(events),
		header: a.System.Divided() && a.HeaderInKey(),
		laid:   a.System.Divided() || a.System.ToolMarker == client.ToolMarkerLast || a.System.MCPTools > 0,
	}
}

// assemblyOf returns how the clients of a cell assemble requests.
func assemblyOf(c *Config) *Assembly {
	if c.Assembly == nil {
		return Assemble(client.DefaultAssembly(), c.Events)
	}
	return Assemble(*c.Assembly, c.Events)
}
