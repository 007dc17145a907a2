package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// rounding is the relative difference up to which two figures are equal, for
// costs that were added up in another order.
const rounding = 1e-12

// series is a metric of one side, with a value for each session.
type series struct {
	rows  [][]*results.Row // by cell of the side that has figures for the metric; otherwise nil
	value []float64        // 0 where has is false
	part  []float64        // of a ratio; otherwise nil
	base  []float64
	has   []bool
	tops  extremes // of a maximum or a minimum; otherwise nil
}

// measured is a figure and the data it was made from.
type measured struct {
	Figure
	side [2]series
	diff []float64 // by session; 0 where a side has no sample
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

// finish compares the two sides once their series are filled.
func (m *measured) finish(p *pairs) error {
	for s := range m.side {
		for i, v := range m.side[s].value {
			if !finite(v) {
				return fmt.Errorf("%s: %s of session %q is %v", p.sides[s].label, m.Metric.Name, p.sessions[i], v)
			}
		}
	}
	for s := range m.side {
		m.side[s].tops = m.side[s].tops.sampled()
	}
	m.Base, m.Other = m.side[0].total(m.Metric.Kind), m.side[1].total(m.Metric.Kind)
	if !m.Base.OK || !m.Other.OK {
		return nil
	}
	m.Difference = difference(m.Base.Value, m.Other.Value)
	if !finite(m.Base.Value) || !finite(m.Other.Value) || !finite(m.Difference) {
		return fmt.Errorf("%s is too large to compare: %v in %s, %v in %s", m.Metric.Name, m.Base.Value,
			p.sides[0].label, m.Other.Value, p.sides[1].label)
	}
	// For a base near zero a multiple can exceed the range of numbers.
	if v := m.Difference / math.Abs(m.Base.Value); m.Base.Value != 0 && finite(v) {
		m.Relative = Sample{v, true}
	}
	m.differences()
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// differences compares the sessions one by one.
func (m *measured) differences() {
	a, b := &m.side[0], &m.side[1]
	m.diff = make([]float64, len(a.value))
	tested := make([]float64, 0, len(a.value))
	for i := range m.diff {
		d := difference(a.value[i], b.value[i])
		m.diff[i] = d
		if !a.has[i] || !b.has[i] {
			continue
		}
		tested = append(tested, d)
		switch {
		case d < 0:
			m.Lower++
		case d > 0:
			m.Higher++
		default:
			m.Ties++
		}
	}
	m.Test = stats.Wilcoxon(tested, rounding*max(largest(a.value), largest(b.value)))
	m.Tested = m.Test.N > 0
	if m.changed() {
		m.Verdict = Unknown
		return
	}
	m.Verdict = Same
	m.side, m.diff = [2]series{}, nil
}

// changed reports whether anything differs, for ratios their parts too.
func (m *measured) changed() bool {
	return m.Tested || m.Difference != 0 || slices.ContainsFunc(m.diff, func(d float64) bool { return d != 0 }) ||
		!slices.Equal(m.side[0].part, m.side[1].part) || !slices.Equal(m.side[0].base, m.side[1].base)
}

// difference returns b − a, or 0 when the two differ only by rounding.
func difference(a, b float64) float64 {
	if math.Abs(b-a) <= rounding*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	return b - a
}

// largest returns the largest absolute value, to which rounding is proportional.
func largest(values []float64) float64 {
	var size float64
	for _, v := range values {
		size = max(size, math.Abs(v))
	}
	return size
}

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
	case results.KindRatio:
		out.part, out.base = make([]float64, n), make([]float64, n)
	case results.KindMaximum, results.KindMinimum:
		out.tops = newExtremes(len(out.rows), n)
	}
	return out
}

// fill sets the values of the sessions from…to−1, averaged over the cells of
// the side.
func (s *series) fill(m *results.Metric, from, to int) {
	if len(s.rows) == 0 {
		return
	}
	if s.tops != nil {
		s.fillTops(m, from, to)
		return
	}
	for _, rows := range s.rows {
		if m.Kind == results.KindRatio {
			s.addParts(m, rows, from, to)
			continue
		}
		for i := from; i < to; i++ {
			v, ok := m.Value(rows[i])
			switch {
			case m.Kind == results.KindSum || ok && s.has[i]:
				s.value[i] = m.Kind.Join(s.value[i], v)
			case ok:
				s.value[i] = v
			}
			s.has[i] = s.has[i] || ok
		}
	}
	s.average(m.Kind, from, to)
}

// addParts adds the parts of a ratio.
func (s *series) addParts(m *results.Metric, rows []*results.Row, from, to int) {
	for i := from; i < to; i++ {
		part, base := m.Parts(rows[i])
		s.part[i] += part
		s.base[i] += base
		s.has[i] = s.base[i] != 0
	}
}

// average turns sums over cells into means, and parts into ratios.
func (s *series) average(k results.Kind, from, to int) {
	cells := float64(len(s.rows))
	for i := from; i < to; i++ {
		switch {
		case k == results.KindRatio && s.has[i]:
			s.value[i] = s.part[i] / s.base[i]
			s.part[i] /= cells
			s.base[i] /= cells
		case k == results.KindSum && cells > 1:
			s.value[i] /= cells
		}
	}
}

// total returns the value over all sessions.
func (s *series) total(k results.Kind) Sample {
	if k == results.KindRatio {
		if base := sum(s.base); base != 0 {
			return Sample{sum(s.part) / base, true}
		}
		return Sample{}
	}
	if s.tops != nil {
		return s.tops.total(k)
	}
	var total Sample
	for i, v := range s.value {
		switch {
		case k == results.KindSum || s.has[i] && total.OK:
			total.Value = k.Join(total.Value, v)
		case s.has[i]:
			total.Value = v
		}
		total.OK = total.OK || s.has[i]
	}
	return total
}

func sum(values []float64) float64 {
	var t float64
	for _, v := range values {
		t += v
	}
	return t
}

// extremes are the values whose maximum is taken, by cell of a side and session; for a
// minimum their negatives. They are −∞ where a session has no sample.
//
// Cells are repetitions, and the maximum over a session's repetitions would
// grow with their number. Therefore each cell has its own maximum, and the mean
// of these is taken.
type extremes [][]float64

func newExtremes(cells, sessions int) extremes {
	e := make(extremes, cells)
	for c := range e {
		e[c] = slices.Repeat([]float64{math.Inf(-1)}, sessions)
	}
	return e
}

// direction is the factor that turns a search for the extreme of a kind into one for the maximum.
func direction(k results.Kind) float64 {
	if k == results.KindMinimum {
		return -1
	}
	return 1
}

// fillTops sets the values of the sessions from…to−1 of every cell, and their
// means over the cells that have one.
func (s *series) fillTops(m *results.Metric, from, to int) {
	for i := from; i < to; i++ {
		var sum float64
		n := 0
		for c, rows := range s.rows {
			if v, ok := m.Value(rows[i]); ok {
				s.tops[c][i] = direction(m.Kind) * v
				sum, n = sum+v, n+1
			}
		}
		if n > 0 {
			s.value[i], s.has[i] = sum/float64(n), true
		}
	}
}

// sampled returns the cells with a sample in some session.
func (e extremes) sampled() extremes {
	return slices.DeleteFunc(e, func(column []float64) bool {
		return !slices.ContainsFunc(column, func(v float64) bool { return !math.IsInf(v, -1) })
	})
}

// total returns the mean of the maxima of the sampled cells.
func (e extremes) total(k results.Kind) Sample {
	if len(e) == 0 {
		return Sample{}
	}
	var sum float64
	for _, column := range e {
		sum += slices.Max(column)
	}
	return Sample{direction(k) * sum / float64(len(e)), true}
}

// meanAt returns the mean over cells in resample r, not finite if one of them
// has no sample in it.
func meanAt(columns [][]float64, r int, k results.Kind) float64 {
	var sum float64
	for _, column := range columns {
		sum += column[r]
	}
	return direction(k) * sum / float64(len(columns))
}

// summary returns the metrics in the table of a run.
func summary() []string {
	return []string{"cost_usd", "cache_hit_ratio", "misses", "compactions", "chain_max", "peak_context_tokens",
		"added_latency_seconds"}
}

// chooseMetrics returns the metrics called names in the order of publication;
// all for no names.
func chooseMetrics(names []string) ([]results.Metric, error) {
	all := results.Metrics()
	if len(names) == 0 {
		return all, nil
	}
	known := make([]string, len(all))
	for i, m := range all {
		known[i] = m.Name
	}
	var errs []error
	for i, name := range names {
		switch {
		case !slices.Contains(known, name):
			errs = append(errs, fmt.Errorf("unknown metric %q%s; docs/schema.md describes all there are", name, nearest.Like(name, known)))
		case slices.Contains(names[:i], name):
			errs = append(errs, fmt.Errorf("metric %q is named twice", name))
		}
	}
	return slices.DeleteFunc(all,
		func(m results.Metric) bool { return !slices.Contains(names, m.Name) }), errors.Join(errs...)
}
