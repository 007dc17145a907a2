package compare

import (
	"fmt"
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// session makes a row: cost in USD, read and uncached input tokens, the largest
// request.
func session(strategy, name string, usd float64, read, uncached, peak int64) *results.Row {
	r := &results.Row{Strategy: strategy, Session: name, Figures: results.Figures{measures.Sessions: 1, measures.PeakContext: float64(peak)}}
	r.Bill(measures.SourceMain, &prompt.Usage{Read: read, Uncached: uncached}, &results.Cost{measures.ClassRead: usd})
	r.Figures[measures.Calls], r.Figures[measures.CallsBySource+measures.ID(measures.SourceMain)] = 10, 10
	return r
}

// run makes a run of cells.
func run(cells ...results.Cell) *results.Run {
	r := &results.Run{
		Provenance: results.Provenance{Version: "v1", Seed: 1, SessionsDigest: "d", Prices: "2026-01-01"},
		Workload:   results.Workload{Sessions: cells[0].Rows.Len()},
		Cells:      cells,
	}
	r.Sum()
	return r
}

func cell(name string, rows ...*results.Row) results.Cell {
	c := results.Cell{Cell: name, Strategy: name, Rows: results.Rows{}.With(rows...)}
	for i := range c.Rows.Len() {
		c.Rows.Edit(i, func(r *results.Row) { r.Strategy = name })
	}
	return c
}

// before and after are eight sessions. By hand:
//
//	          a     b     c     d     e     f     g     h    sum
//	before   10    20    30    40    50    60    70    80    360 USD
//	after     9    18    27    36    45    54    70    81    340 USD
//	after −  −1    −2    −3    −4    −5    −6     0    +1    −20
//
// Of 100k input tokens each, before reads 90k in every session: 90 %. after
// reads 80k in a and b: 700/800 = 87.5 %, −2.5 pp. Requests reach 150k before,
// in h, and 149k after.
func before() *results.Run { return run(cell("x", eight(nil, 0, 150_000)...)) }
func after() *results.Run {
	return run(cell("x", eight([]float64{-1, -2, -3, -4, -5, -6, 0, 1}, 2, 149_000)...))
}

func eight(change []float64, cold int, peak int64) []*results.Row {
	var rows []*results.Row
	for i := range 8 {
		usd := float64(10 * (i + 1))
		if change != nil {
			usd += change[i]
		}
		read := int64(90_000)
		if i < cold {
			read = 80_000
		}
		rows = append(rows, session("x", string(rune('a'+i)), usd, read, 100_000-read, peak-int64(7-i)*1000))
	}
	return rows
}

// many makes rows of n sessions that differ from the rows under another shift by a bounded share,
// as sessions do: most are small, few compact.
func many(n int, shift float64) []*results.Row {
	rows := make([]*results.Row, n)
	for i := range rows {
		u := math.Mod(float64(i)*0.618033988749895, 1)
		v := math.Mod(float64(i)*0.754877666246693+shift, 1)
		usd := math.Exp(3*u) * (1 + shift*v/5)
		tokens := int64(1e5 * math.Exp(3*u))
		r := session("x", fmt.Sprintf("s%06d", i), usd, tokens*9/10+int64(shift*v*1e3), tokens/10, 20_000+tokens/100)
		fill(r, u, v, shift)
		rows[i] = r
	}
	return rows
}

// fill gives a row figures for every other metric; figures of compactions only in
// one session of five.
func fill(r *results.Row, u, v, shift float64) {
	for c := range r.CostByClass() {
		r.CostByClass()[c] = u * float64(c+1) * (1 + shift*v)
		r.CostBy(measures.SourceMain)[c] = r.CostByClass()[c]
	}
	tokens := r.Figures[measures.Tokens:]
	tokens[measures.ClassWrite5m], tokens[measures.ClassWrite1h] = math.Trunc(1e5*v), math.Trunc(1e5*u*(1+shift))
	tokens[measures.ClassOutput] = math.Trunc(1e4 * (u + shift*v))
	r.Figures[measures.HitCalls], r.Figures[measures.LaterCalls] = float64(int(100*u)), float64(int(100*u)+1+int(3*v))
	r.Figures[measures.Misses] = float64(r.N(measures.LaterCalls) - r.N(measures.HitCalls))
	r.Figures[measures.AddedLatency] = 10*v + shift
	copy(r.Figures[measures.LeftCalls:], []float64{10, math.Trunc(500 * v), math.Trunc(99 * v)})
	if u > 0.8 {
		r.Figures[measures.Compactions], r.Figures[measures.Recompactions], r.Figures[measures.ChainMax] = float64(1+int(4*v)),
			float64(int(4*v)), float64(1+int(4*v))
		for i := range measures.CallsBySource - measures.StoredResults {
			r.Figures[measures.StoredResults+i] = math.Trunc(float64(10+i) * v)
		}
		for s := range measures.Source(measures.NumSources) {
			r.CostBy(s)[measures.ClassOutput] += v
		}
		for m := range exchange.NumMissClasses {
			r.Figures[measures.MissesByClass+measures.ID(m)] = float64(int(5 * v))
		}
	}
}
