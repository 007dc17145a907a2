package charts

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/sim/results"
)

// historyHeight is the height of a panel of the runs of a window, points.
const historyHeight = 90

// historyChart draws what a gate holds over the runs of its window: the bill over its prediction, the prices of tokens,
// and a call's bill beside the work in it.
func historyChart(r *check.Report) *document.Chart {
	over, _ := results.LookupMetric(results.NameOverPredicted)
	c := &document.Chart{Title: "The runs of the window", Width: barsWidth, Source: "source: sim check of recorded usage",
		Facts: []string{document.Count(len(r.History), "run") + ", the last of " + document.Count(r.Sessions, "session")},
		Notes: []string{"work: what a call is predicted to cost at the prices of the last run"}}
	line := func(name string, color document.Color, of func(*check.RunFigures) float64) document.Series {
		s := document.Series{Name: name, Style: document.Style{Color: color, Width: 1.5, Size: 3}}
		for i := range r.History {
			h := &r.History[i]
			v := of(h)
			if v == 0 { // the run has no such figure
				v = math.NaN()
			}
			s.Point(float64(-h.Run), v, "")
			s.Sessions = append(s.Sessions, h.Sessions)
		}
		return s
	}
	last := float64(r.History[0].Run)
	add := func(title, unit string, lines ...document.Series) {
		p := document.Panel{Title: title, Height: historyHeight}
		low, high := math.Inf(1), math.Inf(-1)
		for i := range lines {
			for _, v := range lines[i].Y {
				if !math.IsNaN(v) {
					low, high = min(low, v), max(high, v)
				}
			}
		}
		if low > high {
			return
		}
		room := max(0.1*(high-low), 0.02*high)
		p.Y = unitAxis(unit, max(0, low-room), high+room, 4)
		p.Y.Grid = true
		p.X = document.Axis{Low: -last - 0.3, High: 0.3}
		for at := -last; at <= 0; at++ {
			p.X.Ticks = append(p.X.Ticks, document.Tick{Value: at, Label: document.Whole(int(-at))})
		}
		for i := range lines {
			if !slices.ContainsFunc(lines[i].Y, func(v float64) bool { return !math.IsNaN(v) }) {
				continue
			}
			p.Series = append(p.Series, lines[i].Dotted()...)
		}
		c.Panels = append(c.Panels, p)
	}
	add("Bill over its prediction", over.Unit, line("billed to predicted", document.Navy, func(h *check.RunFigures) float64 { return h.Predicted }))
	add("Price of a million tokens (USD)", results.UnitUSD,
		line("conversations", document.Blue, func(h *check.RunFigures) float64 { return h.Price }),
		line("sub-agents", document.Green, func(h *check.RunFigures) float64 { return h.Agents }))
	add("A call (USD)", results.UnitUSD,
		line("billed", document.Orange, func(h *check.RunFigures) float64 { return h.PerCall }),
		line("work", document.Grey, func(h *check.RunFigures) float64 { return h.Work }))
	if n := len(c.Panels); n > 0 {
		c.Panels[n-1].X.Title = "runs ago"
	}
	return c
}
