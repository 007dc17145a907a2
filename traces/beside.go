package traces

import "github.com/compactsim/compactsim/sim/prompt"

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
