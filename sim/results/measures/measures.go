// Package measures names the figures of a row, the metrics that programs refer to, and what figures are split by. It has no
// promise to importers, who look metrics up by name.
package measures

import (
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// ID is the place of a figure in a row.
type ID int

// The figures of rows. The list that follows says what each figure is.
const (
	Sessions ID = iota // sessions added up in the row
	Calls
	StorageUSD
	SearchUSD
	ExpectedLossUSD // what calls that lose their messages for no visible reason cost beyond CostUSD, on average
	PredictedUSD    // billed rows of a check: what the input of logged calls is predicted to cost with a cache that works
	PredictedOfUSD  // billed rows of a check: what it was billed
	BoundUSD
	BoundReachedUSD
	ClearBoundUSD
	Bounded // sessions that bounds are over
	Misses
	MissedTokens
	HitCalls   // calls that read all of the best prefix of their thread
	LaterCalls // calls that go on where a call of theirs or of another session ended
	Compactions
	Microcompactions
	Recompactions
	ChainMax
	PeakContext
	Overflows
	OverWindow // sessions with at least one overflow that no layer shortens
	FailedCompactions
	AddedLatency
	LeftCalls         // calls at which a client shows how much of its limit is left
	LeftSum           // of what is left at them, per cent
	MostUsed          // of the limit at a request: 100 less the least left, per cent
	LoggedOutputUSD   // billed rows: output as logged, without what was derived
	UnloggedWritesUSD // billed rows: by how much the bill rises if all that was not read was written, where the provider bills writes and its logs carry none
	UnloggedInputUSD  // simulated rows: input of recorded calls whose log does not count the input
	UnpricedCalls     // calls of a model without a price
	StoredResults
	StoredTokens
	RereadResults
	ClearedResults
	ClearedTokens
	CacheDeletions
	DeletedTokens
	ReturnedTokens
	MemoryUpdates
	MemoryExtractions
	Dreams
	Suggestions
	AgentSummaries
	AgentMessages
	CompactionRetries
	CompactionFallbacks
	BreakerTrips
	RestoredFiles
	ServerHints
	IdleCompactions
	WarningCalls
	ErrorCalls
	BlockedCalls
	BackgroundCalls
	HeadChanges
	KeepaliveSignals
	AnsweredOverWindow
	EndedSessions
	UnsimulatedCalls
	Keepalives
	NetNegativeCompactions
	LiveCalls
	LiveAttempts
	LiveIterations
	LiveUncachedTokens
	LiveReadTokens
	LiveWriteTokens
	LiveOutputTokens
	SectionsMissing
	SectionsCut
	PeakCallsInFlight
	QuotaChanges

	// Figures by source, class, part or level: their number is to be added.
	CallsBySource
	Tokens         = CallsBySource + ID(NumSources) // by class
	TokensBySource = Tokens + NumClasses            // by source, and by class
	CostByClass    = TokensBySource + ID(NumSources)*NumClasses
	CostBySource   = CostByClass + NumClasses                    // by source, and by class
	MissesByClass  = CostBySource + ID(NumSources)*NumClasses    // of miss
	SharedTokens   = MissesByClass + ID(exchange.NumMissClasses) // read and written, by who shares them
	Waits          = SharedTokens + 2*NumSharings
	SecondsAt      = Waits + NumWaits
	Needs          = SecondsAt + NumLevels // what was forgotten of what later actions used
	NumFigures     = Needs + ID(recall.NumFigures)
)

// Units of metrics.
const (
	UnitUSD     = "USD"
	UnitTokens  = "tokens"
	UnitCalls   = "calls"
	UnitCount   = "count"
	UnitRatio   = "ratio" // in [0, 1]
	UnitSeconds = "s"
	UnitRate    = "rate" // so many for each of something
)

// Ways in which a metric is split into parts that add up to it.
const (
	BySource = "source"
	ByClass  = "class"
	ByPart   = "part"
)

// The names of the metrics that programs refer to. Metrics returns all metrics.
const (
	NameCost             = "cost_usd"
	NameCostRead         = NameCost + "_read"
	NameCostOutput       = NameCost + "_output"
	NameStorage          = "storage_usd"
	NameSearch           = "search_usd"
	NameExpectedCost     = "expected_cost_usd"
	NameOverPredicted    = "billed_to_predicted"
	NameBound            = "bound_usd"
	NameRegret           = "regret_usd"
	NameCalls            = "calls"
	NameUncachedTokens   = "input_uncached_tokens"
	NameReadTokens       = "cache_read_tokens"
	NameWrite5mTokens    = "cache_write_5m_tokens"
	NameWrite1hTokens    = "cache_write_1h_tokens"
	NameWriteOtherTokens = "cache_write_other_tokens"
	NameOutputTokens     = "output_tokens"
	NameHitRatio         = "cache_hit_ratio"
	NameCallHitRatio     = "call_hit_ratio"
	NameMisses           = "misses"
	NameCompactions      = "compactions"
	NameMicrocompactions = "microcompactions"
	NameRecompactions    = "recompactions"
	NameNetNegative      = "net_negative_compactions"
	NameChainMax         = "chain_max"
	NamePeakContext      = "peak_context_tokens"
	NameOverflows        = "overflows"
	NameAddedLatency     = "added_latency_seconds"
	NameDeletions        = "cache_deletions"
	NameRecall           = "needed_recall"
	NameRecallLeast      = "needed_recall_least"
	NameRecallMost       = "needed_recall_most"
	NameNeeds            = "needs"
	NameInstructionsKept = "instruction_survival"
	NameBreaks           = "breaks"
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

// ClassNames are the names of the token classes in rows and reports, by Class.
var ClassNames = [NumClasses]string{"uncached", "read", "write_5m", "write_1h", "write_other", "output"}

// String returns the lower-case name used in reports.
func (c Class) String() string { return ClassNames[min(int(c), NumClasses-1)] }

// Source is who made a call.
type Source uint8

// Sources of calls.
const (
	SourceMain          Source = iota // the main conversation
	SourceAgent                       // a sub-agent
	SourceBranch                      // a branch that was abandoned later
	SourceCompact                     // a summary call of a compaction
	SourceAdvisor                     // a model that another one asked while it answered
	sourceSessionMemory               // an update of the session memory
	sourceMemory                      // an extraction of memories at the end of a loop
	sourceDream                       // a consolidation of memories
	sourceSuggestion                  // a suggestion of the next prompt
	sourceSpeculation                 // a speculative answer to it
	sourceAgentSummary                // a summary of a sub-agent at work
	SourceReread                      // a response that reads stored content back, or brings what is missing
	SourceKeepalive                   // a request that only keeps entries alive
	SourceOther                       // any other call that a layer made, and calls that no log shows
	NumSources          = int(SourceOther) + 1
)

// SourceNames are the names of the sources of calls in rows and reports, by Source.
var SourceNames = [NumSources]string{
	"main", "agent", "branch", "compact", "advisor", "session_memory", "extract_memories", "dream", "prompt_suggestion",
	"speculation", "agent_summary", "reread", "keepalive", "other",
}

// SourceOf returns the source of a call that a layer makes under a query source
// as the client names it, SourceOther for names without one of their own.
func SourceOf(name string) Source {
	for i := SourceCompact; i < SourceOther; i++ {
		if SourceNames[i] == name {
			return i
		}
	}
	return SourceOther
}

// String returns the lower-case name used in reports.
func (s Source) String() string { return SourceNames[min(int(s), NumSources-1)] }

// Level is how full the client shows the window to be.
type Level uint8

// The levels, each without those above it.
const (
	LevelNormal   Level = iota
	LevelWarning        // the client warns
	LevelError          // the warning is red
	LevelBlocking       // the client takes no input
	NumLevels     = 4
)

// LevelNames are the names of the levels in rows and reports, by Level.
var LevelNames = [NumLevels]string{"normal", "warning", "error", "blocking"}

// String returns the lower-case name used in reports.
func (l Level) String() string { return LevelNames[min(int(l), NumLevels-1)] }

// Sharing says who shares a part of the input of a call.
type Sharing uint8

// The parts of the input, in their order.
const (
	SharingGlobal       Sharing = iota // every organisation: through the last marker for everyone
	SharingOrganisation                // the users of an organisation: through the last marker ahead of the messages
	SharingNone                        // the session alone: the rest
	NumSharings         = 3
)

// What is counted of a part, by its place in the two figures of a Sharing.
const (
	SharedRead    ID = 0
	SharedWritten ID = 1
)

// Wait is a part of the time that context management adds for a person.
type Wait uint8

// The parts of the added time.
const (
	WaitCompaction Wait = iota // for calls of a compaction
	WaitFirstToken             // for first tokens that come later or, when negative, earlier
	WaitOther                  // for other calls that block the conversation and for background calls
	NumWaits       = 3
)

// WaitNames are the names of the parts of the added time in rows and reports, by Wait.
var WaitNames = [NumWaits]string{"compaction", "first_token", "other"}

// String returns the lower-case name used in reports.
func (w Wait) String() string { return WaitNames[min(int(w), NumWaits-1)] }

// Better says which direction of a metric is an improvement.
type Better uint8

// Directions of improvement.
const (
	Neither Better = iota // describes the workload or the strategy; no direction is good by itself
	Lower
	Higher
)

// String returns "neither", "lower" or "higher".
func (b Better) String() string { return [...]string{"neither", "lower", "higher"}[min(b, Higher)] }

// Kind is how the value of a metric over several rows follows from the value of each. A
// row without a sample takes no part in maxima and minima; sums include what it counts
// nevertheless, such as attempts at calls that were never answered.
type Kind uint8

// The kinds of metrics.
const (
	KindSum     Kind = iota // the values add up
	KindRatio               // the sum of one figure over the sum of another: see Metric.Parts
	KindMaximum             // the largest value
	KindMinimum             // the least value
)

// String returns "sum", "ratio", "maximum" or "minimum".
func (k Kind) String() string {
	return [...]string{"sum", "ratio", "maximum", "minimum"}[min(k, KindMinimum)]
}

// SeedParam is the parameter of cells that are replications of each other: only the seed of all draws differs.
const SeedParam = "seed"

// Loop says what the agent of a row does where something was forgotten.
type Loop uint8

// The loops.
const (
	LoopNone   Loop = iota // the row repeats the recording
	LoopOpen               // the agent acts as recorded
	LoopClosed             // it fetches again what it needs and the context does not have
)

// LoopNames are the names of loops, as in rows.
var LoopNames = []string{"", "open", "closed"}

// String returns the name used in rows.
func (l Loop) String() string { return LoopNames[min(int(l), len(LoopNames)-1)] }

// DerivedText says what DerivedUSD is a part for, behind an amount of a bill.
const DerivedText = "estimated for outputs that the logs cut short"

// Schema is the version of every encoded form of a run. Decoders refuse
// others; adding a metric or an optional field does not change it.
const Schema = 2

// The strategies whose cells other cells are held against.
const (
	StrategyBilled   = "billed"   // logged usage × price, no model
	StrategyRecorded = "recorded" // replay of what the recording did, through the model
	StrategyOwn      = "own"      // the strategy of each session's own client and version
)

// ChangedTo begins the note of a cell with the parameters of its layers that were set from outside the scenario, and the variables of
// the client's environment.
const ChangedTo = "changed to "

// ForemostCells is how many cells a chart of single calls tells apart.
const ForemostCells = 4

// NotRun begins the reason of a layer that can do nothing in a session.
const NotRun = "not run: "

// NotFast begins the reason of a layer that asks another model than the fast one.
const NotFast = "asked the session's model: "
