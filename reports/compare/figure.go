package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Verdict says what the figures show about other sessions of the same kind.
type Verdict uint8

// The verdicts.
const (
	Missing Verdict = iota // a side has no sample
	Same                   // no session differs
	Unknown                // nothing can be said
	Chance                 // chance explains the difference
	Better
	Worse
	Below // for a metric without a direction of improvement
	Above
)

// String returns the word for a verdict, and the mark of differences that are not shown for Missing, Unknown and Chance.
func (v Verdict) String() string {
	none := stats.TooFew.Mark()
	return [...]string{none, "same", none, stats.Chance.Mark(), "better", "worse", "lower", "higher"}[min(v, Above)]
}

// Figure is a metric of both sides over the sessions they share. Values,
// differences and intervals are in the unit of the metric; differences are the
// other side's value minus the baseline's.
type Figure struct {
	Metric results.Metric
	// Summary says that the metric is in the table of a run.
	Summary bool
	// Exact says that the figure is counted or priced call by call and chance
	// affects neither side, so that the difference is exact.
	Exact bool
	// Base and Other are NaN for a side without a sample.
	Base, Other float64
	// Estimate is set when both sides have a sample. Its relative interval is known for metrics
	// of the run table and those selected by name.
	stats.Estimate
	// Lower, Ties and Higher count the sessions in which the other side's value is
	// below, equal to and above the baseline's.
	Lower, Ties, Higher int
	Verdict             Verdict
	Notes               []string
}

// Changed reports whether the two sides differ in any session.
func (f *Figure) Changed() bool { return f.Verdict > Same }

// Wins returns in how many sessions the other side is better and worse, and
// whether the metric has a better side at all.
func (f *Figure) Wins() (wins, losses int, ok bool) {
	switch f.Metric.Better {
	case measures.Lower:
		return f.Lower, f.Higher, true
	case measures.Higher:
		return f.Higher, f.Lower, true
	}
	return 0, 0, false
}

// Figure returns the figure of a metric, nil if there is none.
func (c *Comparison) Figure(name string) *Figure {
	i := slices.IndexFunc(c.Figures, func(f Figure) bool { return f.Metric.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Figures[i]
}

// Changed reports whether any figure differs.
func (c *Comparison) Changed() bool {
	return slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Changed() })
}

// selectFigures returns the figures that a table has: all if they or metrics were asked for,
// otherwise the figures of the run table, then the classes of cost and of misses that changed.
func (r *Report) selectFigures(c *Comparison) []Figure {
	var list []Figure
	for _, summary := range []bool{true, false} {
		for _, f := range c.Figures {
			if f.Summary == summary && (r.All || r.Chosen || f.Summary || f.part() && f.Changed()) {
				list = append(list, f)
			}
		}
	}
	return list
}

// part reports whether the metric is a class of the cost or of the misses.
func (f *Figure) part() bool {
	return f.Metric.By == measures.ByClass && (f.Metric.Of == measures.NameCost || f.Metric.Of == measures.NameMisses)
}

// scale is the format of a figure: both values and their difference in one magnitude.
func (f *Figure) scale() document.Scale {
	largest := 0.0
	for _, v := range []float64{f.Base, f.Other} {
		if !math.IsNaN(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	return document.ScaleOf(f.Metric.Unit, largest, f.Difference)
}

// relative formats a relative difference with at least two digits, like +3.1 %
// or −0.042 %.
func relative(v float64) string {
	sign := "+"
	if v < 0 {
		sign = numbers.Minus
	}
	return sign + percentage(v)
}

// percentage formats the size of a fraction in per cent.
func percentage(v float64) string {
	return numbers.Grouped(100*math.Abs(v), document.TwoDigits(100*v, 1, 4)) + " %"
}

// pText formats a p-value.
func pText(p float64) string {
	switch {
	case p < 0.001:
		return "<0.001"
	case p > 0.999:
		return "1"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// headline sums up a comparison in a sentence or two: the lead is the most important part.
func (r *Report) headline(c *Comparison) document.Text {
	text := document.Text{Text: " on the same " + document.Count(c.Sessions, "session"), Notes: c.Notes}
	if c.Sessions == 1 {
		text.Text = " on the same session"
	}
	f := c.Figure(measures.NameCost)
	cut := c.cutShort()
	switch {
	case !c.Changed() && len(c.commonNames()) == 0:
		text.Lead = "Nothing to compare between " + c.Base + " and " + c.Other
	case !c.Changed():
		text.Lead = "No difference in " + r.sameIn(c) + " between " + c.Base + " and " + c.Other
	case f == nil || f.Verdict == Missing:
		text.Lead = c.Base + " and " + c.Other + " differ"
	case cut != "":
		text.Lead = "What " + c.Base + " and " + c.Other + " cost cannot be compared"
		text.Text = ": " + cut
	default:
		sc := f.scale()
		text.Lead = c.costs(f)
		text.Text += fmt.Sprintf(": %s against %s. ", sc.Text(f.Other), sc.Text(f.Base)) + r.outlook(f) + moves(c)
		text.Text = strings.TrimRight(text.Text, ". ")
	}
	text.Text += "."
	if c.Cell != "" && len(r.Comparisons) > 1 {
		text.Lead = c.Cell + ": " + text.Lead
	}
	return text
}

// costs says which side costs less: approximately if summaries are drawn, and
// not at all if they are drawn under different seeds and the difference has no
// verdict.
func (c *Comparison) costs(f *Figure) string {
	about := ""
	if !f.Exact {
		about = sampled + " "
	}
	switch {
	case f.Difference == 0:
		return fmt.Sprintf("%s costs as much as %s", c.Other, c.Base)
	case c.reseeded && f.Verdict <= Chance:
		return fmt.Sprintf("No difference in cost between %s and %s that could not be chance", c.Base, c.Other)
	case finite(f.Relative) && f.Difference < 0:
		return fmt.Sprintf("%s costs %s%s less than %s", c.Other, about, percentage(f.Relative), c.Base)
	case finite(f.Relative):
		return fmt.Sprintf("%s costs %s%s more than %s", c.Other, about, percentage(f.Relative), c.Base)
	}
	return fmt.Sprintf("%s costs %s%s, %s next to nothing", c.Other, about, f.scale().Text(f.Other), c.Base)
}

// outlook says what the figures of cost show about other sessions.
func (r *Report) outlook(f *Figure) string {
	if f.Verdict == Same {
		return ""
	}
	if f.Verdict <= Chance {
		return "These do not show what it would be on other sessions. "
	}
	sc := f.scale()
	text := sc.Signed(f.Interval.Low) + " … " + sc.Signed(f.Interval.High)
	if f.RelativeInterval.Known() {
		text = relative(f.RelativeInterval.Low) + " … " + relative(f.RelativeInterval.High)
	}
	return fmt.Sprintf("On other sessions of this kind: %s (%s). ", text, level100(r.Level))
}

// maxMoves is how many metrics a headline names besides the cost.
const maxMoves = 4

// moves lists the other metrics of the run table that differ.
func moves(c *Comparison) string {
	var parts []string
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Metric.Name == measures.NameCost || !f.Summary || f.Difference == 0 || len(parts) == maxMoves {
			continue
		}
		name := f.Metric.Name
		for _, suffix := range []string{"_tokens", "_seconds", "_usd"} {
			name = strings.TrimSuffix(name, suffix)
		}
		parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+f.scale().Signed(f.Difference))
	}
	if len(parts) == 0 {
		return ""
	}
	return document.Sentence(strings.Join(parts, ", "))
}

// sameIn names the metrics in which nothing differs.
func (r *Report) sameIn(c *Comparison) string {
	if r.Chosen {
		return document.Few(c.commonNames())
	}
	return "any metric"
}

// commonNames returns the names of the metrics that both sides have.
func (c *Comparison) commonNames() []string {
	var names []string
	for i := range c.Figures {
		if c.Figures[i].Verdict != Missing {
			names = append(names, c.Figures[i].Metric.Name)
		}
	}
	return names
}
