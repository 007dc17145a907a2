package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// resample sets the intervals of figures that differ, by the paired bootstrap
// over n sessions. All metrics share the weights.
func resample(ctx context.Context, list []*measured, n int, o Options) error {
	var sums, maxima [][]float64
	var first []int // column of each figure in sums or maxima
	for _, m := range list {
		if m.Verdict != Unknown {
			first = append(first, -1)
			continue
		}
		a, b := &m.side[0], &m.side[1]
		switch m.Metric.Kind {
		case results.KindSum:
			first = append(first, len(sums))
			sums = append(sums, m.diff)
			if m.compared(o) {
				sums = append(sums, a.value)
			}
		case results.KindRatio:
			first = append(first, len(sums))
			sums = append(sums, a.part, a.base, b.part, b.base)
		default:
			first = append(first, len(maxima))
			maxima = append(append(maxima, a.tops...), b.tops...)
		}
	}
	boot := stats.Bootstrap{Seed: o.Seed, Resamples: o.Resamples, Workers: o.Workers}
	d, err := boot.Draw(ctx, n, sums, maxima)
	if err != nil {
		return err
	}
	parallel.Each(o.Workers, len(list), func(i int) {
		if m := list[i]; first[i] >= 0 {
			columns := d.Sums
			if m.extremal() {
				columns = d.Maxima
			}
			m.interval(columns[first[i]:], o)
		}
	})
	return nil
}

// compared reports whether a figure gets an interval of its relative
// difference, which takes another column: those of the run table and those
// selected by name do.
func (m *measured) compared(o Options) bool { return m.Summary || len(o.Metrics) > 0 }

// extremal reports whether a figure is a maximum or a minimum.
func (m *measured) extremal() bool {
	return m.Metric.Kind == results.KindMaximum || m.Metric.Kind == results.KindMinimum
}

// interval sets the intervals from resampled columns: difference and baseline
// of sums, part and base of both sides of ratios, the cells of both sides of
// maxima. Sessions have no linear influence on a maximum, so its interval is
// the plain percentiles.
func (m *measured) interval(columns [][]float64, o Options) {
	var differences, relatives []float64
	for r := range o.Resamples {
		a, d := m.resampled(columns, r, o)
		if !finite(d) {
			continue
		}
		differences = append(differences, d)
		if v := d / math.Abs(a); finite(v) && m.compared(o) {
			relatives = append(relatives, v)
		}
	}
	enough := stats.LeastKept * float64(o.Resamples)
	kept, keptRelative := float64(len(differences)) >= enough, float64(len(relatives)) >= enough && m.Relative.OK
	if m.extremal() {
		if kept {
			m.Interval = snapped(stats.Percentile(differences, o.Level))
		}
		if keptRelative {
			m.RelativeInterval = snapped(stats.Percentile(relatives, o.Level))
		}
		return
	}
	influence, base := m.influence()
	if kept {
		m.Interval = snapped(stats.Accelerated(differences, m.Difference, influence, o.Level))
	}
	if keptRelative {
		m.RelativeInterval = snapped(stats.Accelerated(relatives, m.Relative.Value, m.onRelative(influence, base),
			o.Level))
	}
}

// snapped sets an end that is zero except for the rounding of sums to zero:
// whether an interval contains zero decides a verdict.
func snapped(i stats.Interval) *stats.Interval {
	for _, end := range []*float64{&i.Low, &i.High} {
		if math.Abs(*end) < 1e-9*(i.High-i.Low) {
			*end = 0
		}
	}
	return &i
}

// resampled returns the baseline's value and the difference in resample r, not
// finite if a side has no sample in it.
func (m *measured) resampled(columns [][]float64, r int, o Options) (base, diff float64) {
	switch m.Metric.Kind {
	case results.KindSum:
		if m.compared(o) {
			base = columns[1][r]
		}
		return base, columns[0][r]
	case results.KindRatio:
		base = columns[0][r] / columns[1][r]
		return base, difference(base, columns[2][r]/columns[3][r])
	}
	k, cells := m.Metric.Kind, len(m.side[0].tops)
	base = meanAt(columns[:cells], r, k)
	return base, meanAt(columns[cells:cells+len(m.side[1].tops)], r, k) - base
}

// influence returns the linear influence of each session on the difference of a
// sum or a ratio, and that on the baseline's value, each up to a constant.
func (m *measured) influence() (difference, base []float64) {
	if m.Metric.Kind != results.KindRatio {
		return m.diff, m.side[0].value
	}
	base, difference = m.side[0].influence(), m.side[1].influence()
	for i, v := range base {
		difference[i] -= v
	}
	return difference, base
}

// onRelative returns the influence on the relative difference.
func (m *measured) onRelative(difference, base []float64) []float64 {
	relative := make([]float64, len(difference))
	for i := range relative {
		relative[i] = difference[i]/math.Abs(m.Base.Value) - m.Relative.Value*base[i]/m.Base.Value
	}
	return relative
}

// influence returns the influence of each session on a ratio of sums.
func (s *series) influence() []float64 {
	r := stats.Ratio{Part: s.part, Base: s.base}
	return r.Influence()
}

// correct sets the corrected p-values. Metrics in which no session differs are
// excluded, because no test could reject for them. The metrics of the run table
// are a family of their own; metrics selected by name are one family.
func correct(list []*measured, chosen bool) {
	for _, family := range []bool{true, false} {
		var members []*measured
		var p []float64
		for _, m := range list {
			if m.Tested && (m.Summary || chosen) == family {
				members, p = append(members, m), append(p, m.Test.P)
			}
		}
		for i, v := range stats.Holm(p) {
			members[i].Holm = v
		}
	}
}

// judge sets the verdict of a figure that differs, and notes why nothing can be
// said.
func (m *measured) judge(c *Comparison, level float64) {
	if m.Verdict == Missing {
		m.Notes = append(m.Notes, m.missing(c))
	}
	if m.Verdict != Unknown {
		return
	}
	if note := c.tooFew(m, level); note != "" {
		m.Notes = append(m.Notes, note)
	}
	switch {
	case m.Interval != nil || c.Sessions < stats.PairsNeeded(level):
	default:
		m.Notes = append(m.Notes, "no interval: too many resamples hold no session with a sample")
	}
	if cut := c.cutShort(); cut != "" && m.Metric.Better != results.Neither {
		m.Notes = append(m.Notes, cut)
		return
	}
	m.Verdict = m.verdict(level)
	if note := c.modelError(m); note != "" {
		m.Notes, m.Verdict = append(m.Notes, note), Chance
	}
}

// cutShort says on which side sessions ended early, "" for neither: its figures
// cover less work, which is no improvement.
func (c *Comparison) cutShort() string {
	for s, label := range []string{c.Base, c.Other} {
		ended := 0
		for _, cell := range c.pairs.rows[s] {
			for _, row := range cell {
				if row.CutShort() {
					ended++
				}
			}
		}
		if ended > 0 {
			return fmt.Sprintf("%s of %s ended early: not the same work", document.Count(ended, "session"), label)
		}
	}
	return ""
}

// missing says which sides have no figure, and whether they could have one.
func (m *measured) missing(c *Comparison) string {
	var unmeasured, without []string
	for s, label := range []string{c.Base, c.Other} {
		switch {
		case len(m.side[s].rows) == 0:
			unmeasured = append(unmeasured, label)
		case s == 0 && !m.Base.OK, s == 1 && !m.Other.OK:
			without = append(without, label)
		}
	}
	var parts []string
	if len(unmeasured) > 0 {
		parts = append(parts, "not measured in "+and(unmeasured))
	}
	if len(without) > 0 {
		parts = append(parts, "no sample in "+and(without))
	}
	return "nothing to compare: " + strings.Join(parts, ", ")
}

// tooFew says that the test cannot reject whatever the figures, "" when it can.
// Sessions that do not differ do not count.
func (c *Comparison) tooFew(m *measured, level float64) string {
	needed := stats.PairsNeeded(level)
	switch {
	case c.Sessions < needed:
		return fmt.Sprintf("too few for a level of %s: %s, it takes %d or more to say anything about others",
			level100(level), document.Count(c.Sessions, "session"), needed)
	case m.Test.N < needed:
		return fmt.Sprintf("fewer than %s differ: too few for a level of %s to say anything about others",
			document.Count(needed, "session"), level100(level))
	}
	return ""
}

// verdict combines interval and test, which must agree.
func (m *measured) verdict(level float64) Verdict {
	d, effect := m.Difference, m.Test.RankBiserial()
	switch {
	case m.Interval != nil && m.Interval.Contains(0):
		return Chance
	case m.Interval == nil || m.Holm > 1-level || !m.Tested || d*effect <= 0:
		return Unknown
	}
	switch {
	case m.Metric.Better == results.Neither && d < 0:
		return Below
	case m.Metric.Better == results.Neither:
		return Above
	case (d < 0) == (m.Metric.Better == results.Lower):
		return Better
	}
	return Worse
}

// modelError says that the model error on the sessions of either run can
// explain a difference of cost with a verdict, "" when it cannot.
func (c *Comparison) modelError(m *measured) string {
	if m.Metric.Name != "cost_usd" || m.Verdict <= Chance || c.errors == nil {
		return ""
	}
	worst := slices.MaxFunc(c.errors, func(a, b results.ModelError) int { return cmp.Compare(a.Spread, b.Spread) })
	if worst.Spread == 0 || !worst.Interval(m.side[1].value, m.side[0].value).Chance() {
		return ""
	}
	return fmt.Sprintf("the model is off by %s of a session's cost: that can make this difference", percentage(worst.Spread))
}

// level100 formats a level in per cent.
func level100(level float64) string { return fmt.Sprintf("%.6g %%", 100*level) }
