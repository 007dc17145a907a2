package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Formats returns the formats of Write.
func Formats() []string { return document.Formats() }

// Write writes r in a format of Formats: a table for a terminal, Markdown for a
// comment on a pull request, a line for each metric, or a document.
func Write(w io.Writer, format string, r *Report) error {
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
	}
	d := &document.Document{Notes: slices.Concat(r.Notes, r.legend()), Data: r.data, JSON: r.encode}
	d.Sections = r.sections(format == "markdown")
	if format == "markdown" {
		return d.Comment(w)
	}
	return d.Write(w, format)
}

// sections has a table for each comparison with differences and a line for each other. In a comment each
// table has a headline, and several are folded under theirs.
func (r *Report) sections(comment bool) []document.Section {
	var list []document.Section
	var same []document.Block
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		heading := c.title() + " · " + document.Count(c.Sessions, "session")
		if !c.Changed() && !r.Chosen && !r.All {
			same = append(same, document.Text{Text: "no difference in any metric: " + heading, Notes: c.Notes})
			continue
		}
		s := document.Section{Name: heading, Notes: c.Notes, Blocks: []document.Block{r.table(c, r.selectFigures(c))}}
		if comment {
			head := r.headline(c)
			s.Name, s.Notes, s.Blocks = head.Lead, nil, slices.Insert(s.Blocks, 0, document.Block(head))
		}
		list = append(list, s)
	}
	for i := range list {
		if list[i].Folded = comment && len(list) > 1; comment && !list[i].Folded {
			list[i].Name = "" // the headline is enough
		}
	}
	rest := document.Section{Blocks: same, Folded: comment && len(same) > 1}
	if rest.Folded {
		rest.Name = "no difference: " + document.Count(len(same), "comparison")
	}
	return append(list, rest)
}

// sampled marks figures that depend on draws.
const sampled = "≈"

// table lays out figures for people. The full labels of the sides are above it.
// If all figures are drawn, the title says so.
func (r *Report) table(c *Comparison, figures []Figure) *document.Table {
	const shortest = 8 // characters of a label that are always kept
	t := &document.Table{Fitted: true, Columns: slices.Concat(
		[]document.Column{
			{Title: "METRIC", Break: true},
			{Title: cmp.Or(c.Base, document.Dash), Right: true, ClipTitle: shortest},
			{Title: cmp.Or(c.Other, document.Dash), Right: true, ClipTitle: shortest},
		},
		document.Right("", "DIFFERENCE", "%", level100(r.Level)+" INTERVAL"), document.Left("VERDICT"),
		document.Right("", "p", "DETECTS", "W/T/L"),
	)}
	for i := range t.Columns[len(t.Columns)-3:] { // they explain the verdict
		t.Columns[len(t.Columns)-1-i].Spare = 1 + i
	}
	drawn := len(figures) > 0 && !slices.ContainsFunc(figures, func(f Figure) bool { return f.Exact })
	if drawn {
		t.Columns[0].Title += " " + sampled
	}
	for i := range figures {
		row := figures[i].row()
		if !figures[i].Exact && !drawn {
			row[0] = figures[i].Metric.Name + " " + sampled
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// row returns the fields of a figure, in the order of the columns of a table.
// The interval and the relative difference omit the unit, which is beside and
// above them.
func (f *Figure) row() []any {
	sc := f.scale()
	text := func(v float64) any {
		if math.IsNaN(v) {
			return nil
		}
		return sc.Text(v)
	}
	row := []any{
		f.Metric.Name, text(f.Base), text(f.Other), nil, nil, nil,
		document.Cell{Value: f.Verdict.String(), Notes: f.Notes}, nil, nil, nil,
	}
	if f.Verdict == Missing {
		return row
	}
	row[3], row[9] = "0", f.sessionsText()
	if f.Difference != 0 {
		row[3] = sc.Signed(f.Difference)
	}
	if finite(f.Relative) && f.Difference != 0 && f.Metric.Unit != measures.UnitRatio {
		row[4] = strings.TrimSuffix(relative(f.Relative), " %")
	}
	if f.Interval.Known() {
		row[5] = sc.Bare(f.Interval.Low) + " … " + sc.Bare(f.Interval.High)
	}
	if f.Verdict > Same {
		row[7] = pText(f.P)
		if finite(f.Detectable) {
			row[8] = document.Detects(sc.Change(f.Detectable), f.Detectable, max(math.Abs(f.Base), math.Abs(f.Other)))
		}
	}
	return row
}

// sessionsText says in how many sessions the other side is better, equal and
// worse; for metrics without a better side, lower and higher.
func (f *Figure) sessionsText() string {
	if wins, losses, ok := f.Wins(); ok {
		return fmt.Sprintf("%d/%d/%d", wins, f.Ties, losses)
	}
	return fmt.Sprintf("%d↓%d=%d↑", f.Lower, f.Ties, f.Higher)
}

// title names a comparison.
func (c *Comparison) title() string {
	if c.Cell != "" {
		return c.Cell + ": " + c.Base + " → " + c.Other
	}
	return c.Base + " → " + c.Other
}

// fewSessions is the number of sessions below which intervals of skewed figures
// hold clearly less than their level: 90 % instead of 95 at 20 sessions, 88 %
// at 12.
const fewSessions = 30

// legend says how to read the columns.
func (r *Report) legend() []string {
	marked, few := false, false
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		marked = marked || slices.ContainsFunc(c.Figures, func(f Figure) bool { return !f.Exact && f.Changed() })
		few = few || c.Sessions < fewSessions && slices.ContainsFunc(c.Figures,
			func(f Figure) bool { return f.Changed() && f.Interval.Known() })
	}
	method := fmt.Sprintf("paired bootstrap over sessions, BCa, %s resamples, seed %d", document.Whole(r.Resamples),
		r.Seed)
	lines := []string{
		"Values, differences and W/T/L (sessions better/same/worse; ↓ = ↑ where neither is better) are what happened " +
			"on these sessions.",
		fmt.Sprintf("The interval of the difference (in its unit: %s), p (sides exchanged at random, Holm), DETECTS (the smallest "+
			"difference that four of five such sets of sessions would show) and the verdict are about other sessions of this kind. "+
			"A verdict needs an interval without 0 and p ≤ %.4g. ~: the difference may be chance (for a cost, or model error). "+
			"?: nothing can be said.", method, 1-r.Level),
	}
	if n := len(r.Comparisons); n > 1 {
		lines = append(lines,
			fmt.Sprintf("p is corrected for the number of metrics in one comparison, not for the %d comparisons.", n))
	}
	lines = append(lines, r.modelErrors()...)
	if few {
		lines = append(lines,
			fmt.Sprintf("With fewer than %d sessions, intervals are too narrow if a few sessions outweigh the rest.",
				fewSessions))
	}
	if marked {
		lines = append(lines,
			sampled+" (next to METRIC: all figures) marks figures that depend on draws, such as the sizes of summaries: "+
				"their difference can be chance even on these sessions.")
	}
	return lines
}

// modelErrors says how far the model is from the bill on the sessions of each
// run, once if that is the same.
func (r *Report) modelErrors() []string {
	var lines []string
	same := true
	for _, in := range r.Inputs {
		e := in.Run.ModelError
		if _, ok := e.Relative(); ok {
			lines = append(lines, "model error on the sessions of "+in.Label+": "+e.String())
			same = same && e == r.Inputs[0].Run.ModelError
		}
	}
	if same && len(lines) > 0 {
		return []string{"model error on these sessions: " + r.Inputs[0].Run.ModelError.String()}
	}
	return lines
}

// Schema is the version of the document that the format json writes.
const Schema = 2

// estimated rounds a random figure to six digits: more mean nothing, and the
// last ones differ between processors.
func estimated(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// propertyNames are the names of the properties of a figure in CSV and JSON.
var propertyNames = []string{
	"metric", "unit", "better", "exact", "baseline_value", "value", "difference", "relative", "low", "high",
	"relative_low", "relative_high", "p", "detectable", "sessions_lower", "sessions_same", "sessions_higher", "verdict", "notes",
}

// properties returns the properties of a figure, nil for those that it does not have.
func (f *Figure) properties() []any {
	e := stats.Estimate{Difference: math.NaN(), Relative: math.NaN(), Detectable: math.NaN(), P: math.NaN(),
		Interval: stats.Everything, RelativeInterval: stats.Everything}
	if f.Verdict != Missing {
		e = f.Estimate
	}
	if f.Verdict == Same {
		e.P = math.NaN()
	}
	row := []any{f.Metric.Name, f.Metric.Unit, f.Metric.Better.String(), f.Exact}
	for _, v := range []float64{
		f.Base, f.Other, e.Difference, e.Relative, estimated(e.Interval.Low), estimated(e.Interval.High),
		estimated(e.RelativeInterval.Low), estimated(e.RelativeInterval.High), estimated(e.P), estimated(e.Detectable),
	} {
		if finite(v) {
			row = append(row, v)
		} else {
			row = append(row, nil)
		}
	}
	row = append(row, f.Lower, f.Ties, f.Higher, f.Verdict.String(), nil)
	if len(f.Notes) > 0 {
		row[len(row)-1] = strings.Join(f.Notes, "; ")
	}
	return row
}

// MarshalJSONTo writes the properties of a figure by the names of their columns.
func (f Figure) MarshalJSONTo(e *jsontext.Encoder) error {
	t := document.Table{Columns: document.Columns(propertyNames...), Rows: [][]any{f.properties()}}
	return json.MarshalEncode(e, t.Objects()[0])
}

func (r *Report) encode(w io.Writer) error {
	text, err := json.Marshal(r, json.Deterministic(true))
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("encoding a comparison: %w", err)
	}
	return nil
}

// data has a line for each comparison and metric.
func (r *Report) data() *document.Table {
	t := &document.Table{Columns: document.Columns(slices.Concat([]string{"cell", "baseline", "label", "sessions"}, propertyNames, []string{"level"})...)}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		for _, f := range c.Figures {
			row := slices.Concat([]any{c.Cell, c.Base, c.Other, c.Sessions}, f.properties(), []any{r.Level})
			for k, x := range row {
				if v, ok := x.(float64); ok {
					row[k] = document.Plain(v) // without exponents
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
