package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// series is a metric of one side over its sessions. Figure has what adds up over them.
type series struct {
	stats.Figure
	rows  [][]*results.Row // by cell of the side that has figures for the metric; otherwise nil
	value []float64        // by session; 0 where has is false
	has   []bool
}

// measured is a figure and the data it was made from.
type measured struct {
	Figure
	side [2]series
}

// measure returns the figures of metrics without intervals and tests.
func measure(p *pairs, metrics []results.Metric, workers int) ([]*measured, error) {
	list := make([]*measured, len(metrics))
	for i, metric := range metrics {
		m := &measured{Figure: Figure{Metric: metric, Summary: slices.Contains(summary(), metric.Name)}}
		for s := range m.side {
			m.side[s] = p.series(s, metric)
		}
		list[i] = m
	}
	// Rows are large, so each is read for all metrics while it is in the processor's cache.
	n := len(p.sessions)
	parallel.Each(workers, (n+stretch-1)/stretch, func(i int) {
		for _, m := range list {
			for s := range m.side {
				m.side[s].fill(&m.Metric, i*stretch, min((i+1)*stretch, n))
			}
		}
	})
	errs := make([]error, len(metrics))
	parallel.Each(workers, len(metrics), func(i int) { errs[i] = list[i].finish(p) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// stretch is the number of sessions whose rows stay in the cache.
const stretch = 8

// finish compares the two sides once their series are filled, session by session.
func (m *measured) finish(p *pairs) error {
	for s := range m.side {
		for i, v := range m.side[s].value {
			if !finite(v) {
				return fmt.Errorf("%s: %s of session %q is %v", p.sides[s].label, m.Metric.Name, p.sessions[i], v)
			}
		}
	}
	a, b := &m.side[0], &m.side[1]
	m.Base, m.Other = a.total(), b.total()
	if m.missing() {
		return nil
	}
	m.Difference = stats.Difference(m.Base, m.Other)
	if !finite(m.Base) || !finite(m.Other) || !finite(m.Difference) {
		return fmt.Errorf("%s is too large to compare: %v in %s, %v in %s", m.Metric.Name, m.Base, p.sides[0].label, m.Other,
			p.sides[1].label)
	}
	for i := range a.value {
		if !a.has[i] || !b.has[i] {
			continue
		}
		switch d := stats.Difference(a.value[i], b.value[i]); {
		case d < 0:
			m.Lower++
		case d > 0:
			m.Higher++
		default:
			m.Ties++
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// missing reports whether a side has no sample.
func (f *Figure) missing() bool { return math.IsNaN(f.Base) || math.IsNaN(f.Other) }

// series returns an empty series of one side.
func (p *pairs) series(s int, metric results.Metric) series {
	out := series{}
	for c, cell := range p.sides[s].cells {
		if cell.Measures(metric) {
			out.rows = append(out.rows, p.rows[s][c])
		}
	}
	if len(out.rows) == 0 {
		return out
	}
	n := len(p.sessions)
	out.value, out.has = make([]float64, n), make([]bool, n)
	switch metric.Kind {
	case measures.KindRatio:
		out.Part, out.Base = make([]float64, n), make([]float64, n)
		return out
	case measures.KindMaximum, measures.KindMinimum:
		out.Down = metric.Kind == measures.KindMinimum
		for range out.rows {
			out.Tops = append(out.Tops, slices.Repeat([]float64{math.Inf(-1)}, n))
		}
	}
	out.Part = out.value
	return out
}

// fill sets the values of the sessions from…to−1, averaged over the cells of the side: of
// extremes, over those that have one.
func (s *series) fill(m *results.Metric, from, to int) {
	for i := from; i < to && len(s.rows) > 0; i++ {
		cells := 0
		for c, rows := range s.rows {
			if m.Kind == measures.KindRatio {
				part, base := m.Parts(rows[i])
				s.Part[i] += part
				s.Base[i] += base
			} else if v, ok := m.Value(rows[i]); ok {
				s.value[i] += v
				cells++
				s.top(c, i, v)
			}
		}
		if s.has[i] = cells > 0; s.Tops == nil {
			cells = len(s.rows)
		}
		switch {
		case m.Kind != measures.KindRatio && s.has[i]:
			s.value[i] /= float64(cells)
		case m.Kind == measures.KindRatio && s.Base[i] != 0:
			s.value[i], s.has[i] = s.Part[i]/s.Base[i], true
			s.Part[i] /= float64(cells)
			s.Base[i] /= float64(cells)
		}
	}
}

// top sets the extreme of a session under one cell.
func (s *series) top(cell, session int, v float64) {
	if s.Tops == nil {
		return
	}
	if s.Down {
		v = -v
	}
	s.Tops[cell][session] = v
}

// total returns the value over all sessions, NaN without a sample.
//
// Cells are repetitions, and the maximum over a session's repetitions would grow with their
// number. Therefore each cell has its own maximum, and the mean of these is taken.
func (s *series) total() float64 {
	s.Tops = slices.DeleteFunc(s.Tops, func(column []float64) bool {
		return !slices.ContainsFunc(column, func(v float64) bool { return !math.IsInf(v, -1) })
	})
	if !slices.Contains(s.has, true) {
		return math.NaN()
	}
	return s.Value()
}

// summary returns the metrics in the table of a run.
func summary() []string {
	return []string{measures.NameCost, measures.NameHitRatio, measures.NameMisses, measures.NameCompactions,
		measures.NameRecall, measures.NameAddedLatency}
}

// chooseMetrics returns the metrics called names in the order of publication;
// all for no names.
func chooseMetrics(names []string) ([]results.Metric, error) {
	all := results.Metrics()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, m := range all {
		known = append(known, m.Name)
	}
	var errs []error
	for _, name := range names {
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("unknown metric %q%s; docs/schema.md lists all", name, nearest.Like(name, known)))
		}
	}
	return slices.DeleteFunc(all,
		func(m results.Metric) bool { return !slices.Contains(names, m.Name) }), errors.Join(errs...)
}

// estimate sets what figures that differ show of other sessions. The cost is judged by itself, as in the table of a run; the other
// metrics of that table are judged together, and so are all that the table has not; metrics selected by name are one family, beside the cost.
func (r *Report) estimate(ctx context.Context, list []*measured, e stats.Estimator) error {
	var pairs []stats.Pair
	var have []*measured
	for _, m := range list {
		if m.missing() {
			continue
		}
		have = append(have, m)
		p := stats.Pair{Base: m.side[0].Figure, Other: m.side[1].Figure, Relative: m.Summary || r.Chosen}
		switch {
		case m.Metric.Name == measures.NameCost:
			p.Family = 2
		case !p.Relative:
			p.Family = 1
		}
		pairs = append(pairs, p)
	}
	estimates, err := e.Paired(ctx, pairs)
	if err != nil {
		return err
	}
	for i, m := range have {
		if m.Estimate = estimates[i]; len(m.side[0].value) < stats.PairsNeeded(e.Level) {
			m.Interval, m.RelativeInterval = stats.Everything, stats.Everything
		}
	}
	return nil
}

// judge sets the verdict of a figure, and notes why nothing can be said.
func (m *measured) judge(c *Comparison, level float64) {
	if m.missing() {
		m.Notes = append(m.Notes, m.lacking(c))
		return
	}
	m.Verdict = m.verdict()
	if m.Verdict == Same {
		return
	}
	if m.Estimate.Verdict == stats.TooFew {
		m.Notes = append(m.Notes, fmt.Sprintf("too few sessions differ: at %s it takes %d or more to say anything about others",
			level100(level), stats.PairsNeeded(level)))
	}
	if cut := c.cutShort(); cut != "" && m.Metric.Better != measures.Neither {
		m.Notes, m.Verdict = append(m.Notes, cut), Unknown
		return
	}
	if note := c.modelError(m); note != "" {
		m.Notes, m.Verdict = append(m.Notes, note), Chance
	}
}

// verdict puts the estimate's verdict in terms of the metric.
func (m *measured) verdict() Verdict {
	lower := m.Estimate.Verdict == stats.Lower
	switch {
	case m.Estimate.Verdict < stats.Lower:
		return [...]Verdict{stats.Same: Same, stats.TooFew: Unknown, stats.Chance: Chance}[m.Estimate.Verdict]
	case m.Metric.Better == measures.Neither && lower:
		return Below
	case m.Metric.Better == measures.Neither:
		return Above
	case lower == (m.Metric.Better == measures.Lower):
		return Better
	}
	return Worse
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

// lacking says which sides have no figure.
func (m *measured) lacking(c *Comparison) string {
	var without []string
	for s, v := range []float64{m.Base, m.Other} {
		if math.IsNaN(v) {
			without = append(without, []string{c.Base, c.Other}[s])
		}
	}
	return "nothing to compare: no sample in " + document.And(without)
}

// modelError says that the model error on the sessions of either run can
// explain a difference of cost with a verdict, "" when it cannot.
func (c *Comparison) modelError(m *measured) string {
	if m.Metric.Name != measures.NameCost || m.Verdict <= Chance {
		return ""
	}
	worst := c.pairs.sides[0].run.ModelError
	if other := c.pairs.sides[1].run.ModelError; other.Spread > worst.Spread {
		worst = other
	}
	if m.Blurred(worst.Noise(m.side[1].value, m.side[0].value)).Verdict != stats.Chance {
		return ""
	}
	return fmt.Sprintf("the model is off by %s of a session's cost: that can make this difference", percentage(worst.Spread))
}

// level100 formats a level in per cent.
func level100(level float64) string { return fmt.Sprintf("%.6g %%", 100*level) }
