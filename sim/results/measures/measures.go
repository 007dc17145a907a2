// Package measures names the figures of a row, the metrics that programs refer to, and what figures are split by. It has no
// promise to importers, who look metrics up by name.
package measures

import (
	"github.com/compactsim/compactsim/sim/prompt"
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
	CostBySource   = CostByClass + NumClasses                  // by source, and by class
	MissesByClass  = CostBySource + ID(NumSources)*NumClasses  // of miss
	SharedTokens   = MissesByClass + ID(prompt.NumMissClasses) // read and written, by who shares them
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
