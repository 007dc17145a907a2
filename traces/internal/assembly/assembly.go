// Package assembly makes sessions of what the readers of all agents find in
// recordings. A reader does three things: it scans a file (File), divides its
// content into threads of rounds (directly, or by handing steps to Rounds), and
// describes its format (Format). The rest happens here: calls that several
// sessions repeat go to the earliest one, sub-agents are linked to the call
// that started them, recorded token totals are laid over the blocks, and
// everything is written out in the flat form of traces.Session.
package assembly

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// MaxTokens is the largest plausible context, far above any context window and
// far below the limits of an int32. It bounds every logged count, the input of
// every call, logged or estimated, and the estimate of every list of blocks
// that a line adds.
const MaxTokens = 100_000_000

// Format is what the recordings of an agent have in common.
type Format struct {
	Agent string // as in Session.Agent
	Rates traces.Rates
	// Static returns the tokens of tools and system prompt assumed for the first
	// call of a version when it reads nothing that shows them. Nil when nothing is
	// known: then all that no line shows is static.
	Static func(version string) int64
	// Head lays the blocks ahead of a thread's first round, for a format that
	// shows what they consist of. Nil for the usual way (layPrefix).
	Head func(t *Thread) []Block
	// Exact says that outputs are logged in full and thinking is counted
	// separately. Replies then keep their size, and a total that falls by the size
	// of the thinking means that the provider left it out.
	Exact bool
	// Sealed says that summaries are encrypted, so that no line shows their size.
	Sealed bool
	// Unseen makes the block for the growth of a call's context that no line shows.
	// Nil for UnseenBlock.
	Unseen func(call string, tokens int64) prompt.Block
	// Tail says that a few uncached tokens follow the last cache marker.
	Tail bool
	// Onward says that the client goes back only at a prompt, and tells what it clears: a total
	// that falls amid a turn is input of the last call that is not sent again.
	Onward bool
}

// Session is a session under construction.
type Session struct {
	*Format
	ID         string
	Versions   []string
	Project    string
	Entry      string
	Window     int64
	Announced  signs.Announced
	Variant    string // as in traces.Session
	Files      []*File
	Owned      []*File // files whose lines and problems are counted here; see Own
	Start, End int64
	LoggedUSD  float64
	Summed     bool // as traces.Session has it
	Unshown    []Unshown
	Threads    []*Thread
	Problems   Problems
	Quality    traces.Quality

	foreign map[string]bool // calls that an earlier session owns
	heard   []any           // what was heard of the blocks, once they are written
}

// Place is a line of a file.
type Place struct {
	Source *File
	Line   int32
}

// Block is a content block with what the session keeps in tables.
type Block struct {
	prompt.Block
	ID     prompt.Digest // pairs a tool call with its result
	Tool   string
	Object string
	Source *File
	Task   *Task
	Text   *traces.Text // only where texts are kept
	Heard  any          // what traces.Options.Listener heard
	at     int32        // 1 + index in the session, once it is written
	call   int32        // number of a tool call in the session, shared with its result; 0 for none
}

// Task is what a tool call gives to the sub-agent it starts.
type Task struct {
	AgentType string
	Prompt    prompt.Digest // of the prompt's block
}

// Usage is the token count of a call as logged.
type Usage struct {
	prompt.Usage
	Reasoning int64 // of the output; -1 when it is not counted separately
	Searches  int64 // of the web, by the server
	OK        bool  // complete and possible
	Assumed   bool  // the lifetime of writes is not logged
	HalfDay   bool  // an automatic cache keeps some writes for 12 hours
	Bad       bool  // a count is impossible, or one is missing that the client always writes
	Missing   bool  // the log has no count of the call at all
	Doubt     bool  // the counts contradict each other
	Spread    bool  // the input is an estimated share of what the log has for several calls together
	Told      bool  // the reader has told that the counts are missing
}

// Same reports whether two usages count the same tokens, whatever is known of lifetimes and thoughts.
func (u *Usage) Same(o *Usage) bool {
	return u.OK && o.OK && u.Uncached == o.Uncached && u.Read == o.Read && u.Writes() == o.Writes() && u.Output == o.Output
}

// Call is one API call.
type Call struct {
	ID, Model, Version string
	Gateway            string // whom the client asked for the model, where it logs that
	Place
	Usage
	Parted   int32   // as traces.Round has it
	Shrunk   float64 // share of tools and system prompt that the request lacks of the one before it, where its system prompt is shorter
	Verdict  signs.Verdict
	Fallback bool // another model refused the request first
	Final    bool // the logged output is the final count
	foreign  bool // owned by an earlier session
	// Breakpoints are what the request has of them, nil where the log does not show them.
	Breakpoints *traces.Breakpoints
	Skill       string // under which the client says that the call was made
	Plugin      string
	Advice      []Advice
	// Summaries are the passes in which the server summarized the context before it
	// answered. Usage leaves them out.
	Summaries   []Usage
	Blocks      []Block
	First, Last int64 // times of the first and last line, 0 if unknown
	Project     string
	tail        int64
}

// Advice is a call of another model while a call was answered.
type Advice struct {
	Model string
	Usage prompt.Usage
}

// context returns the recorded input tokens of the call without its tail.
func (c *Call) context() int64 { return c.Input() - c.tail }

// Context returns the recorded input tokens of a call without its tail.
func (f *Format) Context(c *Call) int64 { return c.Input() - f.tailOf(c) }

// tailOf returns the part of the uncached input after the last cache marker
// (traces.Round.Tail).
func (f *Format) tailOf(c *Call) int64 {
	if u := c.Usage.Usage; f.Tail && c.OK && u.Uncached <= signs.MaxTail && u.Uncached < u.Input() {
		return u.Uncached
	}
	return 0
}

// Round is a call with what was said before it.
type Round struct {
	*Call
	Before   []Block // the input
	Reply    []Block
	Node     int32 // for the reader: where the call is
	InputAt  int64 // time of the last input line, 0 if unknown
	Signs    signs.Set
	Prompted bool // the input holds text for the model
	Answered bool // the input holds tool results

	tools   int32 // as traces.Round has it
	derived bool  // the logged output is not the final count
	unknown bool  // the output is neither logged nor derived from the blocks
	output  int64
	total   int64 // input tokens: recorded, or by the blocks when the usage is unusable
}

// began returns the earliest known time of a round.
func (rd *Round) began() int64 {
	if rd.InputAt != 0 {
		return rd.InputAt
	}
	return rd.First
}

// Event is an event with its blocks.
type Event struct {
	traces.Event
	Source  *File
	Stayed  []Block // messages that stayed or came back
	Text    []Block // the summary
	head    []Block // tools and system prompt of the call that made it, as far as the log shows them
	Cleared []prompt.Digest
	dropped []prompt.Digest     // of blocks of any kind
	forgot  []*Block            // thinking that left the context
	summary *traces.SummaryCall // nil when it is not logged
	// uncounted says that the log has the call that made the summary, without counts that can be used, or with counts that contradict each other.
	uncounted bool
}

// Unshown is a call that no line shows, at the line that tells about the call.
type Unshown struct {
	Place
	At      int64
	Compact bool // the line is the boundary of the compaction whose summary it wrote
	Cut     bool // as traces.UnshownCall has it
	Model   string
	Usage   prompt.Usage
}

// Thread is a conversation under construction.
type Thread struct {
	traces.Thread         // without Prefix, Rounds and Events, which are made from these:
	Up            *Thread // the parent
	Starter       prompt.Digest
	Ahead         []Block // the prefix
	Calls         []Round
	Happened      []Event
	Began         int64 // time of the first line, 0 if unknown

	index     int32 // in the session
	continued bool  // continues calls that an earlier session owns
	headGrows bool  // calls bring tools or parts of the system prompt
}

// Main returns the main thread of a session, without rounds.
func Main() *Thread {
	return &Thread{Thread: traces.Thread{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1}}
}

// Earlier returns the earlier of two times; 0 is an unknown one.
func Earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Tokens sums the tokens of blocks.
func Tokens(list []Block) int64 {
	var n int64
	for i := range list {
		n += int64(list[i].Tokens)
	}
	return n
}

// Weigh estimates a block by its text. Images inside a tool result come on top
// of its text.
func Weigh(rates *traces.Rates, b *prompt.Block) int32 {
	n := rates.Tokens(b.Kind, int(b.Bytes))
	if b.Kind == prompt.KindToolResult {
		n += b.Flags.Images() * int(rates.Fixed[prompt.KindImage])
	}
	return int32(min(n, MaxTokens))
}

// Derived returns a block of which only the size is known.
func Derived(k prompt.Kind, d prompt.Digest, tokens int64) prompt.Block {
	return prompt.Block{Digest: d, Tokens: int32(tokens), Object: -1, Kind: k, Flags: prompt.FlagDerived}
}

// Own counts the lines and problems of a file as the session's, unless another session of the file has them: each line and
// problem counts once.
func (s *Session) Own(f *File) {
	s.Owned = append(s.Owned, f)
	o := &f.owned
	s.Quality.Lines += f.Lines - o.lines
	s.Quality.BadLines += f.Bad - o.bad
	s.Quality.Uncounted += f.lacking - o.lacking
	s.Problems.Join(Problems{
		List:  f.Problems.List[min(o.listed, len(f.Problems.List)):],
		Total: f.Problems.Total - o.problems, Unread: f.Problems.Unread - o.unread,
	})
	*o = owned{f.Lines, f.Bad, f.lacking, len(f.Problems.List), f.Problems.Total, f.Problems.Unread}
}

// Counted leaves out the calls of a session in which none has counts, unless sizes are to be estimated.
func (s *Session) Counted(opts *traces.Options) {
	var first *Call
	n := 0
	for _, t := range s.Threads {
		for i := range t.Calls {
			c := t.Calls[i].Call
			if c.OK || c.Output > 0 || opts.Estimate {
				return
			}
			if n++; first == nil {
				first = c
			}
		}
	}
	if first != nil {
		s.Problem(first.Place, "no call has token counts, of %d; they are left out without --estimate", n)
		s.Threads = nil
	}
}

// Alone returns the session of one file.
func (f *File) Alone(opts *traces.Options, agent, id, version string) *Session {
	s := &Session{
		Format: &Format{Agent: agent, Rates: opts.Rates, Exact: true}, ID: id,
		Files: []*File{f}, Problems: Problems{Limit: opts.MaxProblems},
	}
	if version != "" {
		s.Versions = []string{version}
	}
	return s
}

// Problem records a defect at a line.
func (s *Session) Problem(at Place, format string, args ...any) {
	s.Problems.Add(at.Source.Name, int(at.Line), format, args...)
}

// assemble returns the session; see emit. It has no threads when it has no calls or other sessions own every
// call.
func (s *Session) assemble(heard bool) *traces.Session {
	s.complete()
	return s.emit(heard)
}

// complete does all that needs the blocks of threads.
func (s *Session) complete() {
	s.dropEmpty()
	s.link()
	s.mend()
	for _, t := range s.Threads {
		s.fit(t)
	}
	s.continueForeign()
	s.number()
}
