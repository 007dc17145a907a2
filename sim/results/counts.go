package results

import (
	"unsafe"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
)

// count is one of the counts of a row, declared once as a member and as a metric.
type count struct {
	at     func(*Counts) *int64
	metric Metric
}

// counted declares a count.
func counted(name string, at func(*Counts) *int64, unit string, better Better, group, definition string) count {
	live := group == groupLive
	return count{at, Metric{place: atCounts, Name: name, Unit: unit, Better: better, Exact: true, Group: group, Definition: definition,
		Value: func(r *Row) (float64, bool) { // a row without live calls has no sample of what they count
			return float64(*at(&r.Counts)), !live || r.Counts.LiveCalls > 0
		}}}
}

// rowCounts are the counts of a row in the order of publication.
var rowCounts = []count{
	counted("stored_results", func(c *Counts) *int64 { return &c.Stored }, UnitCount, Neither, groupResults,
		"tool results put to disk, a preview in their place"),
	counted("stored_tokens", func(c *Counts) *int64 { return &c.StoredTokens }, UnitTokens, Neither, groupResults,
		"tokens that storing took out of the context"),
	counted("reread_results", func(c *Counts) *int64 { return &c.Reread }, UnitCount, Lower, groupResults,
		"stored tool results that were read back"),
	counted("cleared_results", func(c *Counts) *int64 { return &c.Cleared }, UnitCount, Neither, groupResults,
		"tool results cleared in place"),
	counted("cleared_tokens", func(c *Counts) *int64 { return &c.ClearedTokens }, UnitTokens, Neither, groupResults,
		"tokens that clearing took out of the context"),
	counted(NameDeletions, func(c *Counts) *int64 { return &c.Deletions }, UnitCount, Neither, groupResults,
		"tool results that the server was asked to delete from the cached prefix"),
	counted("deleted_tokens", func(c *Counts) *int64 { return &c.DeletedTokens }, UnitTokens, Neither, groupResults,
		"tokens that such deletions took out of requests"),
	counted("returned_tokens", func(c *Counts) *int64 { return &c.ReturnedTokens }, UnitTokens, Lower, groupResults,
		"deleted tokens that came back when the cache had expired"),
	counted("memory_updates", func(c *Counts) *int64 { return &c.Extractions }, UnitCount, Neither, groupBeside,
		"updates of the session memory that ended well"),
	counted("memory_extractions", func(c *Counts) *int64 { return &c.Memories }, UnitCount, Neither, groupBeside,
		"extractions of memories at the end of a loop that ended well"),
	counted("dreams", func(c *Counts) *int64 { return &c.Dreams }, UnitCount, Neither, groupBeside,
		"consolidations of memory that ended well"),
	counted("suggestions", func(c *Counts) *int64 { return &c.Suggestions }, UnitCount, Neither, groupBeside,
		"short forks at the end of a loop: suggested prompts and answers to them"),
	counted("agent_summaries", func(c *Counts) *int64 { return &c.AgentSummaries }, UnitCount, Neither, groupBeside,
		"summaries of sub-agents at work"),
	counted("agent_messages", func(c *Counts) *int64 { return &c.Messages }, UnitCount, Neither, groupBeside,
		"messages that one agent sent to another"),
	counted("compaction_retries", func(c *Counts) *int64 { return &c.Retries }, UnitCount, Lower, groupCompactions,
		"summary calls repeated with the oldest rounds dropped"),
	counted("compaction_fallbacks", func(c *Counts) *int64 { return &c.Fallbacks }, UnitCount, Lower, groupCompactions,
		"changes to another way of making a summary call"),
	counted("breaker_trips", func(c *Counts) *int64 { return &c.BreakerTrips }, UnitCount, Lower, groupCompactions,
		"times that a breaker stopped automatic compaction"),
	counted("restored_files", func(c *Counts) *int64 { return &c.Restored }, UnitCount, Neither, groupCompactions,
		"files put back behind a summary"),
	counted("server_hints", func(c *Counts) *int64 { return &c.Hints }, UnitCount, Neither, groupRequests,
		"requests that the server refused with the hint to clear"),
	counted("idle_compactions", func(c *Counts) *int64 { return &c.IdleCompactions }, UnitCount, Neither, groupCompactions,
		"compactions in a gap, before the cache expires"),
	counted("warning_calls", func(c *Counts) *int64 { return &c.WarningCalls }, UnitCalls, Lower, groupLevels,
		"calls of the main conversation sent at the warning level or above it"),
	counted("error_calls", func(c *Counts) *int64 { return &c.ErrorCalls }, UnitCalls, Lower, groupLevels,
		"calls of the main conversation sent at the error level or above it"),
	counted("blocked_calls", func(c *Counts) *int64 { return &c.BlockedCalls }, UnitCalls, Lower, groupLevels,
		"calls of the main conversation sent, or refused by the client, at the blocking level"),
	counted("background_calls", func(c *Counts) *int64 { return &c.Background }, UnitCalls, Neither, groupBeside,
		"calls made beside the conversation, which goes on meanwhile"),
	counted("head_changes", func(c *Counts) *int64 { return &c.HeadChanges }, UnitCount, Lower, groupRequests,
		"changes of tools, system prompt or request parameters"),
	counted("keepalive_signals", func(c *Counts) *int64 { return &c.Signals }, UnitCount, Neither, groupCompactions,
		"signals by which a client keeps a connection open during compactions; no calls"),
	counted("answered_over_window", func(c *Counts) *int64 { return &c.Beyond }, UnitCalls, Lower, groupLevels,
		"calls beyond the window that are counted as if a server answered them (overflow: answer)"),
	counted("ended_sessions", func(c *Counts) *int64 { return &c.Ended }, UnitCount, Lower, groupLevels,
		"sessions in which a conversation ended early: at a request refused as too long, or at the blocking level"),
	counted("unsimulated_calls", func(c *Counts) *int64 { return &c.Unsimulated }, UnitCalls, Lower, groupLevels,
		"recorded calls left out because their conversation ended early"),
	counted("keepalives", func(c *Counts) *int64 { return &c.Keepalives }, UnitCalls, Neither, groupRequests,
		"calls made only to keep cache entries alive"),
	counted(NameNetNegative, func(c *Counts) *int64 { return &c.NetNegative }, UnitCount, Lower, groupCompactions,
		"compactions whose calls and re-writing cost more than the calls behind them saved until the next one or the end"),
	counted("live_calls", func(c *Counts) *int64 { return &c.LiveCalls }, UnitCalls, Neither, groupLive,
		"summary calls that a real server answered, now or on a cassette"),
	counted("live_attempts", func(c *Counts) *int64 { return &c.LiveAttempts }, UnitCalls, Lower, groupLive,
		"requests sent for live calls, those that failed included"),
	counted("live_iterations", func(c *Counts) *int64 { return &c.LiveIterations }, UnitCount, Neither, groupLive,
		"passes of the model inside live calls"),
	counted("live_uncached_tokens", func(c *Counts) *int64 { return &c.LiveUncached }, UnitTokens, Neither, groupLive,
		"input of live calls that the server neither read from nor wrote to its cache"),
	counted("live_read_tokens", func(c *Counts) *int64 { return &c.LiveRead }, UnitTokens, Neither, groupLive,
		"input of live calls that the server read from its cache"),
	counted("live_write_tokens", func(c *Counts) *int64 { return &c.LiveWrite }, UnitTokens, Neither, groupLive,
		"input of live calls that the server wrote to its cache"),
	counted("live_output_tokens", func(c *Counts) *int64 { return &c.LiveOutput }, UnitTokens, Neither, groupLive,
		"output of live calls"),
	counted("sections_missing", func(c *Counts) *int64 { return &c.SectionsMissing }, UnitCount, Lower, groupLive,
		"sections that live summaries should have and have not"),
	counted("sections_cut", func(c *Counts) *int64 { return &c.SectionsCut }, UnitCount, Lower, groupLive,
		"sections of live summaries cut to their limit"),
}

// list returns the counts as the list that they are in memory, in the order of
// rowCounts: rows are added up by the million, and a call for each of their
// counts would take most of the time.
func (c *Counts) list() []int64 { return (*[unsafe.Sizeof(*c) / 8]int64)(unsafe.Pointer(c))[:] }

// countForm writes counts by name, sorted, without those that are zero.
var countForm = jsonlines.ByName(countNames(), (*Counts).list, jsonlines.Count[int64](), jsonlines.Pass)

func countNames() []string {
	var names []string
	for _, c := range rowCounts {
		names = append(names, c.metric.Name)
	}
	return names
}

func countMetrics() []Metric {
	var ms []Metric
	for _, c := range rowCounts {
		ms = append(ms, c.metric)
	}
	return ms
}
