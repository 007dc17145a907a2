package compare

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/reports/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// rounding is the relative difference up to which two figures are the same:
// costs that were added up in another order.
const rounding = 1e-12

// series is a metric of one side, a value for each session.
type series struct {
	cells int       // of the side that have figures for the metric; the rest is nil for none
	value []float64 // 0 where has is false
	part  []float64 // of a ratio, else nil
	base  []float64
	has   []bool
}

// measured is a figure with what it was made from.
type measured struct {
	Figure
	kind kind
	side [2]series
	diff []float64 // by session; 0 where a side has no sample
}

// measure returns the figures of metrics without what is drawn by chance.
// Metrics that neither side has are left out.
func measure(p *pairs, metrics []results.Metric, workers int) ([]*measured, error) {
	list := make([]*measured, len(metrics))
	for i, metric := range metrics {
		m := &measured{Figure: Figure{Metric: metric, Summary: slices.Contains(summary(), metric.Name)}, kind: kindOf(metric.Name)}
		for s := range m.side {
			m.side[s] = p.series(s, metric, m.kind)
		}
		list[i] = m
	}
	// Rows are large: each is read for all metrics while it is in the cache.
	n := len(p.sessions)
	parallel((n+stretch-1)/stretch, workers, func(i int) {
		for _, m := range list {
			for s := range m.side {
				p.fill(&m.side[s], s, m, i*stretch, min((i+1)*stretch, n))
			}
		}
	})
	errs := make([]error, len(metrics))
	parallel(len(metrics), workers, func(i int) { errs[i] = list[i].finish(p) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(m *measured) bool { return !m.Base.OK && !m.Other.OK }), nil
}

// stretch is the number of sessions whose rows stay in the cache.
const stretch = 64

// parallel calls f for 0…n−1 on several goroutines.
func parallel(n, workers int, f func(int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

// finish compares the two sides once their series are filled.
func (m *measured) finish(p *pairs) error {
	for s := range m.side {
		for i, v := range m.side[s].value {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%s: %s of session %q is %v", p.sides[s].label, m.Metric.Name, p.sessions[i], v)
			}
		}
	}
	m.Base, m.Other = m.side[0].total(m.kind), m.side[1].total(m.kind)
	if !m.Base.OK || !m.Other.OK {
		return nil
	}
	m.Difference = difference(m.Base.Value, m.Other.Value)
	if m.Base.Value != 0 {
		m.Relative = Sample{m.Difference / math.Abs(m.Base.Value), true}
	}
	m.differences()
	return nil
}

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
	m.Test = stats.Wilcoxon(tested)
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

// difference returns b − a, nothing when the two differ by rounding alone.
func difference(a, b float64) float64 {
	if math.Abs(b-a) <= rounding*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	return b - a
}

// series returns an empty metric of one side.
func (p *pairs) series(s int, metric results.Metric, k kind) series {
	out := series{}
	for _, cell := range p.sides[s].cells {
		if measures(cell, metric) {
			out.cells++
		}
	}
	if out.cells == 0 {
		return out
	}
	n := len(p.sessions)
	out.value, out.has = make([]float64, n), make([]bool, n)
	if k == divided {
		out.part, out.base = make([]float64, n), make([]float64, n)
	}
	return out
}

// fill sets the values of the sessions from…to−1, averaged over the cells of
// the side.
func (p *pairs) fill(out *series, s int, m *measured, from, to int) {
	if out.cells == 0 {
		return
	}
	division := divisionOf(m.Metric.Name)
	for c, cell := range p.sides[s].cells {
		if !measures(cell, m.Metric) {
			continue
		}
		for i := from; i < to; i++ {
			row := p.rows[s][c][i]
			v, ok := m.Metric.Value(row)
			if division != nil {
				part, base := division(row)
				out.part[i] += float64(part)
				out.base[i] += float64(base)
			} else {
				out.value[i] = m.kind.join(out.value[i], v, out.has[i])
			}
			out.has[i] = out.has[i] || ok
		}
	}
	out.average(m.kind, from, to)
}

// measures reports whether a cell has figures for a metric, whatever the row.
func measures(c *results.Cell, m results.Metric) bool {
	return !slices.ContainsFunc([]string{m.Name, m.Of, m.Group}, func(name string) bool {
		return name != "" && slices.Contains(c.Unmeasured, name)
	})
}

// join adds the value of a row to that of others, if there are any yet.
func (k kind) join(sum, v float64, others bool) float64 {
	switch {
	case k == added:
		return sum + v
	case !others:
		return v
	case k == least:
		return min(sum, v)
	}
	return max(sum, v)
}

// average turns sums over cells into means.
func (s *series) average(k kind, from, to int) {
	for i := from; i < to; i++ {
		switch {
		case k == divided && s.base[i] != 0:
			s.value[i] = s.part[i] / s.base[i]
			s.part[i] /= float64(s.cells)
			s.base[i] /= float64(s.cells)
		case k == added && s.cells > 1:
			s.value[i] /= float64(s.cells)
		}
	}
}

// total returns the value over all sessions.
func (s *series) total(k kind) Sample {
	if !slices.Contains(s.has, true) {
		return Sample{}
	}
	if k == divided {
		part, base := sum(s.part), sum(s.base)
		return Sample{part / base, base != 0}
	}
	total, others := 0.0, false
	for i, v := range s.value {
		if k == added || s.has[i] {
			total = k.join(total, v, others)
			others = true
		}
	}
	return Sample{total, true}
}

func sum(values []float64) float64 {
	var t float64
	for _, v := range values {
		t += v
	}
	return t
}
