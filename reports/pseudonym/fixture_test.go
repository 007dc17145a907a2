package pseudonym_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// figuresOf returns a row with figures in every field that a simulation fills.
func figuresOf(strategy, session string, seed uint64) *results.Row {
	draw := rand.New(rand.NewPCG(seed, 1))
	tokens := func() prompt.Usage {
		return prompt.Usage{Uncached: draw.Int64N(1e4), Read: draw.Int64N(1e7), Write5m: draw.Int64N(1e6), Output: draw.Int64N(1e5)}
	}
	usage, cost := tokens(), results.Cost{}
	r := &results.Row{Strategy: strategy, Session: session, Figures: results.Figures{measures.Sessions: 1,
		measures.Calls: float64(1 + draw.IntN(200)), measures.Misses: float64(draw.IntN(9)),
		measures.MissedTokens: float64(draw.Int64N(1e5)), measures.HitCalls: float64(draw.IntN(90)), measures.LaterCalls: 100,
		measures.Compactions: float64(draw.IntN(4)), measures.ChainMax: float64(draw.IntN(4)),
		measures.PeakContext: float64(draw.Int64N(2e5)), measures.AddedLatency: draw.NormFloat64() * 100}}
	r.Figures[measures.MissesByClass+measures.ID(1)] = float64(r.N(measures.Misses))
	for c := range cost {
		cost[c] = draw.Float64()
	}
	calls := r.Figures[measures.Calls]
	r.Bill(measures.SourceMain, &usage, &cost)
	r.Figures[measures.Calls], r.Figures[measures.CallsBySource+measures.ID(measures.SourceMain)] = calls, calls
	r.Figures[measures.Waits+measures.ID(measures.WaitCompaction)] = r.Figures[measures.AddedLatency]
	r.Firings = map[string]int{"full-compact": r.N(measures.Compactions) + 1}
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
			c.Rows.Keep(figuresOf(c.Strategy, fmt.Sprintf("session-%07d", s), uint64(i*n+s)))
		}
	}
	run.Sum()
	return run
}
