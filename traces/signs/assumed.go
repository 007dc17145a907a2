package signs

// NameKind is a kind of names in Session.Tools that are no tools: such a name begins with the kind and a space, which no
// name of a tool has.
type NameKind string

// The kinds of names.
const (
	NameSkill  NameKind = "skill"
	NamePlugin NameKind = "plugin"
	// NameGateway is for the provider or gateway that a client asked for a model, as its log names it, such as "github-copilot".
	NameGateway NameKind = "gateway"
	NameHook    NameKind = "hook"   // of a block: the hook whose output it is
	NameMemory  NameKind = "memory" // of a block: the file of instructions that it holds
)

// Of returns the name under which Session.Tools has a name of the kind; "" for none.
func (k NameKind) Of(name string) string {
	if name == "" {
		return ""
	}
	return string(k) + " " + name
}

// Announcement is what a client tells the model of its own accord: when a conversation opens,
// and again behind a compaction.
type Announcement uint8

// The announcements.
const (
	AnnouncedTools   Announcement = iota // tools that are loaded when they are needed
	AnnouncedAgents                      // kinds of agents
	AnnouncedServers                     // instructions of MCP servers
	AnnouncedHooks                       // output of SessionStart hooks
	NumAnnouncements
)

// Announced are the sizes of announcements, tokens.
type Announced [NumAnnouncements]int32

// Assumed marks what had to be assumed about a round.
type Assumed uint8

// The flags of a round.
const (
	OutputDerived Assumed = 1 << iota // Output comes from the next call's growth
	OutputUnknown                     // logged output is not final and nothing follows to derive it from
	TierAssumed                       // the recording does not split writes by lifetime; 5m assumed
	NoTime                            // lines without usable time: intervals are 0
	Fallback                          // another model refused, and the one that is logged answered in its place
	Spread                            // the input is an estimated share of what the log has for several calls together
	HalfDay                           // an automatic cache was asked to keep what the call wrote for 12 hours
)

// MaxTail is the largest count of uncached tokens taken for the tail behind the
// last breakpoint; larger counts are uncached context.
const MaxTail = 64
