package results

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// TestPublishedNames pins the names and units that outputs, checks and other
// people's scripts refer to. Adding one is fine; a change of this list breaks
// them.
func TestPublishedNames(t *testing.T) {
	want := []string{
		"cost_usd USD", "calls calls",
		"input_uncached_tokens tokens", "cache_read_tokens tokens", "cache_write_5m_tokens tokens",
		"cache_write_1h_tokens tokens", "cache_write_other_tokens tokens", "output_tokens tokens",
		"cache_hit_ratio ratio", "call_hit_ratio ratio", "misses calls",
		"compactions count", "microcompactions count", "recompactions count", "chain_max count",
		"peak_context_tokens tokens", "overflows calls", "added_latency_seconds s",
		"storage_usd USD", "search_usd USD", "expected_cost_usd USD", "billed_to_predicted rate",
		"bound_usd USD", "regret_usd USD", "bound_reached_usd USD", "clear_bound_usd USD",
		"needed_recall ratio", "needed_recall_least ratio", "needed_recall_most ratio", "needed_verbatim ratio",
		"cost_usd_uncached USD", "cost_usd_read USD", "cost_usd_write_5m USD", "cost_usd_write_1h USD",
		"cost_usd_write_other USD", "cost_usd_output USD",
		"cost_usd_main USD", "cost_usd_agent USD", "cost_usd_branch USD", "cost_usd_compact USD", "cost_usd_advisor USD",
		"cost_usd_session_memory USD", "cost_usd_extract_memories USD", "cost_usd_dream USD", "cost_usd_prompt_suggestion USD",
		"cost_usd_speculation USD", "cost_usd_agent_summary USD", "cost_usd_reread USD", "cost_usd_keepalive USD", "cost_usd_other USD",
		"misses_expiry calls", "misses_edit calls", "misses_compaction calls", "misses_rewind calls",
		"misses_head calls", "misses_model calls", "misses_eviction calls", "misses_not_readable calls",
		"misses_lookback calls", "misses_minimum calls",
		"added_latency_seconds_compaction s", "added_latency_seconds_first_token s", "added_latency_seconds_other s",
		"percent_left ratio", "percent_left_least ratio", "warning_seconds s", "error_seconds s", "blocking_seconds s",
		"needed_recall_edit ratio", "needed_recall_path ratio", "needed_recall_read ratio", "needed_recall_name ratio",
		"needed_recall_number ratio", "needed_recall_url ratio", "needed_recall_error ratio", "needed_recall_task ratio",
		"needs count", "needs_edit count", "needs_path count", "needs_read count", "needs_name count",
		"needs_number count", "needs_url count", "needs_error count", "needs_task count",
		"needs_lost_per_compaction rate", "needs_lost_per_1k_removed rate",
		"instructions count", "artifacts count",
		"instruction_survival ratio", "instruction_summarized ratio",
		"instruction_survival_depth_0 ratio", "instruction_survival_depth_1 ratio",
		"instruction_survival_depth_2 ratio", "instruction_survival_depth_3_or_more ratio",
		"artifact_retention ratio", "artifact_retention_edited ratio", "artifact_retention_read ratio",
		"artifact_retention_command ratio", "artifact_retention_error ratio", "artifact_retention_depth_1 ratio",
		"artifact_retention_depth_2 ratio", "artifact_retention_depth_3_or_more ratio", "refetches count", "left_out_calls count",
		"stored_results count", "stored_tokens tokens", "reread_results count", "cleared_results count",
		"cleared_tokens tokens", "cache_deletions count", "deleted_tokens tokens", "returned_tokens tokens",
		"memory_updates count", "memory_extractions count", "dreams count", "suggestions count",
		"agent_summaries count", "agent_messages count", "compaction_retries count", "compaction_fallbacks count",
		"breaker_trips count", "restored_files count", "server_hints count", "idle_compactions count",
		"warning_calls calls", "error_calls calls", "blocked_calls calls", "background_calls calls",
		"head_changes count", "keepalive_signals count", "answered_over_window calls", "ended_sessions count", "unsimulated_calls calls", "keepalives calls",
		"net_negative_compactions count",
		"live_calls calls", "live_attempts calls", "live_iterations count", "live_uncached_tokens tokens", "live_read_tokens tokens",
		"live_write_tokens tokens", "live_output_tokens tokens",
		"sections_missing count", "sections_cut count",
		"quota_changes count", "global_read_tokens tokens", "global_written_tokens tokens",
		"organisation_read_tokens tokens", "organisation_written_tokens tokens", "own_read_tokens tokens", "own_written_tokens tokens",
		"peak_calls_in_flight calls",
		"breaks calls", "breaks_model calls", "breaks_state calls", "breaks_expiry_5m calls", "breaks_expiry_1h calls",
		"breaks_server calls", "breaks_unknown calls",
	}
	var got []string
	for _, m := range Metrics() {
		got = append(got, m.Name+" "+m.Unit)
		if m.Group != "" && !slices.Contains(Groups(), m.Group) {
			t.Errorf("%s is of group %q, which no table shows", m.Name, m.Group)
		}
		if m.Definition == "" || m.Value == nil {
			t.Errorf("%s does not describe itself", m.Name)
		}
		if (m.Of == "") != (m.By == "") {
			t.Errorf("%s is of %q by %q", m.Name, m.Of, m.By)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("published metrics (-want +got):\n%s", diff)
	}
}

// sample is a row in which every figure is another number, so that a metric or
// a codec that takes the wrong one shows.
func sample(strategy, session string) *Row {
	r := &Row{
		Strategy: strategy, Session: session, Organisation: "acme", Loop: measures.LoopClosed,
		Firings: map[string]int{"full-compact": 7, "microcompact": 8},
		Reasons: map[string]int{"full-compact: API error": 2, "dream: locked": 9},
		Figures: Figures{
			measures.Sessions: 1, measures.Calls: 189, // 7 + … + 20
			measures.Misses: 55, measures.MissedTokens: 901, measures.HitCalls: 30, measures.LaterCalls: 40, measures.Compactions: 7, measures.Microcompactions: 8,
			measures.Recompactions: 6, measures.ChainMax: 5, measures.PeakContext: 1000, measures.Overflows: 4, measures.OverWindow: 1, measures.FailedCompactions: 3, measures.AddedLatency: 12.5,
			measures.LeftCalls: 40, measures.LeftSum: 2600, measures.MostUsed: 97,
			measures.StorageUSD: 0.25, measures.SearchUSD: 0.375, measures.ExpectedLossUSD: 0.125, measures.PredictedUSD: 4, measures.PredictedOfUSD: 5, measures.LoggedOutputUSD: 0.5, measures.UnloggedWritesUSD: 0.75, measures.UnloggedInputUSD: 0.0625,
			measures.UnpricedCalls: 2, measures.BoundUSD: 32128, measures.BoundReachedUSD: 32129, measures.ClearBoundUSD: 32130, measures.Bounded: 1,
		},
	}
	copy(r.Figures[measures.Tokens:], []float64{100, 700, 110, 60, 30, 105})
	copy(r.Figures[measures.SharedTokens:], []float64{301, 302, 303, 304, 305, 306})
	copy(r.Figures[measures.Waits:], []float64{measures.WaitCompaction: 9, measures.WaitFirstToken: -0.5, measures.WaitOther: 4})
	copy(r.Figures[measures.SecondsAt:], []float64{measures.LevelNormal: 900, measures.LevelWarning: 90, measures.LevelError: 70, measures.LevelBlocking: 50})
	for i := range measures.CallsBySource - measures.StoredResults {
		r.Figures[measures.StoredResults+i] = float64(200 + i)
	}
	for i := range exchange.NumMissClasses {
		r.Figures[measures.MissesByClass+measures.ID(i)] = float64(i) // 1 + … + 10 = 55
	}
	for s := range measures.Source(measures.NumSources) { // tokens 91 uncached, 559 read, 105 output; calls 189
		r.Figures[measures.CallsBySource+measures.ID(s)] = float64(7 + s)
		tokens := r.Figures[measures.TokensBySource+measures.NumClasses*measures.ID(s):]
		tokens[measures.ClassUncached], tokens[measures.ClassRead], tokens[measures.ClassOutput] = float64(s), 50-float64(s), 1+float64(s)
		for c := range measures.NumClasses {
			r.CostBy(s)[c] = math.Ldexp(1, int(s)-c) // exact in binary, as are its sums
			r.CostByClass()[c] += r.CostBy(s)[c]
		}
	}
	copy(r.Figures[measures.TokensBySource:], []float64{9, 141, 110, 60, 30})
	var said confusion.Matrix
	for i := range said { // calls 1, 2, 3… by reason, 11 classes each, then what was named and the calls beside
		said[i] = uint32(1 + i)
	}
	r.Breaks = said.Counts()
	n := needsOf(r)
	for k := range recall.NeedKind(recall.NumNeedKinds) {
		*n.Kind(k) = recall.NeedTally{recall.Count: float64(1 + k), recall.Weight: 100, recall.Verbatim: 60, recall.Recoverable: 20,
			recall.Summarized: 10, recall.Most: 15}
	}
	for i := range recall.NumDepths {
		for _, from := range []int{recall.Instructions, recall.Artifacts, recall.ByDepth} {
			*n.Portion(from, i) = recall.Portion{recall.Part: float64(1 + i), recall.Whole: 10}
		}
	}
	n[recall.Removed], n[recall.Directed], n[recall.Fetches] = 4000, 11, 5
	n[recall.LeftOut] = 3
	return r
}

// TestValues: the figures of sample, by hand. Its cost by class c is
// (1 + 2 + … + 2^13)·2^−c = 16383·2^−c, its cost by source s is 2^s·(2 − 2^−5),
// and in all 16383·(2 − 2^−5) = 32254.03125, with storage and searches 32254.65625.
func TestValues(t *testing.T) {
	r := sample("x", "s")
	for name, want := range map[string]float64{
		"cost_usd": 32254.65625, "storage_usd": 0.25, "search_usd": 0.375, "expected_cost_usd": 32254.78125, "billed_to_predicted": 1.25, // 5 / 4
		"calls":                 189,
		"regret_usd":            126.65625,
		"input_uncached_tokens": 100, "cache_read_tokens": 700, "cache_write_5m_tokens": 110,
		"cache_write_1h_tokens": 60, "cache_write_other_tokens": 30, "output_tokens": 105,
		"cache_hit_ratio": 0.7,  // 700 / (100 + 700 + 110 + 60 + 30)
		"call_hit_ratio":  0.75, // 30 / 40
		"misses":          55, "misses_expiry": 1, "misses_minimum": 10,
		"compactions": 7, "microcompactions": 8, "recompactions": 6, "chain_max": 5,
		"peak_context_tokens": 1000, "overflows": 4, "added_latency_seconds": 12.5,
		"cost_usd_uncached": 16383, "cost_usd_read": 8191.5, "cost_usd_output": 511.96875,
		"cost_usd_main": 1.96875, "cost_usd_other": 16128,
		"added_latency_seconds_compaction": 9, "added_latency_seconds_first_token": -0.5, "added_latency_seconds_other": 4,
		"percent_left":       0.65, // 2600 / 40 per cent
		"percent_left_least": 0.03, "warning_seconds": 90, "error_seconds": 70, "blocking_seconds": 50,
		"breaks":         5841, // 66 counts, 56 … 121: 66·(56 + 121)/2
		"stored_results": 200, "keepalives": 229,
		// 8 kinds, each of 100 with 60 there, 20 to be fetched and 10 of at most 15 in summaries.
		"needs": 36, "needs_read": 3, "needed_recall": 0.9, "needed_recall_least": 0.8, "needed_recall_most": 0.95,
		"needed_verbatim": 0.6, "needed_recall_url": 0.9,
		"needs_lost_per_compaction": 80. / 15 / 1000, "needs_lost_per_1k_removed": 80. / 4000, "refetches": 5, "left_out_calls": 3,
		"instruction_survival": 10. / 40, "instruction_summarized": 11. / 40, "instruction_survival_depth_2": 0.3,
		"artifact_retention": 10. / 40, "artifact_retention_error": 0.4, "artifact_retention_depth_1": 0.2,
	} {
		m, ok := LookupMetric(name)
		if !ok {
			t.Errorf("no metric %s", name)
			continue
		}
		if got, ok := m.Value(r); !ok || got != want {
			t.Errorf("%s = %v, %v; want %v", name, got, ok, want)
		}
	}
	if _, ok := LookupMetric("regret"); ok {
		t.Error("regret is listed, but no row measures it")
	}
}

// TestPartsAddUp: the parts of a metric add up to it; of cost_usd, up to
// storage, which belongs to no class and no source.
func TestPartsAddUp(t *testing.T) {
	r := sample("x", "s")
	sums := map[string]float64{}
	for _, m := range Metrics() {
		if m.Of != "" {
			v, _ := m.Value(r)
			sums[m.Of+" by "+m.By] += v
		}
	}
	want := map[string]float64{"cost_usd by class": 32254.03125, "cost_usd by source": 32254.03125, "misses by class": 55,
		"added_latency_seconds by part": 12.5, "breaks by part": 5841,
		"needs by part": 36}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("sums of parts (-want +got):\n%s", diff)
	}
}

// TestNoSample: a ratio over nothing has no sample, nor has a detector that did
// not run; a count of nothing is 0.
func TestNoSample(t *testing.T) {
	var none []string
	for _, m := range Metrics() {
		if m.Group == groupLive { // a row without live calls has no such figure
			if _, ok := m.Value(&Row{}); ok {
				t.Errorf("%s has a sample without live calls", m.Name)
			}
			continue
		}
		if m.place == atNeeds || m.place == atRecall { // nor of what is forgotten without texts
			if _, ok := m.Value(&Row{}); ok {
				t.Errorf("%s has a sample without texts", m.Name)
			}
			continue
		}
		if v, ok := m.Value(&Row{}); !ok {
			none = append(none, m.Name)
		} else if v != 0 {
			t.Errorf("%s of an empty row is %v", m.Name, v)
		}
	}
	want := append([]string{"cache_hit_ratio", "call_hit_ratio", "billed_to_predicted", "bound_usd", "regret_usd", "bound_reached_usd",
		"clear_bound_usd", "percent_left", "percent_left_least", "breaks"}, partsOfBreaks()...)
	if !slices.Equal(none, want) {
		t.Errorf("no sample in an empty row: %v, want %v", none, want)
	}
}

func partsOfBreaks() []string {
	var names []string
	for _, m := range Metrics() {
		if m.Of == "breaks" {
			names = append(names, m.Name)
		}
	}
	return names
}

// TestUnmeasured: what a cell does not measure has no sample, and neither have
// its parts or the metrics of a group.
func TestUnmeasured(t *testing.T) {
	c := Cell{Cell: "billed", Strategy: "billed", Total: *sample("billed", ""), Unmeasured: []string{"misses", groupLevels}}
	for name, want := range map[string]bool{"misses": false, "misses_edit": false, "calls": true,
		"warning_calls": false, "blocking_seconds": false, "percent_left": false, "stored_results": true} {
		m, _ := LookupMetric(name)
		if _, ok := c.Value(m); ok != want {
			t.Errorf("%s has a sample: %v, want %v", name, ok, want)
		}
	}
}

// TestAddedRows: sums of counts and times, minima and maxima of what the client
// shows, and maps of their own, so that adding to a total changes no row.
func TestAddedRows(t *testing.T) {
	a, b := sample("x", "a"), sample("x", "b")
	copy(b.Figures[measures.LeftCalls:], []float64{10, 900, 15})
	b.Firings, b.Reasons = map[string]int{"dream": 1, "microcompact": 2}, nil
	var total Row
	total.Add(a)
	total.Add(b)
	if want, got := []float64{50, 3500, 97}, total.Figures[measures.LeftCalls:measures.MostUsed+1]; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
	if want := []float64{18, -1, 8}; !slices.Equal(total.Figures[measures.Waits:measures.SecondsAt], want) || total.Figures[measures.AddedLatency] != 25 {
		t.Errorf("waits %v of %g s, want %v of 25", total.Figures[measures.Waits:measures.SecondsAt], total.Figures[measures.AddedLatency], want)
	}
	if total.SecondsAt(measures.LevelError) != 140 || total.N(measures.ServerHints) != 2*a.N(measures.ServerHints) {
		t.Errorf("%g s at the error level, %d hints", total.SecondsAt(measures.LevelError), total.N(measures.ServerHints))
	}
	if diff := cmp.Diff(map[string]int{"full-compact": 7, "microcompact": 10, "dream": 1}, total.Firings); diff != "" {
		t.Errorf("firings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sample("x", "a").Firings, a.Firings); diff != "" {
		t.Errorf("the row itself changed:\n%s", diff)
	}
}

// TestWaited: the parts are the whole.
func TestWaited(t *testing.T) {
	var r Row
	r.Waited(measures.WaitCompaction, 60)
	r.Waited(measures.WaitFirstToken, -2.5)
	r.Waited(measures.WaitOther, 1)
	if want := []float64{60, -2.5, 1}; r.Figures[measures.AddedLatency] != 58.5 || !slices.Equal(r.Figures[measures.Waits:measures.SecondsAt], want) {
		t.Errorf("%g s of %v, want 58.5 s of %v", r.Figures[measures.AddedLatency], r.Figures[measures.Waits:measures.SecondsAt], want)
	}
}

// A reason, a cause or a class of miss that this version does not know is an
// error, not a call less.
func TestUnknownBreaks(t *testing.T) {
	for want, breaks := range map[string]string{
		`breaks.calls.expiry_1d is not known`:   `{"calls":{"expiry_1d":{"none":1}}}`,
		`breaks.changed.weather is not known`:   `{"changed":{"weather":{"head":1}}}`,
		`breaks.calls.server.moon is not known`: `{"calls":{"server":{"moon":1}}}`,
		`breaks.beside.x is not known`:          `{"beside":{"x":1}}`,
		`breaks.below is not known`:             `{"below":{"x":1}}`,
	} {
		refuses(t, with(t, `"unpriced_calls":0`, `"breaks":`+breaks+`,"unpriced_calls":0`), "f:2: "+want)
	}
}

// Each figure of the vector is one member of a row, and a metric that has the name of a
// member is its figure.
func TestFiguresAreDeclaredOnce(t *testing.T) {
	var members [measures.NumFigures]int
	rowForm.Each(func(m *jsonlines.Member) {
		if m.Kind != jsonlines.Small {
			members[m.At]++
		}
	})
	for id, n := range members {
		if n != 1 {
			t.Errorf("figure %d is %d members of a row", id, n)
		}
	}
	list := countMembers()
	for _, f := range rowFields {
		if f.Kind <= jsonlines.Signed {
			list = append(list, f.Member)
		}
	}
	for _, m := range list {
		r := Row{Figures: Figures{measures.Bounded: 1, measures.LiveCalls: 1}}
		r.Figures[m.At] = 3
		metric, ok := LookupMetric(m.Name)
		if !ok {
			continue
		}
		if v, sample := metric.Value(&r); v != 3 || !sample {
			t.Errorf("%s is %v, %v", m.Name, v, sample)
		}
	}
}
