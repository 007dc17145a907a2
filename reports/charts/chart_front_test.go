package charts

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// keeping is a cell that costs so much and keeps shares of what is needed later: word for word, and in summaries as
// expected and at most.
func keeping(name string, usd, verbatim, expected, most float64) results.Cell {
	r := &results.Row{Strategy: name, Session: "s", Figures: results.Figures{measures.Sessions: 1,
		measures.CostByClass + measures.ID(measures.ClassRead): usd}}
	*r.CostBy(measures.SourceMain) = *r.CostByClass()
	*(*recall.Needs)(r.Figures[measures.Needs:]).Kind(recall.NeedName) = recall.NeedTally{recall.Count: 10,
		recall.Weight: 10000, recall.Verbatim: math.Trunc(10000 * verbatim),
		recall.Summarized: math.Trunc(10000 * expected), recall.Most: math.Trunc(10000 * most)}
	return results.Cell{Cell: name, Strategy: name, Rows: results.Rows{}.With(r)}
}

func forgetting(t *testing.T, cells ...results.Cell) *results.Run {
	t.Helper()
	run := &results.Run{Cells: cells}
	run.Sum()
	return run
}

// A cell stands at its cost and at what it forgets, 10 % a unit from 1 %.
func TestFrontPanel(t *testing.T) {
	run := forgetting(t, keeping("recorded", 9, 1, 0, 0), keeping("a", 4, 0.8, 0.1, 0.19), keeping("b", 7, 0.99, 0, 0))
	run.Front = &results.Front{Needs: 10, Points: []results.FrontPoint{
		{Price: 0, Below: 2, CostUSD: 3, Recall: 0.8}, {Price: 1, Below: 5, CostUSD: 6, Recall: 0.9}}}
	c, err := frontDrawing(run).chart()
	if err != nil {
		t.Fatal(err)
	}
	p := c.Panels[0]
	at := map[string][2]float64{}
	for _, s := range p.Series {
		for i := range s.X {
			if s.Mark == document.MarkDot && len(s.Texts) > 0 && s.Texts[i] != "" {
				at[s.Texts[i]] = [2]float64{s.X[i], s.Y[i]}
			}
		}
	}
	for name, want := range map[string][2]float64{"a": {1, 4}, "b": {2, 7}, "recorded": {3, 9}} {
		if got := at[name]; math.Abs(got[0]-want[0]) > 1e-9 || got[1] != want[1] {
			t.Errorf("%s stands at %v, want %v", name, got, want)
		}
	}
	// Of a loss of 1 in 10 needs, one that costs $1 takes $1 off the bound of $5; one that costs nothing says $2.
	if got := run.Front.Least(0.9); got != 4 {
		t.Errorf("the front at 90 %% lies at $%v, want $4", got)
	}
	if frontDrawing(forgetting(t, keeping("recorded", 9, 1, 0, 0), keeping("a", 4, 0.8, 0.1, 0.19))) != nil {
		t.Error("one strategy has a picture")
	}
}
