package client

import (
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// System is how the system prompt is divided and marked. Sizes are tokens of
// the recorded prefix, whose total stays the same.
type System struct {
	Split          string      `yaml:"split" enum:"none,sections" doc:"none: as one block with one marker after it. sections: a billing header, the identity (marker for the organisation), the static part (marker for everyone), project files if claude_md says so, what is memoised, and what is not. Sub-agents have a prompt of their own: no sections but the header."`
	Sizes          sizes       `yaml:"sizes" needs:"split=sections" doc:"Sections take their tokens in this order; what does not fit is counted among the reasons. All assumed but the order."`
	DynamicScope   string      `yaml:"dynamic_scope" enum:"none,org" needs:"split=sections" doc:"A marker after the dynamic sections as well: none or org. It moves what is read after a compaction. (The client's code says none, its diagram org.)"`
	ToolMarker     string      `yaml:"tool_marker" enum:"none,last" doc:"A marker after the tools: none or last. Recordings show none."`
	Custom         bool        `yaml:"custom_prompt" needs:"split=sections" doc:"The caller's own prompt in the place of all sections but the header."`
	MCP            string      `yaml:"mcp" enum:"deferred,prefix" doc:"Where tools of MCP servers load: deferred (announced after the conversation: the prefix stays) or prefix (among the tools: everything is written again, and the static section is marked for the organisation only)."`
	MCPTools       int32       `yaml:"mcp_tools" min:"0" needs:"mcp=prefix" doc:"Tokens of those connected from the start, of the recorded tools; for prefix." unit:"tokens"`
	MCPNotice      int32       `yaml:"mcp_notice" min:"0" doc:"Tokens that announce a server when tools are deferred. Assumed." unit:"tokens"`
	HeaderInKey    string      `yaml:"billing_header_in_key" enum:"by_provider,true,false" needs:"split=sections" doc:"Whether the header, which differs in every request, is part of the cache key: by_provider (not on first_party), true or false. Assumed."`
	Memoised       bool        `yaml:"memoised" doc:"Memoised sections and project files show changes after the next compaction of the main conversation; off, in the next request."`
	UncachedChange float64     `yaml:"uncached_change" min:"0" max:"1" needs:"split=sections" doc:"Probability, 0…1, that the uncached section differs from the request before." unit:"share of calls"`
	RenderedReuse  bool        `yaml:"rendered_prompt_reuse" doc:"Forks send the prompt as the conversation last rendered it, at a person's prompt. Off, as it would be rendered now: a flag_change in between breaks their prefix."`
	ClaudeMD       string      `yaml:"claude_md" enum:"reminder,system" needs:"split=sections" doc:"Place of project files: reminder (before the first prompt) or system. It decides what an edit of these files invalidates. Assumed."`
	AgentMemory    agentMemory `yaml:"agent_memory" doc:"What sub-agents keep from one invocation to the next, after their system prompt (003:1783)."`
	ClaudeMDTokens int32       `yaml:"claude_md_tokens" min:"0" needs:"claude_md=system" doc:"With system, so many of the recorded reminders move to the system prompt."`
}

// agentMemory is the persistent memory of sub-agents.
type agentMemory struct {
	Tokens int32  `yaml:"tokens" min:"0" doc:"Its size, beside the recorded prompt; 0 for none. No recording shows one."`
	Scope  string `yaml:"scope" enum:"user,project,local" needs:"client.system.agent_memory.tokens" doc:"Whose it is: user (one for all projects of a user), project (one for everybody who works on it) or local (a user's own in a project). Prompts with different memories share no entry after it."`
}

// Scopes of the memory of sub-agents (003:1783: three scopes).
const (
	MemoryOfUser    = "user"
	MemoryOfProject = "project"
	MemoryLocal     = "local"
)

// sizes are the tokens of the sections of a system prompt.
type sizes struct {
	Billing  int32 `yaml:"billing_header" min:"0" doc:"The line that changes with every request." unit:"tokens"`
	Identity int32 `yaml:"identity" min:"0" doc:"Who the model is." unit:"tokens"`
	Static   int32 `yaml:"static" min:"0" doc:"The same for everyone. 0 is what all other sections leave." unit:"tokens"`
	Memoised int32 `yaml:"memoised" min:"0" doc:"Kept until the next compaction." unit:"tokens"`
	Uncached int32 `yaml:"uncached" min:"0" doc:"Computed anew for every request." unit:"tokens"`
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

// DefaultSystem does not divide the system prompt. The sizes are assumed; the order of the
// sections and which sections change are not (000:36-60). The identity is one line.
func DefaultSystem() System {
	return System{
		Split: "none", Sizes: sizes{Billing: 40, Identity: 15, Memoised: 800, Uncached: 100},
		DynamicScope: "none", ToolMarker: "none", MCP: MCPDeferred, MCPNotice: 150, HeaderInKey: "by_provider",
		Memoised: true, RenderedReuse: true, ClaudeMD: "reminder", ClaudeMDTokens: 1500,
		AgentMemory: agentMemory{Scope: MemoryOfProject},
	}
}

// Divided reports whether the system prompt is sent in sections.
func (s *System) Divided() bool { return s.Split == SplitSections }

// Cut divides a system prompt of total tokens, and project more that are moved
// here from the reminders, into sections in order. Earlier sections are filled first;
// short is what the sizes require beyond the total. The rest goes to the static
// section, or to the memoised one if the static one has a size. A custom prompt
// has no sections after the billing header.
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

// Rules returns the contradictions between settings.
func (s *System) Rules() []error {
	var errs []error
	if n := s.markers(); n > exchange.MaxMarkers {
		errs = append(errs, spec.Wrong("tool_marker", "%s with dynamic_scope %s puts %d markers on a request, the server takes %d (platform.claude.com, prompt caching)",
			s.ToolMarker, s.DynamicScope, n, exchange.MaxMarkers))
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

// Injected returns a block that the client writes itself: the same text at every call.
func Injected(k prompt.Kind, text string, tokens int32) prompt.Block {
	b := prompt.Block{
		Digest: prompt.DigestString(text).ExtendInt(uint64(tokens)),
		Kind:   k, Tokens: tokens, Object: -1,
	}
	if k.Level() == prompt.LevelMessages {
		b.Flags = prompt.FlagMeta
	}
	return b
}

// DrawKey identifies a layer, or what else draws, by its name, so that adding or removing
// another shifts nothing.
func DrawKey(name string) uint8 { return uint8(prompt.DigestString(name).Lo) | 1 }
