package pseudonym_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// figuresOf returns a row with figures in every field that a simulation fills.
func figuresOf(strategy, session string, seed uint64) *results.Row {
	draw := rand.New(rand.NewPCG(seed, 1))
	tokens := func() prompt.Usage {
		return prompt.Usage{Uncached: draw.Int64N(1e4), Read: draw.Int64N(1e7), Write5m: draw.Int64N(1e6), Output: draw.Int64N(1e5)}
	}
	r := &results.Row{Strategy: strategy, Session: session, Sessions: 1, Calls: 1 + draw.IntN(200), Usage: tokens(),
		Misses: draw.IntN(9), MissedTokens: draw.Int64N(1e5), HitCalls: draw.IntN(90), LaterCalls: 100, Compactions: draw.IntN(4),
		ChainMax: draw.IntN(4), PeakContext: draw.Int64N(2e5), AddedLatency: draw.NormFloat64() * 100}
	r.MissesByClass[1] = r.Misses
	for c := range r.CostByClass {
		r.CostByClass[c] = draw.Float64()
		r.CostBySource[results.SourceMain][c] = r.CostByClass[c]
	}
	r.CallsBySource[results.SourceMain], r.UsageBySource[results.SourceMain] = r.Calls, r.Usage
	r.Waits[results.WaitCompaction] = r.AddedLatency
	r.Firings = map[string]int{"full-compact": r.Compactions + 1}
	r.Reasons = map[string]int{"full-compact: too few messages": 1 + draw.IntN(9)}
	return r
}

// runOf returns a run of two strategies over n sessions each.
func runOf(n int) *results.Run {
	run := &results.Run{
		Provenance: results.Provenance{Version: "(devel)", Seed: 1, SessionsDigest: "deb6e9e4", Prices: "2026-11-01"},
		Workload:   results.Workload{Sessions: n, Models: []string{"claude-opus-4-6"}, First: "2026-01-28", Last: "2026-03-12"},
		Cells: []results.Cell{
			{Cell: "recorded", Strategy: "recorded", Unmeasured: []string{"misses", "added_latency_seconds"}},
			{Cell: "auto-compact/167k trigger.fixed=90000", Strategy: "auto-compact/167k", Params: map[string]string{"trigger.fixed": "90000"}},
		},
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		for s := range n {
			c.Rows = append(c.Rows, figuresOf(c.Strategy, fmt.Sprintf("session-%07d", s), uint64(i*n+s)))
		}
	}
	run.Sum()
	return run
}
