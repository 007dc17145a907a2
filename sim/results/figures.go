package results

import (
	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
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
	{Member: jsonlines.Member{Name: "loop", Kind: jsonlines.Text, At: textLoop, Optional: true, Choice: measures.LoopNames[1:]}},
	{Member: jsonlines.Member{Name: "organisation", Kind: jsonlines.Text, At: textOrganisation, Optional: true}},
	bare("sessions", jsonlines.Whole, measures.Sessions),
	count(measures.Calls, measures.NameCalls, atCalls, measures.UnitCalls, measures.Lower, "requests answered by a model, summary calls included"),
	split("calls_by_source", figures(jsonlines.Whole, measures.CallsBySource, measures.SourceNames[:])),
	tokens("tokens", measures.Tokens).as(tokenMetrics()...),
	split("tokens_by_source", each(measures.SourceNames[:], measures.TokensBySource, measures.NumClasses, tokens)),
	costs("cost_usd_by_class", measures.CostByClass).as(classCosts()...),
	split("cost_usd_by_source", each(measures.SourceNames[:], measures.CostBySource, measures.NumClasses, costs)).as(sourceCosts()...),
	bare(measures.NameStorage, jsonlines.Amount, measures.StorageUSD).as(figure(measures.StorageUSD, measures.NameStorage, atStorage, measures.UnitUSD, measures.Lower,
		"price of keeping cache entries, for providers that charge by time")),
	bare(measures.NameSearch, jsonlines.Amount, measures.SearchUSD).or().as(figure(measures.SearchUSD, measures.NameSearch, atStorage, measures.UnitUSD, measures.Lower,
		"price of searches of the web by the server, beside the tokens of their calls")),
	bare("expected_loss_usd", jsonlines.Amount, measures.ExpectedLossUSD).or().as(expectedCost()),
	bare("predicted_usd", jsonlines.Amount, measures.PredictedUSD).or().as(overPredicted()),
	bare("predicted_of_usd", jsonlines.Amount, measures.PredictedOfUSD).or(),

	bound(measures.BoundUSD, measures.NameBound, "no schedule of full compaction costs less, known the future", regret()),
	bound(measures.BoundReachedUSD, "bound_reached_usd", "cost of the best schedule of full compaction that was found for bound_usd"),
	bound(measures.ClearBoundUSD, "clear_bound_usd", "no schedule that clears tool results and makes no call costs less, known the future"),
	bare("bounded", jsonlines.Whole, measures.Bounded).or(),

	count(measures.Misses, measures.NameMisses, atMisses, measures.UnitCalls, measures.Lower,
		"calls that read less than the best prefix of their thread; the first call of a thread is not counted"),
	split("misses_by_class", figures(jsonlines.Whole, measures.MissesByClass, missNames)).as(missMetrics()...),
	bare("missed_tokens", jsonlines.Whole, measures.MissedTokens),
	bare("hit_calls", jsonlines.Whole, measures.HitCalls),
	bare("later_calls", jsonlines.Whole, measures.LaterCalls).as(callHits()),

	count(measures.Compactions, measures.NameCompactions, atCompaction, measures.UnitCount, measures.Neither, "times that messages were replaced by a summary"),
	count(measures.Microcompactions, measures.NameMicrocompactions, atCompaction, measures.UnitCount, measures.Neither,
		"times that tool results were cleared without a summary"),
	count(measures.Recompactions, measures.NameRecompactions, atCompaction, measures.UnitCount, measures.Lower, "compactions of a context that already held a summary"),
	largest(measures.ChainMax, measures.NameChainMax, measures.UnitCount, "longest run of compactions on one thread; over several sessions the maximum"),
	largest(measures.PeakContext, measures.NamePeakContext, measures.UnitTokens, "largest request sent, tokens; over several sessions the maximum"),
	count(measures.Overflows, measures.NameOverflows, atCompaction, measures.UnitCalls, measures.Lower, "requests that a server refuses as too long"),
	bare("over_window", jsonlines.Whole, measures.OverWindow),
	bare("failed_compactions", jsonlines.Whole, measures.FailedCompactions),

	bare(measures.NameAddedLatency, jsonlines.Signed, measures.AddedLatency).as(figure(measures.AddedLatency, measures.NameAddedLatency, atCompaction, measures.UnitSeconds, measures.Lower,
		"waiting that context management added, seconds of the simulated clock, negative where earlier "+
			"first tokens outweigh it; calls of sub-agents and of conversations that run at the same time count each")),
	split("added_latency_seconds_by_part", figures(jsonlines.Signed, measures.Waits, measures.WaitNames[:])).or().as(waitMetrics()...),
	split("seconds_at_level", figures(jsonlines.Amount, measures.SecondsAt, measures.LevelNames[:])).or().as(levelMetrics()...),
	object("percent_left", figures(jsonlines.Whole, measures.LeftCalls, []string{"calls", "sum", "most_used"})).or().as(leftMetrics()...),

	breaks("breaks").or().as(breakMetrics()...),
	object("needs", needMembers()).or().as(needMetrics()...),
	split("counts", countMembers()).or().as(rowCounts...),
	bare("peak_calls_in_flight", jsonlines.Whole, measures.PeakCallsInFlight).or().as(peakInFlight()),
	{Member: jsonlines.Member{Name: "firings", Kind: jsonlines.Tally, At: tallyFirings, Optional: true}},
	{Member: jsonlines.Member{Name: "reasons", Kind: jsonlines.Tally, At: tallyReasons, Optional: true}},
	bare("logged_output_usd", jsonlines.Amount, measures.LoggedOutputUSD).or(),
	bare("unlogged_writes_usd", jsonlines.Amount, measures.UnloggedWritesUSD).or(),
	bare("unlogged_input_usd", jsonlines.Amount, measures.UnloggedInputUSD).or(),
	bare("unpriced_calls", jsonlines.Whole, measures.UnpricedCalls),
}

// rowCounts are the counts that rows leave out when they are 0, in the order of publication.
var rowCounts = []Metric{
	counted(measures.StoredResults, "stored_results", measures.UnitCount, measures.Neither, groupResults,
		"tool results put to disk, a preview in their place"),
	counted(measures.StoredTokens, "stored_tokens", measures.UnitTokens, measures.Neither, groupResults,
		"tokens that storing took out of the context"),
	counted(measures.RereadResults, "reread_results", measures.UnitCount, measures.Lower, groupResults,
		"stored tool results that were read back"),
	counted(measures.ClearedResults, "cleared_results", measures.UnitCount, measures.Neither, groupResults,
		"tool results cleared in place"),
	counted(measures.ClearedTokens, "cleared_tokens", measures.UnitTokens, measures.Neither, groupResults,
		"tokens that clearing took out of the context"),
	counted(measures.CacheDeletions, measures.NameDeletions, measures.UnitCount, measures.Neither, groupResults,
		"tool results that the server was asked to delete from the cached prefix"),
	counted(measures.DeletedTokens, "deleted_tokens", measures.UnitTokens, measures.Neither, groupResults,
		"tokens that such deletions took out of requests"),
	counted(measures.ReturnedTokens, "returned_tokens", measures.UnitTokens, measures.Lower, groupResults,
		"deleted tokens that came back when the cache had expired"),
	counted(measures.MemoryUpdates, "memory_updates", measures.UnitCount, measures.Neither, groupBeside,
		"updates of the session memory that ended well"),
	counted(measures.MemoryExtractions, "memory_extractions", measures.UnitCount, measures.Neither, groupBeside,
		"extractions of memories at the end of a loop that ended well"),
	counted(measures.Dreams, "dreams", measures.UnitCount, measures.Neither, groupBeside,
		"consolidations of memory that ended well"),
	counted(measures.Suggestions, "suggestions", measures.UnitCount, measures.Neither, groupBeside,
		"short forks at the end of a loop: suggested prompts and answers to them"),
	counted(measures.AgentSummaries, "agent_summaries", measures.UnitCount, measures.Neither, groupBeside,
		"summaries of sub-agents at work"),
	counted(measures.AgentMessages, "agent_messages", measures.UnitCount, measures.Neither, groupBeside,
		"messages that one agent sent to another"),
	counted(measures.CompactionRetries, "compaction_retries", measures.UnitCount, measures.Lower, groupCompactions,
		"summary calls repeated with the oldest rounds dropped"),
	counted(measures.CompactionFallbacks, "compaction_fallbacks", measures.UnitCount, measures.Lower, groupCompactions,
		"changes to another way of making a summary call"),
	counted(measures.BreakerTrips, "breaker_trips", measures.UnitCount, measures.Lower, groupCompactions,
		"times that a breaker stopped automatic compaction"),
	counted(measures.RestoredFiles, "restored_files", measures.UnitCount, measures.Neither, groupCompactions,
		"files put back after a summary"),
	counted(measures.ServerHints, "server_hints", measures.UnitCount, measures.Neither, groupRequests,
		"requests that the server refused with the hint to clear"),
	counted(measures.IdleCompactions, "idle_compactions", measures.UnitCount, measures.Neither, groupCompactions,
		"compactions in a gap, before the cache expires"),
	counted(measures.WarningCalls, "warning_calls", measures.UnitCalls, measures.Lower, groupLevels,
		"calls of the main conversation sent at the warning level or above it"),
	counted(measures.ErrorCalls, "error_calls", measures.UnitCalls, measures.Lower, groupLevels,
		"calls of the main conversation sent at the error level or above it"),
	counted(measures.BlockedCalls, "blocked_calls", measures.UnitCalls, measures.Lower, groupLevels,
		"calls of the main conversation sent, or refused by the client, at the blocking level"),
	counted(measures.BackgroundCalls, "background_calls", measures.UnitCalls, measures.Neither, groupBeside,
		"calls made beside the conversation, which goes on meanwhile"),
	counted(measures.HeadChanges, "head_changes", measures.UnitCount, measures.Lower, groupRequests,
		"changes of tools, system prompt or request parameters"),
	counted(measures.KeepaliveSignals, "keepalive_signals", measures.UnitCount, measures.Neither, groupCompactions,
		"signals by which a client keeps a connection open during compactions; no calls"),
	counted(measures.AnsweredOverWindow, "answered_over_window", measures.UnitCalls, measures.Lower, groupLevels,
		"calls beyond the window that are counted as if a server answered them (overflow: answer)"),
	counted(measures.EndedSessions, "ended_sessions", measures.UnitCount, measures.Lower, groupLevels,
		"sessions in which a conversation ended early: at a request refused as too long, or at the blocking level"),
	counted(measures.UnsimulatedCalls, "unsimulated_calls", measures.UnitCalls, measures.Lower, groupLevels,
		"recorded calls left out because their conversation ended early"),
	counted(measures.Keepalives, "keepalives", measures.UnitCalls, measures.Neither, groupRequests,
		"calls made only to keep cache entries alive"),
	counted(measures.NetNegativeCompactions, measures.NameNetNegative, measures.UnitCount, measures.Lower, groupCompactions,
		"compactions whose calls and re-writing cost more than the calls after them saved until the next one or the end"),
	counted(measures.LiveCalls, "live_calls", measures.UnitCalls, measures.Neither, groupLive,
		"summary calls that a real server answered, now or on a cassette"),
	counted(measures.LiveAttempts, "live_attempts", measures.UnitCalls, measures.Lower, groupLive,
		"requests sent for live calls, those that failed included"),
	counted(measures.LiveIterations, "live_iterations", measures.UnitCount, measures.Neither, groupLive,
		"passes of the model inside live calls"),
	counted(measures.LiveUncachedTokens, "live_uncached_tokens", measures.UnitTokens, measures.Neither, groupLive,
		"input of live calls that the server neither read from nor wrote to its cache"),
	counted(measures.LiveReadTokens, "live_read_tokens", measures.UnitTokens, measures.Neither, groupLive,
		"input of live calls that the server read from its cache"),
	counted(measures.LiveWriteTokens, "live_write_tokens", measures.UnitTokens, measures.Neither, groupLive,
		"input of live calls that the server wrote to its cache"),
	counted(measures.LiveOutputTokens, "live_output_tokens", measures.UnitTokens, measures.Neither, groupLive,
		"output of live calls"),
	counted(measures.SectionsMissing, "sections_missing", measures.UnitCount, measures.Lower, groupLive,
		"sections that live summaries should have and have not"),
	counted(measures.SectionsCut, "sections_cut", measures.UnitCount, measures.Lower, groupLive,
		"sections of live summaries cut to their limit"),
	counted(measures.QuotaChanges, "quota_changes", measures.UnitCount, measures.Neither, groupRequests,
		"times that a user passed the plan's quota or had it back during a session"),
	shared(measures.SharingGlobal, measures.SharedRead, "global_read_tokens", "tokens read of what is marked for every organisation"),
	shared(measures.SharingGlobal, measures.SharedWritten, "global_written_tokens", "tokens written of what is marked for every organisation"),
	shared(measures.SharingOrganisation, measures.SharedRead, "organisation_read_tokens", "tokens read of what else precedes the messages, shared within an organisation"),
	shared(measures.SharingOrganisation, measures.SharedWritten, "organisation_written_tokens", "tokens written of what else precedes the messages, shared within an organisation"),
	shared(measures.SharingNone, measures.SharedRead, "own_read_tokens", "tokens read of the rest, which is the session's own"),
	shared(measures.SharingNone, measures.SharedWritten, "own_written_tokens", "tokens written of the rest, which is the session's own"),
}

// needsOf returns what is forgotten, as a part of the row.
func needsOf(r *Row) *recall.Needs { return (*recall.Needs)(r.Figures[measures.Needs:]) }

// needMetrics are the metrics of what is forgotten, without a sample where nothing was
// measured.
func needMetrics() []Metric {
	const v, c, s, m = recall.Verbatim, recall.Recoverable, recall.Summarized, recall.Most
	total := func(name, definition string, states ...int) Metric {
		return needShare(atRecall, name, "", definition, func(n *recall.Needs) (float64, float64) {
			t := n.Total()
			return sumOf(&t, states), t[recall.Weight]
		})
	}
	kept := total(measures.NameRecall, "weighted share of what actions used that is in the context, can be fetched as it "+
		"was, or is expected in a summary", v, c, s)
	kept.Low, kept.High, kept.Level = measures.NameRecallLeast, measures.NameRecallMost, 1
	ms := []Metric{
		kept,
		total(measures.NameRecallLeast, "needed_recall when summaries keep nothing", v, c),
		total(measures.NameRecallMost, "needed_recall when summaries keep all that fits their size, the most used first", v, c, m),
		total("needed_verbatim", "weighted share of what actions used that is in the context word for word", v),
	}
	for k, name := range recall.NeedNames() {
		ms = append(ms, needShare(atNeeds, measures.NameRecall+"_"+name, groupKinds, "needed_recall of the kind "+name,
			func(n *recall.Needs) (float64, float64) {
				t := n.Kind(recall.NeedKind(k))
				return t.Kept(), t[recall.Weight]
			}))
	}
	ms = append(ms, needCount(measures.NameNeeds, "uses of what had been said before", func(n *recall.Needs) float64 {
		t := n.Total()
		return t[recall.Count]
	}))
	for k, name := range recall.NeedNames() {
		m := needCount(measures.NameNeeds+"_"+name, "uses of the kind "+name,
			func(n *recall.Needs) float64 { return n.Kind(recall.NeedKind(k))[recall.Count] })
		m.Of, m.By, m.Group = measures.NameNeeds, measures.ByPart, groupUses
		ms = append(ms, m)
	}
	ms = append(ms,
		lossRate("needs_lost_per_compaction", "compactions and clearings",
			func(r *Row) float64 {
				return 1000 * (r.Figures[measures.Compactions] + r.Figures[measures.Microcompactions])
			}),
		lossRate("needs_lost_per_1k_removed", "1,000 tokens taken out", func(r *Row) float64 { return r.Figures[measures.Needs+recall.Removed] }),
		needCount("instructions", "directing sentences of the person, once for each request that has or had them",
			func(n *recall.Needs) float64 { return n.Sum(recall.Instructions)[recall.Whole] }),
		needCount("artifacts", "paths, commands and failed results so far, once for each compaction",
			func(n *recall.Needs) float64 { return n.Sum(recall.Artifacts)[recall.Whole] }))
	ms = append(ms, survivalMetrics()...)
	return append(ms, needCount("refetches", "calls that fetch again what later actions used",
		func(n *recall.Needs) float64 { return n[recall.Fetches] }),
		needCount("left_out_calls", "recorded calls that fetched again what was forgotten, and are not made where it was not",
			func(n *recall.Needs) float64 { return n[recall.LeftOut] }))
}

func sumOf(t *recall.NeedTally, states []int) (sum float64) {
	for _, s := range states {
		sum += t[s]
	}
	return sum
}

// survivalMetrics are the shares that contexts still have of what a person directed and
// of what the conversation dealt with.
func survivalMetrics() []Metric {
	all := func(from int) func(*recall.Needs) (float64, float64) {
		return func(n *recall.Needs) (float64, float64) {
			p := n.Sum(from)
			return p[recall.Part], p[recall.Whole]
		}
	}
	ms := []Metric{
		needShare(atNeeds, measures.NameInstructionsKept, groupNeeds, "directing sentences of the person (must, never, use …) "+
			"that are in the context word for word, over all requests of main conversations", all(recall.Instructions)),
		needShare(atNeeds, "instruction_summarized", groupNeeds, "of the same, those that only a modelled summary can have",
			func(n *recall.Needs) (float64, float64) {
				return n[recall.Directed], n.Sum(recall.Instructions)[recall.Whole]
			}),
	}
	ms = append(ms, shares("instruction_survival_depth_", "instruction_survival after compactions: ", recall.Depths(), recall.Instructions)...)
	ms = append(ms, needShare(atNeeds, "artifact_retention", groupNeeds, "paths, commands and failed results so far "+
		"that are in the context after a compaction, whatever a modelled summary says", all(recall.Artifacts)))
	ms = append(ms, shares("artifact_retention_", "artifact_retention of the type ", recall.ArtifactNames(), recall.Artifacts)...)
	depths := shares("artifact_retention_depth_", "artifact_retention after compactions: ", recall.Depths(), recall.ByDepth)
	return append(ms, depths[1:]...)
}

// lossRate is the rate of what is lost, by what took it out.
func lossRate(name, by string, of func(*Row) float64) Metric {
	m := ratio(Metric{place: atNeeds, Name: name, Better: measures.Lower, Group: groupNeeds,
		Definition: "weight of the uses that find nothing, by " + by + "; no sample without any"},
		func(r *Row) (float64, float64) {
			t := needsOf(r).Total()
			if t[recall.Count] == 0 {
				return 0, 0
			}
			return t[recall.Weight] - t.Kept(), of(r)
		})
	m.Unit, m.Exact = measures.UnitRate, false
	return m
}

func shares(prefix, definition string, names []string, from int) []Metric {
	var ms []Metric
	for i, name := range names {
		ms = append(ms, needShare(atNeeds, prefix+name, groupSurvival, definition+name, func(n *recall.Needs) (float64, float64) {
			p := n.Portion(from, i)
			return p[recall.Part], p[recall.Whole]
		}))
	}
	return ms
}

func needShare(at place, name, group, definition string, of func(*recall.Needs) (float64, float64)) Metric {
	m := ratio(Metric{place: at, Name: name, Better: measures.Higher, Group: group, Definition: definition + "; no sample without any"},
		func(r *Row) (float64, float64) { return of(needsOf(r)) })
	m.Exact = false
	return m
}

func needCount(name, definition string, of func(*recall.Needs) float64) Metric {
	return Metric{place: atNeeds, Name: name, Unit: measures.UnitCount, Group: groupNeeds, Exact: true, Definition: definition,
		Value: func(r *Row) (float64, bool) {
			n := needsOf(r)
			t := n.Total()
			return of(n), t[recall.Count] > 0
		}}
}
