package stats

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Apart estimates now − factor × was over independent samples of sessions, each of which is
// resampled by itself (BCa). The interval is widened for small samples by Welch's degrees of
// freedom (Welch 1947), so that many sessions on one side do not make up for few on the other. A side whose
// sessions are all alike is taken to spread as the other does.
// With fewer than two sessions on a side, and if resamples lack a base, it is the whole line.
func (e Estimator) Apart(ctx context.Context, was, now Figure, factor float64) (Estimate, error) {
	e = e.defaults()
	out := Estimate{Difference: now.Value() - factor*was.Value(), Interval: Everything, RelativeInterval: Everything,
		Relative: math.NaN(), Pairs: len(was.Part) + len(now.Part), Base: was.Value(), level: e.Level, family: 1, step: 1,
		least: leastApart(len(was.Part), len(now.Part))}
	if len(was.Part) < 2 || len(now.Part) < 2 {
		out.Verdict = TooFew
		return out, nil
	}
	boot := e.bootstrap()
	sums, _ := was.columns()
	before, err := boot.Draw(ctx, len(was.Part), sums, nil)
	if err != nil {
		return out, err
	}
	boot.Seed++ // the two sides are resampled independently
	sums, _ = now.columns()
	after, err := boot.Draw(ctx, len(now.Part), sums, nil)
	if err != nil {
		return out, err
	}
	draws := make([]float64, 0, e.Resamples)
	for r := range e.Resamples {
		if d := now.at(after.Sums, r) - factor*was.at(before.Sums, r); finite(d) {
			draws = append(draws, d)
		}
	}
	influence := slices.Clone(was.influence())
	for i := range influence {
		influence[i] *= -factor
	}
	wasError, nowError := standardError(influence), standardError(now.influence())
	lent := 0.0 // a few sessions that happen to be alike spread as the others do
	switch n, k := float64(len(was.Part)), float64(len(now.Part)); {
	case nowError == 0:
		lent = wasError * math.Sqrt(n/k) / factor
		nowError = lent
	case wasError == 0:
		lent = factor * nowError * math.Sqrt(k/n)
		wasError = lent
	}
	out.deviation = math.Hypot(wasError, nowError)
	out.spread = out.deviation
	out.freedom = welch(influence, now.influence())
	if lent > 0 {
		out.freedom = float64(len(was.Part) + len(now.Part) - 2)
	}
	out.p = max(out.least, 2*out.student().CDF(-math.Abs(out.Difference)/out.deviation))
	out.Interval = e.interval(draws, out.Difference, append(influence, now.influence()...), out.freedom, false)
	out.Interval = out.Interval.widened(out.Difference, studentPoint(out.student().Nu, (1+e.Level)/2)*lent)
	out.judge()
	out.Detectable = grown(out.Detectable/out.spread, wasError, nowError, now.Value())
	return out, nil
}

// grown returns the detectable difference, so many standard errors, of two samples of which the later one spreads more
// where it is larger: sessions of which all cost a tenth more differ by a tenth more too.
func grown(multiple, was, now, value float64) float64 {
	if !finite(multiple) || value == 0 {
		return multiple * math.Hypot(was, now)
	}
	d := 0.0
	for range 30 {
		d = multiple * math.Hypot(was, now*(1+d/math.Abs(value)))
	}
	return d
}

// mostSessions is the largest number that Enough returns.
const mostSessions = 1000

// Enough returns how many sessions like those of was, and of now where there are two, show a
// difference from factor × was in four of five samples; 0 if the spread of was itself hides it.
func (e Estimator) Enough(was, now Figure, factor, difference float64) int {
	e = e.defaults()
	n := float64(len(was.Part))
	if n < 2 {
		return 0
	}
	one := standardError(was.influence())
	single := one * math.Sqrt(n) // of one session
	if k := len(now.Part); k >= 2 {
		single = standardError(now.influence()) * math.Sqrt(float64(k))
	}
	outside := (1 - e.Level) * (1 + 1e-9)
	for k := 2; k <= mostSessions; k++ {
		x, y := factor*factor*one*one, single*single/float64(k)
		t := distuv.StudentsT{Sigma: 1, Nu: n - 1}
		if x+y > 0 {
			t.Nu = (x + y) * (x + y) / (x*x/(n-1) + y*y/float64(k-1))
		}
		if leastApart(len(was.Part), k) <= outside && (studentPoint(t.Nu, (1+e.Level)/2)+studentPoint(t.Nu, power))*math.Sqrt(x+y) <= math.Abs(difference) {
			return k
		}
	}
	return 0
}

// leastApart returns the smallest P of two samples: twice the chance of a single one of all
// ways to divide their sessions between both sides.
func leastApart(n, k int) float64 {
	ways := 1.0
	for i := range k {
		ways *= float64(n+k-i) / float64(i+1)
	}
	return 2 / ways
}

// welch returns the degrees of freedom of the difference of two estimates, given the influence of
// each session on them.
func welch(a, b []float64) float64 {
	x, y := standardError(a), standardError(b)
	unit := max(x, y)
	if unit == 0 {
		return float64(len(a) + len(b) - 2)
	}
	x, y = x*x/unit/unit, y*y/unit/unit
	return (x + y) * (x + y) / (x*x/freedom(a) + y*y/freedom(b))
}
