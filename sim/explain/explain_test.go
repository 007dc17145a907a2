package explain

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// explained returns the explanation of every sample under a strategy, and the
// row of the same run without an observer.
func explained(t *testing.T, strategy string, events ...changes.Event) map[*studies.Explanation]results.Row {
	t.Helper()
	return explainedUnder(t, nil, strategy, Every, events...)
}

// samples are the sessions that come with the program, read once.
var samples = sync.OnceValues(func() (*traces.Corpus, error) {
	return agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
})

// explainedUnder is explained with a profile, nil for the plain cache, and the request of the call whole.
func explainedUnder(
	t *testing.T, p *profile.Profile, strategy string, whole int, events ...changes.Event,
) map[*studies.Explanation]results.Row {
	t.Helper()
	corpus, err := samples()
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
		Summarizer: summarizer.Default(), Prices: prices, Seed: 1, Watch: sim.Watch{Breaks: true}, Events: events, Profile: p,
	}
	all := map[*studies.Explanation]results.Row{}
	for _, session := range corpus.Sessions {
		row, err := sim.NewLoop(c).Run(session)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Session(c, session, whole)
		if err != nil {
			t.Fatal(err)
		}
		all[e] = row
	}
	return all
}

// Watching changes nothing, and what is explained adds up to the row: calls,
// tokens by class, misses and cost.
func TestExplanationsAddUpToTheRow(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for i, strategy := range registry.Presets() {
		if i%3 > 0 && strings.Contains(strategy, "/") { // layers are the same in many presets of other agents
			continue
		}
		for e, row := range explainedUnder(t, nil, strategy, 0) {
			var got results.Row
			var cost float64
			for _, c := range e.Calls {
				got.Bill(measures.SourceMain, &prompt.Usage{Uncached: c.Uncached, Read: c.Read, Write5m: c.Write5m, Write1h: c.Write1h,
					Output: c.Output}, &results.Cost{})
				if c.Miss != "none" && !c.First && c.Layer == "" {
					got.Figures[measures.Misses]++
				}
				cost += c.CostUSD
			}
			if len(e.Calls) != row.N(measures.Calls) || got.Usage() != row.Usage() || got.N(measures.Misses) != row.N(measures.Misses) {
				t.Errorf("%s of %s: %d calls, %+v, %d misses; the row has %d, %+v, %d",
					e.Session, strategy, len(e.Calls), got.Usage(), got.N(measures.Misses), row.N(measures.Calls), row.Usage(), row.N(measures.Misses))
			}
			if d := cost - row.CostUSD(); d > 1e-9 || d < -1e-9 {
				t.Errorf("%s of %s: explained cost %.6f, the row has %.6f", e.Session, strategy, cost, row.CostUSD())
			}
		}
	}
}

// The segments of a request are the request: tokens and classes add up.
func TestSegmentsAddUp(t *testing.T) {
	for _, strategy := range []string{"auto-compact/167k", "cached-microcompact"} {
		testSegments(t, strategy)
	}
}

// What a profile lets a call read, which may end inside an entry, is drawn as read.
func TestReadsOfAProfileAreDrawn(t *testing.T) {
	p, err := profile.Default()
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	for e := range explainedUnder(t, p, "recorded", Every) {
		for _, c := range e.Calls {
			read := int64(0)
			for _, s := range c.Segments {
				if s.Class == "read" {
					read += s.Tokens
				}
				if s.Blocks == 0 {
					parts++
				}
			}
			if read != c.Read {
				t.Errorf("%s call %d: %d tokens drawn as read, %d are", e.Session, c.Number, read, c.Read)
			}
		}
	}
	if parts == 0 {
		t.Error("no read ends inside an entry")
	}
}

func testSegments(t *testing.T, strategy string) {
	t.Helper()
	for e := range explained(t, strategy) {
		for _, c := range e.Calls {
			byClass := map[string]int64{}
			for _, s := range c.Segments {
				byClass[s.Class] += s.Tokens
			}
			want := map[string]int64{"read": c.Read, "write_5m": c.Write5m, "write_1h": c.Write1h, "uncached": c.Uncached}
			for class, tokens := range want {
				if byClass[class] != tokens {
					t.Fatalf("%s call %d: segments hold %d tokens of %s, the call %d", e.Session, c.Number, byClass[class], class, tokens)
				}
			}
		}
	}
}

// Every compaction of the row is told in a step, before the call that pays for
// it, and the trigger that started it was at or above its value.
func TestCompactionsAreTold(t *testing.T) {
	for e, row := range explained(t, "auto-compact/167k") {
		told, fired := 0, 0
		for _, c := range e.Calls {
			for _, s := range c.Steps {
				if s.Boundary == "compaction" {
					told++
				}
				if s.Fired {
					fired++
					if s.Measured < s.Value {
						t.Errorf("%s call %d: fired at %d below %d", e.Session, c.Number, s.Measured, s.Value)
					}
				}
			}
		}
		if told != row.N(measures.Compactions) || fired != row.N(measures.Compactions) {
			t.Errorf("%s: %d compactions told, %d triggers fired, the row has %d", e.Session, told, fired, row.N(measures.Compactions))
		}
	}
}

// The sizes beside a deletion are sizes of requests. None holds what was deleted before, and the
// next request is what the deletion leaves, and a tail, unless its prefix was lost: then there is
// nothing to delete from.
func TestSizesLeaveOutWhatIsDeleted(t *testing.T) {
	edits := 0
	for e := range explained(t, "cached-microcompact") {
		for _, c := range e.Calls {
			for _, s := range c.Steps {
				if s.Boundary != "microcompaction" || c.Miss != "none" {
					continue
				}
				edits++
				if s.Before <= s.After || s.After > c.Context || c.Context-s.After > 10 {
					t.Errorf("%s call %d of %d tokens: %d → %d", e.Session, c.Number, c.Context, s.Before, s.After)
				}
			}
		}
	}
	if edits < 10 {
		t.Errorf("%d deletions", edits)
	}
}

// A break is told with what the client's detector says about it, from what to what.
func TestBreaksAreTold(t *testing.T) {
	event := changes.Event{Do: "effort", Value: "high"}
	event.At.Round = 12
	told := 0
	for e, row := range explained(t, "none", event) {
		said := 0
		for i := range e.Calls {
			if e.Calls[i].Detector != "" {
				said++
			}
			if what, _ := happened(&e.Calls[i], e.Window, false); strings.Contains(what, "detector: effort changed (as recorded → high)") {
				told++
			}
		}
		if said != row.Breaks.Matrix().Broke() {
			t.Errorf("%s: %d breaks told, the row has %d", e.Session, said, row.Breaks.Matrix().Broke())
		}
	}
	if told == 0 {
		t.Error("no change of effort was told")
	}
}

// Times that triggers measure are written as times.
func TestMeasuredTimes(t *testing.T) {
	c := studies.ExplainedCall{Miss: "none", Steps: []studies.Step{
		{Layer: "time-microcompact", Measure: "idle", Measured: 3900e9, Value: 3600e9, Fired: true},
		{Layer: "time-microcompact", Boundary: "microcompaction", Before: 9000, After: 4000},
	}}
	if what, _ := happened(&c, 200_000, false); what != "idle 1 h 05 m ≥ 1 h 00 m; microcompaction 9.0k → 4.0k" {
		t.Error(what)
	}
}
