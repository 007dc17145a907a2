package chains

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// followed returns the compactions of the samples, all in one cohort, under a
// strategy, and its rows without an observer.
func followed(t *testing.T, strategy string) ([][]studies.Compaction, []results.Row) {
	t.Helper()
	corpus, err := agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Strategy(strategy)
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := sim.Config{
		Strategy: s, Server: func(facts.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
		Summarizer: summarizer.Default(), Prices: prices, Seed: 1,
	}
	plain, err := sim.NewLoop(c).RunCohort(corpus.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	o := NewObserver(corpus.Sessions)
	c.Observer = o
	rows, err := sim.NewLoop(c).RunCohort(corpus.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	var lists [][]studies.Compaction
	for i := range rows {
		if rows[i].CostUSD() != plain[i].CostUSD() {
			t.Errorf("%s of %s: watching changes the cost", rows[i].Session, strategy)
		}
		lists = append(lists, o.Compactions(i))
	}
	return lists, rows
}

// What is told adds up to the row: compactions, compactions of a context that held a summary, the
// longest chain, compactions that did not pay, and the cost of their
// calls.
func TestCompactionsAddUpToTheRow(t *testing.T) {
	seen := 0
	for _, strategy := range []string{"recorded", "auto-compact/167k", "auto-compact/155k", "truncate-oldest", "none"} {
		lists, rows := followed(t, strategy)
		for i, list := range lists {
			var row results.Row
			var calls float64
			for j := range list {
				c := &list[j]
				row.Figures[measures.Compactions]++
				if c.Recompaction {
					row.Figures[measures.Recompactions]++
				}
				row.Figures[measures.ChainMax] = float64(max(row.N(measures.ChainMax), c.Place))
				if c.NetUSD() < 0 {
					row.Figures[measures.NetNegativeCompactions]++
				}
				calls += c.CallCost.Total()
				if c.Session != rows[i].Session || c.Before-c.After != c.Saved || c.Line == 0 {
					t.Errorf("%s of %s: %+v", rows[i].Session, strategy, *c)
				}
			}
			seen += len(list)
			want := &rows[i]
			if row.N(measures.Compactions) != want.N(measures.Compactions) ||
				row.N(measures.Recompactions) != want.N(measures.Recompactions) || row.N(measures.ChainMax) != want.N(measures.ChainMax) ||
				row.N(measures.NetNegativeCompactions) != want.N(measures.NetNegativeCompactions) {
				t.Errorf("%s of %s: %+v, the row has %+v", want.Session, strategy, row, *want)
			}
			if d := calls - want.CostBy(measures.SourceCompact).Total(); d > 1e-9 || d < -1e-9 {
				t.Errorf("%s of %s: calls of $%.6f, the row has $%.6f", want.Session, strategy, calls, want.CostBy(measures.SourceCompact).Total())
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d compactions in all", seen)
	}
}

// The trigger of an automatic compaction is told with what it measured.
func TestTriggersAreTold(t *testing.T) {
	lists, _ := followed(t, "auto-compact/167k")
	for _, list := range lists {
		for _, c := range list {
			if c.Trigger != "auto" || c.Measure != "client_tokens" || c.Value != 167_000 || c.Measured < c.Value || c.Layer != standard.Compact {
				t.Errorf("%+v", c)
			}
		}
	}
}

// twoThreads is a session of a main conversation of ten rounds and a branch that
// leaves it behind the response of round 4.
func twoThreads() *traces.Session {
	s := &traces.Session{ID: "s", Files: []string{"s.jsonl"}}
	rounds := make([]traces.Round, 10)
	for i := range rounds {
		rounds[i].Line = int32(100 + i)
	}
	s.Threads = []traces.Thread{
		{ID: "main", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1, Rounds: rounds},
		{ID: "branch", Kind: traces.ThreadBranch, Parent: 0, ParentRound: 4, Rounds: rounds[:3]},
	}
	return s
}

// script plays what a loop would tell.
type script struct {
	o *Observer
	p sim.Point
}

func (s *script) request(n int) {
	for range n {
		s.o.Served(s.p, "", nil, nil)
		s.p.Round++
	}
}

func (s *script) compact(hook string, b strategies.Boundary) {
	b.Kind = strategies.BoundaryCompact
	s.o.Answered(s.p, "full-compact", hook, strategies.Outcome{Verdict: strategies.Pending})
	s.o.Answered(s.p, "full-compact", "intent_result", strategies.Outcome{Verdict: strategies.Done})
	s.o.Changed(s.p, "full-compact", b)
}

// What started a compaction follows from the hook it began in, unless a person
// asked or the recording has it.
func TestWhatStartedIt(t *testing.T) {
	for _, tc := range []struct {
		hook string
		b    strategies.Boundary
		want string
	}{
		{"before_request", strategies.Boundary{}, "auto"},
		{"before_request", strategies.Boundary{Manual: true}, "manual"},
		{"before_request", strategies.Boundary{Replayed: true}, "recorded"},
		{"before_request", strategies.Boundary{Replayed: true, Manual: true}, "manual"},
		{"prompt_too_long", strategies.Boundary{}, "refused"},
		{"timer", strategies.Boundary{}, "idle"},
		{"server_hint", strategies.Boundary{}, "hint"},
	} {
		s := script{o: NewObserver([]*traces.Session{twoThreads()})}
		s.request(2)
		s.compact(tc.hook, tc.b)
		if got := s.o.Compactions(0); len(got) != 1 || got[0].Trigger != tc.want || got[0].Since != 2 || got[0].Line != 102 {
			t.Errorf("%s %+v: %+v, want %s", tc.hook, tc.b, got, tc.want)
		}
	}
}

// A branch goes on with the chain of its parent as it was where it left: behind
// the compaction ahead of round 3, which two requests followed, and ahead of the
// one at round 6.
func TestBranchesContinueAChain(t *testing.T) {
	s := script{o: NewObserver([]*traces.Session{twoThreads()})}
	s.request(3)
	s.compact("before_request", strategies.Boundary{})
	s.request(3)
	s.compact("before_request", strategies.Boundary{})
	s.p = sim.Point{Thread: 1}
	s.request(1)
	s.compact("before_request", strategies.Boundary{})
	list := s.o.Compactions(0)
	if len(list) != 3 {
		t.Fatalf("%d compactions", len(list))
	}
	for i, want := range []struct{ chain, place, since int }{{1, 1, 3}, {1, 2, 3}, {1, 2, 3}} {
		if c := &list[i]; c.Chain != want.chain || c.Place != want.place || c.Since != want.since {
			t.Errorf("compaction %d: chain %d.%d, %d requests since; want %+v", i, c.Chain, c.Place, c.Since, want)
		}
	}
}

// Three refills within three requests each are a spiral, four
// compactions in all; so are three compactions of which none but the last has
// had the time to pay back. A person who asks for one ends it.
func TestSpirals(t *testing.T) {
	for name, tc := range map[string]struct {
		since   []int // requests ahead of each compaction
		paid    bool
		flagged int
		spiral  string
	}{
		"three refills":            {[]int{9, 3, 3, 3}, true, 4, studies.SpiralRefill},
		"two refills":              {[]int{9, 3, 3}, true, 0, ""},
		"refills of four requests": {[]int{9, 4, 4, 4}, true, 0, ""},
		"never paid":               {[]int{9, 9, 9}, false, 3, studies.SpiralUnpaid},
		"once not paid":            {[]int{9, 9}, false, 0, ""},
		"refills, never paid":      {[]int{9, 1, 1, 1}, false, 4, studies.SpiralRefill},
	} {
		s := script{o: NewObserver([]*traces.Session{twoThreads()})}
		for i, n := range tc.since {
			for range n {
				s.o.Served(s.p, "", nil, nil)
			}
			s.compact("before_request", strategies.Boundary{})
			if tc.paid {
				s.o.Paid(0, i, &studies.Payback{PaidAfter: 1})
			}
		}
		flagged := 0
		for _, c := range s.o.Compactions(0) {
			if c.Spiral == tc.spiral && c.Spiral != "" {
				flagged++
			} else if c.Spiral != "" {
				t.Errorf("%s: flagged %q", name, c.Spiral)
			}
		}
		if flagged != tc.flagged {
			t.Errorf("%s: %d flagged, want %d", name, flagged, tc.flagged)
		}
	}
	s := script{o: NewObserver([]*traces.Session{twoThreads()})}
	for _, manual := range []bool{false, false, true} {
		s.request(3)
		s.compact("before_request", strategies.Boundary{Manual: manual})
	}
	for _, c := range s.o.Compactions(0) {
		if c.Spiral != "" {
			t.Errorf("a person asked for the third, flagged %q", c.Spiral)
		}
	}
}
