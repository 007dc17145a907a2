package charts

import (
	"bytes"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// drawn returns the SVG of a chart, which must be the same each time, and
// holds it against a golden file. The PNG must decode.
func drawn(t *testing.T, file string, draw func(w io.Writer, format string) error) []byte {
	t.Helper()
	var a, b, p bytes.Buffer
	if err := draw(&a, "svg"); err != nil {
		t.Fatal(err)
	}
	if err := draw(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two drawings of one run differ")
	}
	if err := draw(&p, "png"); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&p); err != nil {
		t.Error(err)
	}
	golden(t, file, a.Bytes())
	return a.Bytes()
}

// wantNotes fails for notes that a chart lacks. A picture shows two lines.
func wantNotes(t *testing.T, d Drawing, want ...string) {
	t.Helper()
	c, err := d.chart()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if !slices.Contains(append(c.Notes, c.Source), w) {
			t.Errorf("no note %q in %q and %q", w, c.Notes, c.Source)
		}
	}
}

// wantTexts fails for texts that an SVG lacks.
func wantTexts(t *testing.T, svg []byte, want ...string) {
	t.Helper()
	all := textsOf(t, svg)
	for _, w := range want {
		if !slices.Contains(all, w) {
			t.Errorf("no text %q in\n%s", w, strings.Join(all, "\n"))
		}
	}
}

// wantText fails when a text appears nowhere in an SVG, not even in parts.
func wantText(t *testing.T, svg []byte, want string) {
	t.Helper()
	if all := strings.Join(textsOf(t, svg), " "); !strings.Contains(all, want) {
		t.Errorf("no text %q in\n%s", want, all)
	}
}

// absentTexts fails when an SVG contains a text.
func absentTexts(t *testing.T, svg []byte, absent ...string) {
	t.Helper()
	all := strings.Join(textsOf(t, svg), "\n")
	for _, a := range absent {
		if strings.Contains(all, a) {
			t.Errorf("text %q in\n%s", a, all)
		}
	}
}

// TestSweepLines: two lines over nine thresholds; the figures are from
// lineSweep. "none" costs $5,000 and would squeeze the rest into a tenth of the
// chart.
func TestSweepLines(t *testing.T) {
	svg := drawn(t, "sweep.svg", func(w io.Writer, format string) error {
		return sweepDrawings(lineSweep(), "cost_usd")[0].Draw(w, format)
	})
	wantTexts(t, svg, "Cost by threshold", "Cost (USD), axis does not begin at 0", "threshold (tokens)",
		"45 sessions · 22,080 calls · claude-opus-4-6, claude-sonnet-4-5 · 2025-06-02 … 2026-03-25 · prices at call date",
		"18 cells", "auto-compact", "truncate-half",
		"40k", "155k", "167k", "187k", "best: $900.00 at 100k",
		"recorded", "billed", "truncate-oldest")
	wantNotes(t, sweepDrawings(lineSweep(), "cost_usd")[0], "not drawn, none: $5,000.00",
		"model error on these sessions: +1.0 % net · source: 45 sessions replayed by sim v0.1.0, seed 7, price table of 2026-04-01")
	// A box is a path of its colour: the legend's and nine on the line, and the
	// two lines themselves are stroked.
	if n := bytes.Count(svg, []byte("fill:#E6781E")); n != 10 {
		t.Errorf("%d boxes of the second line, want 9 and one in the legend", n)
	}
}

// TestSweepDirections: the best value is the highest of a ratio, and no number
// of compactions is better than another.
func TestSweepDirections(t *testing.T) {
	for metric, want := range map[string]string{"cache_hit_ratio": "best: 97.5 % at 187k and 1 more", "compactions": ""} {
		var b bytes.Buffer
		if err := sweepDrawings(lineSweep(), metric)[0].Draw(&b, "svg"); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			wantTexts(t, b.Bytes(), want)
		} else {
			absentTexts(t, b.Bytes(), "best")
		}
	}
}

// TestSweepMap: the figures are from mapSweep. Within 1.1 % of the recorded
// $1,010 lie the cells from $998.89 to $1,021.11: $1,008 four times and $1,000
// twice.
func TestSweepMap(t *testing.T) {
	svg := drawn(t, "sweep-map.svg", func(w io.Writer, format string) error {
		return sweepDrawings(mapSweep(), "cost_usd")[0].Draw(w, format)
	})
	wantTexts(t, svg, "Cost by threshold and keep", "threshold (tokens)", "keep", "auto-compact · 45 cells",
		"0.05", "0.5", "40k", "187k", "$950.00", "$1,228.00", "cost $950.00 … $1,228.00", "best: $950.00 at threshold 120k, keep 0.2")
	wantNotes(t, sweepDrawings(mapSweep(), "cost_usd")[0], "for comparison, recorded: $1,010.00", "for comparison, billed: $1,000.00")
	marked, tiles := 0, 0
	for _, text := range textsOf(t, svg) {
		if strings.HasPrefix(text, "($") {
			marked++
		}
		if strings.HasPrefix(strings.TrimPrefix(text, "("), "$") && !strings.Contains(text, "…") {
			tiles++
		}
	}
	if marked != 6 || tiles != 45 {
		t.Errorf("%d values, %d of them marked, in brackets; want 45 and 6", tiles, marked)
	}
	// The outline of the best tile and of its legend.
	if n := bytes.Count(svg, []byte("stroke:#C83C00")); n != 2 {
		t.Errorf("%d outlines, want 2", n)
	}
}

// TestShade: the scale of a map gets darker all the way, by at least a
// hundredth of the luminance of white (Rec. 709 weights) at each of 20 steps.
func TestShade(t *testing.T) {
	last := math.Inf(1)
	for i := range 21 {
		l := luminance(shade(float64(i) / 20))
		if l > last-0.01 {
			t.Errorf("luminance %.3f at step %d after %.3f", l, i, last)
		}
		last = l
	}
}

// TestLooks: lines are told apart without colour, by dashes and by markers.
func TestLooks(t *testing.T) {
	all := looks()
	for i, a := range all {
		for _, b := range all[:i] {
			if slices.Equal(a.Dashes, b.Dashes) || a.Marker == b.Marker {
				t.Errorf("%v and %v share dashes or a marker", a, b)
			}
		}
	}
}

func TestSweepErrors(t *testing.T) {
	for _, test := range []struct {
		name, want string
		run        *results.Run
		metric     string
	}{
		{"unknown metric", `unknown metric "cost"`, lineSweep(), "cost"},
		{"no sample", "no cell has a sample of call_hit_ratio", lineSweep(), "call_hit_ratio"},
	} {
		for _, format := range ChartFormats() {
			err := sweepDrawings(test.run, test.metric)[0].Draw(io.Discard, format)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s as %s: error %v, want one about %q", test.name, format, err, test.want)
			}
		}
	}
	if err := sweepDrawings(lineSweep(), "cost_usd")[0].Draw(io.Discard, "gif"); err == nil {
		t.Error("format gif was accepted")
	}
	if err := sweepDrawings(lineSweep(), "cost_usd")[0].Draw(fullDisk{}, "svg"); err == nil {
		t.Error("the error of the writer was lost")
	}
}

// TestSweepPartial: a cell that an interrupted run did not finish has a total
// that nothing can be compared with, and one whose cost is not finite has no place.
func TestSweepPartial(t *testing.T) {
	run := lineSweep()
	run.Cells[3].Total.CostByClass()[0] = math.Inf(1)
	run.Cells[5].Sessions, run.Cells[5].Total.CostByClass()[measures.ClassRead] = 3, 60 // the lowest by far
	var b bytes.Buffer
	if err := sweepDrawings(run, "cost_usd")[0].Draw(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.Bytes(), "2 cells not drawn: without a sample, of fewer sessions than other cells, or cut short")
	wantTexts(t, b.Bytes(), "best: $916.00 at 80k and 1 more")
}

// A cell with sessions that ended early is no point of a chart of costs: the lowest
// would be the one that did least.
func TestSweepCutShort(t *testing.T) {
	run := lineSweep()
	total := &run.Cells[5].Total
	total.CostByClass()[measures.ClassRead], total.Figures[measures.UnsimulatedCalls] = 60, 40
	var b bytes.Buffer
	if err := sweepDrawings(run, "cost_usd")[0].Draw(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.Bytes(), "1 cell not drawn: without a sample, of fewer sessions than other cells, or cut short")
	wantTexts(t, b.Bytes(), "best: $916.00 at 80k and 1 more")
}

// TestSweepTexts: a text axis keeps all its labels, shortened to their room.
func TestSweepTexts(t *testing.T) {
	run := sweepRun()
	for i, v := range []string{"off", "cold", "sharing", "a long value of a parameter", "b", "c", "d", "e", "f"} {
		addCell(run, v, "auto-compact", map[string]string{"mode": v}, total("auto-compact", 1000+float64(i), 0.9, 1))
	}
	var b bytes.Buffer
	if err := sweepDrawings(run, "cost_usd")[0].Draw(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, b.Bytes(), "off", "cold", "sharing", "b", "f", "best: $1,000.00 at off")
	if !slices.ContainsFunc(textsOf(t, b.Bytes()), func(s string) bool { return strings.HasPrefix(s, "a l") && strings.Contains(s, "…") }) {
		t.Error("the long value has no label")
	}
}
