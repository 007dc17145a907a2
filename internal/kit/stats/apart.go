package stats

import (
	"context"
	"math"
)

// Ratio is the quotient of two sums over sampled units, such as sessions: the
// part and the base of each.
type Ratio struct{ Part, Base []float64 }

// Add adds the part and the base of one session.
func (r *Ratio) Add(part, base float64) {
	r.Part, r.Base = append(r.Part, part), append(r.Base, base)
}

// Value returns the ratio, NaN or an infinity when its base is 0.
func (r *Ratio) Value() float64 { return total(r.Part) / total(r.Base) }

// Influence returns the linear influence of each session on the ratio.
func (r *Ratio) Influence() []float64 {
	ratio, base := r.Value(), total(r.Base)
	out := make([]float64, len(r.Part))
	for i := range out {
		out[i] = (r.Part[i] - ratio*r.Base[i]) / base
	}
	return out
}

func total(values []float64) float64 {
	var t float64
	for _, v := range values {
		t += v
	}
	return t
}

// LeastKept is the least share of resamples with a base for the interval of a
// ratio to be meaningful.
const LeastKept = 0.9

// Apart returns the interval of now − factor × was for two ratios over independent
// samples of sessions, each resampled independently (BCa, see Accelerated). The interval
// is widened for small samples by Welch's degrees of freedom (Welch 1947), so that many
// sessions on one side do not make up for few on the other. With fewer than two sessions
// on a side, and if resamples lack a base, it is the whole line.
func (b Bootstrap) Apart(ctx context.Context, was, now Ratio, factor, level float64) (Interval, error) {
	everything := Interval{math.Inf(-1), math.Inf(1)}
	if len(was.Part) < 2 || len(now.Part) < 2 {
		return everything, nil
	}
	before, err := b.Draw(ctx, len(was.Part), [][]float64{was.Part, was.Base}, nil)
	if err != nil {
		return everything, err
	}
	b.Seed++ // the two sides are resampled independently
	after, err := b.Draw(ctx, len(now.Part), [][]float64{now.Part, now.Base}, nil)
	if err != nil {
		return everything, err
	}
	draws := make([]float64, 0, b.Resamples)
	for r := range b.Resamples {
		d := after.Sums[0][r]/after.Sums[1][r] - factor*before.Sums[0][r]/before.Sums[1][r]
		if !math.IsNaN(d) && !math.IsInf(d, 0) {
			draws = append(draws, d)
		}
	}
	if float64(len(draws)) < LeastKept*float64(b.Resamples) {
		return everything, nil
	}
	influence := was.Influence()
	for i := range influence {
		influence[i] *= -factor
	}
	freedom := welch(influence, now.Influence())
	influence = append(influence, now.Influence()...)
	return acceleratedBy(draws, now.Value()-factor*was.Value(), influence, widened(level, freedom)), nil
}

// welch returns the degrees of freedom of the difference of two estimates, given the
// influence of each session on it.
func welch(a, b []float64) float64 {
	x, y := StandardErrorOfSum(a), StandardErrorOfSum(b)
	unit := max(x, y)
	if unit == 0 {
		return float64(len(a) + len(b) - 2)
	}
	x, y = x*x/unit/unit, y*y/unit/unit
	return (x + y) * (x + y) / (x*x/float64(len(a)-1) + y*y/float64(len(b)-1))
}
