package sim

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/gauge"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// A session of version 1 is not stopped at 177,000: it compacts at 187,000 first.
func TestVersion1IsNotBlocked(t *testing.T) {
	c := testConfig(t, "claude-code/1")
	c.Levels, c.Window = DefaultLevels(), 200_000
	c.Levels.Block = BlockEnd
	s := newSession("s").turns(40, 0, 4000).turns(10, minute, 2000).session()
	if row, _ := run(t, c, s); row.N(measures.EndedSessions) != 0 || row.N(measures.Compactions) == 0 || row.N(measures.WarningCalls) == 0 {
		t.Errorf("%d sessions ended, %d compactions, %d calls at the warning level",
			row.N(measures.EndedSessions), row.N(measures.Compactions), row.N(measures.WarningCalls))
	}
}

// gauged runs a session and returns, besides the row, what its calls and times
// at each level must be by the definition: the client's count ahead of a call is
// the last context, its output of 200 and three quarters of what is new (four
// bytes a token, three of which are true), and behind it context and output.
func gaugedRun(t *testing.T, c Config, s *traces.Session, limit int64) (row results.Row, calls [4]int64, seconds [4]float64) {
	t.Helper()
	row, records := run(t, c, s)
	var since, last int64
	var now gauge.At
	spend := func(span int64) {
		for level := range seconds {
			if now.Has(measures.Level(level)) {
				seconds[level] += float64(span) / 1e9
			}
		}
	}
	for i, r := range records {
		used := s.Blocks[s.Threads[0].Rounds[i].Input.From].Tokens * 3 / 4
		if i > 0 {
			spend(r.Start - since)
		}
		now = c.Levels.At(limit, 200_000, 32_000, last+int64(used))
		for level := range calls {
			if now.Has(measures.Level(level)) {
				calls[level]++
			}
		}
		spend(r.End - r.Start)
		last, since = r.Context+200, r.End
		now = c.Levels.At(limit, 200_000, 32_000, last)
	}
	return row, calls, seconds
}

// Calls and time at each level, with the window as the limit, and with the
// threshold of auto-compact that a replay of the recording has.
func TestLevelsOfARun(t *testing.T) {
	s := newSession("s").turns(44, 0, 4000).session() // up to 201,000 tokens
	for strategy, limit := range map[string]int64{"none": 200_000, "recorded": 167_000} {
		c := testConfig(t, strategy)
		c.Levels = DefaultLevels()
		c.Levels.Error = 10_000
		row, calls, seconds := gaugedRun(t, c, s, limit)
		got := [4]int64{
			calls[measures.LevelNormal], int64(row.N(measures.WarningCalls)), int64(row.N(measures.ErrorCalls)), int64(row.N(measures.BlockedCalls)),
		}
		if got != calls || calls[measures.LevelBlocking] == 0 || row.N(measures.LeftCalls) != 44 {
			t.Errorf("%s: calls by level %v, want %v", strategy, got, calls)
		}
		if calls[measures.LevelWarning] <= calls[measures.LevelError] || calls[measures.LevelError] == 0 {
			t.Errorf("calls by level %v: warnings come first", calls)
		}
		for i := range seconds {
			if !near(row.SecondsAt(measures.Level(i)), seconds[i]) {
				t.Errorf("%s: %g s at level %v, want %g", strategy, row.SecondsAt(measures.Level(i)), measures.Level(i), seconds[i])
			}
		}
	}
}

// Without levels nothing is noted, and sub-agents show theirs to nobody.
func TestLevelsAreOfMainConversations(t *testing.T) {
	b := newSession("s").turns(3, 0, 1000)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 0})
	b.turns(3, 0, 500)
	c := testConfig(t, "none")
	if row, _ := run(t, c, b.session()); row.N(measures.LeftCalls) != 0 || [4]float64(row.Figures[measures.SecondsAt:]) != [4]float64{} {
		t.Errorf("off: %+v", row.Figures[measures.LeftCalls:measures.MostUsed])
	}
	c.Levels = DefaultLevels()
	if row, _ := run(t, c, b.session()); row.N(measures.LeftCalls) != 3 {
		t.Errorf("%d calls, want the three of the main conversation", row.N(measures.LeftCalls))
	}
}

// full is a session that passes the blocking level, and then a person prompts
// twice more.
func full() *traces.Session {
	return newSession("s").turns(42, 0, 4000).turns(3, minute, 1000).turns(2, minute, 1000).session()
}

// The prompt at the blocking level waits for a compaction by hand, once; without
// a layer that makes one, or one that takes none by hand, it goes on and is
// counted all the same.
func TestBlockedPromptCompacts(t *testing.T) {
	const byHand = "  - full-compact: {trigger: {fixed: 150000}, auto: false, manual: true, call: [streaming]}\n"
	for _, tc := range []struct {
		name        string
		config      Config
		compactions int
		calls       int
		blocked     int64
	}{
		{"by hand", written(t, byHand), 1, 47 + 1, 1},
		{"not by hand", written(t, "  - full-compact: {trigger: {fixed: 150000}, auto: false, manual: false, call: [streaming]}\n"), 0, 47, 5},
		{"no layer", testConfig(t, "none"), 0, 47, 5},
	} {
		c := tc.config
		c.Levels = DefaultLevels()
		c.Levels.Block = BlockCompact
		c.Window = 205_000 // blocks at 182,000
		row, calls := run(t, c, full())
		if row.N(measures.Compactions) != tc.compactions || row.N(measures.Calls) != tc.calls {
			t.Errorf("%s: %d compactions, %d calls, want %d and %d", tc.name, row.N(measures.Compactions),
				row.N(measures.Calls), tc.compactions, tc.calls)
		}
		if got := int64(row.N(measures.BlockedCalls)); got < tc.blocked {
			t.Errorf("%s: %d calls at the blocking level, want %d", tc.name, got, tc.blocked)
		}
		if tc.compactions > 0 && (calls[42].Source != measures.SourceCompact || calls[43].Context > 60_000) {
			t.Errorf("call 42 is of %v and leaves %d tokens", calls[42].Source, calls[43].Context)
		}
	}
}

// The session ends at the prompt that the client does not take: 42 of its calls
// are simulated, 5 are not, nor the calls of a sub-agent that would have started later; what is
// left out is counted, and every invariant holds.
func TestBlockedSessionEnds(t *testing.T) {
	s := full()
	b := sessionBuilder{s: *s}
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 44})
	b.turns(3, 0, 500)
	c := testConfig(t, "none")
	c.Levels, c.Window = DefaultLevels(), 205_000
	c.Levels.Block = BlockEnd
	row, calls := run(t, c, b.session())
	if row.N(measures.Calls) != 42 || len(calls) != 42 {
		t.Errorf("%d calls, want 42", row.N(measures.Calls))
	}
	if n := int64(row.N(measures.UnsimulatedCalls)); n != 5+3 {
		t.Errorf("%d calls left out, want 8", n)
	}
	if row.N(measures.BlockedCalls) == 0 {
		t.Error("the refused prompt is not counted")
	}
	c.Levels.Block = BlockNone // 001:261-269 knows no such level
	if row, _ := run(t, c, b.session()); row.N(measures.Calls) != 50 || row.N(measures.BlockedCalls) != 0 {
		t.Errorf("none: %d calls, %d of them at the level", row.N(measures.Calls), row.N(measures.BlockedCalls))
	}
	c.Levels.Block = BlockOff
	if row, _ := run(t, c, b.session()); row.N(measures.Calls) != 50 || row.N(measures.UnsimulatedCalls) != 0 {
		t.Errorf("off: %d calls, %d left out", row.N(measures.Calls), row.N(measures.UnsimulatedCalls))
	}
}

// beyond is a session whose 45th request passes a window of 200,000: four thousand
// tokens a round on a prefix of 17,000 and more, six rounds behind it, and a sub-agent
// that would start at the 48th.
func beyond() *traces.Session {
	b := newSession("s").turns(50, 0, 4000)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 47})
	b.turns(3, 0, 500)
	return b.session()
}

// 002:281: when the recovery fails, "the withheld error is yielded and the session
// returns to the user". A failing summariser shortens nothing, so under a strategy that
// compacts the session ends at the first request beyond the window; none, which is the
// reference, goes on, and so does every strategy that is told to.
func TestRefusedRequestEndsTheSession(t *testing.T) {
	const compacts = "  - full-compact: {trigger: {fixed: 150000}, call: [streaming], streaming: {retries: 0}, reactive: true}\n"
	reference, _ := run(t, testConfig(t, "none"), beyond())
	if reference.N(measures.AnsweredOverWindow) == 0 || reference.N(measures.EndedSessions) != 0 || reference.N(measures.UnsimulatedCalls) != 0 {
		t.Errorf("none: %d calls answered beyond the window, %d sessions ended", reference.N(measures.AnsweredOverWindow),
			reference.N(measures.EndedSessions))
	}
	for _, tc := range []struct {
		name     string
		config   Config
		overflow Overflow
		ends     bool
	}{
		{"none", testConfig(t, "none"), overflowStrategy, false},
		{"none", testConfig(t, "none"), overflowEnd, true},
		{"recorded", testConfig(t, "recorded"), overflowStrategy, false},
		{"keepalive", testConfig(t, "keepalive"), overflowStrategy, false},
		{"compacts", written(t, compacts), overflowStrategy, true},
		{"compacts, switched off", written(t, "  - full-compact: {enabled: false, trigger: {fixed: 150000}}\n"), overflowStrategy, true},
		{"compacts", written(t, compacts), overflowEnd, true},
		{"compacts", written(t, compacts), OverflowAnswer, false},
	} {
		c := tc.config
		c.Overflow, c.Summarizer, c.Window = tc.overflow, failing{}, 200_000
		row, _ := run(t, c, beyond())
		own := row.CallsBy(measures.SourceMain) + row.CallsBy(measures.SourceAgent)
		if (row.N(measures.EndedSessions) == 1) != tc.ends || (row.N(measures.AnsweredOverWindow) == 0) != tc.ends || row.N(measures.OverWindow) != 1 {
			t.Errorf("%s, %v: %d ended, %d answered beyond the window", tc.name, tc.overflow.Names()[tc.overflow],
				row.N(measures.EndedSessions), row.N(measures.AnsweredOverWindow))
		}
		if want := 53 - own; row.N(measures.UnsimulatedCalls) != want || tc.ends && (row.N(measures.PeakContext) > 200_000 ||
			row.N(measures.Overflows) != 1) {
			t.Errorf("%s: %d calls left out, want %d; peak %d, %d overflows", tc.name, row.N(measures.UnsimulatedCalls), want,
				row.N(measures.PeakContext), row.N(measures.Overflows))
		}
		if tc.ends != row.CutShort() {
			t.Errorf("%s: cut short %v", tc.name, row.CutShort())
		}
	}
}

// The error of a sub-agent reaches its parent, which goes on, twenty minutes later too.
func TestRefusedSubagentEndsAlone(t *testing.T) {
	b := newSession("s").turns(5, 0, 1000).turns(3, 20*minute, 1000)
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 0})
	b.turns(60, 0, 4000)
	c := testConfig(t, "none")
	c.Overflow, c.Window = overflowEnd, 100_000
	row, _ := run(t, c, b.session())
	if row.CallsBy(measures.SourceMain) != 8 || row.N(measures.EndedSessions) != 1 || row.N(measures.UnsimulatedCalls) == 0 {
		t.Errorf("%d calls of the parent, %d sessions ended, %d calls left out",
			row.CallsBy(measures.SourceMain), row.N(measures.EndedSessions), row.N(measures.UnsimulatedCalls))
	}
}

// Where a program started the client nobody asks for a compaction: the session ends at the blocking level, amid a turn too.
// By hand: 18,300 tokens at the first call and 4,200 more at each later one are 173,900 with the reply to the 38th, and a
// result of 4,000 tokens counts 3,000 by its bytes: the 39th stays below 177,000, the 40th does not. A person goes on.
func TestHeadlessSessionEnds(t *testing.T) {
	s := newSession("s").turns(42, 0, 4000).session()
	s.Entry = "sdk-cli"
	c := written(t, "  - full-compact: {trigger: {fixed: 150000}, auto: false, call: [streaming]}\n")
	c.Levels = DefaultLevels()
	c.Levels.Block = BlockCompact
	for entry, want := range map[string]int{"sdk-cli": 39, "cli": 42} {
		s.Entry = entry
		row, _ := run(t, c, s)
		if row.OwnCalls() != want || (row.N(measures.EndedSessions) > 0) != (want < 42) {
			t.Errorf("%s: %d calls, ended %d, want %d calls", entry, row.OwnCalls(), row.N(measures.EndedSessions), want)
		}
	}
}

// Claude Code from 2.1.153 on does not compact Opus 4.5 by itself; a window of its own for thresholds
// (CLAUDE_CODE_AUTO_COMPACT_WINDOW), or a recorded automatic compaction, says that it does.
func TestWaitsForRefusal(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		window        string
		recorded      bool
		want          bool
	}{
		{"as it is", "2.1.332", "", false, false},
		{"before", "2.1.152", "", false, true},
		{"with a window for thresholds", "2.1.332", "190000", false, true},
		{"a recording shows one", "2.1.332", "", true, true},
	} {
		s := newSession("s").turns(36, 0, 4000).session()
		s.Versions = []string{tc.version}
		if tc.recorded {
			s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Round: 20, PreTokens: 167_100, Kept: 5000}}
		}
		c := written(t, "  - full-compact: {trigger: {measure: client_tokens, fixed: 100000}, waits_by_model: true, call: [streaming]}\n")
		own := client.DefaultAssembly()
		own.Env.AutoCompactWindow = tc.window
		c.Assembly = &own
		row, _ := run(t, c, s)
		if got := row.N(measures.Compactions) > 0; got != tc.want {
			t.Errorf("%s: compacts by itself: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A session whose results have 0.66 tokens a byte, twice the rate, tells and restores by that, and its summaries are as
// long as its own: 1,000 tokens with the client's words, of answers of 1,200.
func TestOwnSizes(t *testing.T) {
	b := newSession("s").turns(3, 0, 660)
	for i := range b.s.Blocks {
		if b.s.Blocks[i].Kind == prompt.KindToolResult {
			b.s.Blocks[i].Bytes = 1000
		}
	}
	results := densityOf(b.session(), fetch.Density{})
	if got := results.Of(-1); math.Abs(got-0.66) > 1e-9 {
		t.Errorf("%g tokens a byte, want 0.66", got)
	}
	none := densityOf(newSession("s").turns(1, 0, 0).session(), fetch.Density{})
	if got := none.Of(-1); got != 0 {
		t.Errorf("%g tokens a byte of no results, want 0 for unknown", got)
	}
	at := b.block(prompt.KindSummary, 1000)
	b.s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, Round: 2, Summary: traces.Span{From: at, To: at + 1}}}
	b.s.Unshown = []traces.UnshownCall{{Event: 0, Usage: prompt.Usage{Output: 1200}}}
	if got, want := ownSummaryOf(&b.s), (ownSummary{text: 1000, output: 1200}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if n := listingOf(&b.s); n != 0 {
		t.Errorf("a listing of %d tokens, want none", n)
	}
	b.s.Blocks[b.s.Threads[0].Rounds[0].Input.From].Flags |= prompt.FlagListing
	if n := listingOf(&b.s); n != b.s.Blocks[b.s.Threads[0].Rounds[0].Input.From].Tokens || n == 0 {
		t.Errorf("a listing of %d tokens", n)
	}
}

// CLAUDE_CODE_MAX_OUTPUT_TOKENS of 8,000 puts the threshold at 179,000 of 200,000 (2.1.332), and one above what is kept free
// at most changes nothing: 200,000 − 20,000 − 13,000.
func TestOutputTokensMoveTheThreshold(t *testing.T) {
	for value, want := range map[string]int64{"": 167_000, "8000": 179_000, "64000": 167_000} {
		c := written(t, "  - full-compact: {trigger: {measure: client_tokens, reserve: 13000, reserve_output: true, output_cap: 20000}, call: [streaming]}\n")
		own := client.DefaultAssembly()
		own.Env.MaxOutputTokens = value
		c.Assembly = &own
		var first int64
		_, calls := run(t, c, newSession("s").turns(45, 0, 4000).session())
		for i := range calls {
			if calls[i].Source == measures.SourceCompact {
				first = calls[i-1].Context + calls[i-1].Usage.Output + 3000 // a result of 4,000 tokens counts 3,000
				break
			}
		}
		if first < want || first >= want+4200 {
			t.Errorf("%q: compacts at %d, want %d", value, first, want)
		}
	}
}
