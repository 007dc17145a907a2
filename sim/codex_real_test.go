package sim

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// codexRecordings reads the recorded Codex sessions next to the module root.
func codexRecordings(t testing.TB) *traces.Corpus {
	t.Helper()
	if testing.Short() {
		t.Skip("recorded sessions take long")
	}
	dir := filepath.Join("..", "..", "shared", "traces", "codex")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("recorded sessions are not here: ", err)
	}
	c, err := agents.Read(context.Background(), traces.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// codexConfig returns the cell that replays recorded Codex sessions.
func codexConfig(t testing.TB, server promptcache.OpenAIConfig) Config {
	c := testConfig(t, "recorded")
	c.Server = func(traces.Cache) Server { return promptcache.NewOpenAI(server) }
	return c
}

// reads compares predicted with recorded reads of one model.
type reads struct {
	calls, near, exact int
	modelled, was      int64
	cost, billed       float64 // of the conversation's own calls, USD
}

// share returns the part of calls whose read is within 1,024 tokens.
func (r *reads) share() float64 { return float64(r.near) / float64(r.calls) }

// replayCodex runs recorded over the sessions and returns the comparison by
// model, "" for all: reads without first calls, costs with them.
func replayCodex(t *testing.T, c *traces.Corpus, cfg Config) map[string]*reads {
	out := map[string]*reads{"": {}}
	for _, s := range c.Sessions {
		rounds := s.Threads[0].Rounds
		cfg.Record = func(r *results.CallRecord) {
			if r.Source != results.SourceMain {
				return
			}
			of := out[r.Model]
			if of == nil {
				of = &reads{}
				out[r.Model] = of
			}
			was := rounds[r.Round].Usage
			if r.Usage.Input() != was.Input() {
				t.Errorf("%s call %d: %d input tokens, recorded %d", s.ID, r.Round, r.Usage.Input(), was.Input())
			}
			for _, x := range []*reads{of, out[""]} {
				x.cost += r.Cost.Total()
				if r.First {
					continue
				}
				x.calls++
				off := r.Usage.Read - was.Read
				if -1024 <= off && off <= 1024 {
					x.near++
				}
				if off == 0 {
					x.exact++
				}
				x.modelled, x.was = x.modelled+r.Usage.Read, x.was+was.Read
			}
		}
		if _, err := NewLoop(cfg).Run(s); err != nil {
			t.Error(err)
		}
		billed := Billed(s, cfg.Prices, time.Time{})
		out[""].billed += billed.CostByClass.Total()
	}
	return out
}

// The model predicts what recorded Codex calls read, told only the totals: the
// figures the issue asks for are 89 % of calls within 1,024 tokens, and 97.5 %
// for gpt-5.6-sol.
func TestRecordedCodexReads(t *testing.T) {
	by := replayCodex(t, codexRecordings(t), codexConfig(t, promptcache.OpenAIConfig{}))
	for model, r := range by {
		t.Logf("%-20s %5d calls, %.2f %% near, %.2f %% exact, reads %+.2f %%", model, r.calls,
			100*r.share(), 100*float64(r.exact)/float64(r.calls), 100*float64(r.modelled-r.was)/float64(r.was))
	}
	for model, least := range map[string]float64{"": 0.89, "gpt-5.6-sol": 0.975} {
		if got := by[model].share(); got < least {
			t.Errorf("%q: %.2f %% of %d calls within 1,024 tokens, want %.1f %%", model, 100*got, by[model].calls, 100*least)
		}
	}
}

// Calls that read less than their prefix for no visible reason make the default
// model too cheap. With the share of overflows fitted to these sessions, 1.2 % of
// calls, the cost of the corpus comes within the 3 % the issue asks for, as the
// mean over seeds, and the reads stay as near.
func TestRecordedCodexCost(t *testing.T) {
	c := codexRecordings(t)
	const seeds = 10
	var cost, billed, near, exact float64
	for seed := range uint64(seeds) {
		cfg := codexConfig(t, promptcache.OpenAIConfig{OverflowPerCall: 0.012})
		cfg.Seed, cfg.Verify = seed+1, false
		by := replayCodex(t, c, cfg)
		cost, billed = cost+by[""].cost/seeds, by[""].billed
		near, exact = near+by[""].share()/seeds, exact+by["gpt-5.6-sol"].share()/seeds
	}
	t.Logf("cost %.2f, billed %.2f (%+.2f %%); %.2f %% near, gpt-5.6-sol %.2f %%", cost, billed, 100*(cost-billed)/billed, 100*near, 100*exact)
	if off := (cost - billed) / billed; off < -0.03 || off > 0.03 {
		t.Errorf("corpus cost is off by %+.2f %%, want at most 3 %%", 100*off)
	}
	if near < 0.89 {
		t.Errorf("%.2f %% of calls within 1,024 tokens, want 89 %%", 100*near)
	}
}
