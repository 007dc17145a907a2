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
	CountKeepalives                   // calls made to keep entries alive
	NumCounts            = int(CountKeepalives) + 1
)

var countNames = [NumCounts]string{
	"stored_results", "stored_tokens", "reread_results", "cleared_results", "cleared_tokens", "cache_deletions",
	"deleted_tokens", "returned_tokens", "memory_updates", "memory_extractions", "dreams", "suggestions", "agent_summaries",
	"agent_messages", "compaction_retries", "compaction_fallbacks", "breaker_trips", "restored_files", "server_hints",
	"idle_compactions", "warning_calls", "error_calls", "blocked_calls", "background_calls", "head_changes", "keepalives",
}

// String returns the lower-case name used in reports.
func (c Count) String() string { return countNames[min(int(c), NumCounts-1)] }
