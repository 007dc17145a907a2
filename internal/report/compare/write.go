package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// WriteOptions select what Write shows.
type WriteOptions struct {
	// All shows every metric of a side, not only those of the run table and the classes of
	// cost and misses that differ, and also comparisons without differences.
	All bool
}

// Formats returns the formats of Write.
func Formats() []string { return append(document.Formats(), "benchfmt") }

// Write writes r in a format of Formats: a table for a terminal, Markdown for a
// comment on a pull request, a line for each metric, a document, or the Go
// benchmark format with a line for each session.
func Write(w io.Writer, format string, r *Report, o WriteOptions) error {
	switch format {
	case "benchfmt":
		return r.benchfmt(w, o)
	case "markdown":
		return r.comment(o).Comment(w)
	}
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
	}
	return r.document(o).Write(w, format)
}

// document has a table for each comparison with differences and a line for the
// others.
func (r *Report) document(o WriteOptions) *document.Document {
	d := &document.Document{
		Notes: slices.Concat(r.Notes, r.legend()),
		Data:  func() *document.Table { return r.data(o) },
		JSON:  func(w io.Writer) error { return r.json(w, o) },
	}
	var same []document.Block
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		heading := c.title() + " · " + document.Count(c.Sessions, "session")
		if r.uneventful(c) && !o.All {
			same = append(same, document.Text{Text: "no difference in " + r.sameIn(c) + ": " + heading, Notes: c.Notes})
			continue
		}
		d.Sections = append(d.Sections, document.Section{
			Name: heading, Notes: c.Notes, Blocks: []document.Block{r.table(c, r.shown(c, o))},
		})
	}
	d.Sections = append(d.Sections, document.Section{Blocks: same})
	return d
}

// comment is a headline, what moved, and everything else folded: of the only
// comparison with something to show, or of each.
func (r *Report) comment(o WriteOptions) *document.Document {
	d := &document.Document{Notes: slices.Concat(r.Notes, r.legend())}
	var eventful []*Comparison
	for i := range r.Comparisons {
		if c := &r.Comparisons[i]; o.All || len(r.Comparisons) == 1 || !r.uneventful(c) {
			eventful = append(eventful, c)
		}
	}
	if len(eventful) == 1 {
		d.Sections = r.single(eventful[0], o)
		return d
	}
	d.Sections = []document.Section{{Blocks: []document.Block{r.lead(), r.overview()}}}
	for _, c := range eventful {
		d.Sections = append(d.Sections, r.folded(r.name(c), c, r.shown(c, o))...)
	}
	return d
}

// folded returns a folded section of figures under a title; none without figures.
func (r *Report) folded(title string, c *Comparison, figures []Figure) []document.Section {
	if len(figures) == 0 {
		return nil
	}
	return []document.Section{{Name: title, Folded: true, Blocks: []document.Block{r.table(c, figures)}}}
}

// single shows the only comparison: the metrics that moved and, folded, those
// that did not move or are parts of others.
func (r *Report) single(c *Comparison, o WriteOptions) []document.Section {
	lead, text := r.headline(c)
	if c.Cell != "" && len(r.Comparisons) > 1 {
		lead = c.Cell + ": " + lead
	}
	first := document.Section{Blocks: []document.Block{document.Text{Lead: lead, Text: text, Notes: c.Notes}}}
	var moved, rest []Figure
	for _, f := range r.shown(c, o) {
		if r.Chosen || f.moved() {
			moved = append(moved, f)
		} else {
			rest = append(rest, f)
		}
	}
	if len(moved) > 0 {
		first.Blocks = append(first.Blocks, r.table(c, moved))
	}
	return slices.Concat([]document.Section{first}, r.folded(document.Count(len(rest), "more metric"), c, rest),
		r.beside(c))
}

// maxBeside is how many comparisons without a difference are named.
const maxBeside = 20

// beside names the other comparisons, in which nothing differs.
func (r *Report) beside(c *Comparison) []document.Section {
	var names, notes []string
	what := ""
	for i := range r.Comparisons {
		x := &r.Comparisons[i]
		if x == c {
			continue
		}
		if what == "" || x.lacks() {
			what = r.sameIn(x)
		}
		if names = append(names, r.name(x)); len(names) <= maxBeside {
			notes = append(notes, x.Notes...)
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := strings.Join(names[:min(len(names), maxBeside)], ", ")
	if more := len(names) - maxBeside; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return []document.Section{{Blocks: []document.Block{
		document.Text{Text: fmt.Sprintf("No difference in %s: %s.", what, text), Notes: notes},
	}}}
}

// moved reports whether a figure belongs above the fold: it differs on these
// sessions and is in the run table, or it has a verdict on others and is not
// part of another.
func (f *Figure) moved() bool {
	if !f.Changed() {
		return false
	}
	return f.Summary || f.Verdict > Chance && f.Metric.Of == "" && f.Metric.Group == ""
}

// noun is the word for comparisons: cells if there are only two sides.
func (r *Report) noun() string {
	if len(r.Labels) == 2 {
		return "cell"
	}
	return "comparison"
}

// name distinguishes a comparison from the others.
func (r *Report) name(c *Comparison) string {
	if len(r.Labels) == 2 && c.Cell != "" {
		return c.Cell
	}
	return c.title()
}

// lead counts the differences and names the comparison whose cost moved most.
func (r *Report) lead() document.Text {
	changed := 0
	var most *Comparison
	size := 0.0
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if c.Changed() {
			changed++
		}
		if f := c.Figure(results.NameCost); f != nil && math.Abs(f.Relative) > size && finite(f.Relative) {
			most, size = c, math.Abs(f.Relative)
		}
	}
	text := document.Text{Lead: fmt.Sprintf("%s → %s: %d of %s differ.",
		r.Labels[0], document.Few(r.Labels[1:]), changed, document.Count(len(r.Comparisons), r.noun()))}
	if most != nil {
		text.Text = " Most in cost: " + r.name(most) + ", " + relative(most.Figure(results.NameCost).Relative) + "."
	}
	return text
}

// overview has the cost of every comparison.
func (r *Report) overview() *document.Table {
	before, after := "cost before", "cost after"
	if len(r.Labels) == 2 {
		before, after = "cost "+r.Labels[0], "cost "+r.Labels[1]
	}
	t := &document.Table{Columns: slices.Concat(document.Left("cell"),
		document.Right("", "sessions", before, after, "%", "other sessions, %"), document.Left("verdict"))}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		row := []any{document.Cell{Value: r.name(c), Notes: c.Notes}, c.Sessions, nil, nil, nil, nil, nil}
		if f := c.Figure(results.NameCost); f != nil {
			figures := f.row()
			row[2], row[3], row[4], row[6] = figures[1], figures[2], figures[4], figures[6]
			if v := f.RelativeInterval; v.Known() {
				row[5] = strings.TrimSuffix(relative(v.Low), " %") + " … " + strings.TrimSuffix(relative(v.High), " %")
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
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
		return sc.text(v)
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
		row[3] = sc.signed(f.Difference)
	}
	if finite(f.Relative) && f.Difference != 0 && f.Metric.Unit != results.UnitRatio {
		row[4] = strings.TrimSuffix(relative(f.Relative), " %")
	}
	if f.Interval.Known() {
		row[5] = sc.bare(f.Interval.Low) + " … " + sc.bare(f.Interval.High)
	}
	if f.Verdict > Same {
		row[7] = pText(f.P)
		if finite(f.Detectable) {
			row[8] = sc.write(f.Detectable, "", sc.change)
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
		fmt.Sprintf("Interval (of the difference, in its unit: %s), p (sides exchanged at random, Holm), DETECTS (the smallest "+
			"difference that four of five such sets of sessions show) and verdict speak of other sessions of this kind. "+
			"A verdict takes an interval without 0 and p ≤ %.4g; ~ chance explains the difference, of a cost with the model's error; "+
			"? nothing can be said.", method, 1-r.Level),
	}
	if n := len(r.Comparisons); n > 1 {
		lines = append(lines,
			fmt.Sprintf("p is corrected for the metrics of one comparison, not for there being %d comparisons.", n))
	}
	lines = append(lines, r.modelErrors()...)
	if few {
		lines = append(lines,
			fmt.Sprintf("Of fewer than %d sessions intervals are too narrow where a few outweigh the rest.",
				fewSessions))
	}
	if marked {
		lines = append(lines,
			sampled+" (of all, beside METRIC) rests on draws, of the sizes of summaries or of waits: "+
				"on these sessions too the difference can be chance.")
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
