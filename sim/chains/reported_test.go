package chains

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// Version 1 shows the usage of the summary call for the size behind a compaction
// (001:1181): of its one call, far above what is truly there. Others show that. A
// window of 120,000 makes the samples compact.
func TestReportedSizes(t *testing.T) {
	corpus, err := agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]bool{"claude-code/1": true, "auto-compact/167k": false} {
		c := sim.Config{
			Server:     func(facts.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
			Summarizer: summarizer.Default(), Prices: prices, Seed: 1, Window: 120_000,
		}
		if c.Strategy, err = registry.Strategy(name); err != nil {
			t.Fatal(err)
		}
		o := NewObserver(corpus.Sessions)
		c.Observer = o
		if _, err := sim.NewLoop(c).RunCohort(corpus.Sessions); err != nil {
			t.Fatal(err)
		}
		seen := 0
		for i := range corpus.Sessions {
			for _, x := range o.Compactions(i) {
				seen++
				want := int64(0)
				if call {
					want = x.Usage.Input() + x.Usage.Output
				}
				if x.Reported != want || call && x.Reported <= x.After {
					t.Errorf("%s: %d reported of %d truly, want %d", name, x.Reported, x.After, want)
				}
			}
		}
		if seen == 0 {
			t.Errorf("%s: no compactions", name)
		}
	}
}
