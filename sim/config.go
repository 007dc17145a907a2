// Package sim replays sessions under a strategy: the clock, the loop over the
// threads of a cohort, the runner over many cells, and the invariants that must
// hold.
//
// A Loop simulates; Run drives loops over sessions and configurations and adds
// up rows. The loop knows no format, no preset and no price list: it is given
// sessions, a strategy, a server, a summariser and prices.
package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/caches"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Server is a modelled prompt cache.
type Server = caches.Server

// Summarizer says what a summary call answers.
type Summarizer interface {
	Summarize(in *prompt.Intent, src draws.Source, event uint64, span prompt.Digest) prompt.Answer
}

// Prices say what a model costs at a time.
type Prices = calls.Prices

// Config is one cell: everything a loop needs besides the sessions.
type Config struct {
	Strategy *strategies.Strategy
	// Around, when not nil, is equal for cells that differ in nothing but their strategy, Lifetimes and
	// CLAUDE_CODE_AUTO_COMPACT_WINDOW. A Runner may simulate several such cells at once, as long
	// as they act alike; their rows are the same as if it simulated each by itself.
	Around any
	Client Client // nil: as the session's agent and version
	// Assembly holds the settings of how requests are assembled beyond the version's settings; nil for
	// client.DefaultAssembly.
	Assembly *client.Assembly
	// Events happen to every session in addition to its own, at most 64.
	Events []client.Event
	// Server makes a cache of a kind. The sessions of an agent share one.
	Server func(kind facts.Cache) Server
	// Named is the server that all sessions call; nil for each recording's own server.
	Named      *servers.Server
	Summarizer Summarizer
	Prices     Prices
	PricesAt   time.Time // zero: each call at its own date
	Seed       uint64
	// Owner returns the organisation of a session, given its place in its cohort: the
	// session reads what its own organisation has written and what is marked for
	// everyone. Nil: all belong to organisation 1.
	Owner func(index int, s *traces.Session) uint32
	// Person returns who has a session, given its place in its cohort, and replaces
	// Owner; nil: one user has them all.
	Person func(index int, s *traces.Session) Person
	Window int64 // context window, tokens; 0: as the session's client
	// Lifetimes are the lifetimes of entries in Server's caches, by class; 0 keeps a cache's own.
	Lifetimes promptcache.Lifetimes
	// HintAt is the size, tokens, from which the server refuses a request once with the
	// hint to clear, when a layer takes hints; 0 for never.
	HintAt int64
	// Latency gives the times of calls that the recording does not have, and how recorded times change
	// with the share that is cached. The zero value leaves recorded times
	// as they are.
	Latency costmodel.Latency
	// Levels are what the client shows of how full the window is; the zero
	// value notes none.
	Levels Levels
	// Overflow is what happens to a request that is refused for good.
	Overflow Overflow
	// Needs returns what the actions of a session used of what had been said before; nil, or a nil index, measures
	// nothing. It must be safe for concurrent use.
	Needs func(*traces.Session) *needs.Index
	// Agent says how the agent departs from what it did in the recording; zero: not at all.
	Agent Agent
	// Profile adds to the plain cache model what recordings show of the client and of
	// other conversations; nil for the plain model.
	Profile *profile.Profile
	Premise
	Watch
}

// Agent is how the agent departs from what it did in the recording.
type Agent = fetch.Agent

// Refetch says which of the things that are missing an agent fetches.
type Refetch = fetch.Refetch

// Ways to choose.
const (
	RefetchNever  = fetch.Never  // the loop is open
	RefetchLow    = fetch.Low    // the low end of what the profile says of the kind
	RefetchFitted = fetch.Fitted // what the profile says
	RefetchHigh   = fetch.High   // its high end
	RefetchAlways = fetch.Always // all
)

// Premise is what a simulation takes for granted of a recording, and whether it draws the rest.
type Premise struct {
	// Blind predicts calls without what the recording's calls read, so that a cache that
	// breaks does not move the prediction it is held against.
	Blind bool
	// Found has the first call of a main conversation find in the cache what the recording's first call read there: it is
	// sent under every setting, so what others had left is not a strategy's doing. Without it the profile foretells
	// what is found, as a prediction must that is held against the bill.
	Found bool
	// ByDraws decides what the profile leaves open by draws (Request.Draw has each); without it the more
	// likely case is taken.
	ByDraws bool
}

// Watch is what looks at the calls of a simulation. It changes none.
type Watch struct {
	Verify bool // check the invariants at every call
	// Breaks watches every call with the break detector of a client. Rules are the detector's; nil for
	// the client's.
	Breaks bool
	Rules  *breaks.Rules
	// Record, when not nil, gets every call in order of completion. The
	// record is only valid during the call.
	Record func(*results.CallRecord)
	// Ended, when not nil, gets the row of every session that a Runner simulates, and what each of its calls cost, in order of completion.
	// Both are only valid during the call. It must be safe for concurrent use.
	Ended func(*results.Row, []Spent)
	// Observer, when not nil, is told what happens and why.
	Observer Observer
	// Meter, when not nil, is told of the calls in flight and counts in the rows of their sessions.
	Meter Meter
}

// Spent is a call of a session with what it cost.
type Spent = account.Spent

// Meter is told, in order of time, of every request that a server answers and of the end of its
// response. The request and the outcome are only valid during the call.
type Meter interface {
	Reset() // a cohort begins
	Began(row *results.Row, r *exchange.Request, out *exchange.Outcome)
	Ended()
}

// cache returns the kind of cache that a session's calls go to.
func (c *Config) cache(s *traces.Session) facts.Cache {
	if c.Named != nil {
		return c.Named.Cache()
	}
	return agents.CacheOf(s, "")
}

// abroad reports whether a session calls a server that does not have its models. What recordings show of its own does not
// hold there.
func (c *Config) abroad(s *traces.Session) bool {
	return c.Named != nil && slices.ContainsFunc(s.Models, func(m string) bool { return !c.Named.Serves(m) })
}

// unwritten reports whether a session's writes are billed as plain input.
func (c *Config) unwritten(s *traces.Session) bool {
	if c.Named != nil {
		return c.Named.Markers && !c.Named.Writes
	}
	return agents.Unwritten(s)
}

// window returns the context window of a session's main model, tokens.
func (c *Config) window(cl Client, s *traces.Session, model string) int64 {
	if c.Window > 0 {
		return c.Window
	}
	return recordedWindow(s, model, c.known(cl, s, model))
}

// HoldsAt reports whether a session that is alone in its cohort has the same row at a window, tokens, as c, which gives none, has for it: its client
// has that window for each of its models, and keeps no limit or setting that holds only in a window of the client's.
func (c *Config) HoldsAt(window int64, s *traces.Session) bool {
	if c.Window > 0 || len(c.Events) > 0 {
		return false
	}
	person := c.person(0, s)
	cl, a := cmp.Or(person.Client, c.Client), person.Assembly
	if cl == nil {
		cl = clientOf(s, c.cache(s))
	}
	if a == nil {
		a = assemblyOf(c)
	}
	at := c.PricesAt
	if at.IsZero() {
		at = s.StartTime()
	}
	for _, model := range s.Models {
		if p, err := c.Prices.Lookup(model, at); err == nil && p.Model.MaxInput > 0 || a.Window(&a.Variables, model, c.window(cl, s, model)) != window {
			return false
		}
	}
	return c.Strategy.For(s.Agent, s.Version(), s.Variant).OwnTrigger() == nil || boundsOf(s).firings == 0
}

// anthropic is the provider of models that have two windows: Opus 4.6 and Sonnet 4.6 come with 200,000 and with a million.
const anthropic = "anthropic"

// known returns the context window that a client has for a model, tokens: its own, else the table's of models and prices, else
// what the session's agent takes for models that it does not know. Of two windows it is the smaller, until a request is larger.
func (c *Config) known(cl Client, s *traces.Session, model string) int64 {
	if w := cl.Window(model); w > 0 {
		return w
	}
	if c.Prices != nil {
		if p, err := c.Prices.Lookup(model, s.StartTime()); err == nil && p.Model.Window > 0 {
			w := int64(p.Model.Window)
			if p.Model.Provider == anthropic {
				w = min(w, client.ForVersion("").Window(model))
			}
			return w
		}
	}
	return cmp.Or(agents.Of(s.Agent).Window, smallWindow)
}

// Limits returns the context window of a model of a session and the model's limits, as the session's own client has them.
func Limits(s *traces.Session, model string, prices Prices) strategies.Reading {
	c := Config{Prices: prices}
	r := strategies.Reading{Window: c.window(clientOf(s, agents.CacheOf(s, "")), s, model), MaxOutput: client.MaxOutput}
	if p, err := prices.Lookup(model, s.StartTime()); err == nil {
		r.MaxInput = int64(p.Model.MaxInput)
	}
	return r
}

// recordedWindow returns the context window of a session for a model, tokens: the logged one, or else
// known, which its client has for the model, or largeWindow if a request is larger.
// Claude Code logs none: from summer 2026 on a session that goes on above the threshold
// of the smaller window has the larger one too. A session that Claude Code compacts below
// the larger one's threshold keeps the smaller, and has it for a model of the larger one
// where it compacts at the threshold of the smaller. Models without a larger one keep theirs.
func recordedWindow(s *traces.Session, model string, known int64) int64 {
	w := known
	if s.Window > 0 {
		w = s.Window
	}
	if agents.ClaudeCode(s) && client.SmallAlone(model) {
		if s.PeakInput() > w {
			return max(w, smallWindow)
		}
		return w
	}
	if !agents.ClaudeCode(s) {
		if s.PeakInput() > w {
			return largeWindow
		}
		return w
	}
	x := boundsOf(s)
	at := func(window int64) int64 {
		return agents.Of(s.Agent).CompactsAt(s.Version(), facts.Limits{Window: window, MaxOutput: client.MaxOutput})
	}
	switch {
	case x.high < at(largeWindow): // the client compacts below the larger window's threshold
		if small := at(smallWindow); w == largeWindow && x.high >= small-small/100 && x.high < smallWindow {
			return smallWindow
		}
		return w
	case s.PeakInput() > w, x.low >= at(w) && profile.Compare(s.Version(), largeWindows) >= 0:
		return largeWindow // the recording itself passed the smaller window
	}
	return w
}

// hidden returns what is known of a session beside its lines.
func (c *Config) hidden(s *traces.Session) hidden.Model {
	return hidden.Model{Fitted: c.Profile, Named: c.Named, Abroad: c.abroad(s), Draw: c.ByDraws, Blind: c.Blind, Found: c.Found}
}

// smallWindow and largeWindow are Claude Code's windows, tokens.
const smallWindow, largeWindow = 200_000, 1_000_000

// largeWindows is the first version of Claude Code whose recordings show windows of a
// million without a suffix of the model's name: earlier sessions that go on above the
// threshold may have automatic compaction off.
const largeWindows = "2.1.204"

// Assembly is how the client of a session assembles requests, and the events that happen
// to it. Use does not change it: sessions of several loops may share one.
type Assembly = head.Assembly

// Assemble returns an assembly with events, at most changes.Max, that happen to every
// session that has it. Neither may be one that its Validate refuses.
func Assemble(a client.Assembly, events []client.Event) *Assembly { return head.Assemble(a, events) }

// What begins the reason of an event that changes no request of a session.
const (
	EventIdle    = head.EventIdle
	EventDue     = head.EventDue
	EventMissing = head.EventMissing
)

// assemblyOf returns how the clients of a cell assemble requests.
func assemblyOf(c *Config) *Assembly {
	if c.Assembly == nil {
		return Assemble(client.DefaultAssembly(), c.Events)
	}
	return Assemble(*c.Assembly, c.Events)
}

// Person is who has a session: everything in which the persons of one cohort differ.
type Person struct {
	// Owner is the organisation, from 1: it reads what its own members have
	// written, and what is marked for everyone. Organisation is its name in rows.
	Owner        uint32
	Organisation string
	// User is the index of the user, from 0 without large gaps: the sessions of
	// one share memory files and the lock of the consolidation.
	User int32
	// Client assembles the session's requests; nil: the cell's client.
	Client Client
	// Version is the client's version, "" for the recording's.
	Version string
	// Assembly says how; nil: as the cell says.
	Assembly *Assembly
	// Levels are what the client shows; nil: the cell's levels.
	Levels *Levels
}

// person returns who has the session at a place in its cohort. By default one user of one
// organisation has them all.
func (c *Config) person(index int, s *traces.Session) Person {
	switch {
	case c.Person != nil:
		return c.Person(index, s)
	case c.Owner != nil:
		return Person{Owner: c.Owner(index, s)}
	}
	return Person{Owner: 1}
}

// user is what the sessions of one user share beside the cache.
type user struct{ strategies.User }

// reset makes u a user without a past and without sessions.
func (u *user) reset() { u.User = strategies.User{Ends: u.Ends[:0], Live: u.Live[:0]} }

// addSession gives a session of the user its place among them.
func (u *user) addSession() int32 {
	u.Ends, u.Live = append(u.Ends, 0), append(u.Live, false)
	return int32(len(u.Ends) - 1)
}

// users are the users of a cohort by index.
type users []*user

// through makes room for the users through an index. New ones have no past.
func (u *users) through(index int32) {
	for int(index) >= len(*u) {
		n := len(*u)
		if *u = slices.Grow(*u, 1)[:n+1]; (*u)[n] == nil { // what is stored is used again
			(*u)[n] = &user{}
		}
		(*u)[n].reset()
	}
}

// copyFrom makes u an independent copy, keeping storage.
func (u *users) copyFrom(o users) {
	*u = (*u)[:0]
	u.through(int32(len(o)) - 1)
	for i, from := range o {
		to := (*u)[i]
		ends, live := append(to.Ends, from.Ends...), append(to.Live, from.Live...)
		*to = *from
		to.Ends, to.Live = ends, live
	}
}

// Billed returns the row of what a session was billed: logged usage × price, without a
// model, with the summary calls that are logged and the calls that the client's own sum has
// beyond all lines. Outputs that the log does not have in full are derived. Prices hold at each
// call's date unless at is set.
func Billed(s *traces.Session, prices Prices, at time.Time) results.Row {
	return account.Billed(s, prices, at)
}

// Predict sets what the model expects of each call of a table: a replay of the session under a
// configuration, whose Record is replaced. Its strategy must be the recorded one, since others
// send other requests.
func Predict(t *calls.Table, config Config) (results.Row, error) {
	config.Record = func(r *results.CallRecord) {
		if r.Round >= 0 {
			t.Threads[r.Thread][r.Round].Predicted = &calls.Prediction{
				Usage: r.Usage, Expected: r.Expected, Miss: r.Miss, Cost: r.Cost, Rules: profile.Set(r.Rules),
			}
		}
	}
	return NewLoop(config).Run(t.Session)
}

// WithProfile returns a configuration that predicts with a profile: caches as documented, with
// what the profile has about them in the requests.
func (c Config) WithProfile(p *profile.Profile) Config {
	c.Profile, c.Lifetimes = p, promptcache.Lifetimes{}
	c.Server = func(kind facts.Cache) Server {
		if kind == facts.CacheAutomatic {
			return promptcache.NewOpenAI(promptcache.OpenAIConfig{Serving: servers.Recorded})
		}
		return promptcache.New(promptcache.Config{})
	}
	return c
}
