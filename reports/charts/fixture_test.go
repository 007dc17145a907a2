package charts

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// row makes a row of 447 calls for session a and 3,000 for b. Its cost, USD, is
// given by token class; the main conversation makes every cost but the output of summary calls,
// whose cost is given apart.
func row(strategy, session string, usage prompt.Usage, cost results.Cost, summaries float64) *results.Row {
	r := &results.Row{Strategy: strategy, Session: session, Figures: results.Figures{measures.Sessions: 1}}
	r.Bill(measures.SourceMain, &usage, &cost)
	calls := 447.0
	if session == "b" {
		calls = 3000
	}
	r.Figures[measures.Calls], r.Figures[measures.CallsBySource+measures.ID(measures.SourceMain)] = calls, calls
	r.CostBy(measures.SourceMain)[measures.ClassOutput] -= summaries
	r.CostBy(measures.SourceCompact)[measures.ClassOutput] = summaries
	return r
}

// bill is a run of two sessions, a and b, under five cells. By hand:
//
//	                       a        b     total   against recorded
//	billed              100.00   900.00  1,000.00  (recorded is 1 % above)
//	recorded            110.00   900.00  1,010.00
//	auto-compact/167k   105.00   900.00  1,005.00   −5/1010    = −0.495 %
//	none                110.00 1,152.50  1,262.50  +252.5/1010 = +25 %
//	drop|oldest          55.00   450.00    505.00  −505/1010   = −50 %
//
// Session a reads 900k of 1,000k input tokens and b 8,100k of 9,000k, so that
// every cell but the last hits 9,000/10,000 = 90 %; drop|oldest reads 4/9 of
// that and hits 4,000/5,000 = 80 %.
func bill() *results.Run {
	run := &results.Run{
		Provenance: results.Provenance{Version: "v0.1.0", Seed: 7, SessionsDigest: "xxh3:00ff", Prices: "2026-04-01",
			Switches: map[string]string{"ttl-from": "response", "lenient": "true"}},
		Workload: results.Workload{Sessions: 2, Calls: 3447,
			Models: []string{"claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1"},
			First:  "2025-06-02", Last: "2026-03-25", PricesAt: "call date",
			Quality: []results.Share{{Of: "tokens", What: "unseen", Value: 0.084}, {Of: "outputs", What: "derived", Value: 0.61}},
			Remarks: []string{"every strategy keeps the model, window and prefix of the recording"}},
		Notes: []results.Note{{Cell: "drop|oldest", Metric: "peak_context_tokens", Text: "as the client | counts"}},
	}
	a := prompt.Usage{Uncached: 20e3, Read: 900e3, Write5m: 50e3, Write1h: 30e3, Output: 10e3}
	b := prompt.Usage{Uncached: 180e3, Read: 8100e3, Write5m: 450e3, Write1h: 270e3, Output: 90e3}
	bCost := results.Cost{90, 360, 180, 90, 0, 180} // 900
	cell := func(name, strategy string, rows ...*results.Row) *results.Cell {
		run.Cells = append(run.Cells, results.Cell{Cell: name, Strategy: strategy, Rows: results.Rows{}.With(rows...)})
		return &run.Cells[len(run.Cells)-1]
	}
	c := cell("billed", "billed",
		row("billed", "b", b, bCost, 0),
		row("billed", "a", a, results.Cost{10, 40, 20, 10, 0, 20}, 0)) // 100
	c.Unmeasured = append(results.Groups(), "misses", "call_hit_ratio", "added_latency_seconds")
	c.Rows.Edit(0, func(r *results.Row) { r.Figures[measures.PeakContext] = 167_400 })
	c.Rows.Edit(1, func(r *results.Row) { r.Figures[measures.PeakContext] = 90_000 })

	c = cell("recorded", "recorded",
		row("recorded", "a", a, results.Cost{10, 45, 20, 10, 0, 25}, 5), // 110
		row("recorded", "b", b, bCost, 0))
	compacting(c, 2, 1, 45)

	c = cell("auto-compact/167k", "auto-compact",
		row("auto-compact", "a", a, results.Cost{10, 45, 20, 10, 0, 20}, 5), // 105
		row("auto-compact", "b", b, bCost, 0))
	c.Params = map[string]string{"threshold": "167000"}
	compacting(c, 1, 0, 3725) // 1 h 2 m 5 s
	acting(c)

	c = cell("none", "none",
		row("none", "a", a, results.Cost{10, 45, 20, 10, 0, 25}, 0),      // 110
		row("none", "b", b, results.Cost{90, 612.5, 180, 90, 0, 180}, 0)) // 1,152.50
	c.Rows.Edit(1, func(r *results.Row) {
		r.Figures[measures.Overflows], r.Figures[measures.OverWindow], r.Figures[measures.PeakContext] = 3, 1, 1_234_000
	})

	dropping := func(u prompt.Usage) prompt.Usage {
		return prompt.Usage{Uncached: u.Uncached, Read: u.Read * 4 / 9, Write5m: u.Write5m, Write1h: u.Write1h, Output: u.Output}
	}
	c = cell("drop|oldest", "truncate-oldest",
		row("truncate-oldest", "a", dropping(a), results.Cost{5, 20, 10, 5, 0, 15}, 0),    // 55
		row("truncate-oldest", "b", dropping(b), results.Cost{45, 180, 90, 45, 0, 90}, 0)) // 450
	c.Params = map[string]string{"keep": "half"}
	c.Rows.Edit(0, func(r *results.Row) { r.Figures[measures.UnpricedCalls] = 3 })
	c.Rows.Edit(1, func(r *results.Row) { r.Figures[measures.PeakContext] = 9_940 })
	run.Sum()
	return run
}

// compacting gives the first session of c compactions, the second a miss, and
// both half of the waiting, s.
func compacting(c *results.Cell, compactions, recompactions int, wait float64) {
	a, b := c.Rows.At(0), c.Rows.At(1)
	a.Figures[measures.Compactions], a.Figures[measures.Recompactions], a.Figures[measures.ChainMax] = float64(compactions),
		float64(recompactions), float64(compactions)
	a.Waited(measures.WaitCompaction, wait/2)
	b.Waited(measures.WaitCompaction, wait/2)
	b.Figures[measures.Misses], b.Figures[measures.MissesByClass+measures.ID(exchange.MissExpiry)] = 12, 12
	a.Figures[measures.Misses], a.Figures[measures.MissesByClass+measures.ID(exchange.MissCompaction)] = float64(compactions), float64(compactions)
	a.Figures[measures.HitCalls], a.Figures[measures.LaterCalls] = float64(440-compactions), 440
	b.Figures[measures.HitCalls], b.Figures[measures.LaterCalls] = 2988, 3000
	a.Figures[measures.PeakContext], b.Figures[measures.PeakContext] = 90_000, 166_600
	c.Rows = results.Rows{}.With(a, b)
}

// acting gives both sessions of c half of what happened beside: 3,725 s of
// waiting of which 3,600 for compactions, 130 for other calls and −5 for first
// tokens, 40 of 300 calls at the warning level for 2 h, on average 60 % left,
// least 12 %, and what layers did.
func acting(c *results.Cell) {
	rows := c.Rows.List()
	for i, r := range rows {
		copy(r.Figures[measures.Waits:], []float64{1800, -2.5, 65})
		r.Figures[measures.SecondsAt+measures.ID(measures.LevelWarning)] = 3600
		copy(r.Figures[measures.LeftCalls:], []float64{150, 9000, float64(80 + 8*i)})
		r.Figures[measures.WarningCalls] = 20
		r.Figures[measures.ClearedResults], r.Figures[measures.ClearedTokens] = 30, 60_000
		r.Firings = map[string]int{"full-compact": 1, "microcompact": 5}
		r.Reasons = map[string]int{"full-compact: API error": 2}
	}
	rows[0].Reasons["session-memory: no | file"] = 1234
	c.Rows = results.Rows{}.With(rows...)
}
