package document

import (
	"math"
	"strings"
	"testing"
)

// drawable is a chart of one box.
func drawable() *Chart {
	s := Series{Mark: MarkBox}
	s.Box(0, 0, 1, 1, "one")
	return &Chart{Panels: []Panel{{Title: "p", X: Axis{High: 1}, Y: Axis{High: 1}, Series: []Series{s}}}}
}

// What a chart cannot show is an error that names its panel.
func TestChartCheck(t *testing.T) {
	if err := drawable().Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Chart){
		"without panels":            func(c *Chart) { c.Panels = nil },
		"an axis from 1 to 1":       func(c *Chart) { c.Panels[0].X.Low = 1 },
		"an axis from 0 to NaN":     func(c *Chart) { c.Panels[0].Y.High = math.NaN() },
		`panel "p": an axis from 0`: func(c *Chart) { c.Panels[0].X.Log = true },
		"lengths differ":            func(c *Chart) { c.Panels[0].Series[0].X = nil },
		"levels\": lengths differ": func(c *Chart) {
			c.Panels[0].Series[0] = Series{Name: "levels", X: []float64{1}, Y: []float64{1}, Texts: []string{"a", "b"}}
		},
		"point 0 is not finite": func(c *Chart) { c.Panels[0].Series[0].Y2[0] = math.Inf(1) },
	} {
		c := drawable()
		change(c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
	c := drawable()
	c.Panels[0].Series = []Series{{X: []float64{0, 1}, Y: []float64{0, math.NaN()}}}
	if err := c.Check(); err != nil {
		t.Errorf("a line with a gap: %v", err)
	}
}

// Names are placed from the upper end of an axis down.
func TestPlace(t *testing.T) {
	var a Axis
	first, last := a.Place(0, 3, "a"), a.Place(2, 3, "c")
	if first != 2 || last != 0 || a.Low != -0.5 || a.High != 2.5 || len(a.Ticks) != 2 {
		t.Errorf("at %v and %v of %v…%v", first, last, a.Low, a.High)
	}
}

// On a logarithmic axis 10 lies in the middle between 1 and 100.
func TestAt(t *testing.T) {
	x := Axis{Low: 1, High: 100, Log: true}
	if at := x.At(10); math.Abs(at-0.5) > 1e-12 {
		t.Errorf("10 lies at %v", at)
	}
}

// The markers of a line leave its gaps out.
func TestDotted(t *testing.T) {
	line := Series{Name: "l", X: []float64{0, 1, 2}, Y: []float64{0, math.NaN(), 2}}
	both := line.Dotted()
	if len(both) != 2 || both[1].Mark != MarkDot || both[1].Name != "l" || len(both[1].X) != 2 {
		t.Errorf("%+v", both)
	}
}
