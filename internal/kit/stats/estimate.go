package stats

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"gonum.org/v1/gonum/stat/distuv"
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
	// Verdicts asks for no more than verdicts: Detectable is NaN, only a difference that is hard to judge has an interval, and P of one that chance
	// explains may be 1.
	Verdicts bool
	// Among is the size of the family that the pairs were picked from by what they show: Holm's correction counts the rest of the
	// family as differences that show less. 0 where the pairs are the whole family.
	Among   int
	Workers int // 0 for one per processor; does not change the results
}

// Defaults of an Estimator.
const (
	DefaultLevel     = 0.95
	DefaultResamples = 1000
)

// Estimate is the difference of two sides on the sessions at hand, and what these show of
// other sessions of their kind. Figures are in the unit of the metric.
type Estimate struct {
	Difference float64 // other − base
	Interval   Interval
	// Relative is the difference as a fraction of the base, NaN for a base of 0.
	Relative         float64
	RelativeInterval Interval
	// P is the chance of a difference as large if the sides of sessions are exchanged at random,
	// corrected for the family.
	P float64
	// Detectable is the smallest difference that gets a verdict in four of five such samples;
	// NaN for extremes, where verdicts alone are asked for, and for too few sessions or none that differs. Of a difference that is most of the base, what all
	// sessions share says nothing of smaller ones.
	Detectable float64
	Base       float64
	Pairs      int // sessions that differ; of sides with other sessions, all
	// Units are the units that were sampled; "" for sessions.
	Units   string
	Verdict Verdict

	level     float64
	deviation float64 // standard error of the difference
	spread    float64 // the same for smaller differences
	freedom   float64
	p         float64 // P before it is corrected
	least     float64 // the smallest that figures of so many sessions can have
	null      float64 // standard deviation of the difference if sides are exchanged at random
	extreme   bool
	verdicts  bool // nothing is said of detectable differences
	late      late
	family    int     // differences that are judged together
	step      float64 // factor by which P is corrected
}

// late is what Student's interval is made of where nothing else gives the verdict: of thousands of differences P rules most out, and
// quantiles are slow.
type late struct {
	waits              bool
	deviation, freedom float64
	blur               float64 // that an error beside the sampling error adds to either side, see widen
}

// excludes reports that 0 is outside the interval of a difference even with the quantile of the next lower whole number of degrees of
// freedom, which is larger, and kept.
func (l *late) excludes(difference, level float64) bool {
	whole := math.Floor(l.freedom)
	return whole >= 1 && math.Abs(difference) > math.Hypot(studentPoint(whole, (1+level)/2)*l.deviation, l.blur)*(1+1e-9)
}

// Verdict says what a difference shows of other sessions, by one rule for every table of the program: fewer than
// PairsNeeded sessions that differ show nothing; of more, a difference is shown whose interval, with the error of the model where that counts,
// lacks 0 and whose P, corrected for what is judged together, is at most 1 − level. docs/compare.md states it for users.
type Verdict uint8

// The verdicts.
const (
	Same   Verdict = iota // no session differs
	TooFew                // no figures of so few sessions show anything
	Chance                // chance explains the difference
	Lower
	Higher
)

// Mark returns what stands before a difference that is not shown, "" for one that is and where nothing differs.
func (v Verdict) Mark() string { return [...]string{TooFew: "?", Chance: "~", Higher: ""}[v] }

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

// judge judges the estimates of each family together, by Holm's step-down method: rejecting
// those with a corrected P at or below 1 − level keeps the chance of any wrong rejection there,
// however they depend on each other. Where no session differs there is nothing to reject. A family has among differences at least.
func judge(pairs []Pair, list []Estimate, among int) {
	families := map[int][]*Estimate{}
	for i := range list {
		if e := &list[i]; e.Pairs > 0 {
			families[pairs[i].Family] = append(families[pairs[i].Family], e)
		} else {
			e.judge()
		}
	}
	for _, family := range families {
		size := max(len(family), among)
		slices.SortStableFunc(family, func(a, b *Estimate) int { return cmp.Compare(a.p, b.p) })
		var least float64
		for rank, e := range family {
			e.p = max(e.p, math.SmallestNonzeroFloat64)
			least = max(least, min(1, float64(size-rank)*e.p))
			e.family, e.step = size, least/e.p
			e.judge()
		}
	}
}

func (e *Estimate) student() distuv.StudentsT {
	return distuv.StudentsT{Sigma: 1, Nu: max(e.freedom, 1)}
}

// outside returns the chance that a confidence interval of a level leaves. The binary value of a level such as 0.95 is not
// exact.
func outside(level float64) float64 { return (1 - level) * (1 + 1e-9) }

// judge sets P, the detectable difference and the verdict.
func (e *Estimate) judge() {
	e.P = min(1, e.step*e.p)
	outside := outside(e.level)
	far := false
	if e.late.waits && e.least <= outside && e.P <= outside {
		if far = e.late.excludes(e.Difference, e.level); !far {
			e.Interval, e.late.waits = student(e.Difference, e.late.deviation, e.late.freedom, e.level), false
			if e.late.blur > 0 {
				e.Interval = e.Interval.widen(e.Difference, e.late.blur)
			}
		}
	}
	switch {
	case e.Pairs == 0:
		e.Verdict = Same
	case e.late.waits && e.least <= outside && !far:
		e.Verdict = Chance // whatever the interval is
	case !far && (e.least > outside || !e.Interval.Known()):
		e.Verdict = TooFew
	case !far && e.Interval.Contains(0) || e.P > outside:
		e.Verdict = Chance
	case e.Difference < 0:
		e.Verdict = Lower
	default:
		e.Verdict = Higher
	}
	e.Detectable = math.NaN()
	if !e.extreme && !e.verdicts && e.Verdict >= Chance {
		e.Detectable = e.noticed()
	}
}

// noticed returns the smallest difference that gets a verdict in four of five such samples.
func (e *Estimate) noticed() float64 {
	t := e.student()
	return (studentPoint(t.Nu, 1-(1-e.level)/float64(e.family)/2) + studentPoint(t.Nu, power)) * e.spread
}

// Blurred returns the estimate of a difference that has an error of its own beside the sampling
// error, with a standard deviation in the unit of the difference.
func (e Estimate) Blurred(deviation float64) Estimate {
	return e.widen(normalPoint((1+e.level)/2), deviation)
}

// Again returns the estimate of what as many sessions again show, which are a sample too.
func (e Estimate) Again() Estimate {
	return e.widen(studentPoint(e.student().Nu, (1+e.level)/2), e.deviation)
}

// widen adds an independent error with a standard deviation, of which the interval has a
// multiple to either side.
func (e Estimate) widen(multiple, deviation float64) Estimate {
	if e.Interval = e.Interval.widen(e.Difference, multiple*deviation); e.late.waits {
		e.late.blur = math.Hypot(e.late.blur, multiple*deviation)
	}
	e.RelativeInterval = e.RelativeInterval.widen(e.Relative, multiple*deviation/math.Abs(e.Base))
	e.deviation, e.spread = math.Hypot(e.deviation, deviation), math.Hypot(e.spread, deviation)
	if was := e.null; was > 0 && deviation > 0 {
		e.null = math.Hypot(was, deviation)
		e.p = 2 * normalShare(max(-8, normalPoint(e.p/2))*was/e.null)
	}
	e.judge()
	return e
}

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
	lent := 0.0 // a few sessions that happen to be alike spread as all sessions do
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
	out.Interval = out.Interval.widen(out.Difference, studentPoint(out.student().Nu, (1+e.Level)/2)*lent)
	out.judge()
	out.Detectable = grow(out.Detectable/out.spread, wasError, nowError, now.Value())
	return out, nil
}

// grow returns the detectable difference, so many standard errors, of two samples of which the later one spreads more
// where it is larger: sessions of which all cost a tenth more differ by a tenth more too.
func grow(multiple, was, now, value float64) float64 {
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

// Enough returns how many sessions like the sessions of was, and of now where there are two, show a
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
	outside := outside(e.Level)
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

// Units are groups of sessions that are sampled in the place of single sessions, such as the sessions of a
// project or of a person, which are alike.
type Units struct {
	Name string // such as "project"
	Of   []int  // the unit of each session, 0…n−1
}

// UnitsBy returns the units of sessions that have the same key.
func UnitsBy(name string, keys []string) Units {
	u, known := Units{name, make([]int, len(keys))}, map[string]int{}
	for i, key := range keys {
		at, ok := known[key]
		if !ok {
			at = len(known)
			known[key] = at
		}
		u.Of[i] = at
	}
	return u
}

// count returns how many units there are.
func (u *Units) count() int {
	n := 0
	for _, at := range u.Of {
		n = max(n, at+1)
	}
	return n
}

// join returns a sum or a ratio by units.
func (f *Figure) join(u *Units) Figure {
	n := u.count()
	add := func(column []float64) []float64 {
		if column == nil {
			return nil
		}
		out := make([]float64, n)
		for i, v := range column {
			out[u.Of[i]] += v
		}
		return out
	}
	return Figure{Part: add(f.Part), Base: add(f.Base)}
}

// widest replaces estimates by the least sure of the estimates over other units. Where fewer units than PairsNeeded
// differ they could show nothing whatever the data, and sessions stay; as many units as sessions are the sessions.
func (e Estimator) widest(ctx context.Context, pairs []Pair, out []Estimate) error {
	return parallel.Do(ctx, e.Workers, len(pairs), func(i int) error {
		p := &pairs[i]
		for k := range p.Units {
			u := &p.Units[k]
			if p.Base.Tops != nil || u.count() >= len(p.Base.Part) {
				continue
			}
			by := *p
			by.Base, by.Other = p.Base.join(u), p.Other.join(u)
			alone := e
			alone.Workers = 1
			list, err := alone.sample(ctx, []Pair{by})
			if err != nil {
				return err
			}
			if list[0].Pairs >= PairsNeeded(e.Level) && list[0].noticed() > out[i].noticed() {
				list[0].Units = u.Name
				out[i] = list[0]
			}
		}
		return nil
	})
}
