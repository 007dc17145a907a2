package compare

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
)

// extremes are the values of which a maximum is taken, by cell of a side and
// session: for a minimum their negatives, −∞ where a session has no sample.
//
// Cells are repetitions, and the maximum over a session's repetitions would grow
// with their number: each cell has a maximum of its own, of which the mean is
// taken.
type extremes [][]float64

func newExtremes(cells, sessions int) extremes {
	e := make(extremes, cells)
	for c := range e {
		e[c] = slices.Repeat([]float64{math.Inf(-1)}, sessions)
	}
	return e
}

// direction is what a value of a kind is multiplied with to look for maxima.
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

// sampled leaves the cells that have a sample in some session.
func (e extremes) sampled() extremes {
	return slices.DeleteFunc(e, func(column []float64) bool {
		return !slices.ContainsFunc(column, func(v float64) bool { return !math.IsInf(v, -1) })
	})
}

// total returns the mean of the maxima of cells that are sampled.
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

// meanAt returns the mean over cells in resample r, not finite when one of them
// has no sample in it.
func meanAt(columns [][]float64, r int, k results.Kind) float64 {
	var sum float64
	for _, column := range columns {
		sum += column[r]
	}
	return direction(k) * sum / float64(len(columns))
}
