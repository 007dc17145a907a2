package stats

import (
	"math"
	"slices"
)

// Figure is a metric of one side by session, or by another unit that is sampled: a sum, a
// ratio of two sums, or the mean of several extremes.
type Figure struct {
	Part []float64   // of a sum or a ratio; of extremes what each session has by itself
	Base []float64   // of a ratio, else nil
	Tops [][]float64 // the columns whose maxima count, −∞ without a sample; else nil
	Down bool        // minima count, and Tops has the negatives
}

// Value returns the figure over all sessions. It is NaN or infinite for a ratio whose base is
// 0 and for extremes without a sample.
func (f *Figure) Value() float64 {
	switch {
	case f.Tops != nil:
		var sum float64
		for _, column := range f.Tops {
			sum += slices.Max(column)
		}
		return f.mean(sum)
	case f.Base != nil:
		return total(f.Part) / total(f.Base)
	}
	return total(f.Part)
}

// mean returns the mean of extremes from the sum of the maxima of Tops.
func (f *Figure) mean(sum float64) float64 {
	if f.Down {
		sum = -sum
	}
	return sum / float64(len(f.Tops))
}

// columns returns what is resampled of f: the sums or, of extremes, the maxima.
func (f *Figure) columns() (sums, maxima [][]float64) {
	switch {
	case f.Tops != nil:
		return nil, f.Tops
	case f.Base != nil:
		return [][]float64{f.Part, f.Base}, nil
	}
	return [][]float64{f.Part}, nil
}

// at returns the figure in a resample of its columns.
func (f *Figure) at(columns [][]float64, resample int) float64 {
	switch {
	case f.Tops != nil:
		var sum float64
		for _, column := range columns[:len(f.Tops)] {
			sum += column[resample]
		}
		return f.mean(sum)
	case f.Base != nil:
		return columns[0][resample] / columns[1][resample]
	}
	return columns[0][resample]
}

// influence returns the linear influence of each session on the figure, up to a constant. An
// extreme has none; what the sessions have by themselves stands for it.
func (f *Figure) influence() []float64 {
	if f.Base == nil {
		return f.Part
	}
	ratio, base := f.Value(), total(f.Base)
	out := make([]float64, len(f.Part))
	for i := range out {
		out[i] = (f.Part[i] - ratio*f.Base[i]) / base
	}
	return out
}

// Blocks returns a sum or a ratio over n blocks of consecutive sessions in the place of sessions:
// where neighbours are alike, blocks of them are the units that are sampled.
func (f *Figure) Blocks(n int) Figure {
	joined := func(column []float64) []float64 {
		if column == nil {
			return nil
		}
		out := make([]float64, n)
		for i, v := range column {
			out[i*n/len(column)] += v
		}
		return out
	}
	return Figure{Part: joined(f.Part), Base: joined(f.Base)}
}

func total(values []float64) float64 {
	var t float64
	for _, v := range values {
		t += v
	}
	return t
}

// rounding is the relative difference up to which two figures are equal, for sums that were
// added up in another order.
const rounding = 1e-12

// Difference returns b − a, or 0 when the two differ only by rounding.
func Difference(a, b float64) float64 {
	if math.Abs(b-a) <= rounding*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	return b - a
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
