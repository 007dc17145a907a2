// Package sim replays sessions under a strategy: the clock, the loop over the
// threads of a cohort, the runner over many cells, and the invariants that must
// hold.
//
// A Loop simulates; Run drives loops over sessions and configurations and adds
// up rows. The loop knows no format, no preset and no price list: it is given
// sessions, a strategy, a server, a summariser and prices.
package sim

import (
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Server is a modelled prompt cache. Times are ns on the cohort's clock and
// never run back.
type Server interface {
	Begin(t int64, r *prompt.Request) prompt.Outcome
	FirstToken(t int64, ticket int32)
	End(t int64, ticket int32, output int64)
	Reset()
}

// Summarizer says what a summary call answers.
type Summarizer interface {
	Summarize(in *prompt.Intent, src draws.Source, event uint64, span prompt.Digest) prompt.Answer
}

// Prices say what a model costs at a time.
type Prices interface {
	Lookup(model string, at time.Time) (costmodel.Price, error)
}

// Config is one cell: everything a loop needs besides the sessions.
type Config struct {
	Strategy *strategies.Strategy
	Client   Client // nil: as the session's agent and version
	// Assembly is how requests are put together beside what the version says;
	// nil for client.DefaultAssembly.
	Assembly *client.Assembly
	// Events happen to every session beside what it says, at most 64.
	Events []client.Event
	// Server makes a cache of a kind. The sessions of an agent share one.
	Server     func(kind traces.Cache) Server
	Summarizer Summarizer
	Prices     Prices
	PricesAt   time.Time // zero: each call at its own date
	Seed       uint64
	// Owner returns the organisation a session belongs to, given its place in its
	// cohort: it reads what its own organisation has written, and what is marked
	// for everyone. Nil: all of them to one, 1.
	Owner func(index int, s *traces.Session) uint32
	// Person returns who has a session, given its place in its cohort, in place
	// of Owner; nil: one user has them all.
	Person func(index int, s *traces.Session) Person
	Window int64 // context window, tokens; 0: as the session's client
	Verify bool  // check the invariants at every call
	// HintAt is the size from which the server refuses requests of a client
	// that takes hints, once each, with the hint to clear, tokens; 0 for never.
	HintAt int64
	// Latency says how long calls take that the recording does not tell of, and
	// what a change of the cached share makes of the others. The zero value
	// leaves recorded times as they are.
	Latency costmodel.Latency
	// Levels are what the client shows of how full the window is; the zero
	// value notes none.
	Levels Levels
	// Breaks watches every call with the break detector of a client, under Rules;
	// nil for those of the client.
	Breaks bool
	Rules  *breaks.Rules
	// Profile adds to the plain cache model what recordings tell of the client
	// and of other conversations; nil for the plain model.
	Profile *profile.Profile
	// Draw decides what the profile leaves open by draws; without it the more
	// likely case is taken.
	Draw bool
	// Record, when not nil, gets every call in order of completion. The
	// record is only valid during the call.
	Record func(*results.CallRecord)
	// Observer, when not nil, is told what happens and why.
	Observer Observer
}

// window returns the context window of a session's main model, tokens.
func (c *Config) window(cl Client, s *traces.Session, model string) int64 {
	if c.Window > 0 {
		return c.Window
	}
	return RecordedWindow(s, cl.Window(model))
}

// RecordedWindow returns the context window that a session had with a model of
// which its client knows one, tokens: its own where it tells of one, and at least
// what its largest request needed.
func RecordedWindow(s *traces.Session, known int64) int64 {
	w := known
	if s.Window > 0 {
		w = s.Window
	}
	if s.PeakInput() > w {
		return 1_000_000 // the recording itself passed the smaller window
	}
	return w
}
