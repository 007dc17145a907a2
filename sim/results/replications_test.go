package results

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// seeded is a cell under a seed, of one session that costs usd with so many misses.
func seeded(seed string, usd float64, misses int) Cell {
	row := costing("x", "a", usd)
	row.Figures[measures.Misses], row.Figures[measures.PeakContext], row.Firings = float64(misses), float64(misses), map[string]int{"layer": misses}
	row.Figures[measures.LeftCalls], row.Figures[measures.MostUsed] = 1, float64(10*misses)
	row.Breaks = confusion.Counts{{N: 30}} // calls without a break
	return Cell{Cell: "x w=1 seed=" + seed, Strategy: "x", Params: map[string]string{"seed": seed, "w": "1"}, Rows: Rows{}.With(row)}
}

// Three seeds of $10, $12 and $14 are one cell of $12 with Student's interval: the
// standard deviation is 2, the standard error 2/√3, and the point of two degrees of
// freedom 4.303. Misses of 1, 1 and 2 have the mean 4/3, which no count holds. What is
// the same under all seeds has no interval, and other cells stay as they are.
func TestReplicated(t *testing.T) {
	r := references()
	for i, usd := range []float64{10, 12, 14} {
		c := seeded(string(rune('1'+i)), usd, 1+i/2)
		c.sum()
		r.Cells = append(r.Cells, c)
		r.Notes = append(r.Notes, Note{Cell: c.Cell, Text: "said of each"})
	}
	out := r.Replicated()
	if len(out.Cells) != len(r.Cells)-2 || len(r.Cells[3].seeds) != 0 {
		t.Fatalf("%d cells of %d", len(out.Cells), len(r.Cells))
	}
	c := &out.Cells[len(out.Cells)-1]
	if _, seed := c.Params[measures.SeedParam]; c.Cell != "x w=1" || seed || c.Params["w"] != "1" {
		t.Errorf("%q %v", c.Cell, c.Params)
	}
	said := 0
	for _, n := range out.Notes {
		if n.Cell == "x w=1" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("%d notes on the cell, want 1", said)
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-3 {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
	usd, _ := LookupMetric("cost_usd")
	mean, _ := c.Value(usd)
	between, ok := c.Interval(usd)
	near("mean", mean, 12)
	near("low", between.Low, 12-4.30265*2/math.Sqrt(3))
	near("high", between.High, 12+4.30265*2/math.Sqrt(3))
	near("total", c.Total.CostUSD(), 12)
	near("the session", c.costs()[0], 12)
	if all := &c.Total; all.N(measures.PeakContext) != 2 || all.N(measures.MostUsed) != 20 {
		t.Errorf("the largest context is %d and the most used %d %%, want 2 and 20", all.N(measures.PeakContext), all.N(measures.MostUsed))
	}
	near("what the break detector says", float64(c.Total.Breaks[0].N), 30)
	misses, _ := LookupMetric("misses")
	mean, _ = c.Value(misses)
	near("misses", mean, 4./3)
	near("firings", float64(c.Total.Firings["layer"]), 1)
	calls, _ := LookupMetric("calls")
	if _, spread := c.Interval(calls); !ok || spread {
		t.Error("an interval of what no seed changes, or none of the cost")
	}
	d, err := out.Document()
	if err != nil || d.Cells[len(d.Cells)-1].Seeds != 3 || d.Cells[len(d.Cells)-1].Intervals["cost_usd"].Level != 0.95 {
		t.Errorf("%v %+v", err, d)
	}
}

// Seeds that do not cover the same sessions are not averaged.
func TestPartialReplications(t *testing.T) {
	a, b := seeded("1", 10, 1), seeded("2", 12, 1)
	b.Rows.Edit(0, func(r *Row) { r.Session = "other" })
	r := &Run{Cells: []Cell{a, b}}
	r.Sum()
	if got := r.Replicated(); len(got.Cells) != 2 || got.Cells[0].Cell != a.Cell {
		t.Errorf("%+v", got.Cells)
	}
}
