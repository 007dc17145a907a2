package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/reports/stats"
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
		marks = append(marks, superscript(i+1))
	}
	return strings.Join(marks, " ")
}

// lines returns the numbered notes.
func (n notes) lines() []string {
	var lines []string
	for i, text := range n {
		lines = append(lines, superscript(i+1)+" "+printable(text))
	}
	return lines
}

func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var b strings.Builder
	for _, d := range strconv.Itoa(n) {
		b.WriteRune(digits[d-'0'])
	}
	return b.String()
}

// sampled marks metrics that rest on draws.
const sampled = "≈"

// sheet lays out figures for people.
func (r *Report) sheet(c *Comparison, figures []Figure, n *notes) *reports.Sheet {
	s := &reports.Sheet{Columns: []reports.SheetColumn{{Name: "metric", Title: "METRIC"}}}
	interval := level100(r.Level) + " INTERVAL"
	for _, title := range []string{printable(c.Base), printable(c.Other), "DIFFERENCE", "", interval, "p", "EFFECT", "W/T/L"} {
		if title == "" {
			title = "%"
		}
		s.Columns = append(s.Columns, reports.SheetColumn{Name: title, Title: title, Right: true})
	}
	s.Columns = append(s.Columns, reports.SheetColumn{Name: "verdict", Title: "VERDICT"})
	for i := range figures {
		s.Rows = append(s.Rows, figureRow(&figures[i], n))
	}
	return s
}

// figureRow returns the fields of a figure.
func figureRow(f *Figure, n *notes) []any {
	name := f.Metric.Name
	if !f.Metric.Exact {
		name += " " + sampled
	}
	sc := f.scale()
	row := []any{name, sampleText(f.Base, sc), sampleText(f.Other, sc), "", "", "", "", "", "", strings.TrimSpace(f.Verdict.String() + " " + n.mark(f.Notes))}
	if f.Verdict == Missing {
		return row
	}
	row[3] = "0"
	if f.Difference != 0 {
		row[3] = sc.signed(f.Difference)
	}
	if f.Relative.OK && f.Difference != 0 && f.Metric.Unit != results.UnitRatio {
		row[4] = relative(f.Relative.Value)
	}
	if f.Interval != nil {
		row[5] = intervalText(sc, f.Interval)
	}
	if f.Tested {
		row[6], row[7] = pText(f.Holm), effectText(f.Test.RankBiserial())
	}
	row[8] = f.sessionsText()
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
	return fmt.Sprintf("%d↓ %d= %d↑", f.Lower, f.Ties, f.Higher)
}

// printable makes names safe for a terminal and for one line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// title names a comparison.
func (c *Comparison) title() string {
	sides := c.Base + " → " + c.Other
	if c.Cell != "" {
		sides = c.Cell + ": " + sides
	}
	return printable(sides)
}

// legend says how to read the columns.
func (r *Report) legend() []string {
	normal, marked := false, false
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		normal = normal || c.Normal
		marked = marked || slices.ContainsFunc(c.Figures, func(f Figure) bool { return !f.Metric.Exact && f.Changed() })
	}
	how := fmt.Sprintf("paired bootstrap over sessions, %s resamples, seed %d", grouped(float64(r.Resamples), 0), r.Seed)
	if normal {
		how = fmt.Sprintf("normal, standard errors by the delta method: above %s sessions in place of the bootstrap", grouped(MaxResampled, 0))
	}
	lines := []string{
		"Values, differences and W/T/L (sessions better/same/worse; ↓ = ↑ where neither is better) are what happened on these sessions.",
		fmt.Sprintf("Interval (%s), p (Wilcoxon's signed ranks, Holm), effect (rank-biserial, −1 … +1) and verdict speak of other sessions of this kind. A verdict takes an interval without 0 and p ≤ %.4g; ~ nothing can be said of those.", how, 1-r.Level),
	}
	if marked {
		lines = append(lines, sampled+" rests on drawn figures: on these sessions too the difference can be chance.")
	}
	return lines
}
