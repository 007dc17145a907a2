package bound

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// session builds a session of rounds: the wait ahead of each, and its input of one
// prompt or one tool result, tokens. Every response is a tool call of 100 tokens.
type round struct {
	wait  time.Duration
	input int32
}

func session(rounds ...round) *traces.Session {
	s := &traces.Session{
		ID: "made", Agent: "claude-code", Versions: []string{"2.1.25"}, Tools: []string{"", "Read"},
		Models: []string{"claude-opus-4-5"}, Start: time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC).UnixNano(),
	}
	t := traces.Thread{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1}
	t.Prefix = traces.Span{From: block(s, prompt.KindTools, 12000), To: block(s, prompt.KindSystem, 4000) + 1}
	s.Threads = []traces.Thread{t}
	for i, r := range rounds {
		grow(s, 0, i, r)
	}
	return s
}

func block(s *traces.Session, k prompt.Kind, tokens int32) int32 {
	i := int32(len(s.Blocks))
	s.Blocks = append(s.Blocks, prompt.Block{
		Kind: k, Tokens: tokens, Bytes: tokens * 3, Object: -1, Tool: 1, Digest: prompt.DigestString(fmt.Sprint(k, i)),
	})
	return i
}

// grow adds a round to a thread: a prompt first, then results.
func grow(s *traces.Session, thread, i int, r round) {
	t := &s.Threads[thread]
	n := traces.Round{
		ID: fmt.Sprint(thread, "-", i), Wait: int64(r.wait), First: 2e9, Stream: 5e9, At: s.Start, Logged: 100,
		Usage: prompt.Usage{Write5m: int64(r.input), Output: 100},
	}
	kind := prompt.KindToolResult
	if n.Trigger = traces.TriggerToolResult; i == 0 {
		kind, n.Trigger = prompt.KindPrompt, traces.TriggerPrompt
	}
	at := block(s, kind, r.input)
	if i > 0 {
		s.Blocks[at].Call = t.Rounds[i-1].Reply.From + 1
	}
	use := block(s, prompt.KindToolUse, 100)
	s.Blocks[use].Call = use + 1
	n.Input, n.Reply = traces.Span{From: at, To: at + 1}, traces.Span{From: use, To: use + 1}
	t.Rounds = append(t.Rounds, n)
}

// surroundings are a plain cache, standard prices and summaries of a fixed size.
func surroundings(t testing.TB) sim.Config {
	t.Helper()
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return sim.Config{
		Server:     func(facts.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
		Summarizer: &summarizer.Stub{Sizing: summarizer.Fixed, Median: 3000, FirstToken: time.Second, OutputRate: 100},
		Prices:     prices, Seed: 1, Watch: sim.Watch{Verify: true},
	}
}

func params(t testing.TB) strategies.CompactParams {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Strategy("auto-compact/167k")
	if err != nil {
		t.Fatal(err)
	}
	return s.Params(standard.Compact).(strategies.CompactParams)
}

// least returns the cheapest of all schedules over n rounds in the loop, USD.
func least(t *testing.T, c sim.Config, s *traces.Session, n int, act action) float64 {
	t.Helper()
	best := math.Inf(1)
	for set := range 1 << n {
		c.Strategy = act(func(thread, round int32) bool { return set>>at(s, thread, round)&1 != 0 })
		row, err := sim.NewLoop(c).Run(s)
		if err != nil {
			t.Fatal(err)
		}
		if !row.CutShort() && row.N(measures.OverWindow) == 0 {
			best = min(best, row.CostUSD())
		}
	}
	return best
}

// at numbers the rounds of all threads.
func at(s *traces.Session, thread, round int32) int {
	n := int(round)
	for i := range thread {
		n += len(s.Threads[i].Rounds)
	}
	return n
}

const (
	warm = 2 * time.Second
	cold = 7 * time.Minute
)

// branched is a session with a branch behind its third round.
func branched() *traces.Session {
	s := session(round{0, 40000}, round{warm, 20000}, round{warm, 9000}, round{warm, 5000}, round{cold, 9000})
	s.Threads = append(s.Threads, traces.Thread{
		ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 2, Delay: 1e9,
	})
	for i, r := range []round{{warm, 8000}, {warm, 30000}, {cold, 1000}} {
		grow(s, 1, i, r)
	}
	return s
}

// The bound is what the cheapest of all 2ⁿ schedules costs in the loop.
func TestCompactIsTheLeastOfAllSchedules(t *testing.T) {
	p := params(t)
	for name, s := range map[string]*traces.Session{
		"warm": session(round{0, 60000}, round{warm, 30000},
			round{warm, 500}, round{warm, 500}, round{warm, 500}, round{warm, 500}),
		"a pause": session(round{0, 60000}, round{warm, 30000},
			round{cold, 500}, round{warm, 500}, round{warm, 500}, round{cold, 500}),
		"pauses": session(round{0, 90000}, round{cold, 3000},
			round{cold, 500}, round{cold, 2500}, round{cold, 500}, round{cold, 500}),
		"little": session(round{0, 600}, round{warm, 300}, round{cold, 500}, round{warm, 500}),
		"up to the window": session(round{0, 90000}, round{warm, 60000},
			round{warm, 30000}, round{warm, 50000}, round{warm, 70000}),
		"a branch": branched(),
	} {
		b, err := Compact(surroundings(t), p, s)
		if err != nil {
			t.Fatal(err)
		}
		act := func(f due) *strategies.Strategy { return strategies.Scheduled(p, f) }
		want := least(t, surroundings(t), s, s.NumCalls(), act)
		if math.Abs(b.Below-want) > 1e-9 || math.Abs(b.Reached-want) > 1e-9 {
			t.Errorf("%s: bound $%.6f, reached $%.6f by %v; the cheapest of all schedules costs $%.6f",
				name, b.Below, b.Reached, b.Schedule, want)
		}
	}
}

// The bound of clearing is never above the cheapest of all schedules, and its own
// schedule lies within 5 % of that.
func TestClearIsBelowAllSchedules(t *testing.T) {
	for name, s := range map[string]*traces.Session{
		"warm": session(round{0, 600}, round{warm, 30000},
			round{warm, 500}, round{warm, 500}, round{warm, 40000}, round{warm, 500}),
		"a pause": session(round{0, 600}, round{warm, 30000},
			round{cold, 500}, round{warm, 500}, round{warm, 500}, round{cold, 500}),
		"branch": branched(),
	} {
		c := surroundings(t)
		below, schedules, err := (&solver{clears: true, prices: []float64{0}}).find(c, s, clearing, nil)
		if err != nil {
			t.Fatal(err)
		}
		row, err := reach(c, clearing, s, schedules[0])
		if err != nil {
			t.Fatal(err)
		}
		want := least(t, c, s, s.NumCalls(), clearing)
		if bound, err := Clear(c, s); err != nil || bound != below[0] || bound > want+1e-9 || row.CostUSD() < want-1e-9 || row.CostUSD() > want*1.05 {
			t.Errorf("%s: bound $%.6f, reached $%.6f by %v; the cheapest of all schedules costs $%.6f, error %v",
				name, bound, row.CostUSD(), schedules[0], want, err)
		}
	}
}

// A session of 1,000 calls takes less than a second (docs/bound.md).
func BenchmarkCompact(b *testing.B) {
	rounds := []round{{0, 1000}}
	for i := range 999 {
		r := round{warm, 900}
		if i%50 == 49 {
			r.wait = cold
		}
		rounds = append(rounds, r)
	}
	s, c, p := session(rounds...), surroundings(b), params(b)
	c.Verify = false
	for b.Loop() {
		if _, err := Compact(c, p, s); err != nil {
			b.Fatal(err)
		}
	}
}

// A schedule must compact where nothing else fits, so that before no call more schedules differ than calls fit the window: 16,000 tokens of
// prefix, 3,000 of a summary and n rounds of 20,000 with 100 of the answer before each fit 200,000 up to n = 9. With a call that
// just compacted these are 10 states.
func TestOnlySchedulesThatFitAreFollowed(t *testing.T) {
	rounds := make([]round, 60)
	for i := range rounds {
		rounds[i] = round{time.Second, 20_000}
	}
	c, p := surroundings(t), params(t)
	x := &solver{prices: []float64{0}}
	act := func(f due) *strategies.Strategy { return strategies.Scheduled(p, f) }
	if _, _, err := x.find(c, session(rounds...), act, nil); err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, states := range x.chosen[0].act {
		most = max(most, len(states))
	}
	if most < 9 || most > 10 {
		t.Errorf("%d schedules are told apart before a call, want 9 or 10", most)
	}
}
