// Package results holds what a run produces: one row per cell and session,
// call records on request, and the metrics that describe themselves.
package results

import (
	"fmt"
	"math"

	"github.com/compactsim/compactsim/internal/study/confusion"
	"github.com/compactsim/compactsim/internal/study/recall"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Class is a token class that is billed at its own price.
type Class uint8

// Token classes.
const (
	ClassUncached Class = iota
	ClassRead
	ClassWrite5m
	ClassWrite1h
	ClassWriteOther
	ClassOutput
	NumClasses = 6
)

var classNames = [NumClasses]string{"uncached", "read", "write_5m", "write_1h", "write_other", "output"}

// String returns the lower-case name used in reports.
func (c Class) String() string { return classNames[min(int(c), NumClasses-1)] }

// Source is who made a call.
type Source uint8

// Sources of calls.
const (
	SourceMain          Source = iota // the main conversation
	SourceAgent                       // a sub-agent
	SourceBranch                      // a branch that was abandoned later
	SourceCompact                     // a summary call of a compaction
	sourceSessionMemory               // an update of the session memory
	sourceMemory                      // an extraction of memories at the end of a loop
	sourceDream                       // a consolidation of memories
	sourceSuggestion                  // a suggestion of the next prompt
	sourceSpeculation                 // a speculative answer to it
	sourceAgentSummary                // a summary of a sub-agent at work
	SourceReread                      // a response that reads stored content back, or brings what is missing
	SourceKeepalive                   // a request that only keeps entries alive
	SourceOther                       // any other call a layer made, and those that no log shows
	NumSources          = int(SourceOther) + 1
)

var sourceNames = [NumSources]string{
	"main", "agent", "branch", "compact", "session_memory", "extract_memories", "dream", "prompt_suggestion",
	"speculation", "agent_summary", "reread", "keepalive", "other",
}

// SourceOf returns the source of a call that a layer makes under a query source
// as the client names it, SourceOther for names without one of their own.
func SourceOf(name string) Source {
	for i := SourceCompact; i < SourceOther; i++ {
		if sourceNames[i] == name {
			return i
		}
	}
	return SourceOther
}

// String returns the lower-case name used in reports.
func (s Source) String() string { return sourceNames[min(int(s), NumSources-1)] }

// Cost is USD by token class.
type Cost [NumClasses]float64

// Total returns the sum over classes, USD.
func (c *Cost) Total() float64 {
	var t float64
	for _, v := range c {
		t += v
	}
	return t
}

// Add adds d to c.
func (c *Cost) Add(d *Cost) {
	for i, v := range d {
		c[i] += v
	}
}

// CallRecord is one call, simulated or recorded.
type CallRecord struct {
	Session  string
	Thread   int32 // index into the session's threads
	Round    int32 // index into the thread's rounds; -1 for a call a layer made
	Source   Source
	Model    string
	Start    int64 // ns on the session's clock
	End      int64 // ns on the session's clock
	Usage    prompt.Usage
	Expected int64 // tokens the thread's best prefix would have read
	Miss     prompt.MissClass
	First    bool // first call of its thread
	Context  int64
	Cost     Cost
	Rules    uint16 // the profile's rules that had something to say, a bit each (profile.Set)
}

// Level is how full the client shows the window to be.
type Level uint8

// The levels, each without those above it.
const (
	LevelNormal   Level = iota
	LevelWarning        // the client warns
	LevelError          // the warning is red
	LevelBlocking       // the client takes no input
	numLevels     = 4
)

var levelNames = [numLevels]string{"normal", "warning", "error", "blocking"}

// String returns the lower-case name used in reports.
func (l Level) String() string { return levelNames[min(int(l), numLevels-1)] }

// Wait is a part of the time that context management adds for a person.
type Wait uint8

// The parts of the added time.
const (
	WaitCompaction Wait = iota // for calls of a compaction
	WaitFirstToken             // for first tokens that come later or, when negative, earlier
	WaitOther                  // for other calls that block the conversation and for background calls
	numWaits       = 3
)

var waitNames = [numWaits]string{"compaction", "first_token", "other"}

// String returns the lower-case name used in reports.
func (w Wait) String() string { return waitNames[min(int(w), numWaits-1)] }

// Left sums up how much of its limit a client shows as left, per cent.
type Left struct {
	Calls int   // calls of main conversations
	Sum   int64 // of the per cents at those calls
	Used  int   // most used at one of them: 100 less the least left
}

// See adds a call at which percent were left, 0…100.
func (l *Left) See(percent int) {
	l.Calls++
	l.Sum += int64(percent)
	l.Used = max(l.Used, 100-percent)
}

// Loop says what the agent of a row does where something was forgotten.
type Loop uint8

// The loops.
const (
	LoopNone   Loop = iota // the row repeats the recording
	LoopOpen               // the agent acts as recorded
	LoopClosed             // it fetches again what it needs and the context does not have
)

var loopNames = []string{"", "open", "closed"}

// String returns the name used in rows.
func (l Loop) String() string { return loopNames[min(int(l), len(loopNames)-1)] }

// Row is what one strategy did on one session, or on several when added up.
// Token counts are tokens, costs USD, times seconds.
type Row struct {
	Strategy string
	Session  string
	Sessions int // sessions added up in this row
	Loop     Loop

	Calls            int
	Usage            prompt.Usage
	CallsBySource    [NumSources]int
	UsageBySource    [NumSources]prompt.Usage
	CostByClass      Cost
	CostBySource     [NumSources]Cost
	Misses           int // calls that read less than the best prefix of their thread; first calls of a thread are not counted
	MissesByClass    [prompt.NumMissClasses]int
	MissedTokens     int64
	HitCalls         int // calls that read all of the best prefix of their thread
	LaterCalls       int // calls that are not the first of their thread
	Compactions      int
	Microcompactions int
	Recompactions    int // compactions of a context that already held a summary
	ChainMax         int // longest run of compactions on one thread
	PeakContext      int64
	Overflows        int // requests that a server refuses as too long
	OverWindow       int // sessions with at least one such request that no layer shortens
	FailedCompaction int
	AddedLatency     float64            // s of waiting that context management added
	Waits            [numWaits]float64  // the parts of AddedLatency, s
	SecondsAt        [numLevels]float64 // s that main conversations spent at each level
	Left             Left               // of the client's limit, as it shows it
	Breaks           confusion.Matrix   // what the client's break detector says; empty when it does not run
	StorageUSD       float64
	// ExpectedLossUSD is what calls that lose their messages for no visible
	// reason cost beyond CostUSD, on average.
	ExpectedLossUSD float64
	// BoundUSD is a lower bound of the cost of any schedule of full compaction,
	// ReachedUSD the cost of the best one found, and ClearBoundUSD a lower bound for
	// schedules of clearing, over the sessions that Bounded counts.
	BoundUSD, ReachedUSD, ClearBoundUSD float64
	Bounded                             int
	Counts                              Counts       // what happened beside the figures above
	Needs                               recall.Needs // what was forgotten of what later actions used
	// Firings counts how often a layer acted, by its name.
	Firings map[string]int
	// Reasons counts failures and refusals of layers, as "layer: reason".
	Reasons map[string]int
	// PredictedUSD is, in billed rows of a check, what the input of logged calls is predicted to
	// cost with a cache that works, and PredictedOfUSD what it was billed.
	PredictedUSD, PredictedOfUSD float64
	LoggedOutputUSD              float64 // billed rows: output as logged, without what was derived
	// UnloggedWritesUSD is, in billed rows, by how much the bill rises if all that was
	// not read was written, where the provider bills writes and its logs carry none.
	UnloggedWritesUSD float64
	Unpriced          int // calls of a model without a price
}

// Waited adds time that context management made a person wait, s.
func (r *Row) Waited(w Wait, seconds float64) {
	r.AddedLatency += seconds
	r.Waits[w] += seconds
}

// Add adds the figures of o to r; maxima are kept as maxima.
func (r *Row) Add(o *Row) { rowForm.Add(r, o) }

// LoggedUSD returns the cost, USD, of the calls that a log of the session shows: those of
// the conversations, and of layers the summary calls of compactions if billed has some.
func (r *Row) LoggedUSD(billed *Row) float64 {
	var usd float64
	if billed.CallsBySource[SourceCompact] > 0 {
		usd = r.CostBySource[SourceCompact].Total()
	}
	for s := SourceMain; s < SourceCompact; s++ {
		usd += r.CostBySource[s].Total()
	}
	return usd
}

// WholeUSD returns the total cost, USD, of all that the recordings did. It is an error if
// sessions ended early: then CostUSD is of less work than that of other rows.
func (r *Row) WholeUSD() (float64, error) {
	if n := r.Counts.Unsimulated; n > 0 {
		return 0, fmt.Errorf("%d recorded calls were not simulated, as sessions ended early", n)
	}
	return r.CostUSD(), nil
}

// CostUSD returns the total cost, USD, of the calls that were simulated.
func (r *Row) CostUSD() float64 { return r.CostByClass.Total() + r.StorageUSD }

// DerivedText says what DerivedUSD is a part for, behind an amount of a bill.
const DerivedText = "for outputs that no log has in full"

// DerivedUSD returns the part of a bill, USD, for outputs whose logged counts are not final
// and are derived.
func (r *Row) DerivedUSD() float64 { return max(0, r.CostByClass[ClassOutput]-r.LoggedOutputUSD) }

// CutShort reports whether a conversation ended early, so that the row covers less work
// than the recording and its sums compare with no others.
func (r *Row) CutShort() bool { return r.Counts.Unsimulated > 0 }

// OwnCalls returns the calls that the conversations themselves made.
func (r *Row) OwnCalls() int {
	return r.CallsBySource[SourceMain] + r.CallsBySource[SourceAgent] + r.CallsBySource[SourceBranch]
}

// RankUSD returns the cost that ranks the row among others, USD: infinite when it was cut
// short.
func (r *Row) RankUSD() float64 {
	if r.CutShort() {
		return math.Inf(1)
	}
	return r.CostUSD()
}

// Counts count what happens in a session, apart from the figures that have a field
// of their own. Each is a metric, which says what it counts: see countForm.
type Counts struct {
	Stored, StoredTokens, Reread, Cleared, ClearedTokens, Deletions, DeletedTokens, ReturnedTokens int64

	Extractions, Memories, Dreams, Suggestions, AgentSummaries, Messages int64

	Retries, Fallbacks, BreakerTrips, Restored, Hints, IdleCompactions int64

	WarningCalls, ErrorCalls, BlockedCalls int64

	Background, HeadChanges, Signals, Beyond, Ended, Unsimulated, Keepalives, NetNegative int64

	LiveCalls, LiveAttempts, LiveIterations, LiveUncached, LiveRead, LiveWrite, LiveOutput,
	SectionsMissing, SectionsCut int64
}

// Add adds the counts of d to c.
func (c *Counts) Add(d *Counts) {
	to := c.list()
	for i, n := range d.list() {
		to[i] += n
	}
}
