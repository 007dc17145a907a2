package compare

import (
	"context"
	"math"

	"github.com/compactsim/compactsim/reports/stats"
)

// leastKept is the share of resamples in which a ratio must have a base for its
// interval to mean anything.
const leastKept = 0.9

// resample sets the intervals of figures that differ by the paired bootstrap
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
		switch m.kind {
		case added:
			first = append(first, len(sums))
			sums = append(sums, m.diff)
			if m.compared(o) {
				sums = append(sums, a.value)
			}
		case divided:
			first = append(first, len(sums))
			sums = append(sums, a.part, a.base, b.part, b.base)
		default:
			first = append(first, len(maxima))
			maxima = append(maxima, m.extreme(a), m.extreme(b))
		}
	}
	boot := stats.Bootstrap{Seed: o.Seed, Resamples: o.Resamples, Workers: o.Workers}
	d, err := boot.Draw(ctx, n, sums, maxima)
	if err != nil {
		return err
	}
	parallel(len(list), o.Workers, func(i int) {
		if m := list[i]; first[i] >= 0 {
			columns := d.Sums
			if m.kind == largest || m.kind == least {
				columns = d.Maxima
			}
			m.interval(columns[first[i]:], o)
		}
	})
	return nil
}

// compared reports whether a figure gets an interval of its relative difference:
// those of the run table and those that were asked for by name. It takes a
// column more.
func (m *measured) compared(o Options) bool { return m.Summary || len(o.Metrics) > 0 }

// extreme returns the values of which the maximum is taken: for a minimum their
// negatives. A session without a sample never is the maximum.
func (m *measured) extreme(s *series) []float64 {
	values := make([]float64, len(s.value))
	for i, v := range s.value {
		if m.kind == least {
			v = -v
		}
		if !s.has[i] {
			v = math.Inf(-1)
		}
		values[i] = v
	}
	return values
}

// interval sets the intervals from resampled columns: difference and baseline
// of sums, part and base of both sides of ratios, both sides of maxima.
func (m *measured) interval(columns [][]float64, o Options) {
	var differences, relatives []float64
	for r := range o.Resamples {
		a, d := m.resampled(columns, r, o)
		if math.IsNaN(d) || math.IsInf(d, 0) {
			continue
		}
		differences = append(differences, d)
		if a != 0 && m.compared(o) {
			relatives = append(relatives, d/math.Abs(a))
		}
	}
	enough := leastKept * float64(o.Resamples)
	if float64(len(differences)) >= enough {
		m.Interval = snapped(stats.Percentile(differences, o.Level))
	}
	if float64(len(relatives)) >= enough && m.Relative.OK {
		m.RelativeInterval = snapped(stats.Percentile(relatives, o.Level))
	}
}

// snapped takes an end that is zero but for the rounding of sums for zero: whether
// an interval contains it decides a verdict.
func snapped(i stats.Interval) *stats.Interval {
	for _, end := range []*float64{&i.Low, &i.High} {
		if math.Abs(*end) < 1e-9*(i.High-i.Low) {
			*end = 0
		}
	}
	return &i
}

// resampled returns the baseline's value and the difference in resample r, not
// finite when a side has no sample in it.
func (m *measured) resampled(columns [][]float64, r int, o Options) (base, diff float64) {
	switch m.kind {
	case added:
		if m.compared(o) {
			base = columns[1][r]
		}
		return base, columns[0][r]
	case divided:
		base = columns[0][r] / columns[1][r]
		return base, difference(base, columns[2][r]/columns[3][r])
	case least:
		return -columns[0][r], columns[0][r] - columns[1][r]
	}
	return columns[0][r], columns[1][r] - columns[0][r]
}

// approximate sets normal intervals with standard errors by the delta method:
// that of the sum of each session's linear influence on the difference. Maxima
// have none.
func approximate(list []*measured, o Options) {
	for _, m := range list {
		if m.Verdict != Unknown || m.kind == largest || m.kind == least {
			continue
		}
		influence, base := m.diff, m.side[0].value
		if m.kind == divided {
			base = m.side[0].influence(m.Base.Value)
			influence = m.side[1].influence(m.Other.Value)
			for i, v := range base {
				influence[i] -= v
			}
		}
		m.Interval = snapped(stats.Normal(m.Difference, stats.StandardErrorOfSum(influence), o.Level))
		if !m.Relative.OK || !m.compared(o) {
			continue
		}
		relative := make([]float64, len(influence))
		for i := range relative {
			relative[i] = influence[i]/math.Abs(m.Base.Value) - m.Relative.Value*base[i]/m.Base.Value
		}
		m.RelativeInterval = snapped(stats.Normal(m.Relative.Value, stats.StandardErrorOfSum(relative), o.Level))
	}
}

// influence returns what each session does to a ratio of sums.
func (s *series) influence(ratio float64) []float64 {
	all := sum(s.base)
	out := make([]float64, len(s.part))
	for i := range out {
		out[i] = (s.part[i] - ratio*s.base[i]) / all
	}
	return out
}
