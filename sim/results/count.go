package results

// Count is something that happened in a session, beside the figures that have a
// field of their own.
type Count uint8

// The counts of a row.
const (
	CountStored          Count = iota // tool results put to disk
	CountStoredTokens                 // tokens that took out of the context
	CountReread                       // stored results that were read back
	CountCleared                      // tool results cleared
	CountClearedTokens                // tokens that took out of the context
	CountDeletions                    // tool results deleted by cache_edits
	CountDeletedTokens                // tokens that took out of requests
	CountReturnedTokens               // deleted tokens that came back when the cache had expired
	CountExtractions                  // session memory extractions that ended well
	CountMemories                     // memory extractions that ended well
	CountDreams                       // consolidations of memory that ended well
	CountSuggestions                  // short forks at the end of a loop
	CountAgentSummaries               // summaries of sub-agents at work
	CountMessages                     // messages between agents
	CountRetries                      // summary calls repeated with the oldest rounds dropped
	CountFallbacks                    // changes to another way of making a summary call
	CountBreakerTrips                 // times that a breaker stopped automatic compaction
	CountRestored                     // files put back behind a summary
	CountHints                        // requests refused with the hint to clear
	CountIdleCompactions              // compactions in a gap
	CountWarningCalls                 // calls at the warning level or above it, below the error level
	CountErrorCalls                   // calls at the error level or above it, below the blocking level
	CountBlockedCalls                 // calls at the blocking level
	CountBackground                   // calls made beside the conversation
	CountHeadChanges                  // changes of tools, system prompt or request parameters
	CountSignals                      // signals of a client that keep a connection alive during a compaction
	CountUnsimulated                  // recorded calls left out because the session ended at the blocking level
	CountKeepalives                   // calls made to keep entries alive
	CountNetNegative                  // compactions that cost more than later calls saved
	CountLiveCalls                    // calls that a real server answered, or a cassette of one
	CountLiveAttempts                 // requests sent for them
	CountLiveIterations               // passes of the model inside them
	CountLiveUncached                 // what the server billed for them, tokens
	CountLiveRead
	CountLiveWrite
	CountLiveOutput
	CountPredictedUncached // what the models had predicted, tokens
	CountPredictedRead
	CountPredictedWrite
	CountPredictedOutput
	CountEntities        // things worth keeping in what was summarised
	CountEntitiesKept    // of them in the summary
	CountSectionsMissing // sections of summaries that are not there
	CountSectionsCut     // sections that went beyond their limit
	NumCounts            = int(CountSectionsCut) + 1
)

// String returns the lower-case name used in reports.
func (c Count) String() string { return counts[min(int(c), NumCounts-1)].name }

// counted describes a count as a metric does.
type counted struct {
	name       string
	unit       string
	better     Better
	group      string
	definition string
}

var counts = [NumCounts]counted{
	CountStored: {"stored_results", UnitCount, Neither, GroupResults,
		"tool results put to disk, a preview in their place"},
	CountStoredTokens: {"stored_tokens", UnitTokens, Neither, GroupResults,
		"tokens that storing took out of the context"},
	CountReread: {"reread_results", UnitCount, Lower, GroupResults,
		"stored tool results that were read back"},
	CountCleared: {"cleared_results", UnitCount, Neither, GroupResults,
		"tool results cleared in place"},
	CountClearedTokens: {"cleared_tokens", UnitTokens, Neither, GroupResults,
		"tokens that clearing took out of the context"},
	CountDeletions: {"cache_deletions", UnitCount, Neither, GroupResults,
		"tool results that the server was asked to delete from the cached prefix"},
	CountDeletedTokens: {"deleted_tokens", UnitTokens, Neither, GroupResults,
		"tokens that such deletions took out of requests"},
	CountReturnedTokens: {"returned_tokens", UnitTokens, Lower, GroupResults,
		"deleted tokens that came back when the cache had expired"},
	CountExtractions: {"memory_updates", UnitCount, Neither, GroupBeside,
		"updates of the session memory that ended well"},
	CountMemories: {"memory_extractions", UnitCount, Neither, GroupBeside,
		"extractions of memories at the end of a loop that ended well"},
	CountDreams: {"dreams", UnitCount, Neither, GroupBeside,
		"consolidations of memory that ended well"},
	CountSuggestions: {"suggestions", UnitCount, Neither, GroupBeside,
		"short forks at the end of a loop: suggested prompts and answers to them"},
	CountAgentSummaries: {"agent_summaries", UnitCount, Neither, GroupBeside,
		"summaries of sub-agents at work"},
	CountMessages: {"agent_messages", UnitCount, Neither, GroupBeside,
		"messages that one agent sent to another"},
	CountRetries: {"compaction_retries", UnitCount, Lower, GroupCompactions,
		"summary calls repeated with the oldest rounds dropped"},
	CountFallbacks: {"compaction_fallbacks", UnitCount, Lower, GroupCompactions,
		"changes to another way of making a summary call"},
	CountBreakerTrips: {"breaker_trips", UnitCount, Lower, GroupCompactions,
		"times that a breaker stopped automatic compaction"},
	CountRestored: {"restored_files", UnitCount, Neither, GroupCompactions,
		"files put back behind a summary"},
	CountHints: {"server_hints", UnitCount, Neither, GroupRequests,
		"requests that the server refused with the hint to clear"},
	CountIdleCompactions: {"idle_compactions", UnitCount, Neither, GroupCompactions,
		"compactions in a gap, before the cache expires"},
	CountWarningCalls: {"warning_calls", UnitCalls, Lower, GroupLevels,
		"calls of the main conversation sent at the warning level, below the error level"},
	CountErrorCalls: {"error_calls", UnitCalls, Lower, GroupLevels,
		"calls of the main conversation sent at the error level, below the blocking level"},
	CountBlockedCalls: {"blocked_calls", UnitCalls, Lower, GroupLevels,
		"calls of the main conversation sent, or refused by the client, at the blocking level"},
	CountBackground: {"background_calls", UnitCalls, Neither, GroupBeside,
		"calls made beside the conversation, which goes on meanwhile"},
	CountHeadChanges: {"head_changes", UnitCount, Lower, GroupRequests,
		"changes of tools, system prompt or request parameters"},
	CountSignals: {"keepalive_signals", UnitCount, Neither, GroupCompactions,
		"signals by which a client keeps a connection open during compactions; no calls"},
	CountUnsimulated: {"unsimulated_calls", UnitCalls, Lower, GroupLevels,
		"recorded calls left out because the session ended at the blocking level"},
	CountKeepalives: {"keepalives", UnitCalls, Neither, GroupRequests,
		"calls made only to keep cache entries alive"},
	CountNetNegative: {"net_negative_compactions", UnitCount, Lower, GroupCompactions,
		"compactions whose calls and re-writing cost more than the calls behind them saved until the next one or the end"},
	CountLiveCalls: {"live_calls", UnitCalls, Neither, GroupLive,
		"summary calls that a real server answered, now or on a cassette"},
	CountLiveAttempts: {"live_attempts", UnitCalls, Lower, GroupLive,
		"requests sent for live calls, those that failed included"},
	CountLiveIterations: {"live_iterations", UnitCount, Neither, GroupLive,
		"passes of the model inside live calls"},
	CountLiveUncached: {"live_uncached_tokens", UnitTokens, Neither, GroupLive,
		"input of live calls that the server neither read from nor wrote to its cache"},
	CountLiveRead: {"live_read_tokens", UnitTokens, Neither, GroupLive,
		"input of live calls that the server read from its cache"},
	CountLiveWrite: {"live_write_tokens", UnitTokens, Neither, GroupLive,
		"input of live calls that the server wrote to its cache"},
	CountLiveOutput: {"live_output_tokens", UnitTokens, Neither, GroupLive,
		"output of live calls"},
	CountPredictedUncached: {"live_uncached_tokens_predicted", UnitTokens, Neither, GroupLive,
		"live_uncached_tokens by the cache model of the calls really made"},
	CountPredictedRead: {"live_read_tokens_predicted", UnitTokens, Neither, GroupLive,
		"live_read_tokens by the cache model of the calls really made"},
	CountPredictedWrite: {"live_write_tokens_predicted", UnitTokens, Neither, GroupLive,
		"live_write_tokens by the cache model of the calls really made"},
	CountPredictedOutput: {"live_output_tokens_predicted", UnitTokens, Neither, GroupLive,
		"live_output_tokens by the stub"},
	CountEntities: {"entities", UnitCount, Neither, GroupLive,
		"paths, commands, errors, sentences of the person and open tasks in what live calls summarised"},
	CountEntitiesKept: {"entities_kept", UnitCount, Higher, GroupLive,
		"of the entities those that the summary has word for word"},
	CountSectionsMissing: {"sections_missing", UnitCount, Lower, GroupLive,
		"sections that live summaries should have and have not"},
	CountSectionsCut: {"sections_cut", UnitCount, Lower, GroupLive,
		"sections of live summaries cut to their limit"},
}
