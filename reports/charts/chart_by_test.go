package charts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/audit"
)

// Two days, by hand: 1 and 2 dollars of one model, 4 of another on the second day. The dearer model is drawn first, each part
// stands behind the one before it, and the sum behind the bar.
func TestBreakdownBars(t *testing.T) {
	group := func(usd float64, names ...string) audit.Group {
		return audit.Group{Names: names, Sum: audit.Sum{Calls: 1, USD: usd}}
	}
	b := &audit.Breakdown{By: []string{"day", "model"}, Sessions: 1, Groups: []audit.Group{
		group(1, "2026-11-01", "a"), group(4, "2026-11-02", "b"), group(2, "2026-11-02", "a"),
	}, Total: group(7)}
	c, err := BreakdownDrawings(b)[0].chart()
	if err != nil {
		t.Fatal(err)
	}
	s := c.Panels[0].Series
	if len(s) != 3 || s[0].Name != "b" || s[1].Name != "a" || len(s[1].X) != 2 {
		t.Fatalf("series %+v, want the boxes of b and a, and texts", s)
	}
	if s[1].X[0] != 0 || s[1].X2[0] != 1 || s[1].X[1] != 4 || s[1].X2[1] != 6 || strings.Join(s[2].Texts, " ") != "$1.00 $6.00" || len(c.Notes) > 0 {
		t.Errorf("a stands from %v to %v, texts %v, notes %v", s[1].X, s[1].X2, s[2].Texts, c.Notes)
	}
}

// People read causes in words, as bars and in the legend.
func TestBreakdownNamesCauses(t *testing.T) {
	for _, by := range [][]string{{"cause", "cause"}, {"cause"}} {
		b := &audit.Breakdown{By: by, Groups: []audit.Group{{Names: []string{"pause_over_5m", "pause_over_5m"}, Sum: audit.Sum{USD: 1}}}}
		c, err := BreakdownDrawings(b)[0].chart()
		if err != nil {
			t.Fatal(err)
		}
		const want = "a pause over 5 minutes"
		if p := &c.Panels[0]; p.Y.Ticks[0].Label != want || len(by) > 1 && p.Series[0].Name != want {
			t.Errorf("by %v: bar %q, part %q; want %q", by, p.Y.Ticks[0].Label, p.Series[0].Name, want)
		}
	}
}

// Things share a bar's length with nothing else: what they do not account for is told below, and so is what a picture has no room for.
func TestBreakdownHasRoom(t *testing.T) {
	b := &audit.Breakdown{By: []string{"tool"}, Weighs: true}
	for i := range maxBars + 5 {
		b.Groups = append(b.Groups, audit.Group{Names: []string{fmt.Sprintf("tool-%02d", i)}, Sum: audit.Sum{USD: 1}})
	}
	b.Groups = append(b.Groups, audit.Group{Names: []string{audit.Rest}, Sum: audit.Sum{USD: 100}})
	b.Total.USD = float64(maxBars + 105)
	c, err := BreakdownDrawings(b)[0].chart()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Panels[0].Y.Ticks); n != maxBars || len(c.Notes) != 1 || c.Notes[0] != "$105.00 of $145.00 are not drawn" {
		t.Errorf("%d bars, notes %q", n, c.Notes)
	}
	if _, err := BreakdownDrawings(&audit.Breakdown{By: []string{"tool"}})[0].chart(); err == nil {
		t.Error("a bill of nothing has a chart")
	}
}
