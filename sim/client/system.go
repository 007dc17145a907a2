package client

import (
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/prompt"
)

// System is how the system prompt is divided and marked. Sizes are tokens of
// the recorded prefix, whose total stays what it is.
type System struct {
	Split          string  `yaml:"split" doc:"none or sections" enum:"none,sections"`
	Sizes          sizes   `yaml:"sizes" doc:"tokens of the sections" needs:"split=sections"`
	DynamicScope   string  `yaml:"dynamic_scope" doc:"the marker behind the dynamic sections: none or org" enum:"none,org" needs:"split=sections"`
	ToolMarker     string  `yaml:"tool_marker" doc:"a marker on the last tool: none or last" enum:"none,last"`
	Custom         bool    `yaml:"custom_prompt" doc:"a prompt of the caller's own in the place of the whole" needs:"split=sections"`
	MCP            string  `yaml:"mcp" doc:"where the tools of MCP servers load: deferred or prefix" enum:"deferred,prefix"`
	MCPTools       int32   `yaml:"mcp_tools" doc:"tokens of those connected from the start" min:"0" needs:"mcp=prefix"`
	MCPNotice      int32   `yaml:"mcp_notice" doc:"tokens that announce deferred ones" min:"0"`
	HeaderInKey    string  `yaml:"billing_header_in_key" doc:"the billing header is part of the cache key: by_provider, true or false" enum:"by_provider,true,false" needs:"split=sections"`
	Memoised       bool    `yaml:"memoised" doc:"sections stay as they are until the next compaction"`
	UncachedChange float64 `yaml:"uncached_change" doc:"probability that the uncached section differs from that of the request before, 0…1" min:"0" max:"1" needs:"split=sections"`
	RenderedReuse  bool    `yaml:"rendered_prompt_reuse" doc:"forks get the prompt as the conversation last sent it"`
	ClaudeMD       string  `yaml:"claude_md" doc:"where project files stand: reminder or system" enum:"reminder,system" needs:"split=sections"`
	ClaudeMDTokens int32   `yaml:"claude_md_tokens" doc:"tokens of project files" min:"0" needs:"claude_md=system"`
}

// sizes are the tokens of the sections of a system prompt.
type sizes struct {
	Billing  int32 `yaml:"billing_header" doc:"the line that changes with every request" min:"0"`
	Identity int32 `yaml:"identity" doc:"who the model is" min:"0"`
	Static   int32 `yaml:"static" doc:"the same for everyone; 0 takes what the others leave" min:"0"`
	Memoised int32 `yaml:"memoised" doc:"kept until the next compaction" min:"0"`
	Uncached int32 `yaml:"uncached" doc:"computed anew for every request" min:"0"`
}

// Section is a part of a system prompt.
type Section uint8

// The sections in the order in which they are sent.
const (
	SectionBilling  Section = iota // changes with every request
	SectionIdentity                // who the model is
	SectionStatic                  // the same for everyone
	SectionProject                 // project files that are in the system prompt
	SectionMemoised                // kept until the next compaction
	SectionUncached                // computed anew for every request
	NumSections     = int(SectionUncached) + 1
)

// Values of the switches of System.
const (
	SplitSections  = "sections"
	ScopeOrg       = "org"
	ToolMarkerLast = "last"
	MCPDeferred    = "deferred"
	MCPPrefix      = "prefix"
	ClaudeMDSystem = "system"
)

// DefaultSystem does not divide the system prompt. The sizes are assumed but
// for their order and which of them change (000:36-60); the identity is one
// line.
func DefaultSystem() System {
	return System{
		Split: "none", Sizes: sizes{Billing: 40, Identity: 15, Memoised: 800, Uncached: 100},
		DynamicScope: "none", ToolMarker: "none", MCP: MCPDeferred, MCPNotice: 150, HeaderInKey: "by_provider",
		Memoised: true, RenderedReuse: true, ClaudeMD: "reminder", ClaudeMDTokens: 1500,
	}
}

// Divided reports whether the system prompt is sent in sections.
func (s *System) Divided() bool { return s.Split == SplitSections }

// Cut divides a system prompt of so many tokens, with project of them moved
// ahead from the reminders, into sections in order. Sections ahead take first;
// short is what the sizes ask for beyond the total. What no section asks for is
// the static one's, or the memoised one's when the static one has a size. A
// custom prompt has no sections behind the billing header.
func (s *System) Cut(total, project int32, custom bool) (sizes [NumSections]int32, short int32) {
	want := s.Sizes
	left := total
	take := func(section Section, n int32) {
		sizes[section] = min(n, left)
		short += n - sizes[section]
		left -= sizes[section]
	}
	take(SectionBilling, want.Billing)
	if custom {
		take(SectionStatic, left)
		sizes[SectionProject] = project
		return sizes, short
	}
	take(SectionIdentity, want.Identity)
	static := want.Static
	if static == 0 {
		static = max(0, left-want.Memoised-want.Uncached)
	}
	take(SectionStatic, static)
	take(SectionMemoised, want.Memoised)
	take(SectionUncached, want.Uncached)
	sizes[SectionMemoised] += left
	sizes[SectionProject] = project
	return sizes, short
}

// markers returns how many markers a request carries under one message marker.
func (s *System) markers() int {
	n := 2 // system prompt and message
	if s.Divided() && !s.Custom {
		n = 3 // identity, static, message
		if s.DynamicScope == ScopeOrg {
			n++
		}
	}
	if s.ToolMarker == ToolMarkerLast {
		n++
	}
	return n
}

// Rules returns what contradicts each other.
func (s *System) Rules() []error {
	var errs []error
	if n := s.markers(); n > prompt.MaxMarkers {
		errs = append(errs, spec.Wrong("tool_marker", "%s with dynamic_scope %s puts %d markers on a request, the server takes %d (platform.claude.com, prompt caching)",
			s.ToolMarker, s.DynamicScope, n, prompt.MaxMarkers))
	}
	if s.Divided() {
		return errs
	}
	for _, needs := range []struct {
		path string
		set  bool
	}{
		{"claude_md", s.ClaudeMD == ClaudeMDSystem}, {"dynamic_scope", s.DynamicScope == ScopeOrg},
		{"uncached_change", s.UncachedChange > 0}, {"billing_header_in_key", s.HeaderInKey == "true"}, {"custom_prompt", s.Custom},
	} {
		if needs.set {
			errs = append(errs, spec.Wrong(needs.path, "means nothing without split: sections"))
		}
	}
	return errs
}
