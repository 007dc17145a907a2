package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Assembly is how requests are put together beside what the client's version
// says. Its keys are those of client in a scenario.
type Assembly struct {
	// Provider is who serves the requests: first_party, bedrock or
	// third_party.
	Provider string  `yaml:"provider"`
	Windows  Windows `yaml:"windows"`
	System   System  `yaml:"system"`
	TTL      TTL     `yaml:"ttl"`
	Count    Count   `yaml:"count"`
	Env      Env     `yaml:"env"`
}

// Providers of the model.
const (
	ProviderFirstParty = "first_party"
	ProviderBedrock    = "bedrock"
	ProviderThirdParty = "third_party" // Vertex, Foundry, gateways
)

// DefaultAssembly leaves everything as the version and the recording say.
func DefaultAssembly() Assembly {
	return Assembly{Provider: ProviderFirstParty, System: DefaultSystem(), TTL: DefaultTTL(), Count: DefaultCount()}
}

// Problem is a value that cannot be used, with the keys that lead to it below
// client.
type Problem struct{ Path, Text string }

// problems collects what is wrong with an assembly.
type problems []Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{path, "client." + path + fmt.Sprintf(format, args...)})
}

// oneOf refuses a value that is none of those known.
func (p *problems) oneOf(path, value string, known ...string) {
	if !slices.Contains(known, value) {
		p.add(path, ": unknown value %q%s; want %s", value, nearest.Hint(value, known), strings.Join(known, " or "))
	}
}

// Validate returns everything that is wrong.
func (a *Assembly) Validate() []Problem {
	var p problems
	p.oneOf("provider", a.Provider, ProviderFirstParty, ProviderBedrock, ProviderThirdParty)
	a.System.validate(&p)
	a.TTL.validate(&p)
	a.Count.validate(&p)
	a.Env.validate(&p)
	if n := a.System.markers(); n > prompt.MaxMarkers {
		p.add("system.tool_marker", " %s with dynamic_scope %s puts %d markers on a request, the server takes %d (platform.claude.com, prompt caching)",
			a.System.ToolMarker, a.System.DynamicScope, n, prompt.MaxMarkers)
	}
	return p
}

// HeaderInKey reports whether the line that changes with every request is part
// of the cache key.
func (a *Assembly) HeaderInKey() bool {
	switch a.System.HeaderInKey {
	case "true":
		return true
	case "false":
		return false
	}
	return a.Provider != ProviderFirstParty
}
