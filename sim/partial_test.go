package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// partlyCompacted replays 30 rounds and a prompt, ahead of which a person
// compacts; it returns the usage of the summary call and of the call behind it.
// The n-th round sends 18,300 + n × 4,200 tokens and answers with 200.
func partlyCompacted(t *testing.T, changes string) (summary, after prompt.Usage) {
	t.Helper()
	b := newSession("s").turns(30, 0, 4000).turns(2, 0, 4000)
	b.s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Round: 30, Manual: true}}
	c := written(t, "  - full-compact: {trigger: {fixed: 190000}, manual: true, attachments: {files: {count: 0}}, "+changes+"}\n")
	row, calls := run(t, c, b.session())
	if row.N(measures.Compactions) != 1 || calls[30].Source != measures.SourceCompact || calls[31].Miss != exchange.MissCompaction {
		t.Fatalf("%s: %d compactions, call 30 is of %v, the next one misses by %v", changes, row.N(measures.Compactions),
			calls[30].Source, calls[31].Miss)
	}
	return calls[30].Usage, calls[31].Usage
}

// Which calls of a compaction hit. The pivot at half of the 60 messages falls on
// a result and moves back ahead of its call, the 15th response: 77,100 tokens stand before that
// response.
//
// The summary call of up_to reads what the 14th request had left, 72,900, and
// the next turn writes all that stays, as it stands behind the summary now; from
// leaves it in place, and the next turn reads it. So 002 and 003 are right that
// up_to breaks the cache, and 000 that it keeps it, for the summary call.
func TestPartialAndTheCache(t *testing.T) {
	const system, all, pivot = 16_000, 18_300 + 29*4200, 18_300 + 14*4200
	for changes, want := range map[string]struct{ sent, read, next int64 }{
		"partial: {direction: none}":             {all + 200 + 1500, all, system},
		"partial: {direction: up_to}":            {pivot + 1500, pivot - 4200, system},
		"partial: {direction: from}":             {all + 200 + 1500, all, pivot},
		"partial: {direction: from, pivot: 0.9}": {all + 200 + 1500, all, 18_300 + 26*4200},
		"partial: {direction: up_to, pivot: 1}":  {all + 200 + 1500, all, system},
		// The provider's compaction asks for nothing behind the conversation; the
		// block it answers with stands first, ahead of the turns that stay (B3).
		"call: [server]":                                          {all + 200, all, system},
		"call: [server], keep: {rounds: 10}":                      {18_300 + 20*4200, 18_300 + 20*4200, system},
		"call: [server], server: {instructions: 100}":             {all + 200 + 100, all, system},
		"fork: {skip_cache_write: true, max_output: 20000}":       {all + 200 + 1500, system, system}, // 002:101
		"fork: {skip_cache_write: true}, hooks: {pre_compact: 7}": {all + 200 + 1507, all, system},
	} {
		summary, after := partlyCompacted(t, changes)
		if summary.Input() != want.sent || summary.Read != want.read || after.Read != want.next {
			t.Errorf("%s: the call sends %d and reads %d, the next reads %d; want %+v", changes, summary.Input(), summary.Read, after.Read, want)
		}
	}
}

// What stays of up_to is written behind the summary: 140,300 − 77,100 tokens,
// beside what a full compaction leaves.
func TestUpToWritesWhatStays(t *testing.T) {
	_, full := partlyCompacted(t, "partial: {direction: none}")
	_, part := partlyCompacted(t, "partial: {direction: up_to}")
	summary := full.Input() - 18_000 - 300
	rest := part.Input() - 18_000 - 300 - (140_300 - 77_100)
	if part.Writes() < 63_200 || rest <= 0 || rest > summary {
		t.Errorf("writes %d, of which %d for the summary; a full one has %d", part.Writes(), rest, summary)
	}
}

// The presets that summarise half of the messages by themselves keep every
// invariant, compact more often than auto-compact/167k, and from misses less at each compaction.
func TestAutomaticPartial(t *testing.T) {
	s := newSession("s").turns(120, 0, 4000).session()
	rows := map[string]results.Row{}
	for _, name := range []string{"auto-compact/167k", "partial/up-to", "partial/from"} {
		rows[name], _ = run(t, testConfig(t, name), s)
	}
	full, upTo, from := rows["auto-compact/167k"], rows["partial/up-to"], rows["partial/from"]
	if upTo.N(measures.Compactions) <= full.N(measures.Compactions) || from.N(measures.Compactions) <= full.N(measures.Compactions) {
		t.Errorf("%d, %d and %d compactions", full.N(measures.Compactions), upTo.N(measures.Compactions), from.N(measures.Compactions))
	}
	missed := func(r results.Row) int64 { return int64(r.N(measures.MissedTokens)) / int64(r.N(measures.Compactions)) }
	if missed(from) >= missed(upTo) {
		t.Errorf("from misses %d tokens a compaction, up_to %d", missed(from), missed(upTo))
	}
}

// A context that fills up within three requests of each of three compactions
// stops them (2.1.89); without the breaker it goes on, compacting at almost
// every request.
func TestRapidRefill(t *testing.T) {
	s := newSession("s").turns(40, 0, 30_000).session()
	refill := func(changes string) results.Row {
		row, _ := run(t, written(t, "  - full-compact: {trigger: {fixed: 90000}, attachments: {files: {count: 0}}"+changes+"}\n"), s)
		return row
	}
	endless, stopped := refill(""), refill(", rapid_refill: {times: 3}")
	if stopped.N(measures.Compactions) != 3 || stopped.N(measures.BreakerTrips) != 1 || stopped.N(measures.OverWindow) != 1 {
		t.Errorf("%d compactions, %d trips, over window %d", stopped.N(measures.Compactions), stopped.N(measures.BreakerTrips),
			stopped.N(measures.OverWindow))
	}
	if stopped.Reasons["full-compact: stopped: the context refills at once"] != 1 {
		t.Errorf("%v", stopped.Reasons)
	}
	if endless.N(measures.Compactions) < 10 {
		t.Errorf("%d compactions without the breaker", endless.N(measures.Compactions))
	}
}

// Retries, fallbacks, trips and restored files reach the row; a compaction of a
// minute signals twice that it is alive, which costs nothing (002: every 30 s).
func TestCompactionCounts(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	c := written(t, "  - full-compact: {trigger: {fixed: 150000}, call: [fork, streaming]}\n")
	row, _ := run(t, c, s)
	if n := int64(row.N(measures.RestoredFiles)); n != 5*int64(row.N(measures.Compactions)) {
		t.Errorf("%d files restored in %d compactions", n, row.N(measures.Compactions))
	}
	if n := int64(row.N(measures.KeepaliveSignals)); n < int64(row.N(measures.Compactions)) || float64(n) > row.Figures[measures.AddedLatency]/30 {
		t.Errorf("%d signals in %g s", n, row.Figures[measures.AddedLatency])
	}
	silent, _ := run(t, written(t, "  - full-compact: {trigger: {fixed: 150000}, signal_seconds: 0}\n"), s)
	if n := int64(silent.N(measures.KeepaliveSignals)); n != 0 {
		t.Errorf("%d signals without any", n)
	}
	c.Summarizer = failing{}
	row, _ = run(t, c, s)
	if row.N(measures.BreakerTrips) != 1 || row.N(measures.CompactionFallbacks) != 3 {
		t.Errorf("%d trips, %d fallbacks of three failed compactions", row.N(measures.BreakerTrips), row.N(measures.CompactionFallbacks))
	}
}

// Beside the conversation nobody waits for the provider's compaction; the price
// is that the conversation goes on at its full size meanwhile.
func TestCompactionBesideTheConversation(t *testing.T) {
	s := newSession("s").turns(80, 0, 4000).session()
	compact := func(beside string) results.Row {
		row, _ := run(t, written(t, "  - full-compact: {trigger: {fixed: 120000}, call: [server], attachments: {files: {count: 0}}, beside: {enabled: "+beside+"}}\n"), s)
		return row
	}
	waiting, beside := compact("false"), compact("true")
	if beside.N(measures.Compactions) == 0 || int64(beside.N(measures.BackgroundCalls)) < int64(beside.N(measures.Compactions)) ||
		beside.WaitFor(measures.WaitCompaction) != 0 {
		t.Errorf("%d compactions, %d background calls, %g s", beside.N(measures.Compactions),
			beside.N(measures.BackgroundCalls), beside.WaitFor(measures.WaitCompaction))
	}
	if waiting.WaitFor(measures.WaitCompaction) == 0 || waiting.N(measures.BackgroundCalls) != 0 ||
		beside.N(measures.PeakContext) <= waiting.N(measures.PeakContext) {
		t.Errorf("waiting: %g s, peak %d; beside: peak %d", waiting.WaitFor(measures.WaitCompaction),
			waiting.N(measures.PeakContext), beside.N(measures.PeakContext))
	}
}

// Any way of calling can run beside the conversation, which waits for the summary from a level on; at the end of
// a loop a compaction is made before the person answers.
func TestCompactionBesideWaitsAtALevel(t *testing.T) {
	s := newSession("s").turns(80, 0, 4000).session()
	for wait, waits := range map[string]bool{"0": false, "0.61": true} {
		row, _ := run(t, written(t, "  - full-compact: {trigger: {fixed: 120000}, call: [streaming], attachments: {files: {count: 0}}, beside: {enabled: true, wait: "+wait+"}}\n"), s)
		if row.N(measures.Compactions) == 0 || row.N(measures.BackgroundCalls) < row.N(measures.Compactions) || (row.WaitFor(measures.WaitOther) > 0) != waits {
			t.Errorf("wait %s: %d compactions, %d calls beside, waits of %v s", wait, row.N(measures.Compactions), row.N(measures.BackgroundCalls), row.WaitFor(measures.WaitOther))
		}
	}
	turns := newSession("s")
	for range 3 {
		turns.turns(20, 0, 3000)
		turns.s.Blocks[len(turns.s.Blocks)-1].Kind = prompt.KindText // no call: the loop ends
		turns.round(traces.TriggerPrompt, 10*minute, 500)
	}
	for at, want := range map[string][]int{"request": {14, 30, 45, 59}, "prompt": {20, 42, 64}, "end": {20, 42, 64}} {
		row, calls := run(t, written(t, "  - full-compact: {trigger: {fixed: 60000}, when: {at: "+at+"}, attachments: {files: {count: 0}}}\n"), turns.session())
		var got []int
		for i, c := range calls {
			if c.Source == measures.SourceCompact {
				if warm := c.Usage.Read > 50_000; warm != (at != "prompt") {
					t.Errorf("%s: %d tokens read", at, c.Usage.Read)
				}
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) || row.N(measures.Compactions) != len(want) {
			t.Errorf("%s: %d compactions by calls %v, want %v", at, row.N(measures.Compactions), got, want)
		}
	}
}
