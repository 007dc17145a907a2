package charts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

func TestChartFormat(t *testing.T) {
	for name, want := range map[string]string{"a.svg": "svg", "b/c.d.PNG": "png", "a.pdf": "pdf", "x.tex": "tex", "a.gif": "", "svg": "", "": ""} {
		got, err := ChartFormat(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("ChartFormat(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestChartNothingToDraw: what the drawing library would panic on or draw as
// nothing is an error that says what is wrong.
func TestChartNothingToDraw(t *testing.T) {
	with := func(v float64) *results.Run {
		r := bill()
		r.Cells[2].Total.CostByClass()[measures.ClassRead] = v
		return r
	}
	for _, test := range []struct {
		name, want string
		run        *results.Run
	}{
		{"no cells", "no cells", &results.Run{}},
		{"no cost", "highest cost", &results.Run{Cells: []results.Cell{{Cell: "none", Strategy: "none"}}}},
		{"NaN", `"auto-compact/167k": cost NaN`, with(math.NaN())},
		{"infinite", `"auto-compact/167k": cost +Inf`, with(math.Inf(1))},
		{"negative", `"auto-compact/167k": cost -1`, with(-1)},
		{"overflow", "highest cost", func() *results.Run {
			r := with(math.MaxFloat64)
			r.Cells[2].Total.CostByClass()[measures.ClassOutput] = math.MaxFloat64
			return r
		}()},
	} {
		for _, format := range ChartFormats() {
			err := Chart(test.run).Draw(io.Discard, format)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s as %s: error %v, want one about %q", test.name, format, err, test.want)
			}
		}
	}
	if err := Chart(bill()).Draw(io.Discard, "gif"); err == nil {
		t.Error("format gif was accepted")
	}
}

// svgTexts returns the texts of the chart of costs.
func svgTexts(t *testing.T, run *results.Run) []string {
	t.Helper()
	var b bytes.Buffer
	if err := Chart(run).Draw(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	return textsOf(t, b.Bytes())
}

// textsOf returns the texts of an SVG and fails on one that is not XML.
func textsOf(t *testing.T, svg []byte) []string {
	t.Helper()
	var texts []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.CharData); ok && strings.TrimSpace(string(s)) != "" {
			texts = append(texts, string(s))
		}
	}
}

// TestChartTexts: a chart says what it shows by itself: unit, every cell with
// its amount, a legend of the classes that cost anything, notes, and the trust
// line. The shares of "none" are 100, 657.50, 200, 100 and 205 of 1,262.50.
func TestChartTexts(t *testing.T) {
	all := strings.Join(svgTexts(t, bill()), "\n")
	for _, want := range []string{
		"Cost by strategy and token class", "cost (USD)", "2 sessions · 3,447 calls",
		"billed", "$1,000.00", "$1,005.00  (−0.5 %)", "$1,262.50  (+25.0 %)", "$505.00  (−50.0 %)",
		"\n8 %\n", "\n52 %\n", "\n16 %\n",
		"uncached input\ncache read\ncache write 5m\ncache write 1h\noutput\n",
		"model error on these sessions: +0.5 %",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	wantNotes(t, Chart(bill()), "none: 1 session passes the window", "in brackets: not certain for other sessions · "+
		"model error on these sessions: +0.5 % net (95 % interval −10.9 % … +11.9 %), 0.5 % gross by session · "+
		"source: 2 sessions replayed by sim v0.1.0, seed 7, price table of 2026-04-01")
	for _, absent := range []string{"cache write other", "storage"} {
		if strings.Contains(all, absent) {
			t.Errorf("the legend shows %q, which costs nothing", absent)
		}
	}
}

// TestChartLongNames: a name takes the room it needs, up to a limit, and what
// the font cannot draw is escaped instead of vanishing.
func TestChartLongNames(t *testing.T) {
	run := bill()
	short := sketched(t, run)
	run.Cells[2].Cell, run.Cells[2].Params = "auto-compact/"+strings.Repeat("threshold=167000,", 20)+"文<&>", nil
	long := sketched(t, run)
	if got := long.width - short.width; got < 50 || got > 300 {
		t.Errorf("the chart grew by %v points", got)
	}
	texts := svgTexts(t, run)
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "…") && strings.HasSuffix(s, `\u6587<&>`) }) {
		t.Errorf("no name with its middle cut out and its end kept in\n%s", strings.Join(texts, "\n"))
	}
}

// A cell of a sweep goes by its strategy and what it differs in, any other by its name.
func TestChartNamesOfSweeps(t *testing.T) {
	c := results.Cell{Cell: "s trigger.fixed=180000 server.lifetime_5m=10m other.parameter=same", Strategy: "s",
		Params: map[string]string{"trigger.fixed": "180000", "server.lifetime_5m": "10m", "other.parameter": "same"}}
	if got := shortName(&c, []string{"server.lifetime_5m", "trigger.fixed"}); got != "s 10m 180k" {
		t.Errorf("%q", got)
	}
	if c.Cell = "s"; shortName(&c, nil) != "s" {
		t.Errorf("%q", shortName(&c, nil))
	}
}

func sketched(t *testing.T, run *results.Run) *sketch {
	t.Helper()
	c, err := costChart(run)
	if err != nil {
		t.Fatal(err)
	}
	return newSketch(c, screen)
}

// TestChartPNG: at 144 dots an inch a PNG has twice the points of the layout.
func TestChartPNG(t *testing.T) {
	run := bill()
	var b bytes.Buffer
	if err := Chart(run).Draw(&b, "png"); err != nil {
		t.Fatal(err)
	}
	c, err := png.DecodeConfig(&b)
	if err != nil {
		t.Fatal(err)
	}
	l := sketched(t, run)
	if math.Abs(float64(c.Width)-2*float64(l.width)) > 1 || math.Abs(float64(c.Height)-2*float64(l.height)) > 1 {
		t.Errorf("PNG of %d × %d, layout of %v × %v points", c.Width, c.Height, l.width, l.height)
	}
}

// A picture of a size asked for has it, to the pixel; one too small for its texts is
// refused with a size that would do.
func TestChartSize(t *testing.T) {
	for _, form := range []Form{{Width: 1600, Height: 1000}, {Width: 800, Height: 500, DPI: 72}} {
		d := Chart(bill())
		d.Form = form
		var b bytes.Buffer
		if err := d.Draw(&b, "png"); err != nil {
			t.Fatal(err)
		}
		if c, err := png.DecodeConfig(&b); err != nil || c.Width != form.Width || c.Height != form.Height {
			t.Errorf("PNG of %d × %d, want %d × %d: %v", c.Width, c.Height, form.Width, form.Height, err)
		}
	}
	d := Chart(bill())
	d.Form = Form{Width: 200, Height: 200}
	if err := d.Draw(io.Discard, "svg"); err == nil || !strings.Contains(err.Error(), "200x200 is too small for its texts; try ") {
		t.Errorf("200x200: %v", err)
	}
}

// A chart has two lines of footnotes, the source first.
func TestChartFootnotes(t *testing.T) {
	run := bill()
	for i := range 6 {
		run.Notes = append(run.Notes, results.Note{Text: fmt.Sprintf("note %d with many words that fill a line of the chart", i)})
	}
	foot := sketched(t, run).foot
	if len(foot) != 2 || !strings.HasSuffix(foot[1], " …") || !strings.Contains(foot[0], "model error on these sessions: ") {
		t.Errorf("%q", foot)
	}
}

// TestTicks: steps of 1, 2 or 5 times a power of ten, at most six steps, with the decimals that
// they need.
func TestTicks(t *testing.T) {
	for _, test := range []struct {
		high float64
		want string
	}{
		{1600, "$0 $500 $1,000 $1,500"},
		{10, "$0 $2 $4 $6 $8 $10"},
		{0.6, "$0.0 $0.2 $0.4 $0.6"},
		{0.00051, "$0.0000 $0.0002 $0.0004"},
		{3e6, "$0 $1,000,000 $2,000,000 $3,000,000"},
	} {
		var labels []string
		for _, tick := range unitAxis(measures.UnitUSD, 0, test.high, 5).Ticks {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != test.want {
			t.Errorf("up to $%v: %s, want %s", test.high, got, test.want)
		}
	}
}

// TestGreyscale: parts of a bar and bars of cells beside each other differ in luminance (Rec. 709 weights), parts by at least a tenth.
func TestGreyscale(t *testing.T) {
	var cells []document.Series
	for _, style := range looks()[:measures.ForemostCells] {
		cells = append(cells, document.Series{Name: fmt.Sprintf("cell #%06x", style.Color), Style: style})
	}
	for _, series := range [][]document.Series{costParts(), cells} {
		for i, a := range series {
			for _, b := range series[:i] {
				if d := math.Abs(luminance(a.Style.Color) - luminance(b.Style.Color)); d < 0.1 {
					t.Errorf("%s and %s differ in luminance by %.2f", a.Name, b.Name, d)
				}
			}
		}
	}
}

// A point between gaps is drawn: its line stands in the legend.
func TestLonePoint(t *testing.T) {
	for _, y := range [][]float64{{1}, {1, math.NaN(), 2, 3}} {
		x := document.Series{X: make([]float64, len(y)), Y: y}
		if parts := lines(&x); len(parts) != (len(y)+1)/2 {
			t.Errorf("%v: %d parts", y, len(parts))
		}
	}
}

// Short notes that need a line each share lines where there are too few; only what then lies beyond them is cut.
func TestFootnotesShareLines(t *testing.T) {
	style := textStyle(9, 0)
	for notes, want := range map[string][]string{"one": {"one", "source"}, "one,two": {"source · one · two"}} {
		c := &document.Chart{Notes: strings.Split(notes, ","), Source: "source"}
		if got := footnotesOf(c, style, 400); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c := &document.Chart{Notes: []string{"one", "two"}, Source: "source"}
	if got := footnotesOf(c, style, style.Width("source · …")); len(got) != 2 || !strings.HasPrefix(got[0], "source") || !strings.HasSuffix(got[1], " …") {
		t.Errorf("%q, want the source and a mark", got)
	}
}
