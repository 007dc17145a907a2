package results

import (
	"github.com/compactsim/compactsim/internal/kit/jsonlines"
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
	leftSum           // of what is left at them, per cent
	MostUsed          // of the limit at a request: 100 less the least left, per cent
	LoggedOutputUSD   // billed rows: output as logged, without what was derived
	UnloggedWritesUSD // billed rows: by how much the bill rises if all that was not read was written, where the provider bills writes and its logs carry none
	UnloggedInputUSD  // simulated rows: input of recorded calls whose log has no count of it
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
	tokensBySource = Tokens + NumClasses            // by source, and by class
	CostByClass    = tokensBySource + ID(NumSources)*NumClasses
	costBySource   = CostByClass + NumClasses                  // by source, and by class
	MissesByClass  = costBySource + ID(NumSources)*NumClasses  // of miss
	SharedTokens   = MissesByClass + ID(prompt.NumMissClasses) // read and written, by who shares them
	Waits          = SharedTokens + 2*numSharings
	SecondsAt      = Waits + numWaits
	Needs          = SecondsAt + numLevels // what was forgotten of what later actions used
	NumFigures     = Needs + ID(recall.NumFigures)
)

// field is a member of a row in rows.jsonl, with the metrics that it is published as. Adding,
// writing, reading and checking rows, and the list of metrics follow from the declaration.
type field struct {
	jsonlines.Member
	metrics []Metric
}

// rowFields are the members of a row in the order of rows.jsonl.
var rowFields = []field{
	bare("cell", jsonlines.Text, textCell),
	bare("strategy", jsonlines.Text, textStrategy),
	bare("session", jsonlines.Text, textSession),
	{Member: jsonlines.Member{Name: "loop", Kind: jsonlines.Text, At: textLoop, Optional: true, Choice: loopNames[1:]}},
	{Member: jsonlines.Member{Name: "organisation", Kind: jsonlines.Text, At: textOrganisation, Optional: true}},
	bare("sessions", jsonlines.Whole, Sessions),
	count(Calls, NameCalls, atCalls, UnitCalls, Lower, "requests answered by a model, summary calls included"),
	split("calls_by_source", figures(jsonlines.Whole, CallsBySource, sourceNames[:])),
	tokens("tokens", Tokens).as(tokenMetrics()...),
	split("tokens_by_source", each(sourceNames[:], tokensBySource, NumClasses, tokens)),
	costs("cost_usd_by_class", CostByClass).as(classCosts()...),
	split("cost_usd_by_source", each(sourceNames[:], costBySource, NumClasses, costs)).as(sourceCosts()...),
	bare(NameStorage, jsonlines.Amount, StorageUSD).as(figure(StorageUSD, NameStorage, atStorage, UnitUSD, Lower,
		"price of keeping cache entries, for providers that charge by time")),
	bare(NameSearch, jsonlines.Amount, SearchUSD).or().as(figure(SearchUSD, NameSearch, atStorage, UnitUSD, Lower,
		"price of searches of the web by the server, beside the tokens of their calls")),
	bare("expected_loss_usd", jsonlines.Amount, ExpectedLossUSD).or().as(expectedCost()),
	bare("predicted_usd", jsonlines.Amount, PredictedUSD).or().as(overPredicted()),
	bare("predicted_of_usd", jsonlines.Amount, PredictedOfUSD).or(),

	bound(BoundUSD, NameBound, "no schedule of full compaction costs less, known the future", regret()),
	bound(BoundReachedUSD, "bound_reached_usd", "cost of the best schedule of full compaction that was found for bound_usd"),
	bound(ClearBoundUSD, "clear_bound_usd", "no schedule that clears tool results and makes no call costs less, known the future"),
	bare("bounded", jsonlines.Whole, Bounded).or(),

	count(Misses, NameMisses, atMisses, UnitCalls, Lower,
		"calls that read less than the best prefix of their thread; the first call of a thread is not counted"),
	split("misses_by_class", figures(jsonlines.Whole, MissesByClass, missNames)).as(missMetrics()...),
	bare("missed_tokens", jsonlines.Whole, MissedTokens),
	bare("hit_calls", jsonlines.Whole, HitCalls),
	bare("later_calls", jsonlines.Whole, LaterCalls).as(callHits()),

	count(Compactions, NameCompactions, atCompaction, UnitCount, Neither, "times that messages were replaced by a summary"),
	count(Microcompactions, nameMicrocompactions, atCompaction, UnitCount, Neither,
		"times that tool results were cleared without a summary"),
	count(Recompactions, nameRecompactions, atCompaction, UnitCount, Lower, "compactions of a context that already held a summary"),
	largest(ChainMax, NameChainMax, UnitCount, "longest run of compactions on one thread; over several sessions the maximum"),
	largest(PeakContext, NamePeakContext, UnitTokens, "largest request sent, tokens; over several sessions the maximum"),
	count(Overflows, NameOverflows, atCompaction, UnitCalls, Lower, "requests that a server refuses as too long"),
	bare("over_window", jsonlines.Whole, OverWindow),
	bare("failed_compactions", jsonlines.Whole, FailedCompactions),

	bare(NameAddedLatency, jsonlines.Signed, AddedLatency).as(figure(AddedLatency, NameAddedLatency, atCompaction, UnitSeconds, Lower,
		"waiting that context management added, seconds of the simulated clock, negative where earlier "+
			"first tokens outweigh it; calls of sub-agents and of conversations that run at the same time count each")),
	split("added_latency_seconds_by_part", figures(jsonlines.Signed, Waits, waitNames[:])).or().as(waitMetrics()...),
	split("seconds_at_level", figures(jsonlines.Amount, SecondsAt, levelNames[:])).or().as(levelMetrics()...),
	object("percent_left", figures(jsonlines.Whole, LeftCalls, []string{"calls", "sum", "most_used"})).or().as(leftMetrics()...),

	breaks("breaks").or().as(breakMetrics()...),
	object("needs", needMembers()).or().as(needMetrics()...),
	split("counts", countMembers()).or().as(rowCounts...),
	bare("peak_calls_in_flight", jsonlines.Whole, PeakCallsInFlight).or().as(peakInFlight()),
	{Member: jsonlines.Member{Name: "firings", Kind: jsonlines.Tally, At: tallyFirings, Optional: true}},
	{Member: jsonlines.Member{Name: "reasons", Kind: jsonlines.Tally, At: tallyReasons, Optional: true}},
	bare("logged_output_usd", jsonlines.Amount, LoggedOutputUSD).or(),
	bare("unlogged_writes_usd", jsonlines.Amount, UnloggedWritesUSD).or(),
	bare("unlogged_input_usd", jsonlines.Amount, UnloggedInputUSD).or(),
	bare("unpriced_calls", jsonlines.Whole, UnpricedCalls),
}

// rowCounts are the counts that rows leave out when they are 0, in the order of publication.
var rowCounts = []Metric{
	counted(StoredResults, "stored_results", UnitCount, Neither, groupResults,
		"tool results put to disk, a preview in their place"),
	counted(StoredTokens, "stored_tokens", UnitTokens, Neither, groupResults,
		"tokens that storing took out of the context"),
	counted(RereadResults, "reread_results", UnitCount, Lower, groupResults,
		"stored tool results that were read back"),
	counted(ClearedResults, "cleared_results", UnitCount, Neither, groupResults,
		"tool results cleared in place"),
	counted(ClearedTokens, "cleared_tokens", UnitTokens, Neither, groupResults,
		"tokens that clearing took out of the context"),
	counted(CacheDeletions, NameDeletions, UnitCount, Neither, groupResults,
		"tool results that the server was asked to delete from the cached prefix"),
	counted(DeletedTokens, "deleted_tokens", UnitTokens, Neither, groupResults,
		"tokens that such deletions took out of requests"),
	counted(ReturnedTokens, "returned_tokens", UnitTokens, Lower, groupResults,
		"deleted tokens that came back when the cache had expired"),
	counted(MemoryUpdates, "memory_updates", UnitCount, Neither, groupBeside,
		"updates of the session memory that ended well"),
	counted(MemoryExtractions, "memory_extractions", UnitCount, Neither, groupBeside,
		"extractions of memories at the end of a loop that ended well"),
	counted(Dreams, "dreams", UnitCount, Neither, groupBeside,
		"consolidations of memory that ended well"),
	counted(Suggestions, "suggestions", UnitCount, Neither, groupBeside,
		"short forks at the end of a loop: suggested prompts and answers to them"),
	counted(AgentSummaries, "agent_summaries", UnitCount, Neither, groupBeside,
		"summaries of sub-agents at work"),
	counted(AgentMessages, "agent_messages", UnitCount, Neither, groupBeside,
		"messages that one agent sent to another"),
	counted(CompactionRetries, "compaction_retries", UnitCount, Lower, groupCompactions,
		"summary calls repeated with the oldest rounds dropped"),
	counted(CompactionFallbacks, "compaction_fallbacks", UnitCount, Lower, groupCompactions,
		"changes to another way of making a summary call"),
	counted(BreakerTrips, "breaker_trips", UnitCount, Lower, groupCompactions,
		"times that a breaker stopped automatic compaction"),
	counted(RestoredFiles, "restored_files", UnitCount, Neither, groupCompactions,
		"files put back after a summary"),
	counted(ServerHints, "server_hints", UnitCount, Neither, groupRequests,
		"requests that the server refused with the hint to clear"),
	counted(IdleCompactions, "idle_compactions", UnitCount, Neither, groupCompactions,
		"compactions in a gap, before the cache expires"),
	counted(WarningCalls, "warning_calls", UnitCalls, Lower, groupLevels,
		"calls of the main conversation sent at the warning level or above it"),
	counted(ErrorCalls, "error_calls", UnitCalls, Lower, groupLevels,
		"calls of the main conversation sent at the error level or above it"),
	counted(BlockedCalls, "blocked_calls", UnitCalls, Lower, groupLevels,
		"calls of the main conversation sent, or refused by the client, at the blocking level"),
	counted(BackgroundCalls, "background_calls", UnitCalls, Neither, groupBeside,
		"calls made beside the conversation, which goes on meanwhile"),
	counted(HeadChanges, "head_changes", UnitCount, Lower, groupRequests,
		"changes of tools, system prompt or request parameters"),
	counted(KeepaliveSignals, "keepalive_signals", UnitCount, Neither, groupCompactions,
		"signals by which a client keeps a connection open during compactions; no calls"),
	counted(AnsweredOverWindow, "answered_over_window", UnitCalls, Lower, groupLevels,
		"calls beyond the window that are counted as if a server answered them (overflow: answer)"),
	counted(EndedSessions, "ended_sessions", UnitCount, Lower, groupLevels,
		"sessions in which a conversation ended early: at a request refused as too long, or at the blocking level"),
	counted(UnsimulatedCalls, "unsimulated_calls", UnitCalls, Lower, groupLevels,
		"recorded calls left out because their conversation ended early"),
	counted(Keepalives, "keepalives", UnitCalls, Neither, groupRequests,
		"calls made only to keep cache entries alive"),
	counted(NetNegativeCompactions, NameNetNegative, UnitCount, Lower, groupCompactions,
		"compactions whose calls and re-writing cost more than the calls after them saved until the next one or the end"),
	counted(LiveCalls, "live_calls", UnitCalls, Neither, groupLive,
		"summary calls that a real server answered, now or on a cassette"),
	counted(LiveAttempts, "live_attempts", UnitCalls, Lower, groupLive,
		"requests sent for live calls, those that failed included"),
	counted(LiveIterations, "live_iterations", UnitCount, Neither, groupLive,
		"passes of the model inside live calls"),
	counted(LiveUncachedTokens, "live_uncached_tokens", UnitTokens, Neither, groupLive,
		"input of live calls that the server neither read from nor wrote to its cache"),
	counted(LiveReadTokens, "live_read_tokens", UnitTokens, Neither, groupLive,
		"input of live calls that the server read from its cache"),
	counted(LiveWriteTokens, "live_write_tokens", UnitTokens, Neither, groupLive,
		"input of live calls that the server wrote to its cache"),
	counted(LiveOutputTokens, "live_output_tokens", UnitTokens, Neither, groupLive,
		"output of live calls"),
	counted(SectionsMissing, "sections_missing", UnitCount, Lower, groupLive,
		"sections that live summaries should have and have not"),
	counted(SectionsCut, "sections_cut", UnitCount, Lower, groupLive,
		"sections of live summaries cut to their limit"),
	counted(QuotaChanges, "quota_changes", UnitCount, Neither, groupRequests,
		"times that a user passed the plan's quota or had it back during a session"),
	shared(SharingGlobal, sharedRead, "global_read_tokens", "tokens read of what is marked for every organisation"),
	shared(SharingGlobal, sharedWritten, "global_written_tokens", "tokens written of what is marked for every organisation"),
	shared(SharingOrganisation, sharedRead, "organisation_read_tokens", "tokens read of what else precedes the messages, shared within an organisation"),
	shared(SharingOrganisation, sharedWritten, "organisation_written_tokens", "tokens written of what else precedes the messages, shared within an organisation"),
	shared(SharingNone, sharedRead, "own_read_tokens", "tokens read of the rest, which is the session's own"),
	shared(SharingNone, sharedWritten, "own_written_tokens", "tokens written of the rest, which is the session's own"),
}
