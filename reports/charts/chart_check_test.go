package charts

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/reports/check"
)

// The parts of a changed bill follow one another and end at the whole change, and the data have the interval of the rest.
func TestChangeChart(t *testing.T) {
	low, high := -0.02, 0.05
	r := &check.Report{Sessions: 12, Change: &check.Change{Per: "task", Was: 1, Now: 1.4, Work: 0.5, Facts: -0.3, Cache: 0.2,
		Causes: map[string]float64{"lost": 0.19, "expiry": -0.01, "tail": 0}, Rest: 0.02, RestLow: &low, RestHigh: &high}}
	c := changeChart(r)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	p := &c.Panels[0]
	want := []string{"work", "facts of the client", "cache: lost", "cache: expiry", "cache: no cause", "all"}
	ends := make([]float64, len(want))
	for i, tick := range p.Y.Ticks {
		if tick.Label != want[i] {
			t.Errorf("part %d is %q, want %q", i, tick.Label, want[i])
		}
	}
	for _, s := range p.Series {
		for i := range s.X2 {
			ends[len(want)-1-int(math.Round((s.Y[i]+s.Y2[i])/2))] = s.X2[i]
		}
	}
	for i, want := range []float64{0.5, 0.2, 0.39, 0.38, 0.4, 0.4} {
		if math.Abs(ends[i]-want) > 1e-9 {
			t.Errorf("part %d ends at %v, want %v", i, ends[i], want)
		}
	}
	var data bytes.Buffer
	if err := c.Data().Write(&data, "csv"); err != nil || !strings.Contains(data.String(), "cache: no cause,,,,0.02,-0.02,0.05,") {
		t.Errorf("data %s, %v", data.String(), err)
	}
	if list := CheckDrawings(&check.Report{}); len(list) > 0 {
		t.Errorf("without a baseline there are %d charts", len(list))
	}
}

// The runs of a window are points from left to right, the last at 0, and what no run has is not in the legend.
func TestHistoryChart(t *testing.T) {
	r := &check.Report{Sessions: 5, History: []check.RunFigures{{Run: 2, Sessions: 4, Predicted: 0.9, Price: 1, PerCall: 0.1, Work: 0.08},
		{Run: 1, Sessions: 3, Price: 2, PerCall: 0.2, Work: 0.1}, {Sessions: 5, Predicted: 2.5, Price: 2, PerCall: 0.3, Work: 0.1}}}
	list := CheckDrawings(r)
	if len(list) != 1 || list[0].Kind != "history" {
		t.Fatalf("%d charts", len(list))
	}
	c := historyChart(r)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if err := c.Data().Write(&data, "csv"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"billed to predicted,,-2,,,,0.9,,,4\n", "conversations,,0,,,,2,,,5\n", "A call (USD),work,,-1,,,,0.1,,,3\n"} {
		if !strings.Contains(data.String(), want) {
			t.Errorf("no %q in %s", want, data.String())
		}
	}
	if strings.Contains(data.String(), "sub-agents") {
		t.Errorf("sub-agents in %s", data.String())
	}
	if tick := c.Panels[0].Y.Ticks[0].Label; tick != "1.0" {
		t.Errorf("the first tick is %s", tick)
	}
}
