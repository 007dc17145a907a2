package stats

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/parallel"
)

// Estimator says how differences between two sides are estimated. The zero value draws 1,000
// resamples with seed 0 for intervals at 95 %.
type Estimator struct {
	Level     float64 // of confidence, in (0, 1); 0 for 0.95
	Seed      uint64
	Resamples int // 0 for 1,000
	// Student asks for Student's intervals instead of resamples, as for a mark in each line of a
	// table of thousands.
	Student bool
	Workers int // 0 for one per processor; does not change the results
}

// Defaults of an Estimator.
const (
	DefaultLevel     = 0.95
	DefaultResamples = 1000
)

// Pair is a figure of two sides over the same sessions.
type Pair struct {
	Base, Other Figure
	// Relative asks for the interval of the relative difference too, for which the sums of
	// the base are resampled.
	Relative bool
	// Family tells apart differences that are judged together: the chance that any of a family
	// gets a verdict where nothing differs stays 1 − level (Holm 1979).
	Family int
}

// Estimate is the difference of two sides on the sessions at hand, and what these show of
// other sessions of their kind. Figures are in the unit of the metric.
type Estimate struct {
	Difference float64 // other − base
	Interval   Interval
	// Relative is the difference as a fraction of the base, NaN for a base of 0.
	Relative         float64
	RelativeInterval Interval
	// P is the chance of a difference as large where there is none, by Student's distribution, but
	// at least what any figures of so few sessions allow, corrected for the family.
	P float64
	// Detectable is the smallest difference that gets a verdict in four of five such samples;
	// NaN for extremes and for too few sessions. Of a difference that is most of the base, what all
	// sessions share says nothing of smaller ones.
	Detectable float64
	Base       float64
	Pairs      int // sessions that differ; of sides with other sessions, all
	Verdict    Verdict

	level     float64
	deviation float64 // standard error of the difference, for P
	spread    float64 // the same for smaller differences
	freedom   float64
	least     float64 // the smallest P that figures of so many sessions can have
	extreme   bool
	tested    float64 // the difference that has this standard error; of extremes that of the sessions by themselves
	family    int     // differences that are judged together
	step      float64 // factor by which P is corrected
}

// Verdict says what a difference shows of other sessions.
type Verdict uint8

// The verdicts.
const (
	Same   Verdict = iota // no session differs
	TooFew                // no figures of so few sessions show anything
	Chance                // chance explains the difference
	Lower
	Higher
)

// leastKept is the least share of resamples with a sample for an interval to be meaningful.
const leastKept = 0.9

// power is the share of samples in which a detectable difference gets a verdict.
const power = 0.8

func (e Estimator) defaults() Estimator {
	if e.Level == 0 {
		e.Level = DefaultLevel
	}
	if e.Resamples == 0 {
		e.Resamples = DefaultResamples
	}
	return e
}

func (e Estimator) bootstrap() Bootstrap { return Bootstrap{e.Seed, e.Resamples, e.Workers} }

// Paired estimates differences over the same sessions. All pairs have the same number of
// sessions and share the resamples. It fails when ctx ends.
//
// An interval is that of the paired bootstrap, corrected for bias and skewness (BCa, see
// Accelerated); of extremes, on which no session has a linear influence, the plain
// percentiles. Where resamples cannot reach the level, because there are too few of them or
// too few sessions, it is Student's.
func (e Estimator) Paired(ctx context.Context, pairs []Pair) ([]Estimate, error) {
	e = e.defaults()
	list := make([]comparison, len(pairs))
	parallel.Each(e.Workers, len(pairs), func(i int) { list[i] = compared(&pairs[i]) })
	var sums, maxima [][]float64
	first := make([][2]int, len(list)) // of the columns of each
	n := 0
	for i := range list {
		c := &list[i]
		n = max(n, len(c.diff))
		if c.differ == 0 || !e.reaches(len(c.diff)) {
			continue
		}
		first[i] = [2]int{len(sums), len(maxima)}
		s, m := c.columns()
		sums, maxima = append(sums, s...), append(maxima, m...)
	}
	var d Draws
	if len(sums)+len(maxima) > 0 {
		var err error
		if d, err = e.bootstrap().Draw(ctx, n, sums, maxima); err != nil {
			return nil, err
		}
	}
	out := make([]Estimate, len(list))
	parallel.Each(e.Workers, len(list), func(i int) {
		out[i] = list[i].estimate(e, d.Sums[first[i][0]:], d.Maxima[first[i][1]:])
	})
	correct(pairs, out)
	return out, nil
}

// One estimates a single difference.
func (e Estimator) One(p Pair) Estimate {
	list, err := e.Paired(context.Background(), []Pair{p})
	if err != nil {
		panic(err) // only the end of a context is an error
	}
	return list[0]
}

// correct judges the estimates of each family together, by Holm's step-down method: rejecting
// those with a corrected P at or below 1 − level keeps the chance of any wrong rejection there,
// however they depend on each other. Where no session differs there is nothing to reject.
func correct(pairs []Pair, list []Estimate) {
	families := map[int][]*Estimate{}
	for i := range list {
		if e := &list[i]; e.Pairs > 0 {
			families[pairs[i].Family] = append(families[pairs[i].Family], e)
		}
	}
	for _, family := range families {
		slices.SortStableFunc(family, func(a, b *Estimate) int { return cmp.Compare(a.P, b.P) })
		var least float64
		for rank, e := range family {
			p := max(e.P, math.SmallestNonzeroFloat64)
			least = max(least, min(1, float64(len(family)-rank)*p))
			e.family, e.step = len(family), least/p
			e.judge()
		}
	}
}

// reaches reports whether resamples of n pairs can reach the level: some lie beyond the ends
// of the interval, and there are enough pairs for any test to reject.
func (e Estimator) reaches(n int) bool {
	return !e.Student && n >= PairsNeeded(e.Level) && normalShare(-widened(e.Level, float64(n-1)))*float64(e.Resamples) >= 1
}

// comparison is a pair while it is estimated.
type comparison struct {
	*Pair
	diff   []float64 // by session, of sums and of what sessions have by themselves
	differ int       // sessions that differ
}

func compared(p *Pair) comparison {
	c := comparison{Pair: p, diff: make([]float64, len(p.Base.Part))}
	for i := range c.diff {
		c.diff[i] = Difference(p.Base.Part[i], p.Other.Part[i])
		if c.diff[i] != 0 || p.Base.Base != nil && Difference(p.Base.Base[i], p.Other.Base[i]) != 0 || p.topDiffers(i) {
			c.differ++
		}
	}
	return c
}

// topDiffers reports whether a session differs under one of several maxima.
func (p *Pair) topDiffers(session int) bool {
	a, b := p.Base.Tops, p.Other.Tops
	for k := range min(len(a), len(b)) {
		if a[k][session] != b[k][session] {
			return true
		}
	}
	return len(a) != len(b)
}

// columns returns what is resampled: of sums the differences and, for relative ones, the base;
// of other figures both sides.
func (c *comparison) columns() (sums, maxima [][]float64) {
	switch {
	case c.sum() && c.Relative:
		return [][]float64{c.diff, c.Base.Part}, nil
	case c.sum():
		return [][]float64{c.diff}, nil
	}
	sums, maxima = c.Base.columns()
	s, m := c.Other.columns()
	return slices.Concat(sums, s), slices.Concat(maxima, m)
}

func (c *comparison) sum() bool { return c.Base.Base == nil && c.Base.Tops == nil }

// at returns the base and the difference in a resample.
func (c *comparison) at(columns [][]float64, resample int) (base, diff float64) {
	if c.sum() {
		if c.Relative {
			base = columns[1][resample]
		}
		return base, columns[0][resample]
	}
	width := 2
	if c.Base.Tops != nil {
		width = len(c.Base.Tops)
	}
	base = c.Base.at(columns, resample)
	return base, Difference(base, c.Other.at(columns[width:], resample))
}

// estimate finishes a comparison with the resampled columns that begin with its own.
func (c *comparison) estimate(e Estimator, sums, maxima [][]float64) Estimate {
	base := c.Base.Value()
	out := Estimate{Difference: Difference(base, c.Other.Value()), Interval: Everything, RelativeInterval: Everything,
		Pairs: c.differ, Base: base, level: e.Level, family: 1, step: 1, freedom: 1}
	out.Relative = out.Difference / math.Abs(base)
	out.least = math.Exp2(float64(1 - c.differ))
	influence := c.influence()
	tested, share := c.tested(influence)
	out.deviation, out.freedom = standardError(tested), freedom(tested)
	if out.spread = out.deviation; math.Abs(share) > 1 {
		out.spread = standardError(influence)
	}
	out.extreme = c.Base.Tops != nil
	if out.tested = out.Difference; out.extreme {
		out.tested = total(c.diff)
	}
	if c.differ > 0 && len(c.diff) > 1 {
		c.intervals(e, &out, influence, sums, maxima)
	}
	out.judge()
	return out
}

// influence returns the linear influence of each session on the difference.
func (c *comparison) influence() []float64 {
	if c.Base.Base == nil {
		return c.diff
	}
	influence := c.Other.influence()
	for i, v := range c.Base.influence() {
		influence[i] -= v
	}
	return influence
}

// tested returns the influence that decides how sure a difference is. That of sums is taken about
// the share that all sessions have in common: a tenth off every session is as sure as can be,
// however their sizes differ. The share is of the mean of both sides.
func (c *comparison) tested(influence []float64) (tested []float64, share float64) {
	size := make([]float64, len(c.diff))
	for i := range size {
		size[i] = (c.Base.Part[i] + c.Other.Part[i]) / 2
	}
	all := total(size)
	if !c.sum() || !(all > 0) || !finite(all) || slices.Min(size) < 0 {
		return influence, 0
	}
	share = total(c.diff) / all
	for i := range size {
		size[i] = c.diff[i] - share*size[i]
	}
	return size, share
}

// intervals sets the intervals.
func (c *comparison) intervals(e Estimator, out *Estimate, influence []float64, sums, maxima [][]float64) {
	onRelative := func() []float64 {
		relative := make([]float64, len(influence))
		for i, v := range c.Base.influence() {
			relative[i] = influence[i]/math.Abs(out.Base) - out.Relative*v/out.Base
		}
		return relative
	}
	if !e.reaches(len(c.diff)) {
		out.Interval = student(out.Difference, standardError(influence), freedom(influence), e.Level)
		if c.Relative && finite(out.Relative) {
			out.RelativeInterval = student(out.Relative, standardError(onRelative()), freedom(onRelative()), e.Level)
		}
		return
	}
	columns := sums
	if c.Base.Tops != nil {
		columns = maxima
	}
	var differences, relatives []float64
	for r := range e.Resamples {
		base, d := c.at(columns, r)
		if !finite(d) {
			continue
		}
		differences = append(differences, d)
		if v := d / math.Abs(base); c.Relative && finite(v) {
			relatives = append(relatives, v)
		}
	}
	kept := func(draws []float64) bool { return float64(len(draws)) >= leastKept*float64(e.Resamples) }
	keptRelative := kept(relatives) && finite(out.Relative)
	if c.Base.Tops != nil {
		if kept(differences) {
			out.Interval = Percentile(differences, e.Level)
		}
		if keptRelative {
			out.RelativeInterval = Percentile(relatives, e.Level)
		}
		return
	}
	if kept(differences) {
		out.Interval = Accelerated(differences, out.Difference, influence, e.Level).snapped()
	}
	if keptRelative {
		out.RelativeInterval = Accelerated(relatives, out.Relative, onRelative(), e.Level).snapped()
	}
}

// judge sets P, the detectable difference and the verdict.
func (e *Estimate) judge() {
	t := distuv.StudentsT{Sigma: 1, Nu: max(e.freedom, 1)}
	e.Detectable = (t.Quantile(1-(1-e.level)/float64(e.family)/2) + t.Quantile(power)) * e.spread
	e.P = 1
	if e.Difference*e.tested > 0 {
		e.P = min(1, e.step*max(e.least, 2*t.CDF(-math.Abs(e.tested)/e.deviation)))
	}
	// The binary value of a level such as 0.95 is not exact.
	outside := (1 - e.level) * (1 + 1e-9)
	switch {
	case e.Pairs == 0:
		e.Verdict, e.Detectable = Same, 0
	case e.least > outside || !e.Interval.Known():
		e.Verdict = TooFew
	case e.Interval.Contains(0) || e.P > outside:
		e.Verdict = Chance
	case e.Difference < 0:
		e.Verdict = Lower
	default:
		e.Verdict = Higher
	}
	if e.extreme || e.Verdict == TooFew {
		e.Detectable = math.NaN()
	}
}

// Blurred returns the estimate of a difference that has an error of its own beside that of
// sampling, with a standard deviation in the unit of the difference.
func (e Estimate) Blurred(deviation float64) Estimate {
	return e.widened(normalPoint((1+e.level)/2), deviation)
}

// Again returns the estimate of what as many sessions again show, which are a sample too.
func (e Estimate) Again() Estimate {
	return e.widened(distuv.StudentsT{Sigma: 1, Nu: max(e.freedom, 1)}.Quantile((1+e.level)/2), e.deviation)
}

// widened adds an independent error with a standard deviation, of which the interval has a
// multiple to either side.
func (e Estimate) widened(multiple, deviation float64) Estimate {
	e.Interval = e.Interval.widened(e.Difference, multiple*deviation)
	e.RelativeInterval = e.RelativeInterval.widened(e.Relative, multiple*deviation/math.Abs(e.Base))
	e.deviation, e.spread = math.Hypot(e.deviation, deviation), math.Hypot(e.spread, deviation)
	e.judge()
	return e
}

// Apart estimates now − factor × was over independent samples of sessions, each of which is
// resampled by itself (BCa). The interval is widened for small samples by Welch's degrees of
// freedom (Welch 1947), so that many sessions on one side do not make up for few on the other.
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
	out.tested = out.Difference
	influence := slices.Clone(was.influence())
	for i := range influence {
		influence[i] *= -factor
	}
	out.deviation = math.Hypot(standardError(influence), standardError(now.influence()))
	out.spread = out.deviation
	out.freedom = welch(influence, now.influence())
	if float64(len(draws)) >= leastKept*float64(e.Resamples) {
		out.Interval = acceleratedBy(draws, out.Difference, append(influence, now.influence()...), widened(e.Level, out.freedom))
	}
	out.judge()
	return out, nil
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
