package results

// Kind is how the value of a metric over several rows follows from those of
// each. A row without a sample takes no part in maxima and minima; what it counts
// nevertheless, such as attempts at calls that were never answered, is in sums.
type Kind uint8

// The kinds of metrics.
const (
	KindSum     Kind = iota // the values add up
	KindRatio               // the sum of one figure over that of another: see Metric.Parts
	KindMaximum             // the largest value
	KindMinimum             // the least value
)

// String returns "sum", "ratio", "maximum" or "minimum".
func (k Kind) String() string {
	return [...]string{"sum", "ratio", "maximum", "minimum"}[min(k, KindMinimum)]
}

// Join returns the value over two sets of rows, given the values over each. For a
// ratio these are not its values but those of one of its two parts.
func (k Kind) Join(a, b float64) float64 {
	switch k {
	case KindMaximum:
		return max(a, b)
	case KindMinimum:
		return min(a, b)
	}
	return a + b
}

// figure is the Value of a metric that every row has.
func figure[T int | int64 | float64](f func(*Row) T) func(*Row) (float64, bool) {
	return func(r *Row) (float64, bool) { return float64(f(r)), true }
}

// ratio makes m the ratio of the sums of two counts. There is no sample when the
// base is zero.
func ratio(m Metric, parts func(*Row) (part, base int64)) Metric {
	m.Kind, m.Unit = KindRatio, UnitRatio
	m.Parts = func(r *Row) (float64, float64) {
		part, base := parts(r)
		return float64(part), float64(base)
	}
	m.Value = func(r *Row) (float64, bool) {
		part, base := parts(r)
		if base == 0 {
			return 0, false
		}
		return float64(part) / float64(base), true
	}
	return m
}
