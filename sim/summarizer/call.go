package summarizer

import (
	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Call is a model call that a layer asks for, with all it would send: what a
// summariser needs that has the call made for real. It is only valid while the
// loop waits for the answer.
type Call struct {
	Intent *prompt.Intent
	// Session is the recording the call is made in, Thread and Round where.
	Session       *traces.Session
	Thread, Round int32
	// Context is what the request sends: tools, system prompt and messages, the
	// instruction last. It is sealed, so that the chain of its last entry
	// identifies all of its content.
	Context *prompt.Context
	// Markers are the cache breakpoints as the client places them over Context.
	Markers []prompt.Marker
	Model   string // name, as in Intent.Model or the session's
	Window  int64  // of the model, tokens
	// Thinking and Effort are those of the conversation's requests by now.
	Thinking, Effort Setting
	// Draws, Event and Span are what Stub.Summarize takes.
	Draws draws.Source
	Event uint64
	Span  prompt.Digest
}

// Setting is a parameter of a conversation's requests as an event of the scenario
// has left it. The zero value is that of the recording.
type Setting struct {
	Set   bool   // an event has changed it
	Value string // in the event's words; "" where it gives none
}
