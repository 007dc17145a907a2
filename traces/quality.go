package traces

import (
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Quality sums up what a recording leaves to be assumed.
type Quality struct {
	Calls          int   // distinct API calls
	Lines          int   // lines read
	BadLines       int   // lines that are not valid or not understood
	InputTokens    int64 // new tokens over all rounds (prefix and growth), as recorded
	PrefixTokens   int64 // of those, tokens of tools, system prompts and reminders, which no transcript shows
	UnseenTokens   int64 // of those, further tokens in no transcript line
	DerivedOutputs int   // calls whose output was derived
	UnknownOutputs int   // calls whose logged output is not final and could not be derived
	AssumedTiers   int   // calls that wrote to the cache without saying for how long
	Spread         int   // calls whose input is an estimated share of what the log has for several calls together
	Uncounted      int   // calls with token counts that are missing or impossible, which are not in Usage, or contradict each other
	Unshown        []Unshown
	LostTokens     int64 // tokens that cumulative counts of the log have and no call
	WebSearches    int   // searches of the web by the server, which cost beside the tokens
	Synthetic      int   // lines that look like responses and are no calls
	Repeated       int   // calls owned by an earlier session, not counted here
	Bare           int   // compactions ahead of the first call of a thread, or behind its last: no call shows what they did
	Inherited      int   // calls of sessions that this one continues and that are not here, not counted either
	Problems       int   // defects met; Session.Problems keeps the first ones
}

// Unshown counts the calls of Session.Unshown to a model: summaries, streams that were cut, and all other
// calls. Calls of one model between two sums count as one.
type Unshown struct {
	Model                  string
	Summaries, Cut, Others int
}

// Problem is a defect in the input, with the place to look at.
type Problem struct {
	File string
	Line int // from 1; 0 for the whole file
	Text string
	// Unread says that the file could not be read, or not to its end: what it holds is missing.
	Unread bool
}

// String returns "file:line: text", in one line.
func (p Problem) String() string {
	text := p.Text
	switch {
	case p.Line > 0:
		text = p.File + ":" + strconv.Itoa(p.Line) + ": " + text
	case p.File != "":
		text = p.File + ": " + text
	}
	return inLine.Replace(text)
}

// inLine escapes what would begin a new line.
var inLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Error implements error: under Options.Strict a problem ends reading.
func (p Problem) Error() string { return p.String() }

// SummaryCall is the call that made the summary of a compaction.
type SummaryCall struct {
	Thread, Event int32 // index into Session.Threads and Thread.Events
	Calls         int32 // calls that Usage adds up; 0 is one
	Model         string
	Usage         prompt.Usage
}

// AdviceCall is a call of another model that the server made while a model answered, which asked it for
// advice. It has a context of its own, and its counts are in no other call.
type AdviceCall struct {
	Thread, Round int32 // index into Session.Threads and Thread.Rounds
	Model         string
	Usage         prompt.Usage
}

// Search is how often the server searched the web while it answered a call.
type Search struct {
	Thread, Round int32 // index into Session.Threads and Thread.Rounds
	Times         int32
}

// UnshownCall is a call that no line of a recording shows: a summary, a stream that was cut, a
// title. What the client's own sum has beyond its lines is divided among the places where lines
// tell of such a call, and the rest of a model is one entry.
type UnshownCall struct {
	Thread, Event int32 // the compaction whose summary it wrote; Event is −1 for none
	// Cut says that its request is logged and no answer to it.
	Cut   bool
	Model string
	Usage prompt.Usage
	At    int64 // unix ns of the line that tells it, 0 if unknown
	Line  int32
	File  uint16
}

// Summary reports whether the call wrote the summary of a compaction.
func (c *UnshownCall) Summary() bool { return c.Event >= 0 }
