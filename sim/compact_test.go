package sim

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// written returns a cell of a strategy whose layers are written in YAML.
func written(t *testing.T, layers string) Config {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.AddPreset([]byte("name: test\nlayers:\n"+layers), "test.yaml"); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, "none")
	if c.Strategy, err = registry.Strategy("test"); err != nil {
		t.Fatal(err)
	}
	return c
}

// reading names the tool of every call Read, so that results can be cleared.
func reading(s *traces.Session) *traces.Session {
	for i := range s.Blocks {
		if s.Blocks[i].Call > 0 {
			s.Blocks[i].Tool = 1
		}
	}
	return s
}

// The small model has a cache and prices of its own: its call reads nothing,
// and costs Haiku 4.5's $1 and $5 per million instead of Opus 4.5's $5 and $25.
func TestSmallModelIsColdAtItsOwnPrice(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	row, calls := run(t, testConfig(t, "auto-compact/small-model"), s)
	seen := 0
	for _, c := range calls {
		if c.Source != measures.SourceCompact {
			continue
		}
		seen++
		u := c.Usage
		if c.Model != "claude-haiku-4-5" || u.Read != 0 {
			t.Errorf("a call of %s read %d", c.Model, u.Read)
		}
		want := (float64(u.Uncached) + 1.25*float64(u.Write5m) + 5*float64(u.Output)) / 1e6
		if diff := c.Cost.Total() - want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("cost $%.6f, want $%.6f", c.Cost.Total(), want)
		}
	}
	if seen == 0 || row.N(measures.Compactions) != seen {
		t.Errorf("%d summary calls, %d compactions", seen, row.N(measures.Compactions))
	}
}

// A model a layer names has its own window, whatever the session's window.
func TestSmallModelWindow(t *testing.T) {
	c := written(t, "  - full-compact: {trigger: {fixed: 250000}, call: [small-model], prompt_too_long: {retries: 0}, breaker: 0}\n")
	c.Window = 1_000_000
	row, _ := run(t, c, newSession("s").turns(80, 0, 4000).session())
	if row.N(measures.Compactions) != 0 || row.N(measures.FailedCompactions) == 0 {
		t.Errorf("%d compactions, %d failures of a call of 250,000 tokens to a model of 200,000", row.N(measures.Compactions),
			row.N(measures.FailedCompactions))
	}
}

// Where the fork fails, the streaming call follows: cold, under its own head.
// Refused calls bill nothing; answers that cannot be used do.
func TestFallbackOnTheClock(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	for reason, billed := range map[string]int{ask.FailToolCall: 2, ask.FailEmpty: 2, ask.FailAPI: 1, ask.FailTooLong: 1} {
		c := testConfig(t, "auto-compact/167k")
		stub := summarizer.Default()
		stub.Script = summarizer.Script{Calls: []int{1}, As: reason}
		c.Summarizer = stub
		row, calls := run(t, c, s)
		var compact []results.CallRecord
		for _, r := range calls {
			if r.Source == measures.SourceCompact {
				compact = append(compact, r)
			}
		}
		if row.N(measures.FailedCompactions) != 0 || row.N(measures.Compactions) == 0 {
			t.Fatalf("%s: %d compactions, %d failures", reason, row.N(measures.Compactions), row.N(measures.FailedCompactions))
		}
		// The first compaction's calls, then one fork for each later one.
		if got := len(compact) - (row.N(measures.Compactions) - 1); got != billed {
			t.Errorf("%s: %d billed calls in the first compaction, want %d", reason, got, billed)
		}
		if fallback := compact[billed-1]; fallback.Usage.Read != 0 {
			t.Errorf("%s: the streaming call read %d tokens", reason, fallback.Usage.Read)
		}
		if !(row.Figures[measures.AddedLatency] > 0) {
			t.Errorf("%s: no waiting", reason)
		}
	}
}

// Summary calls that fail for ever: three compactions are tried on each thread,
// and the session goes on over the threshold, counted.
func TestFailingForEver(t *testing.T) {
	for _, as := range []summarizer.Failures{{ToolCall: 1}, {Empty: 1}, {API: 1}, {TooLong: 1}} {
		c := testConfig(t, "auto-compact/167k")
		stub := summarizer.Default()
		stub.Failures = map[string]summarizer.Failures{"fork": as, "streaming": as}
		c.Summarizer = stub
		row, _ := run(t, c, newSession("s").turns(60, 0, 4000).session())
		if row.N(measures.FailedCompactions) != 3 || row.N(measures.Compactions) != 0 || row.N(measures.OverWindow) != 1 {
			t.Errorf("%+v: %d failures, %d compactions, over window %d; want 3, 0, 1", as, row.N(measures.FailedCompactions),
				row.N(measures.Compactions), row.N(measures.OverWindow))
		}
	}
}

// Stripping in the fork breaks the prefix it shares; nothing to strip keeps it.
func TestStripInFork(t *testing.T) {
	s := newSession("s").turns(60, 0, 4000).session()
	s.Blocks[s.Threads[0].Rounds[1].Input.From].Flags |= prompt.FlagImage
	read := func(strip bool) int64 {
		c := written(t, fmt.Sprintf("  - full-compact: {trigger: {fixed: 150000}, fork: {strip: %v, skip_cache_write: true}}\n", strip))
		_, calls := run(t, c, s)
		for _, r := range calls {
			if r.Source == measures.SourceCompact {
				return r.Usage.Read
			}
		}
		t.Fatal("no compaction")
		return 0
	}
	if kept, stripped := read(false), read(true); kept < 140_000 || stripped != 16_000 {
		t.Errorf("the fork read %d, and %d with media stripped; want all but the end, and the system prefix of 16,000", kept, stripped)
	}
}

// A switched-off layer equals its absence: same rows, same draws.
func TestSwitchedOffIsAbsent(t *testing.T) {
	s := reading(newSession("s").turns(120, 0, 4000).turns(20, 10*minute, 3000).session())
	const full = "  - full-compact: {trigger: {fixed: 120000}}\n"
	rows := map[string]results.Row{}
	for name, layers := range map[string]string{
		"absent": full,
		"off":    "  - microcompact: {enabled: false, trigger: {fixed: 100000}}\n" + full,
		"on":     "  - microcompact: {trigger: {fixed: 100000}}\n" + full,
		"behind": full + "  - truncate-oldest: {enabled: false, trigger: {fixed: 90000}}\n",
	} {
		rows[name], _ = run(t, written(t, layers), s)
	}
	if !reflect.DeepEqual(rows["off"], rows["absent"]) || !reflect.DeepEqual(rows["behind"], rows["absent"]) {
		t.Errorf("a layer that is off leaves a trace:\n%+v\n%+v\n%+v", rows["absent"], rows["off"], rows["behind"])
	}
	if on := rows["on"]; reflect.DeepEqual(on, rows["absent"]) || on.N(measures.Microcompactions) == 0 {
		t.Error("the layer does nothing when it is on either")
	}
}

// In version 1 a clearing skips the full compact of the same request; without
// the group both happen when the clearing does not count at once.
func TestFirstOfSkipsTheRest(t *testing.T) {
	s := reading(newSession("s").turns(70, 0, 4000).session())
	const micro = "microcompact: {trigger: {fixed: 150000}, count_pending_clears: false}\n"
	const full = "full-compact: {trigger: {fixed: 150000}}\n"
	grouped, _ := run(t, written(t, "  - first_of:\n    - "+micro+"    - "+full), s)
	loose, _ := run(t, written(t, "  - "+micro+"  - "+full), s)
	if grouped.N(measures.Microcompactions) == 0 || grouped.N(measures.Compactions) != 0 {
		t.Errorf("grouped: %d clearings and %d compactions, want the cheaper one only", grouped.N(measures.Microcompactions),
			grouped.N(measures.Compactions))
	}
	if n := grouped.Firings["microcompact"]; n < 2 || n != grouped.N(measures.Microcompactions) || grouped.Firings["full-compact"] != 0 {
		t.Errorf("grouped: %d clearings, firings %v", grouped.N(measures.Microcompactions), grouped.Firings)
	}
	if loose.N(measures.Compactions) == 0 {
		t.Errorf("loose: %d clearings and %d compactions, want both", loose.N(measures.Microcompactions), loose.N(measures.Compactions))
	}
	// count_pending_clears: the clearing alone brings the count below the
	// trigger.
	counted, _ := run(t, written(t, "  - microcompact: {trigger: {fixed: 150000}}\n  - "+full), s)
	if counted.N(measures.Microcompactions) == 0 || counted.N(measures.Compactions) != 0 {
		t.Errorf("counted at once: %d clearings and %d compactions", counted.N(measures.Microcompactions), counted.N(measures.Compactions))
	}
}

// Whatever the preset, the samples in Claude Code's own format keep every
// invariant: pairs intact, no empty request, tokens conserved. So they do when
// summary calls fail at random and when the window is small.
func TestPresetsKeepInvariants(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	corpus, err := agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	failing := summarizer.Default()
	some := summarizer.Failures{ToolCall: 0.1, Empty: 0.1, API: 0.1, TooLong: 0.2}
	failing.Failures = map[string]summarizer.Failures{"fork": some, "streaming": some, "small-model": some}
	for _, name := range registry.Presets() {
		if name == standard.Recorded {
			continue
		}
		for _, window := range []int64{0, 90_000} {
			for seed, stub := range []*summarizer.Stub{summarizer.Default(), failing, failing} {
				c := testConfig(t, name)
				c.Window, c.Summarizer, c.Seed = window, stub, uint64(seed)
				l := NewLoop(c)
				for _, s := range corpus.Sessions {
					if _, err := l.Run(s); err != nil {
						t.Errorf("window %d, seed %d: %v", window, seed, err)
					}
				}
			}
		}
	}
}

// What a call of its own leaves out: skill listings whole, images and documents
// but for a placeholder of 3 tokens, and with a model that does not think the
// thinking too (provider: prior thinking is stripped on Haiku 4.5).
func TestStrippedFromOwnCalls(t *testing.T) {
	s := newSession("s").turns(1, 0, 0).turns(60, 0, 4000).session()
	skills := s.Threads[0].Rounds[1].Input.From
	s.Blocks[skills].Kind, s.Blocks[skills].Flags = prompt.KindAttachment, prompt.FlagListing // 300 tokens
	image := s.Threads[0].Rounds[3].Input.From
	s.Blocks[image].Flags |= prompt.FlagImage // 4,000 tokens, of which the text is a third of its bytes
	s.Blocks[image].Bytes = 300
	input := func(call string) (tokens int64, thinking int64) {
		_, calls := run(t, written(t, "  - full-compact: {trigger: {fixed: 150000}, "+call+"}\n"), s)
		for i, r := range calls {
			if r.Source == measures.SourceCompact {
				return r.Usage.Input(), 40 * int64(i) // each response before it thought 40 tokens
			}
		}
		t.Fatal("no compaction")
		return 0, 0
	}
	const media, listing = 4000 - (3 + 300/3), 300
	all, thinking := input("call: [streaming], streaming: {strip_media: false, strip_listings: false}")
	for call, want := range map[string]int64{
		"call: [streaming], streaming: {strip_listings: false}": all - media,
		"call: [streaming], streaming: {strip_media: false}":    all - listing,
		"call: [streaming]":   all - media - listing,
		"call: [small-model]": all - media - listing - thinking - 3000 + 20, // its head is one line
	} {
		if got, _ := input(call); got != want {
			t.Errorf("%s: %d tokens, want %d", call, got, want)
		}
	}
}

// Reactive compaction alone: every refused request is compacted once and sent
// again; when that fails the request goes on over the window, counted once, and
// the next one may try again.
func TestReactive(t *testing.T) {
	s := newSession("s").turns(120, 0, 4000).session()
	c := written(t, "  - full-compact: {trigger: {fixed: 150000}, auto: false, reactive: true, breaker: 0, call: [streaming]}\n")
	row, calls := run(t, c, s)
	if row.N(measures.Compactions) < 2 || row.N(measures.Overflows) != row.N(measures.Compactions) ||
		row.N(measures.OverWindow) != 0 || row.N(measures.PeakContext) > 200_000 {
		t.Errorf("%d compactions, %d refusals, over window %d, peak %d", row.N(measures.Compactions), row.N(measures.Overflows),
			row.N(measures.OverWindow), row.N(measures.PeakContext))
	}
	if row.N(measures.Calls) != len(s.Threads[0].Rounds)+row.N(measures.Compactions) || len(calls) != row.N(measures.Calls) {
		t.Errorf("%d calls, want %d and one for each of %d compactions", row.N(measures.Calls), len(s.Threads[0].Rounds), row.N(measures.Compactions))
	}
	c.Summarizer = failing{}
	row, _ = run(t, c, s)
	if row.N(measures.Compactions) != 0 || row.N(measures.OverWindow) != 1 || row.N(measures.Overflows) == 0 ||
		row.N(measures.FailedCompactions) != row.N(measures.Overflows) {
		t.Errorf("failing: %d compactions, %d refusals, %d failures", row.N(measures.Compactions), row.N(measures.Overflows),
			row.N(measures.FailedCompactions))
	}
}
