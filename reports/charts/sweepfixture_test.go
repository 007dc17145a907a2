package charts

import (
	"fmt"
	"math"
	"strconv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// total is the total of a cell over 45 sessions with a cost, USD, a hit ratio
// and a number of compactions.
func total(strategy string, cost, hits float64, compactions int) results.Row {
	return results.Row{Strategy: strategy, Figures: results.Figures{measures.Sessions: 45, measures.Calls: 22080,
		measures.Compactions: float64(compactions), measures.Tokens + measures.ID(measures.ClassRead): float64(int64(hits * 1e9)),
		measures.Tokens + measures.ID(measures.ClassWrite5m):   float64(1e9 - int64(hits*1e9)),
		measures.CostByClass + measures.ID(measures.ClassRead): cost}}
}

// sweepRun has the frame of a sweep: billed $1,000, recorded $1,010, and no swept
// cells. Each of 45 sessions costs the same, and the model is off by 3.77 % of that cost:
// differences of up to 1.96·3.77 %/√45 = 1.1 % may be chance.
func sweepRun() *results.Run {
	run := &results.Run{
		Provenance: results.Provenance{Version: "v0.1.0", Seed: 7, Prices: "2026-04-01",
			Axes: map[string]string{"threshold": "threshold (tokens)"}},
		Workload: results.Workload{Sessions: 45, Calls: 22080, Models: []string{"claude-opus-4-6", "claude-sonnet-4-5"},
			First: "2025-06-02", Last: "2026-03-25", PricesAt: "call date"},
		ModelError: results.ModelError{BilledUSD: 1000, RecordedUSD: 1010, Spread: 0.0377},
	}
	addCell(run, "billed", "billed", nil, total("billed", 1000, 0.96, 0))
	run.Cells[0].Unmeasured = []string{"compactions"}
	addCell(run, "recorded", "recorded", nil, total("recorded", 1010, 0.961, 30))
	return run
}

func addCell(run *results.Run, name, strategy string, params map[string]string, t results.Row) {
	c := results.Cell{Cell: name, Strategy: strategy, Params: params, Sessions: t.N(measures.Sessions), Total: t}
	for i := range t.N(measures.Sessions) {
		c.Rows.Keep(&results.Row{Strategy: strategy, Session: fmt.Sprintf("%02d", i),
			Figures: results.Figures{measures.Sessions: 1,
				measures.CostByClass + measures.ID(measures.ClassRead): t.CostUSD() / float64(t.N(measures.Sessions))}})
	}
	run.Cells = append(run.Cells, c)
}

// thresholds are the values of sweeps in these tests, tokens.
var thresholds = []int{40000, 60000, 80000, 100000, 120000, 140000, 155000, 167000, 187000}

// lineSweep sweeps a threshold under two strategies beside one without it. The
// cost of auto-compact is 900 + (threshold − 100,000)²/25,000,000 USD: $900 at
// 100k, the lowest, and $1,202.76 at 187k. Compacting with two keeps costs $30
// more.
func lineSweep() *results.Run {
	run := sweepRun()
	for _, extra := range []int{0, 30} {
		strategy := "auto-compact"
		if extra > 0 {
			strategy = "truncate-half"
		}
		for _, th := range thresholds {
			d := float64(th - 100000)
			addCell(run, fmt.Sprintf("%s/%d", strategy, th), strategy,
				map[string]string{"threshold": strconv.Itoa(th), "keep": "20000"},
				total(strategy, 900+float64(extra)+d*d/25e6, 0.90+float64(th)/2.5e6, 5e6/th))
		}
	}
	addCell(run, "truncate-oldest", "truncate-oldest", nil, total("truncate-oldest", 1100, 0.7, 0))
	addCell(run, "none", "none", nil, total("none", 5000, 0.99, 0))
	return run
}

// mapSweep sweeps a threshold and a share to keep under one strategy. The cost
// is 950 + (threshold − 120,000)²/50,000,000 + |keep − 20 %|·500 USD: $950 at
// 120k and 20 %, the lowest.
func mapSweep() *results.Run {
	run := sweepRun()
	for _, keep := range []int{5, 10, 20, 30, 50} {
		for _, th := range thresholds {
			d := float64(th - 120000)
			addCell(run, fmt.Sprintf("auto-compact/%d/%d", th, keep), "auto-compact",
				map[string]string{"threshold": strconv.Itoa(th), "keep": document.Plain(float64(keep) / 100), "summary": "stub"},
				total("auto-compact", 950+d*d/50e6+math.Abs(float64(keep)-20)*5, 0.9+float64(th)/2.5e6, 5e6/th))
		}
	}
	return run
}

// conversation is the calls of one session of a main thread under a strategy
// that compacts above a threshold, tokens: every call adds 1,500 tokens, every
// 40th comes after the cache expired, and a compaction leaves 20,000. Calls are
// two minutes apart, with twelve hours of a night after every 150th. One
// sub-agent of ten calls starts at call 50.
func conversation(session string, n int, threshold int64) []results.CallRecord {
	var calls []results.CallRecord
	add := func(c results.CallRecord) {
		c.Session, c.Model, c.End = session, "claude-opus-4-6", c.Start+20e9
		u := c.Usage
		c.Cost = results.Cost{measures.ClassRead: float64(u.Read) * 0.5e-6, measures.ClassWrite5m: float64(u.Write5m) * 6.25e-6,
			measures.ClassOutput: float64(u.Output) * 25e-6}
		calls = append(calls, c)
	}
	context, start := int64(18500), int64(0)
	compacted := false
	for i := range n {
		before := context
		context += 1500
		if threshold > 0 && context > threshold {
			add(results.CallRecord{Round: -1, Source: measures.SourceCompact, Start: start - 60e9,
				Usage: prompt.Usage{Read: before, Write5m: 1000, Output: 2500}})
			before, context, compacted = 20000, 21500, true
		}
		c := results.CallRecord{Round: int32(i), Source: measures.SourceMain, Start: start, Context: context, First: i == 0,
			Expected: before, Usage: prompt.Usage{Read: before, Write5m: context - before, Output: 400}}
		switch {
		case i == 0:
			c.Expected, c.Usage.Read, c.Usage.Write5m = 0, 0, context
		case compacted:
			c.Miss, c.Usage.Read, c.Usage.Write5m = exchange.MissCompaction, 10000, context-10000
		case i%40 == 0:
			c.Miss, c.Usage.Read, c.Usage.Write5m = exchange.MissExpiry, 0, context
		}
		compacted = false
		add(c)
		if i == 50 {
			for j := range int64(10) {
				add(results.CallRecord{Thread: 1, Round: int32(j), Source: measures.SourceAgent, Start: start + 1e9 + j*5e9, Context: 9000 + 2000*j,
					First: j == 0, Expected: 7000 + 2000*j, Usage: prompt.Usage{Read: 7000 + 2000*j, Write5m: 2000}})
			}
		}
		start += 120e9
		if i%150 == 149 {
			start += 12 * 3600e9
		}
	}
	return calls
}

// twoCells is a conversation as recorded and under a lower threshold.
func twoCells(n int) []results.CellCalls {
	return []results.CellCalls{
		{Cell: "recorded", Calls: conversation("5f2c", n, 167000)},
		{Cell: "auto-compact/100000", Calls: conversation("5f2c", n, 100000)},
	}
}
