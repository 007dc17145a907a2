package client

// System is how the system prompt is divided and marked. Sizes are tokens of
// the recorded prefix, whose total stays what it is.
type System struct {
	Split string `yaml:"split"` // none or sections
	Sizes Sizes  `yaml:"sizes" needs:"split=sections"`
	// DynamicScope is the marker behind the dynamic sections: none or org.
	DynamicScope string `yaml:"dynamic_scope"`
	ToolMarker   string `yaml:"tool_marker"` // none or last
	// Custom is a prompt of the caller's own in the place of the whole.
	Custom bool `yaml:"custom_prompt"`
	// MCP is where the tools of MCP servers load: deferred or prefix.
	MCP       string `yaml:"mcp"`
	MCPTools  int32  `yaml:"mcp_tools" needs:"mcp=prefix"` // tokens of those connected from the start
	MCPNotice int32  `yaml:"mcp_notice"`                   // tokens that announce deferred ones
	// HeaderInKey says whether the billing header is part of the cache key:
	// by_provider, true or false.
	HeaderInKey string `yaml:"billing_header_in_key" needs:"split=sections"`
	// Memoised keeps sections as they are until the next compaction.
	Memoised bool `yaml:"memoised"`
	// UncachedChange is the probability that the uncached section differs from
	// that of the request before, 0…1.
	UncachedChange float64 `yaml:"uncached_change"`
	// RenderedReuse gives forks the prompt as the conversation last sent it.
	RenderedReuse bool `yaml:"rendered_prompt_reuse"`
	// ClaudeMD is where project files stand: reminder or system.
	ClaudeMD       string `yaml:"claude_md"`
	ClaudeMDTokens int32  `yaml:"claude_md_tokens" needs:"claude_md=system"`
}

// Sizes are the tokens of the sections of a system prompt. Static may be 0: it
// takes what the others leave.
type Sizes struct {
	Billing  int32 `yaml:"billing_header"`
	Identity int32 `yaml:"identity"`
	Static   int32 `yaml:"static"`
	Memoised int32 `yaml:"memoised"`
	Uncached int32 `yaml:"uncached"`
}

// Section is a part of a system prompt.
type Section uint8

// The sections in the order in which they are sent.
const (
	SectionBilling  Section = iota // changes with every request
	SectionIdentity                // who the model is
	SectionStatic                  // the same for everyone
	SectionProject                 // project files, where they stand in the system prompt
	SectionMemoised                // kept until the next compaction
	SectionUncached                // computed anew for every request
	NumSections     = int(SectionUncached) + 1
)

// Values of the switches of System.
const (
	SplitNone        = "none"
	SplitSections    = "sections"
	ScopeNone        = "none"
	ScopeOrg         = "org"
	ToolMarkerNone   = "none"
	ToolMarkerLast   = "last"
	MCPDeferred      = "deferred"
	MCPPrefix        = "prefix"
	ClaudeMDReminder = "reminder"
	ClaudeMDSystem   = "system"
	byProvider       = "by_provider"
)

// DefaultSystem does not divide the system prompt. The sizes are assumed but
// for their order and which of them change (000:36-60); the identity is one
// line.
func DefaultSystem() System {
	return System{
		Split: SplitNone, Sizes: Sizes{Billing: 40, Identity: 15, Memoised: 800, Uncached: 100},
		DynamicScope: ScopeNone, ToolMarker: ToolMarkerNone, MCP: MCPDeferred, MCPNotice: 150, HeaderInKey: byProvider,
		Memoised: true, RenderedReuse: true, ClaudeMD: ClaudeMDReminder, ClaudeMDTokens: 1500,
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

func (s *System) validate(p *problems) {
	p.oneOf("system.split", s.Split, SplitNone, SplitSections)
	p.oneOf("system.dynamic_scope", s.DynamicScope, ScopeNone, ScopeOrg)
	p.oneOf("system.tool_marker", s.ToolMarker, ToolMarkerNone, ToolMarkerLast)
	p.oneOf("system.mcp", s.MCP, MCPDeferred, MCPPrefix)
	p.oneOf("system.billing_header_in_key", s.HeaderInKey, byProvider, "true", "false")
	p.oneOf("system.claude_md", s.ClaudeMD, ClaudeMDReminder, ClaudeMDSystem)
	for _, size := range []struct {
		path   string
		tokens int32
	}{
		{"sizes.billing_header", s.Sizes.Billing}, {"sizes.identity", s.Sizes.Identity}, {"sizes.static", s.Sizes.Static},
		{"sizes.memoised", s.Sizes.Memoised}, {"sizes.uncached", s.Sizes.Uncached}, {"mcp_tools", s.MCPTools},
		{"mcp_notice", s.MCPNotice}, {"claude_md_tokens", s.ClaudeMDTokens},
	} {
		if size.tokens < 0 {
			p.add("system."+size.path, " %d must not be negative", size.tokens)
		}
	}
	if !(s.UncachedChange >= 0 && s.UncachedChange <= 1) {
		p.add("system.uncached_change", " %g must lie in 0…1", s.UncachedChange)
	}
	if s.Divided() {
		return
	}
	for _, needs := range []struct {
		path string
		set  bool
	}{
		{"claude_md", s.ClaudeMD == ClaudeMDSystem}, {"dynamic_scope", s.DynamicScope == ScopeOrg},
		{"uncached_change", s.UncachedChange > 0}, {"billing_header_in_key", s.HeaderInKey == "true"}, {"custom_prompt", s.Custom},
	} {
		if needs.set {
			p.add("system."+needs.path, " means nothing without client.system.split: sections")
		}
	}
}
