// Package signs names what the lines of a log show of a call beside its content: what the client did with the request, and
// why the server says that it missed its cache. It has no promise to importers.
package signs

// Set is what the lines before a call show of the client that made it, a bit
// each. They are not content: they say what the client did with the request.
type Set uint32

// The signs of a round.
const (
	TurnEnd      Set = 1 << iota // the client logged the end of the turn before: stop hooks, a duration
	Away                         // a summary for a person who comes back: a call of the client that is not logged
	Hook                         // a hook of a tool added context to its result
	Resume                       // the client was started again on the session
	Notice                       // the input is a notice of a background task, nobody's words
	Interrupt                    // a person interrupted the turn before
	Command                      // a command was expanded
	Plan                         // a plan is started in a fresh context
	ThinkingTold                 // a person's line says how to think
	ThinkingOff                  // and that it is switched off
	Process                      // the client was started anew on the session, or in another way than before
	Version                      // another version of the client than before
	Servers                      // the list of tools that are loaded on demand, or of MCP servers, changed
	Listing                      // the list of skills or of kinds of agents changed
	PlanMode                     // plan mode began or ended
	Effort                       // another effort of the model than before
	Model                        // a command chose a model
	Branch                       // another branch of git than before
	Team                         // a teammate began or wrote
	Retry                        // the server refused a request
	Head                         // other tools, or another system prompt, than in the request before
)

// Has reports whether all signs of a set are there.
func (s Set) Has(set Set) bool { return s&set == set }

// Thinking follows whether the turns of a thread go with thinking, by the lines
// before its calls. The zero value has heard nothing: it thinks.
type Thinking struct {
	plain   bool // the turn goes without
	told    bool // lines say how to think
	thought bool // a response has shown thinking
}

// Off reports whether the request goes without thinking. A thread that was never seen to think has none to switch off.
func (k *Thinking) Off() bool { return k.plain && (k.thought || k.told) }

// Hear takes the lines before a round's request. One that says how to think decides; else an expanded command or skill,
// which is a meta prompt, and the start of a plan switch thinking off, and a person's own words on again unless they
// come with tool results (recorded: the tail of a request shows which, and of 3,292 calls of versions 2.1.6 to 2.1.37
// this is right for all but 95, 87 of which are of models whose tail does not).
func (k *Thinking) Hear(c Content, signs Set) {
	k.told = k.told || signs&(Plan|ThinkingTold) != 0
	switch {
	case signs&(Plan|ThinkingOff) != 0:
		k.plain = true
	case signs.Has(ThinkingTold):
		k.plain = false
	case c.Meta:
		k.plain = true
	case c.Person && !c.Results:
		k.plain = false
	}
}

// See takes the response of a round.
func (k *Thinking) See(c Content) { k.thought = k.thought || c.Thinks }

// Content is which kinds of block a round has.
type Content struct {
	Meta, Person, Results bool // the input has a prompt of the client's, one of a person's, results of tools
	Calls, Thinks         bool // the response calls tools, shows thinking
}

// Verdict is why the server says that a request did not continue what it had cached: its comparison of the request with
// the one before. It knows nothing of lifetimes (recorded: null is no hit, and "unavailable" is often one).
type Verdict uint8

// The verdicts of the server.
const (
	VerdictNone     Verdict = iota // none logged
	VerdictSame                    // logged, and nothing diverged
	VerdictUnknown                 // it could not compare
	VerdictGone                    // the message before is not in the cache
	VerdictMessages                // the messages differ
	VerdictSystem                  // the system prompt differs
	VerdictTools                   // the tools differ
	VerdictModel                   // the model differs
	numVerdicts
)

// Names are as logged (message.diagnostics.cache_miss_reason.type).
var verdictNames = [numVerdicts]string{
	"none", "same", "unavailable", "previous_message_not_found", "messages_changed", "system_changed", "tools_changed",
	"model_changed",
}

// String returns the name used in reports.
func (v Verdict) String() string { return verdictNames[min(v, numVerdicts-1)] }

// VerdictOf returns the verdict with a name as logged; VerdictUnknown for a new one.
func VerdictOf(name []byte) Verdict {
	for v := VerdictUnknown; v < numVerdicts; v++ {
		if verdictNames[v] == string(name) {
			return v
		}
	}
	return VerdictUnknown
}

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

// A call shows how dense its results are if they have at least leastDenseBytes bytes and so many tokens a byte: what else the call
// sends is little beside them.
const (
	leastDenseBytes = 1000
	leastDense      = 0.1
	mostDense       = 1.2
)

// ShowDensity reports whether the tokens of a call that sends results of so many bytes show how many tokens a byte of them has.
func ShowDensity(tokens, bytes float64) bool {
	return bytes >= leastDenseBytes && tokens >= leastDense*bytes && tokens <= mostDense*bytes
}
