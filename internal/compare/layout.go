package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// notes numbers footnotes in the order in which a reader meets their marks.
// Equal texts share a number.
type notes []string

// mark returns the marks of texts.
func (n *notes) mark(texts []string) string {
	var marks []string
	for _, text := range texts {
		i := slices.Index(*n, text)
		if i < 0 {
			i = len(*n)
			*n = append(*n, text)
		}
		marks = append(marks, document.Superscript(i+1))
	}
	return strings.Join(marks, " ")
}

// lines returns the numbered notes.
func (n notes) lines() []string {
	var lines []string
	for i, text := range n {
		lines = append(lines, document.Superscript(i+1)+" "+document.Printable(text))
	}
	return lines
}

// sampled marks figures that rest on draws.
const sampled = "≈"

// The columns of a table of figures that others are told by.
const (
	columnMetric = iota
	columnBase
	columnOther
	columnDifference
	columnRelative
	columnInterval
	columnP
	columnEffect
	columnSessions
	columnVerdict
	numColumns
)

// sheet lays out figures for people. Where all are drawn, the title says so.
func (r *Report) sheet(c *Comparison, figures []Figure, n *notes) *document.Table {
	s := &document.Table{}
	for i, title := range [numColumns]string{
		"METRIC", document.Printable(c.Base), document.Printable(c.Other), "DIFFERENCE", "%", level100(r.Level) + " INTERVAL", "p", "EFFECT", "W/T/L", "VERDICT",
	} {
		if title == "" { // a column without a title is not shown
			title = "–"
		}
		s.Columns = append(s.Columns, document.Column{Name: title, Title: title, Right: i != columnMetric && i != columnVerdict})
	}
	for i := range figures {
		s.Rows = append(s.Rows, figureRow(&figures[i], n))
	}
	if len(figures) > 0 && !slices.ContainsFunc(figures, func(f Figure) bool { return f.Exact }) { // said once
		s.Columns[columnMetric].Title += " " + sampled
		for i := range figures {
			s.Rows[i][columnMetric] = figures[i].Metric.Name
		}
	}
	return s
}

// figureRow returns the fields of a figure. Those of the interval and of the
// relative difference leave out the unit, which stands beside them and above.
func figureRow(f *Figure, n *notes) []any {
	name := f.Metric.Name
	if !f.Exact {
		name += " " + sampled
	}
	sc := f.scale()
	row := make([]any, numColumns)
	for i := range row {
		row[i] = ""
	}
	row[columnMetric], row[columnBase], row[columnOther] = name, sampleText(f.Base, sc), sampleText(f.Other, sc)
	row[columnVerdict] = strings.TrimSpace(f.Verdict.String() + " " + n.mark(f.Notes))
	if f.Verdict == Missing {
		return row
	}
	row[columnDifference] = "0"
	if f.Difference != 0 {
		row[columnDifference] = sc.signed(f.Difference)
	}
	if f.Relative.OK && f.Difference != 0 && f.Metric.Unit != results.UnitRatio {
		row[columnRelative] = strings.TrimSuffix(relative(f.Relative.Value), " %")
	}
	if f.Interval != nil {
		row[columnInterval] = sc.bare(f.Interval.Low) + " … " + sc.bare(f.Interval.High)
	}
	if f.Tested {
		row[columnP], row[columnEffect] = pText(f.Holm), effectText(f.Test.RankBiserial())
	}
	row[columnSessions] = f.sessionsText()
	return row
}

func (f *Figure) scale() scale {
	largest := max(math.Abs(f.Base.Value), math.Abs(f.Other.Value))
	return scaleOf(f.Metric.Unit, largest, f.Difference)
}

func sampleText(s Sample, sc scale) string {
	if !s.OK {
		return ""
	}
	return sc.text(s.Value)
}

func intervalText(sc scale, i *stats.Interval) string {
	return sc.signed(i.Low) + " … " + sc.signed(i.High)
}

// sessionsText writes in how many sessions the other side is better, the same
// and worse; of metrics without a better side lower and higher.
func (f *Figure) sessionsText() string {
	if wins, losses, ok := f.Wins(); ok {
		return fmt.Sprintf("%d/%d/%d", wins, f.Ties, losses)
	}
	return fmt.Sprintf("%d↓%d=%d↑", f.Lower, f.Ties, f.Higher)
}

// title names a comparison.
func (c *Comparison) title() string {
	sides := c.Base + " → " + c.Other
	if c.Cell != "" {
		sides = c.Cell + ": " + sides
	}
	return document.Printable(sides)
}

// legend says how to read the columns.
func (r *Report) legend() []string {
	normal, marked := 0, false
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if c.Normal {
			normal++
		}
		marked = marked || slices.ContainsFunc(c.Figures, func(f Figure) bool { return !f.Exact && f.Changed() })
	}
	lines := []string{
		"Values, differences and W/T/L (sessions better/same/worse; ↓ = ↑ where neither is better) are what happened on these sessions.",
		fmt.Sprintf("Interval (of the difference, in its unit: %s), p (Wilcoxon's signed ranks, Holm), effect (rank-biserial, −1 … +1) and verdict speak of other sessions of this kind. A verdict takes an interval without 0 and p ≤ %.4g; ~ nothing can be said of those.", r.method(normal), 1-r.Level),
	}
	if n := len(r.Comparisons); n > 1 {
		lines = append(lines, fmt.Sprintf("p is corrected for the metrics of one comparison, not for there being %d comparisons.", n))
	}
	if r.few() {
		lines = append(lines, fmt.Sprintf("Of fewer than %d sessions intervals are too narrow where a few outweigh the rest.", fewSessions))
	}
	if marked {
		lines = append(lines, sampled+" (of all, beside METRIC) rests on draws, of the sizes of summaries or of waits: on these sessions too the difference can be chance.")
	}
	return lines
}

// method says how intervals were made, in so many comparisons by the normal
// distribution.
func (r *Report) method(normal int) string {
	boot := fmt.Sprintf("paired bootstrap over sessions, BCa, %s resamples, seed %d", document.Grouped(float64(r.Resamples), 0), r.Seed)
	above := fmt.Sprintf("normal, standard errors by the delta method: above %s sessions in place of the bootstrap", document.Grouped(MaxResampled, 0))
	switch normal {
	case 0:
		return boot
	case len(r.Comparisons):
		return above
	}
	return boot + "; " + above
}

// fewSessions is the number of sessions below which intervals of skewed figures
// hold clearly less than their level: 90 % at 20 sessions instead of 95, 88 % at
// 12.
const fewSessions = 30

// few reports whether an interval rests on few sessions.
func (r *Report) few() bool {
	return slices.ContainsFunc(r.Comparisons, func(c Comparison) bool {
		return c.Sessions < fewSessions && slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Interval != nil })
	})
}
