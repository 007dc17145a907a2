package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Twelve results of 1,000 tokens: the oldest seven are deleted, and the request
// reads all that is left of the prefix of 31,500. A block of seven deletions, 175
// tokens, is written. Nothing is missed (002, 003: cached microcompact keeps the
// cache).
func TestCachedMicrocompactKeepsTheCache(t *testing.T) {
	s := reading(newSession("s").turns(14, 0, 1000).session())
	row, calls := run(t, testConfig(t, "cached-microcompact"), s)
	if want := (prompt.Usage{Read: 31500 - 7000, Write5m: 200 + 1000 + 175, Output: 200}); calls[12].Usage != want || calls[12].Context != 25875 {
		t.Errorf("with the deletions: %+v of %d, want %+v", calls[12].Usage, calls[12].Context, want)
	}
	if want := (prompt.Usage{Read: 25875, Write5m: 1200, Output: 200}); calls[13].Usage != want {
		t.Errorf("behind them: %+v, want %+v", calls[13].Usage, want)
	}
	if row.N(measures.Misses) != 0 || row.N(measures.CacheDeletions) != 7 || row.N(measures.DeletedTokens) != 7000 ||
		row.N(measures.ClearedResults) != 0 {
		t.Errorf("%d misses, counts %v", row.N(measures.Misses), row.Figures[measures.StoredResults:measures.CallsBySource])
	}
}

// The first request behind an expiry still declares the deletions: all 34,575 tokens are
// written, since there is no cached prefix to delete from. Its read of 0 shows the client
// that the cache is gone: the next request holds everything whole, without their block of
// 175, and the one behind it deletes anew. Kept declared, the deletions work again from the
// next on.
func TestCachedMicrocompactAfterExpiry(t *testing.T) {
	s := reading(newSession("s").turns(14, 0, 1000).turns(3, 10*minute, 1000).session())
	for forget, want := range map[string]struct {
		written, next, third, returned, deletions int64
	}{
		"true":  {34400 + 175, 34400 + 1200, 34400 + 2400 - 10000 + 250, 7000, 17},
		"false": {34400 + 175, 34400 + 175 + 1200 - 7000, 34400 + 175 + 2400 - 7000, 0, 7},
	} {
		row, calls := run(t, written(t, "  - cached-microcompact: {forget_deleted_on_expiry: "+forget+"}\n"), s)
		if u := calls[14].Usage; u.Write5m != want.written || u.Read != 0 {
			t.Errorf("forget %s: %+v, want %d written", forget, u, want.written)
		}
		if calls[15].Context != want.next || calls[16].Context != want.third ||
			int64(row.N(measures.ReturnedTokens)) != want.returned || int64(row.N(measures.CacheDeletions)) != want.deletions {
			t.Errorf("forget %s: then %d and %d tokens, counts %v, want %+v", forget, calls[15].Context, calls[16].Context,
				row.Figures[measures.StoredResults:measures.CallsBySource], want)
		}
	}
}

// What comes back may pass the window: it held the requests with deletions, and
// refuses the one without.
func TestReturnedResultsPassTheWindow(t *testing.T) {
	for gap, want := range map[int64]int{second: 0, 10 * minute: 1} {
		c := testConfig(t, "cached-microcompact")
		c.Window = 34_000
		row, _ := run(t, c, reading(newSession("s").turns(14, 0, 1000).turns(1, gap, 0).session()))
		if row.N(measures.Overflows) != want {
			t.Errorf("gap %d: %d requests refused, want %d", gap, row.N(measures.Overflows), want)
		}
	}
}

// A block that is not sent again takes its deletions with it: all comes back in
// the next request. It reads the 31,500 tokens that the last request without the
// block had left, whole, and writes what follows once more.
func TestCachedMicrocompactWithoutPin(t *testing.T) {
	s := reading(newSession("s").turns(14, 0, 1000).session())
	row, calls := run(t, written(t, "  - cached-microcompact: {pin: false}\n"), s)
	want := prompt.Usage{Read: 31500, Write5m: 33900 - 31500, Output: 200}
	if calls[12].Context != 25875 || calls[13].Usage != want || row.N(measures.ReturnedTokens) != 7000 {
		t.Errorf("%d tokens, then %+v, want %+v; counts %v", calls[12].Context, calls[13].Usage, want,
			row.Figures[measures.StoredResults:measures.CallsBySource])
	}
}

// Sub-agents delete only with the guard off.
func TestCachedMicrocompactGuard(t *testing.T) {
	b := newSession("s").turns(2, 0, 1000)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 0})
	agent := &b.s.Threads[1]
	agent.Prefix.From = b.block(prompt.KindTools, 6000)
	agent.Prefix.To = agent.Prefix.From + 1
	s := reading(b.turns(14, 0, 1000).session())
	for guard, want := range map[string]int64{"true": 0, "false": 7} {
		row, _ := run(t, written(t, "  - cached-microcompact: {main_thread_guard: "+guard+"}\n"), s)
		if int64(row.N(measures.CacheDeletions)) != want {
			t.Errorf("guard %s: %d deletions, want %d", guard, row.N(measures.CacheDeletions), want)
		}
	}
}

// After an hour time-based clearing empties eight of thirteen results, 988 tokens
// each, those deleted before among them: nothing comes back. Alone, the deletions
// are forgotten behind this request.
func TestTimeClearingTakesOverFromCached(t *testing.T) {
	s := reading(newSession("s").turns(14, 0, 1000).turns(1, 61*minute, 0).session())
	const cached = "  - cached-microcompact: {}\n"
	for layers, want := range map[string]int64{
		"  - time-microcompact: {}\n" + cached: 34400 - 8*988,
		cached:                                 34400 + 175, // the read of this request shows that the cache is gone
	} {
		row, calls := run(t, written(t, layers), s)
		if calls[14].Context != want || (row.N(measures.ReturnedTokens) == 0) != (want < 34400) {
			t.Errorf("%s: %d tokens, counts %v; want %d", layers, calls[14].Context, row.Figures[measures.StoredResults:measures.CallsBySource], want)
		}
	}
}

// Clearing in place is free in a cold cache: what is not there need not be
// written. In a warm one it costs all that follows, but for the system prompt.
func TestTimeClearingWarmAndCold(t *testing.T) {
	session := func(gap int64) *traces.Session {
		return reading(newSession("s").turns(14, 0, 1000).turns(1, gap, 0).session())
	}
	const cleared = 34400 - 8*988
	for gap, want := range map[int64]struct {
		clearing, none prompt.Usage
		miss           exchange.MissClass
	}{
		4 * minute: {prompt.Usage{Read: 16000, Write5m: cleared - 16000, Output: 200}, prompt.Usage{Read: 33900, Write5m: 500, Output: 200}, exchange.MissEdit},
		6 * minute: {prompt.Usage{Write5m: cleared, Output: 200}, prompt.Usage{Write5m: 34400, Output: 200}, exchange.MissExpiry},
	} {
		_, calls := run(t, written(t, "  - time-microcompact: {gap_minutes: 3}\n"), session(gap))
		_, plain := run(t, testConfig(t, "none"), session(gap))
		if calls[14].Usage != want.clearing || calls[14].Miss != want.miss || plain[14].Usage != want.none {
			t.Errorf("gap %d: clearing %+v (%v), without %+v; want %+v", gap/minute, calls[14].Usage, calls[14].Miss, plain[14].Usage, want)
		}
	}
	_, calls := run(t, written(t, "  - time-microcompact: {gap_minutes: 3, cold_only: true}\n"), session(4*minute))
	if calls[14].Usage.Read != 33900 {
		t.Errorf("cold_only in a warm cache reads %d", calls[14].Usage.Read)
	}
}

// The server hints at 100,000 tokens: of sixteen results of 5,000 all but five go
// to disk, 4,960 saved of each; eleven rounds later it hints again (E7).
func TestServerHintClears(t *testing.T) {
	s := reading(newSession("s").turns(30, 0, 5000).session())
	c := written(t, "  - server-hint: {}\n")
	c.HintAt = 100_000
	row, calls := run(t, c, s)
	if calls[15].Context != 96300 || calls[16].Context != 101500-11*4960 || calls[27].Context != 101500-11*4960+11*5200-11*4960 {
		t.Errorf("contexts %v", mainContexts(calls))
	}
	if row.N(measures.ServerHints) != 2 || row.N(measures.ClearedResults) != 22 || row.Firings["server-hint"] != 2 {
		t.Errorf("counts %v, firings %v", row.Figures[measures.StoredResults:measures.CallsBySource], row.Firings)
	}
	c = written(t, "  - server-hint: {floor: 60000, target_tokens_saved: 60000}\n")
	c.HintAt = 100_000
	row, _ = run(t, c, s)
	// Eleven results are too few, twelve too, thirteen go; eleven again at the end.
	if row.Firings["server-hint"] != 1 || row.N(measures.ClearedResults) != 13 || row.Reasons["server-hint: too little to save"] != 3 {
		t.Errorf("firings %v, reasons %v, counts %v", row.Firings, row.Reasons, row.Figures[measures.StoredResults:measures.CallsBySource])
	}
}

// All clearing layers together keep every invariant, whatever stands before them
// and whatever they clear, and what is off leaves no trace.
func TestClearingLayersTogether(t *testing.T) {
	s := using(newSession("s").turns(120, 0, 4000).turns(20, 10*minute, 9000).turns(20, 70*minute, 12000).session(), "Bash")
	const layers = "  - tool-storage: {limits: {bash: 20000}, freeze: false, retune: {request: 60, scale: 1.5}, reread: {share: 0.3}}\n" +
		"  - time-microcompact: {keep_recent: 1}\n  - cached-microcompact: {}\n  - microcompact: {trigger: {fixed: 100000}}\n" +
		"  - full-compact: {trigger: {fixed: 150000}}\n  - api-context: {clear_results: {input_tokens: 60000, clear_at_least: 20000, tools: []}}\n  - server-hint: {}\n"
	c := written(t, layers)
	c.HintAt = 90_000
	row, _ := run(t, c, s)
	for _, layer := range []string{"tool-storage", "time-microcompact", "cached-microcompact", "api-context"} {
		if row.Firings[layer] == 0 {
			t.Errorf("%s did nothing: %v", layer, row.Firings)
		}
	}
	if row.CallsBy(measures.SourceOf("reread")) == 0 {
		t.Error("nothing was read back")
	}
}

// halving cuts one result in half and compacts in name only, so that the client
// has to estimate its messages anew.
type halving struct{}

func (halving) Name() string              { return "halving" }
func (l halving) Clone() strategies.Layer { return l }
func (halving) Reset()                    {}
func (halving) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	if t.Round != 2 {
		return strategies.Outcome{Verdict: strategies.Declined}
	}
	c := t.Context
	c.SetForm(c.Len()-1, prompt.FormRange, c.At(c.Len()-1).Tokens/2, prompt.CauseEdit)
	t.Compacted(strategies.Boundary{Before: 1, After: 1})
	return strategies.Outcome{Verdict: strategies.Done}
}

// looking measures the client's count behind it.
type looking struct{ seen *[]int64 }

func (looking) Name() string              { return "looking" }
func (l looking) Clone() strategies.Layer { return l }
func (looking) Reset()                    {}
func (l looking) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	*l.seen = append(*l.seen, t.Reading.Values[strategies.MeasureClientTokens])
	return strategies.Outcome{Verdict: strategies.Declined}
}

// Behind a compaction the client estimates messages as they are now: of a kept
// result that is no longer whole, what is left. Blocks have three bytes a token,
// the client takes four: 2,000 of reminders, 300 of prompt, two responses of 200,
// a result of 1,000 and half of one.
func TestRecountTakesWhatIsLeft(t *testing.T) {
	var seen []int64
	c := testConfig(t, "none")
	c.Strategy = strategies.NewStrategy("own", "", halving{}, looking{&seen})
	run(t, c, newSession("s").turns(3, 0, 1000).session())
	if want := int64((2000 + 300 + 2*200 + 1000 + 500) * 3 / 4); len(seen) != 3 || seen[2] != want {
		t.Errorf("the client counts %v, want %d at last", seen, want)
	}
}
