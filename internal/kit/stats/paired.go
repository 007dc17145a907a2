package stats

import (
	"context"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/parallel"
)

// Pair is a figure of two sides over the same sessions.
type Pair struct {
	Base, Other Figure
	// Relative asks for the interval of the relative difference too, for which the sums of
	// the base are resampled.
	Relative bool
	// Units may be sampled in the place of sessions. The least sure estimate of all counts.
	Units []Units
	// Family tells apart differences that are judged together: the chance that any of a family
	// gets a verdict where nothing differs stays 1 − level (Holm 1979).
	Family int
}

// Paired estimates differences over the same sessions. All pairs have the same number of
// sessions and share the resamples. It fails when ctx ends.
//
// An interval comes from the paired bootstrap, corrected for bias and skewness (BCa, see
// accelerated); for extremes, on which no session has a linear influence, from the plain
// percentiles. Where resamples cannot reach the level, because there are too few resamples or
// too few sessions, it is Student's.
func (e Estimator) Paired(ctx context.Context, pairs []Pair) ([]Estimate, error) {
	e = e.defaults()
	out, err := e.sample(ctx, pairs)
	if err == nil {
		err = e.widest(ctx, pairs, out)
	}
	if err != nil {
		return nil, err
	}
	judge(pairs, out, e.Among)
	return out, nil
}

// sample estimates differences by sampling sessions, or the units that pairs have in the place of sessions.
func (e Estimator) sample(ctx context.Context, pairs []Pair) ([]Estimate, error) {
	list := make([]comparison, len(pairs))
	parallel.Each(e.Workers, len(pairs), func(i int) { list[i] = comparePair(&pairs[i]) })
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
	return out, nil
}

// One estimates a single difference.
func (e Estimator) One(p Pair) Estimate { return e.Judged([]Pair{p})[0] }

// Judged estimates differences that no end of a context interrupts.
func (e Estimator) Judged(pairs []Pair) []Estimate {
	list, err := e.Paired(context.Background(), pairs)
	if err != nil {
		panic(err) // only the end of a context is an error
	}
	return list
}

// reaches reports whether resamples of n pairs can reach the level: some lie beyond the ends
// of the interval, and there are enough pairs for any test to reject.
func (e Estimator) reaches(n int) bool {
	return !e.Student && n >= PairsNeeded(e.Level) && normalShare(-widenLevel(e.Level, float64(n-1)))*float64(e.Resamples) >= 1
}

// comparison is a pair while it is estimated.
type comparison struct {
	*Pair
	diff   []float64 // by session, of sums and of what sessions have by themselves
	differ int       // sessions that differ
}

func comparePair(p *Pair) comparison {
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
		Pairs: c.differ, Base: base, level: e.Level, family: 1, step: 1, freedom: 1, verdicts: e.Verdicts}
	out.Relative = out.Difference / math.Abs(base)
	out.least = math.Exp2(float64(1 - c.differ))
	out.extreme = c.Base.Tops != nil
	brief, chance := e.Verdicts && e.Student && !c.Relative && c.Units == nil, 1.0
	if brief {
		chance = outside(e.Level)
	}
	if out.p = 1; out.Difference != 0 && !(out.extreme && total(c.diff)*out.Difference <= 0) {
		out.p, out.null = exchangeSigns(c.exchangeable(), chance)
	}
	if brief && out.p > chance {
		out.late.waits = true // chance explains it, whatever the interval is
		return out
	}
	influence := c.influence()
	if !brief { // a verdict asks for neither
		tested, share := c.test(influence)
		out.deviation, out.freedom = standardError(tested), freedom(tested)
		if out.spread = out.deviation; math.Abs(share) > 1 {
			out.spread = standardError(influence)
		}
	}
	if c.differ > 0 && len(c.diff) > 1 {
		c.intervals(e, &out, influence, sums, maxima)
	}
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

// exchangeable returns the differences of sessions. Their sum is the difference of the sides. For
// ratios it is taken about the ratio of both sides together.
func (c *comparison) exchangeable() []float64 {
	if c.Base.Base == nil {
		return c.diff
	}
	base := total(c.Base.Base) + total(c.Other.Base)
	ratio := (total(c.Base.Part) + total(c.Other.Part)) / base
	out := make([]float64, len(c.diff))
	for i := range out {
		out[i] = 2 / base * (c.Other.Part[i] - c.Base.Part[i] - ratio*(c.Other.Base[i]-c.Base.Base[i]))
	}
	return out
}

// test returns the influence that decides how small a difference can be seen. For sums it is
// taken about the share that all sessions have in common: a tenth off every session is as sure as
// can be,
// however their sizes differ. The share is of the mean of both sides.
func (c *comparison) test(influence []float64) (tested []float64, share float64) {
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

func (c *comparison) intervals(e Estimator, out *Estimate, influence []float64, sums, maxima [][]float64) {
	if e.Verdicts && e.Student && !c.Relative {
		out.late = late{waits: true, deviation: standardError(influence), freedom: freedom(influence)}
		return
	}
	columns, extreme := sums, c.Base.Tops != nil
	if extreme {
		columns = maxima
	}
	resamples := 0
	if e.reaches(len(c.diff)) {
		resamples = e.Resamples
	}
	var differences, relatives []float64 // without resamples nil
	for r := range resamples {
		base, d := c.at(columns, r)
		if !finite(d) {
			continue
		}
		differences = append(differences, d)
		if v := d / math.Abs(base); c.Relative && finite(v) {
			relatives = append(relatives, v)
		}
	}
	out.Interval = e.interval(differences, out.Difference, influence, freedom(influence), extreme)
	if c.Relative && finite(out.Relative) {
		relative := make([]float64, len(influence))
		for i, v := range c.Base.influence() {
			relative[i] = influence[i]/math.Abs(out.Base) - out.Relative*v/out.Base
		}
		out.RelativeInterval = e.interval(relatives, out.Relative, relative, freedom(relative), extreme)
	}
}

// leastKept is the least share of resamples with a sample for an interval to be meaningful.
const leastKept = 0.9

// interval returns the interval of a value from its resamples or, where there are none, Student's.
// It is the whole line if too few resamples have a value.
func (e Estimator) interval(draws []float64, value float64, influence []float64, freedom float64, extreme bool) Interval {
	switch {
	case draws == nil:
		return student(value, standardError(influence), freedom, e.Level)
	case float64(len(draws)) < leastKept*float64(e.Resamples):
		return Everything
	case extreme:
		return Percentile(draws, e.Level)
	}
	return accelerated(draws, value, influence, widenLevel(e.Level, freedom)).snap()
}

// HigherRanks returns the chance, one-sided, that values as high as the second list come from where the first list does: the rank sum
// test of Mann and Whitney with the normal approximation, corrected for ties and continuity (Hollander, Wolfe and Chicken,
// Nonparametric Statistical Methods, 3rd ed., section 4.1). It is 1 where either has no value or all are equal.
func HigherRanks(was, now []float64) float64 {
	n, m := float64(len(was)), float64(len(now))
	all := slices.Sorted(slices.Values(slices.Concat(was, now)))
	var ties, before float64 // before is how many values ahead of this one equal it
	for i, x := range all {
		if before++; i == 0 || x != all[i-1] {
			before = 0
		}
		ties += 3 * before * (before + 1) // t³ − t over t equal values
	}
	deviation := math.Sqrt(n * m / 12 * (n + m + 1 - ties/max((n+m)*(n+m-1), 1)))
	if !(deviation > 0) {
		return 1
	}
	was = slices.Sorted(slices.Values(was))
	won, below, upTo := 0.0, 0, 0 // pairs in which now is higher, ties by half
	for _, x := range slices.Sorted(slices.Values(now)) {
		for below < len(was) && was[below] < x {
			below++
		}
		for upTo < len(was) && was[upTo] <= x {
			upTo++
		}
		won += float64(below+upTo) / 2
	}
	return 1 - normalShare((won-n*m/2-0.5)/deviation)
}
