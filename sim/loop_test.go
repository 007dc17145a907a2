package sim

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

func run(t *testing.T, c Config, s *traces.Session) (results.Row, []results.CallRecord) {
	t.Helper()
	var calls []results.CallRecord
	c.Record = func(r *results.CallRecord) { calls = append(calls, *r) }
	row, err := NewLoop(c).Run(s)
	if err != nil {
		t.Fatal(err)
	}
	return row, calls
}

// Three calls of one turn: the first writes everything, each later one reads
// what the one before left and writes only its growth (prefix extension in the
// recordings: read(n+1) = read(n) + creation(n)).
func TestPrefixExtension(t *testing.T) {
	s := newSession("s").turns(3, 0, 1000).session()
	_, calls := run(t, testConfig(t, "none"), s)
	want := []prompt.Usage{
		{Write5m: 18000 + 300, Output: 200},
		{Read: 18300, Write5m: 200 + 1000, Output: 200},
		{Read: 19500, Write5m: 200 + 1000, Output: 200},
	}
	for i, w := range want {
		if calls[i].Usage != w {
			t.Errorf("call %d: %+v, want %+v", i, calls[i].Usage, w)
		}
	}
}

// A pause beyond five minutes after the response expires the whole prefix of a
// lone session; one below does not.
func TestExpiry(t *testing.T) {
	for _, tc := range []struct {
		pause int64
		miss  exchange.MissClass
	}{{4 * minute, exchange.MissNone}, {6 * minute, exchange.MissExpiry}} {
		s := newSession("s").turns(2, 0, 1000).turns(1, tc.pause, 0).session()
		row, calls := run(t, testConfig(t, "none"), s)
		if got := calls[2].Miss; got != tc.miss {
			t.Errorf("pause of %d ns: miss %v, want %v", tc.pause, got, tc.miss)
		}
		if want := map[bool]int{true: 1, false: 0}[tc.miss != exchange.MissNone]; row.N(measures.Misses) != want {
			t.Errorf("pause of %d ns: %d misses, want %d", tc.pause, row.N(measures.Misses), want)
		}
	}
}

// Under none nothing is ever removed: the request of each round holds prefix
// and everything said so far.
func TestNoneIsTheRawTranscript(t *testing.T) {
	s := newSession("s").turns(50, 0, 5000).session()
	row, calls := run(t, testConfig(t, "none"), s)
	context := int64(18000)
	for i, r := range s.Threads[0].Rounds {
		for b := r.Input.From; b < r.Input.To; b++ {
			context += int64(s.Blocks[b].Tokens)
		}
		if calls[i].Context != context {
			t.Fatalf("call %d: context %d, want %d", i, calls[i].Context, context)
		}
		for b := r.Reply.From; b < r.Reply.To; b++ {
			context += int64(s.Blocks[b].Tokens)
		}
	}
	if row.N(measures.OverWindow) != 1 || row.N(measures.Compactions) != 0 {
		t.Errorf("over window %d, compactions %d; want 1, 0", row.N(measures.OverWindow), row.N(measures.Compactions))
	}
}

// The thresholds the recordings show at a window of 200,000: the first context
// not below it is compacted, no other.
func TestAutoCompactThresholds(t *testing.T) {
	for strategy, threshold := range map[string]int64{"auto-compact/167k": 167000, "auto-compact/155k": 155000} {
		s := newSession("s").turns(60, 0, 4000).session()
		row, calls := run(t, testConfig(t, strategy), s)
		if row.N(measures.Compactions) == 0 {
			t.Fatalf("%s never compacted", strategy)
		}
		for i := 1; i < len(calls); i++ {
			compacted := calls[i].Source == measures.SourceCompact
			before := calls[i-1].Context
			if compacted && before+200+8000 < threshold {
				t.Errorf("%s: compacted at a context of about %d", strategy, before+4200)
			}
			if !compacted && calls[i].Context >= threshold+4200 {
				t.Errorf("%s: a context of %d was sent", strategy, calls[i].Context)
			}
		}
	}
}

// A summary call that shares the conversation's prefix reads it; a cold one
// reads nothing of the messages.
func TestSummaryCallSharesOrGoesCold(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	for strategy, shares := range map[string]bool{"auto-compact/167k": true, "auto-compact/155k": false} {
		_, calls := run(t, testConfig(t, strategy), s)
		for i, c := range calls {
			if c.Source != measures.SourceCompact {
				continue
			}
			want := int64(0)
			if shares {
				want = calls[i-1].Context
			}
			if c.Usage.Read != want {
				t.Errorf("%s: the summary call read %d tokens, want %d", strategy, c.Usage.Read, want)
			}
			break
		}
	}
}

// After a compaction the next call reads exactly the static prefix, tools and
// system, and writes the rest (recordings: 74 automatic compactions).
func TestReadAfterCompactionIsTheStaticPrefix(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	_, calls := run(t, testConfig(t, "auto-compact/167k"), s)
	for i := 1; i < len(calls); i++ {
		if calls[i-1].Source != measures.SourceCompact {
			continue
		}
		if got := calls[i].Usage.Read; got != 16000 {
			t.Errorf("read %d after a compaction, want 16000", got)
		}
		if calls[i].Miss != exchange.MissCompaction {
			t.Errorf("miss %v after a compaction", calls[i].Miss)
		}
	}
}

// A profile that knows the static prefix of a version to be longer than what a session
// opens with (tools 12,000, system prompt 4,000, reminders 2,000) makes no call read more
// than these 18,000 behind a compaction or in a first call: what follows them is new.
func TestReadStaysWithinTheOpening(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	c := testConfig(t, "auto-compact/167k")
	c.Profile = &profile.Profile{
		Static:     []profile.Versioned{{Estimate: profile.Estimate{Value: 27730}}},
		FirstReads: []profile.FirstRead{{Version: "2.1.25", Model: "claude-opus-4-5", Session: "another", Read: 27730}},
	}
	c.Profile.Switches.Static, c.Profile.Switches.First = true, true
	_, calls := run(t, c, s)
	if got := calls[0].Usage.Read; got == 0 || got > 18000 {
		t.Errorf("the first call read %d tokens, want some of the 18,000", got)
	}
	for i := 1; i < len(calls); i++ {
		got := calls[i].Usage.Read
		if behind := calls[i-1].Source == measures.SourceCompact; behind && got != 18000 {
			t.Errorf("call %d: read %d behind a compaction, want 18000", i+1, got)
		}
	}
}

// Costs add up over calls, classes and sources.
func TestCostsAddUp(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).turns(20, 10*minute, 3000).session()
	row, calls := run(t, testConfig(t, "auto-compact/167k"), s)
	var byCall, bySource float64
	for _, c := range calls {
		byCall += c.Cost.Total()
	}
	for i := range measures.Source(measures.NumSources) {
		bySource += row.CostBy(i).Total()
	}
	if math.Abs(byCall-row.CostUSD()) > 1e-9 || math.Abs(bySource-row.CostUSD()) > 1e-9 {
		t.Errorf("cost %.9f by class, %.9f by source, %.9f by call", row.CostUSD(), bySource, byCall)
	}
}

// All prices times k is the cost times k: Opus 4.1 costs three times Opus 4.5 in
// every class (pricing page: 15, 18.75, 30, 1.50, 75 against 5, 6.25, 10, 0.50,
// 25).
func TestPricesTimesK(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).turns(20, 10*minute, 3000).session()
	c := testConfig(t, "auto-compact/155k") // one model for all calls
	row, _ := run(t, c, s)
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	if c.Prices, err = table.WithAliases(map[string]string{"claude-opus-4-5": "claude-opus-4-1"}); err != nil {
		t.Fatal(err)
	}
	dear, _ := run(t, c, s)
	if dear.Usage() != row.Usage() || math.Abs(dear.CostUSD()-3*row.CostUSD()) > 1e-9 {
		t.Errorf("three times the prices cost $%.6f, once $%.6f", dear.CostUSD(), row.CostUSD())
	}
}

// A sub-agent runs beside the main thread on one cache, with a prefix of its
// own; its waiting does not delay its parent.
func TestSubagentBesideMain(t *testing.T) {
	b := newSession("s").turns(4, 0, 1000)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 1, Delay: second})
	agent := &b.s.Threads[1]
	agent.Prefix.From = b.block(prompt.KindTools, 6000)
	agent.Prefix.To = agent.Prefix.From + 1
	b.turns(3, 0, 500)
	_, calls := run(t, testConfig(t, "none"), b.session())
	var main, agents []results.CallRecord
	for _, c := range calls {
		if c.Thread == 0 {
			main = append(main, c)
		} else {
			agents = append(agents, c)
		}
	}
	if len(main) != 4 || len(agents) != 3 {
		t.Fatalf("%d main and %d agent calls, want 4 and 3", len(main), len(agents))
	}
	if got, want := agents[0].Start, main[1].End+second; got != want {
		t.Errorf("the agent starts at %d, want %d", got, want)
	}
	if agents[0].Start > main[2].End {
		t.Error("the agent did not run beside its parent")
	}
	if agents[1].Usage.Read != 6300 {
		t.Errorf("the agent's second call read %d, want its own first context of 6300", agents[1].Usage.Read)
	}
}

// An abandoned branch inherits the context of its parent at the point where it
// left, and reads it from the cache.
func TestBranchInheritsContext(t *testing.T) {
	b := newSession("s").turns(3, 0, 1000)
	b.turns(2, 2*minute, 1000) // what the person did after going back
	b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 2, Delay: 10 * second})
	b.turns(2, 0, 700)
	_, calls := run(t, testConfig(t, "none"), b.session())
	for _, c := range calls {
		if c.Thread == 1 && c.Round == 0 {
			if want := int64(18300 + 2*1200); c.Usage.Read != want {
				t.Errorf("the branch read %d, want all of its parent's %d", c.Usage.Read, want)
			}
			return
		}
	}
	t.Fatal("the branch made no call")
}

// A compaction of the parent after the fork does not reach the branch.
func TestBranchIsIndependent(t *testing.T) {
	build := func(main int32) *traces.Session {
		b := newSession("s").turns(3, 0, 1000)
		b.turns(40, 2*minute, main)
		b.thread(traces.Thread{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 2, Delay: second})
		b.turns(3, 0, 700)
		return b.session()
	}
	branch := func(s *traces.Session) []int64 {
		_, calls := run(t, testConfig(t, "auto-compact/167k"), s)
		var contexts []int64
		for _, c := range calls {
			if c.Thread == 1 {
				contexts = append(contexts, c.Context)
			}
		}
		return contexts
	}
	small, large := branch(build(100)), branch(build(6000))
	for i := range small {
		if small[i] != large[i] {
			t.Errorf("branch call %d: context %d, with a larger parent %d", i, small[i], large[i])
		}
	}
}

// The recorded policy compacts where the recording did and weighs after it
// what the recording says.
func TestRecordedCompaction(t *testing.T) {
	b := newSession("s").turns(10, 0, 4000)
	summary := b.block(prompt.KindSummary, 3000)
	b.s.Threads[0].Events = []traces.Event{{
		Kind: traces.EventCompact, Round: 10, Summary: traces.Span{From: summary, To: summary + 1},
		Kept: 9000, Wait: minute, PreTokens: 57000,
	}}
	b.turns(3, 0, 1000)
	row, calls := run(t, testConfig(t, "recorded"), b.session())
	if row.N(measures.Compactions) != 1 {
		t.Fatalf("%d compactions, want 1", row.N(measures.Compactions))
	}
	if got, want := calls[11].Context, int64(16000+9000+300); got != want {
		t.Errorf("context after the compaction %d, want static prefix + kept + prompt = %d", got, want)
	}
	if row.Figures[measures.AddedLatency] != 60 {
		t.Errorf("%g s added, want the recorded wait of 60", row.Figures[measures.AddedLatency])
	}
}

// A microcompaction takes out exactly what the recorded totals say.
func TestRecordedMicrocompaction(t *testing.T) {
	b := newSession("s").turns(10, 0, 4000)
	var cleared []int32
	for i, block := range b.s.Blocks {
		if block.Kind == prompt.KindToolResult && len(cleared) < 5 {
			cleared = append(cleared, int32(i))
		}
	}
	b.s.Threads[0].Events = []traces.Event{{Kind: traces.EventMicrocompact, Round: 9, Cleared: cleared, Saved: 19000}}
	s := b.session()
	_, plain := run(t, testConfig(t, "none"), s)
	row, calls := run(t, testConfig(t, "recorded"), s)
	if got, want := calls[9].Context, plain[9].Context-19000; got != want {
		t.Errorf("context %d, want %d", got, want)
	}
	if row.N(measures.Microcompactions) != 1 || calls[9].Miss != exchange.MissEdit || calls[9].Usage.Read != 16000 {
		t.Errorf("microcompactions %d, miss %v, read %d; want 1, edit, 16000", row.N(measures.Microcompactions), calls[9].Miss, calls[9].Usage.Read)
	}
}

// Truncation keeps pairs whole and the context below the trigger; Verify would
// object otherwise.
func TestTruncateOldest(t *testing.T) {
	s := newSession("s").turns(80, 0, 5000).session()
	row, calls := run(t, testConfig(t, "truncate-oldest"), s)
	if row.N(measures.Compactions) == 0 || row.N(measures.Overflows) != 0 {
		t.Errorf("%d truncations, %d overflows", row.N(measures.Compactions), row.N(measures.Overflows))
	}
	if row.CallsBy(measures.SourceCompact) != 0 {
		t.Error("truncation made a model call")
	}
	for _, c := range calls {
		if c.Context > 167000+6000 {
			t.Errorf("a context of %d was sent", c.Context)
		}
	}
}

// A summariser that fails for ever stops being asked after three failures in a
// row, and the session goes on over the threshold.
func TestBreaker(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	c := testConfig(t, "auto-compact/167k")
	c.Summarizer = failing{}
	row, _ := run(t, c, s)
	// Each compaction makes four calls: the fork, and a streaming call with two
	// retries (004, K97).
	if got := row.CallsBy(measures.SourceCompact); got != 3*4 {
		t.Errorf("%d failed summary calls, want 12", got)
	}
	if row.N(measures.Compactions) != 0 || row.N(measures.FailedCompactions) != 3 {
		t.Errorf("%d compactions, %d failures", row.N(measures.Compactions), row.N(measures.FailedCompactions))
	}
}

// Independent of the order of runs: a loop that has simulated another session
// gives the same row as a fresh one.
func TestLoopForgets(t *testing.T) {
	a := newSession("a").turns(60, 0, 4000).session()
	b := newSession("b").turns(90, 0, 2500).turns(5, 10*minute, 100).session()
	for _, strategy := range []string{"recorded", "none", "truncate-oldest", "auto-compact/167k", "auto-compact/155k"} {
		fresh, err := NewLoop(testConfig(t, strategy)).Run(b)
		if err != nil {
			t.Fatal(err)
		}
		l := NewLoop(testConfig(t, strategy))
		if _, err := l.Run(a); err != nil {
			t.Fatal(err)
		}
		used, err := l.Run(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fresh, used) {
			t.Errorf("%s: a used loop gives another row:\n%+v\n%+v", strategy, fresh, used)
		}
	}
}

// Verify finds what is wrong: a result whose call is missing.
func TestVerifyFindsOrphans(t *testing.T) {
	s := newSession("s").turns(3, 0, 1000).session()
	for i := range s.Blocks {
		if s.Blocks[i].Kind == prompt.KindToolUse {
			s.Blocks[i].Call = 0
			break
		}
	}
	_, err := NewLoop(testConfig(t, "none")).Run(s)
	if !errors.Is(err, ErrInvariant) {
		t.Errorf("error %v, want an invariant", err)
	}
}

// 002:22: what the loop counts has the names of tools in it, for the client that is known
// to count them: the 21 bytes of an input and the 4 of Read are 7 tokens.
func TestNamesCountInARun(t *testing.T) {
	for agent, want := range map[string]int64{"claude-code": 7, "pi": 6} {
		s := newSession("s").turns(2, 0, 1000).session()
		s.Agent = agent
		l := NewLoop(testConfig(t, "none"))
		if _, err := l.Run(s); err != nil {
			t.Fatal(err)
		}
		if got := l.replays[0].counter.Estimate(&prompt.Block{Kind: prompt.KindToolUse, Bytes: 21, Tool: 1}); got != want {
			t.Errorf("%s: %d tokens, want %d", agent, got, want)
		}
	}
}
