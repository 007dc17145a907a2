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
	case results.KindRatio:
		out.Part, out.Base = make([]float64, n), make([]float64, n)
		return out
	case results.KindMaximum, results.KindMinimum:
		out.Down = metric.Kind == results.KindMinimum
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
			if m.Kind == results.KindRatio {
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
		case m.Kind != results.KindRatio && s.has[i]:
			s.value[i] /= float64(cells)
		case m.Kind == results.KindRatio && s.Base[i] != 0:
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
	return []string{results.NameCost, results.NameHitRatio, results.NameMisses, results.NameCompactions,
		results.NameRecall, results.NameAddedLatency}
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
