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
