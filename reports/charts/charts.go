// Package charts turns results into documents and charts. The public package
// reports exports what it has for runs.
package charts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// Drawing is a chart that can be written in the formats of ChartFormats.
type Drawing struct {
	Kind string // what --chart KIND=FILE asks for
	Name string // of a file, without extension: lower-case letters, digits, - and _; the kind, if it is alone
	Form Form

	chart func() (*document.Chart, error)
}

func drawing(kind string, chart func() (*document.Chart, error)) Drawing {
	return Drawing{Kind: kind, Name: kind, chart: chart}
}

// In returns the drawing in a form. What it draws is computed once, whatever forms are written.
func (d Drawing) In(form Form) Drawing {
	d.Form, d.chart = form, sync.OnceValues(d.chart)
	return d
}

// Draw writes the chart in a format of ChartFormats.
func (d Drawing) Draw(w io.Writer, format string) error {
	c, err := d.build()
	if err != nil {
		return err
	}
	return writeChart(w, format, c, d.Form)
}

// Beside returns what belongs beside a picture: its data, and a caption if the picture has no title.
func (d Drawing) Beside() (data *document.Table, caption string, err error) {
	c, err := d.build()
	if err != nil {
		return nil, "", err
	}
	if d.Form.Millimetres > 0 {
		caption = c.Caption()
	}
	return c.Data(), caption, nil
}

func (d Drawing) build() (*document.Chart, error) {
	c, err := d.chart()
	if err != nil {
		return nil, fmt.Errorf("drawing %s: %w", d.Name, err)
	}
	return c, nil
}

// Drawings returns the charts of a run: the cost of its cells, alone and
// against what they forget; its sweeps; and, given the calls of some cells, the
// context of one session and hits over time. Of more cells than a chart can
// distinguish, it takes the recorded one and the cheapest others.
func Drawings(run *results.Run, calls []results.CellCalls) []Drawing {
	mean := run.Replicated()
	list := []Drawing{Chart(mean)}
	if d := frontDrawing(mean); d != nil {
		list = append(list, *d)
	}
	list = append(list, sweepDrawings(mean)...)
	calls = slices.DeleteFunc(slices.Clone(calls), func(c results.CellCalls) bool { return len(c.Calls) == 0 })
	if len(calls) > 0 {
		calls = foremost(run, calls)
		list = append(list, drawing("context", func() (*document.Chart, error) { return contextChart(run, calls) }),
			drawing("hit", func() (*document.Chart, error) { return hitChart(run, calls) }))
	}
	return list
}

// RunKinds returns the kinds of charts of a run.
func RunKinds() []string {
	return []string{"cost", "sweep", "hit", "context", "front", "rank", "recall", "misses"}
}

// Charts returns all charts of a run, by kind: first the main one, which shows what the run
// sweeps, or cost. Charts of single calls need the calls of some cells.
func Charts(run *results.Run, calls []results.CellCalls) []Drawing {
	mean := run.Replicated()
	list := Drawings(run, calls)
	if i := slices.IndexFunc(list, func(d Drawing) bool { return d.Kind == "sweep" }); i > 0 {
		list = slices.Concat(list[i:], list[:i])
	}
	for _, x := range []struct {
		kind string
		of   func(*results.Run) (*document.Chart, error)
	}{{"rank", rankChart}, {"recall", recallChart}, {"misses", missesChart}} {
		list = append(list, drawing(x.kind, func() (*document.Chart, error) { return x.of(mean) }))
	}
	return list
}

// TuningKinds returns the kinds of charts of a search.
func TuningKinds() []string { return []string{"front", "sweep", "cost", "rank", "recall", "misses"} }

// TuningCharts returns the charts of a search, first what its settings cost and forget.
func TuningCharts(t *studies.Tuning) []Drawing {
	list := Charts(t.Run, nil)
	if i := slices.IndexFunc(list, func(d Drawing) bool { return d.Kind == "front" }); i > 0 {
		list = slices.Concat(list[i:], list[:i])
	}
	return list
}

// foremost returns the calls of the recorded cell and of the cheapest others,
// as many as a chart can distinguish, in the order given.
func foremost(run *results.Run, calls []results.CellCalls) []results.CellCalls {
	if len(calls) <= measures.ForemostCells {
		return calls
	}
	names := run.Foremost(func(cell string) bool {
		return slices.ContainsFunc(calls, func(c results.CellCalls) bool { return c.Cell == cell })
	})
	return slices.DeleteFunc(slices.Clone(calls), func(c results.CellCalls) bool { return !slices.Contains(names, c.Cell) })
}

// cellOf returns a cell of a run by its name, nil if it is missing.
func cellOf(run *results.Run, name string) *results.Cell {
	i := slices.IndexFunc(run.Cells, func(c results.Cell) bool { return c.Cell == name })
	if i < 0 {
		return nil
	}
	return &run.Cells[i]
}

// fileName joins parts into a name that every file system accepts.
func fileName(parts ...string) string {
	var clean []string
	for _, p := range parts {
		p = strings.Trim(strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '-'
		}, p), "-")
		if p != "" {
			clean = append(clean, p)
		}
	}
	return strings.Join(clean, "-")
}

// runChart returns a chart of a run with what was replayed above it and, at its foot, notes, how far the model is from
// the bill, and the source.
func runChart(run *results.Run, title string, trust string, width float64, panels []document.Panel, notes ...string) *document.Chart {
	c := &document.Chart{Title: title, Facts: headLines(run)[:1], Source: trust + " · " + sourceLine(run), Width: width, Panels: panels}
	for _, note := range notes {
		c.Notes = append(c.Notes, document.Printable(note))
	}
	return c
}

// sourceLine says where the figures come from.
func sourceLine(run *results.Run) string {
	p := &run.Provenance
	s := "source: " + document.Count(run.Workload.Sessions, "session") + " replayed by sim"
	if p.Version != "" {
		s += " " + p.Version
	}
	s += fmt.Sprintf(", seed %d", p.Seed)
	if p.Prices != "" {
		s += ", price table of " + p.Prices
	}
	return document.Printable(s)
}

// cellNotes returns the footnotes of a run. Notes on drawn cells name their cells, because a chart
// has no place for marks. Cells with the same text share a note, and a note on every cell names
// none.
func cellNotes(run *results.Run, drawn ...string) []string {
	var texts []string
	names := map[string][]string{}
	for _, n := range notesOf(run, false) {
		if n.Cell != "" && len(drawn) > 0 && !slices.Contains(drawn, n.Cell) {
			continue
		}
		if _, ok := names[n.Text]; !ok {
			texts, names[n.Text] = append(texts, n.Text), nil
		}
		if n.Cell != "" {
			names[n.Text] = append(names[n.Text], cellName(n.Cell))
		}
	}
	total := cmp.Or(len(drawn), len(run.Cells))
	for i, text := range texts {
		if list := names[text]; len(list) > 0 && (len(list) < total || total == 1) {
			texts[i] = strings.Join(list, ", ") + ": " + text
		}
	}
	return texts
}

// maxNameRunes limits the width of cell names.
const maxNameRunes = 44

// cellName formats the name of a cell for a chart.
func cellName(name string) string {
	return document.Shortened(document.Printable(name), maxNameRunes)
}

// ownNote says what the rows of a session's own client do, nothing if none is shown.
func ownNote(run *results.Run) []string {
	what := map[string]string{
		"own": "own is each session's own client, which compacts at its threshold", "own/lower": "own/lower compacts at half that size",
		"own/higher": "own/higher compacts halfway from that size to the window",
	}
	var list []string
	for i := range run.Cells {
		c := &run.Cells[i]
		plain := len(c.Params) == 0 || len(c.Params) == 1 && c.Params[measures.SeedParam] != ""
		if text := what[c.Strategy]; plain && text != "" {
			list = append(list, text)
			delete(what, c.Strategy)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []string{strings.Join(list, "; ")}
}

// isReference reports whether other cells are compared with c.
func isReference(c *results.Cell) bool {
	return c.Strategy == measures.StrategyBilled || c.Strategy == measures.StrategyRecorded
}

// looks are the styles of lines in the order of use: no two share colour,
// dashes or marker, and those used together differ most in luminance.
func looks() []document.Style {
	return []document.Style{
		{Color: document.Navy, Marker: document.Circle},
		{Color: document.Orange, Dashes: []float64{7, 3}, Marker: document.Square},
		{Color: document.Sky, Dashes: []float64{2, 2}, Marker: document.Pyramid},
		{Color: document.Brown, Dashes: []float64{9, 3, 2, 3}, Marker: document.Cross},
		{Color: document.Green, Dashes: []float64{14, 4}, Marker: document.Ring},
		{Color: document.Grey, Dashes: []float64{4, 2}, Marker: document.Plus},
		{Color: document.Purple, Dashes: []float64{9, 2, 2, 2, 2, 2}, Marker: document.OpenSquare},
		{Color: document.Black, Dashes: []float64{1, 3}, Marker: document.Triangle},
	}
}

// looksOf returns the styles of n lines. Those drawn first are wider, so that
// they remain visible under others with the same values.
func looksOf(n int) []document.Style {
	styles := looks()[:n]
	for i := range styles {
		styles[i].Width = 1.4 + 0.35*float64(min(n-1-i, 3))
		styles[i].Size = 1.6 + styles[i].Width
	}
	return styles
}

func dotsOf(name string, style document.Style) document.Series {
	return document.Series{Name: name, Mark: document.MarkDot, Style: style}
}

// across returns a thin line between two points.
func across(x, y, x2, y2 float64) document.Series {
	style := document.Style{Color: document.Grey, Width: 0.8}
	return document.Series{Style: style, X: []float64{x, x2}, Y: []float64{y, y2}, Aid: true}
}
