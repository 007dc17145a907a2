// Package traces holds agent sessions in their parsed form: what was said, what
// it weighed, when, and what the recording's own agent did about its context.
//
// A Session is parsed once, immutable, and shared by every cell of a run. The workload (rounds) is kept apart from what
// the recorded agent did to its context (events), so that another strategy can be replayed over the same workload.
// Readers of particular formats live in packages below this one.
package traces

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces/signs"
)

// Session is one agent session with its sub-agents.
type Session struct {
	ID       string
	Agent    string   // the name of a facts.Agent: "claude-code", "codex", …
	Versions []string // client versions in order of appearance
	Variant  string   // of how the client is set up, where that changes what it does: facts.VariantLocal, facts.VariantOhMyPi; "" for the usual way
	Project  string   // working directory or repository the session ran in
	Entry    string   // how the client was started, as logged: "cli", "claude-desktop", …; "" for unknown
	Window   int64    // context window the client logged, tokens; 0 for none
	Files    []string // where it was read from, main file first
	Start    int64    // unix ns of the first line with a time; 0 if there is none
	End      int64    // unix ns of the last line with a time
	Blocks   []prompt.Block
	Tools    []string // names by Block.Tool, Round.Skill and Round.Plugin; Tools[0] is "". See Named for names that are no tools
	Models   []string // names by Round.Model
	Objects  []string // paths by Block.Object
	Threads  []Thread // the main thread first, if there is one; parents before children
	Problems []Problem
	Quality  Quality
	// Summaries are the calls that made the summaries of compactions, where the
	// recording logs them. They are no rounds: what is simulated makes its own.
	Summaries []SummaryCall
	// Summed says that the client logged the sum of all its calls. What the sum has beyond the
	// calls that lines show is in Unshown: nothing else was billed.
	Summed  bool
	Unshown []UnshownCall
	// Advice are the calls of other models that a server made while it answered, by thread and round.
	Advice []AdviceCall
	// Searches are the calls whose server searched the web, for a fee beside their tokens.
	Searches []Search
	// LoggedUSD is the cost of all calls as the client logged it; 0 where it logs none.
	LoggedUSD float64
	// Announced is what the client told the model ahead of its first response, tokens.
	Announced signs.Announced
	// Placements are the different placements of cache breakpoints that requests carry, where the recording shows requests.
	Placements []Breakpoints
	// Index is what Options.Listener made of the texts; nil without one.
	Index any

	away *away // nil if the body is in memory
}

// MayHide reports whether the session may have calls on its conversation's cache, as some clients
// make at the ends of turns, that no line shows: not where the client's own sum has no room for one behind the first call.
func (s *Session) MayHide() bool {
	if !s.Summed {
		return true
	}
	if len(s.Threads) == 0 || len(s.Threads[0].Rounds) == 0 {
		return false
	}
	first, read := &s.Threads[0].Rounds[0], int64(0)
	for i := range s.Unshown {
		if c := &s.Unshown[i]; !c.Summary() && !c.Cut && (c.At > first.At || c.At == 0 && first.At != 0) { // 0: at an unknown time
			read += c.Usage.Read
		}
	}
	return read >= first.Usage.Input()
}

// Given reports whether a call that no line shows comes about whatever a strategy does: titles, streams that were cut, calls ahead of
// the first one that a line shows. Summaries, and calls on the conversation's cache where there may be some, are simulated.
func (s *Session) Given(c *UnshownCall) bool {
	return !c.Summary() && (c.Cut || c.Usage.Read == 0 || !s.MayHide())
}

// Version returns the first client version seen, or "".
func (s *Session) Version() string {
	if len(s.Versions) == 0 {
		return ""
	}
	return s.Versions[0]
}

// ThreadKind says how a thread relates to its parent.
type ThreadKind uint8

// The kinds of thread.
const (
	ThreadMain   ThreadKind = iota
	ThreadAgent             // a sub-agent: own prefix, own context
	ThreadBranch            // an abandoned branch: inherits its parent's context
	ThreadOrphan            // a sub-agent whose parent is not in the recording
)

var threadNames = [...]string{"main", "agent", "branch", "orphan"}

// String returns the lower-case name used in reports.
func (k ThreadKind) String() string { return threadNames[min(int(k), len(threadNames)-1)] }

// Span is the half-open range [From, To) of indices into Session.Blocks.
type Span struct{ From, To int32 }

// Len returns the number of blocks.
func (s Span) Len() int { return int(s.To - s.From) }

// Thread is one conversation: a list of rounds on one growing context.
type Thread struct {
	ID          string // "main", the agent's id, or the id of the branch's first message
	Kind        ThreadKind
	MidContext  bool  // starts with history that is not in the recording
	Parent      int32 // index into Session.Threads; -1 for none
	ParentRound int32 // round of the parent it starts from; -1 for the parent's start
	// Delay is the time from the end of ParentRound's response (or from the parent's start, or from the session's start
	// without a parent) to this thread's start, ns.
	Delay int64
	// Since is the time from the last response of the session that this one
	// continues to the thread's first request, ns; 0 when it continues none.
	Since int64
	// Left is the call of another session that left the context which the thread's first call goes on with, as a
	// resumed or forked session does; without input where there is none.
	Left LeftBehind
	// AgentType is the kind of a sub-agent, as the call that started it names it; "" if unknown.
	AgentType string
	Prefix    Span // immutable blocks before the first round: tools, system, reminders; empty for a branch
	Rounds    []Round
	Events    []Event // what the recording did to the context, ordered by Round
}

// Stayed reports whether the recording changed nothing ahead of a round that the call before it had sent, and whether that call's reply is
// sent as it came. Reasoning of this reply alone, which a provider leaves out at a prompt, had not been sent.
func (t *Thread) Stayed(round int32) (sent, reply bool) {
	at, found := slices.BinarySearchFunc(t.Events, round, func(e Event, round int32) int { return cmp.Compare(e.Round, round) })
	for sent = true; at < len(t.Events) && t.Events[at].Round == round; at++ {
		e := &t.Events[at]
		sent = sent && round > 0 && e.Kind == EventForget && len(e.Cleared) > 0 && e.Cleared[0] >= t.Rounds[round-1].Reply.From
	}
	return sent, !found
}

// LeftBehind is what a call of another session left in the cache.
type LeftBehind struct {
	Usage prompt.Usage
	TTL   exchange.TTL // lifetime of what it read and wrote
	Gap   int64        // ns from the end of its response to the request of the thread's first call; −1 if unknown
	Model bool         // it went to the model of the thread's first call
}

// Trigger says what a call answers.
type Trigger uint8

// What a call answers.
const (
	TriggerPrompt     Trigger = iota // a person's prompt (or a sub-agent's task)
	TriggerToolResult                // results of the previous call's tools
	TriggerOther                     // no visible input: a retry or a continuation
)

var triggerNames = [...]string{"prompt", "tool_result", "other"}

// String returns the lower-case name used in reports.
func (t Trigger) String() string { return triggerNames[min(int(t), len(triggerNames)-1)] }

// Round is one API call: what was appended before it and what it answered.
type Round struct {
	ID    string // the API's message id
	Input Span   // blocks new in this request, in order, unseen block last
	Reply Span   // blocks of the response
	Usage prompt.Usage
	// Tail is the part of Usage.Uncached behind the last cache breakpoint of every request (a near-constant 1–14
	// tokens): it is sent but never cached and is no part of the context. At most signs.MaxTail.
	Tail   int32
	Tools  int32 // tokens by which the list of tools that Parted names, or a system prompt that shrank, is heavier than what was sent before
	Logged int64 // output tokens as logged; Usage.Output is the final or derived count
	At     int64 // unix ns of the request: time of the last input line; 0 if unknown
	// Wait is the time from the previous response's end (the thread's start for
	// the first) to the request, ns, the recording's own compaction waits taken out.
	Wait    int64
	First   int64 // ns from the request to the first line of the response
	Stream  int64 // ns from the request to the end of the response
	Line    int32 // line of the response's first block, from 1
	File    uint16
	Model   uint16
	Trigger Trigger
	Flags   signs.Assumed
	// Signs are what the lines since the last response tell about the client,
	// and Verdict is what the server said of the request's prefix.
	Signs   signs.Set
	Verdict signs.Verdict
	// Parted says that Verdict is no word of the server's: the requests in the log show it. It is where they part,
	// from 1: the message, or the byte of the system prompt; of tools it is which list of tools was sent, numbered in the
	// order in which the thread first sent them. 0 where the server said it.
	Parted int32
	// Skill and Plugin are the names in Session.Tools under which the client says that the call was made, and Gateway is the
	// name of whom it asked for the model: the provider, or who passes calls on to it. 0 for none.
	Skill, Plugin, Gateway uint16
	// Placement is 1 + the index of the request's breakpoints in Session.Placements, 0 where the recording does not show them.
	Placement uint16
}

// Counted reports whether the log has the input of the call by itself.
func (r *Round) Counted() bool { return r.Usage.Input() > 0 && r.Flags&signs.Spread == 0 }

// EventKind says what a recording did to its context.
type EventKind uint8

// The kinds of event.
const (
	EventCompact      EventKind = iota // messages replaced by a summary (logged boundary)
	EventMicrocompact                  // tool results cleared (logged boundary)
	EventShrink                        // the context shrank and no line says why
	EventForget                        // the provider left out reasoning of finished turns, whatever the agent's strategy
	eventCount
)

// NumEventKinds is the number of kinds of event, for tables indexed by EventKind.
const NumEventKinds = int(eventCount)

var eventNames = [eventCount]string{"compact", "microcompact", "shrink", "forget"}

// String returns the lower-case name used in reports.
func (k EventKind) String() string { return eventNames[min(int(k), len(eventNames)-1)] }

// Event is something the recorded agent did to its context before the request
// of a round. It is not part of the workload.
type Event struct {
	Kind     EventKind
	Manual   bool // asked for by a person
	Uncalled bool // a compaction of which the log shows that no call made its summary
	// Gone says that the cleared blocks left the context whole.
	Gone bool
	Head bool // a shrink before which lines show that tools or system prompt changed
	// Asked and Told are the tokens in and out of the call that made a summary, where the log shows it and it read
	// nothing of the conversation's prefix; 0 elsewhere.
	Asked, Told int32
	Cached      bool  // that call read the cache or wrote it
	Round       int32 // happens before this round's request; len(Rounds) when nothing follows
	PreTokens   int32 // client's count that was logged, 0 if none
	Preserved   int32 // messages that stayed as they were in a compaction, 0 if not logged
	// Summary are the blocks of the summary, and CallHead the tools and system prompt of the call that Asked counts, as far as the log
	// shows them, outside every round.
	Summary, CallHead Span
	// Kept is the total tokens of the messages after the event other than
	// the round's own input: summary, restored files, reminders. 0 when unknown.
	Kept int32
	// Absorbed is the number of blocks at the start of the round's input that came before the event and went into it
	// (tool results still pending at an automatic compaction).
	Absorbed int32
	Cleared  []int32 // microcompact, forget: blocks (indices into Session.Blocks) whose content was cleared
	Saved    int32   // microcompact, shrink, forget: tokens that left the context, by the recorded totals
	Wait     int64   // ns the recording waited for it
	At       int64   // unix ns
	Line     int32
	File     uint16
}

// NumCalls returns the API calls over all threads.
func (s *Session) NumCalls() int {
	n := 0
	if s.away != nil {
		for _, calls := range s.away.models {
			n += int(calls)
		}
	}
	for i := range s.Threads {
		n += len(s.Threads[i].Rounds)
	}
	return n
}

// ModelCalls returns the API calls by index into Models.
func (s *Session) ModelCalls() []int32 {
	if s.away != nil {
		return s.away.models
	}
	calls := make([]int32, len(s.Models))
	for i := range s.Threads {
		for j := range s.Threads[i].Rounds {
			calls[s.Threads[i].Rounds[j].Model]++
		}
	}
	return calls
}

// Usage returns the recorded usage over all threads, outputs final or derived.
func (s *Session) Usage() prompt.Usage {
	if s.away != nil {
		return s.away.usage
	}
	var u prompt.Usage
	for i := range s.Threads {
		for j := range s.Threads[i].Rounds {
			u.Add(&s.Threads[i].Rounds[j].Usage)
		}
	}
	return u
}

// PeakInput returns the largest recorded input of a call over all threads, tokens.
func (s *Session) PeakInput() int64 {
	if s.away != nil {
		return s.away.peak
	}
	var peak int64
	for i := range s.Threads {
		for j := range s.Threads[i].Rounds {
			peak = max(peak, s.Threads[i].Rounds[j].Usage.Input())
		}
	}
	return peak
}

// StartTime returns the time of the first line, zero if there is none.
func (s *Session) StartTime() time.Time { return unixTime(s.Start) }

// EndTime returns the time of the last line, zero if there is none.
func (s *Session) EndTime() time.Time { return unixTime(s.End) }

func unixTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// Named returns the name of a kind at an index of Session.Tools; "" if it is none of that kind.
func (s *Session) Named(k signs.NameKind, at uint16) string {
	if int(at) >= len(s.Tools) {
		return ""
	}
	name, ok := strings.CutPrefix(s.Tools[at], string(k)+" ")
	if !ok {
		return ""
	}
	return name
}

// Person returns who a session ran for: the folder in which the system keeps the home of the project's owner, such as
// /Users/ada, /home/ada or C:\Users\ada; "" where the project does not lie in a home.
func (s *Session) Person() string {
	path := strings.ReplaceAll(s.Project, `\`, "/")
	drive := ""
	if len(path) > 2 && path[1] == ':' && path[2] == '/' {
		drive, path = path[:2], path[2:]
	}
	for _, homes := range []string{"/Users/", "/home/", "/var/home/"} {
		if len(path) > len(homes) && strings.EqualFold(path[:len(homes)], homes) {
			name, _, _ := strings.Cut(path[len(homes):], "/")
			return s.Project[:len(drive)+len(homes)+len(name)]
		}
	}
	if path == "/root" || strings.HasPrefix(path, "/root/") {
		return "/root"
	}
	return ""
}

// Text is what a line says of a block.
type Text struct {
	Digest   prompt.Digest // of the block
	Text     string        // bytes as recorded; of a tool call its input
	Quoted   bool          // a tool call's input is text, not JSON
	Withheld bool          // the line shows only an encrypted form
}

// Listener is shown the texts of blocks while recordings are read. It is safe for concurrent use.
type Listener interface {
	// Hear returns what to remember of the text of a block, nil for nothing. A KindPrompt may still turn out to be
	// another kind. The text is valid only during the call.
	Hear(k prompt.Kind, t *Text) any
	// Index makes Session.Index from what was heard of each block of a session.
	Index(s *Session, heard []any) any
}

// Breakpoints are the cache breakpoints that the body of a request carries, in order of position: the first N of At.
type Breakpoints struct {
	At [exchange.MaxMarkers]Breakpoint
	N  int8
}

// Breakpoint is the place of one cache breakpoint, told so that it has a meaning for a request whose messages a strategy has changed.
type Breakpoint struct {
	// Share is the part of the bytes of tools, or of the system prompt, that precedes the breakpoint, 0…1.
	Share float32
	// Message is how many messages follow the one with the breakpoint, adjacent messages of one role being one, and Block is how
	// many blocks of that message follow the marked one. From the start, Block is how many blocks of messages precede the
	// breakpoint, the marked one included.
	Message, Block uint16
	Level          prompt.Level
	TTL            exchange.TTL
	Start          bool // counted from the first message
}

// Add adds a breakpoint at the end of the list. Of more than a request may carry the last ones stay.
func (b *Breakpoints) Add(p Breakpoint) {
	if int(b.N) == len(b.At) {
		copy(b.At[:], b.At[1:])
		b.N--
	}
	b.At[b.N] = p
	b.N++
}

// Messages returns how many of the breakpoints are on messages.
func (b *Breakpoints) Messages() (n int) {
	for _, p := range b.At[:b.N] {
		if p.Level == prompt.LevelMessages {
			n++
		}
	}
	return n
}

// Breakpoints returns the breakpoints that the request of a round carries, nil where the recording does not show them.
func (s *Session) Breakpoints(r *Round) *Breakpoints {
	if r.Placement == 0 || int(r.Placement) > len(s.Placements) {
		return nil
	}
	return &s.Placements[r.Placement-1]
}
