package check

import (
	"context"
	"fmt"
	"math"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// A run of other sessions than the baseline's is compared with it by ratios and
// by figures per call or token. Their spread over sessions decides what
// difference is significant.

const (
	// apartResamples leaves some draws beyond the end of any interval.
	apartResamples = 4_000
	// What an interval must exclude for a figure to hold: an increase beyond the bar by twice
	// the figure, or a decrease by half of it. The smallest break worth a gate is larger:
	// with every second read missing, a bill is several times as large.
	mostIncrease, mostDecrease = 2, 0.5
)

// parts returns both sums of a ratio in each session of a slice, as means over
// the seeds. Sessions with neither are left out.
func (s *slice) parts(m results.Metric) [][2]float64 {
	list := [][2]float64{}
	for j, row := range s.cell.Draws[0].Rows {
		var p [2]float64
		for _, d := range s.cell.Draws {
			part, base := m.Parts(d.Rows[j])
			p[0] += part / float64(len(s.cell.Draws))
			p[1] += base / float64(len(s.cell.Draws))
		}
		if p != [2]float64{} && s.group.has(row.Session) {
			list = append(list, p)
		}
	}
	return list
}

// ratioOf returns the ratio of sums over sessions.
func ratioOf(parts [][2]float64) stats.Figure {
	f := stats.Figure{Part: make([]float64, len(parts)), Base: make([]float64, len(parts))}
	for i, p := range parts {
		f.Part[i], f.Base[i] = p[0], p[1]
	}
	return f
}

// comparedApart finds the figures of the sessions of baseline and run, or says why there
// is nothing to compare. Nothing is known of a group that the baseline does not have.
func (v *verdict) comparedApart() bool {
	r := v.rule
	switch {
	case r.Metric.Kind != results.KindRatio:
		v.refuse("these are other sessions, of which a %s says nothing: per: calls in the rule compares it", r.Metric.Kind)
	case v.was == nil && v.result.Group != "":
		v.leaveOpen("%s has no sessions of %s", r.Baseline, v.result.Group)
	case v.was == nil:
		v.refuse("%s has no such cell", r.Baseline)
	case v.was.Parts[r.Metric.Name] == nil:
		v.refuse("%s has no sessions of %s, which no rule compared when it was made: sim check --update", r.Baseline,
			r.Metric.Name)
	default:
		v.before, v.after = ratioOf(v.was.Parts[r.Metric.Name]), ratioOf(append(v.slice.parts(r.Metric), v.pending...))
		if was := v.before.Value(); len(v.before.Part) > 0 && !math.IsNaN(was) && !math.IsInf(was, 0) {
			v.result.Baseline = new(was)
			return true
		}
		v.refuse("%s has no sample of %s", r.Baseline, r.Metric.Name)
	}
	return false
}

// leaveOpen says why too little is known to judge.
func (v *verdict) leaveOpen(format string, args ...any) {
	v.result.open = true
	v.result.Status, v.result.Message = Undecided, fmt.Sprintf(format, args...)
}

// bars returns the factor and the addend that make the bar from the ratio of
// the baseline.
func (v *verdict) bars() (factor, add float64) {
	if v.rule.Bar.Percent {
		return 1 + v.sign*v.rule.Bar.Value, 0
	}
	return 1, v.sign * v.rule.Bar.Value
}

// overSessions estimates how far the ratio of other sessions is beyond its bar; false when they are
// too few to tell. Undecided runs accumulate and are judged repeatedly; the judgements get 1/2, 1/6,
// 1/12 … of the chance of an alarm, which add up to 1.
func (v *verdict) overSessions(share float64) (excess stats.Estimate, ok bool) {
	factor, add := v.bars()
	was, now := *v.result.Baseline, v.after.Value()
	v.bar, v.effect = factor*was+add, v.rule.MinEffect.of(was)
	v.most = mostIncrease * max(math.Abs(was), math.Abs(v.bar))
	if v.sign < 0 {
		v.most = mostDecrease * math.Abs(was)
	}
	v.result.Observed = new(now)
	v.result.Sessions, v.result.Before = len(v.after.Part), len(v.before.Part)
	e, err := stats.Estimator{Level: 1 - share/float64(v.look*(v.look+1)), Seed: 1, Resamples: apartResamples}.
		Apart(context.Background(), v.before, v.after, factor)
	if ok = err == nil && e.Verdict != stats.TooFew; ok {
		v.result.Low, v.result.High = new(factor*was+e.Interval.Low), new(factor*was+e.Interval.High)
	} else {
		v.leaveOpen("%s cannot tell%s", v.sessions(), v.enough(share, v.most))
	}
	e.Difference = v.sign * (e.Difference - add)
	e.Interval = stats.Interval{Low: v.sign * (e.Interval.Low - add), High: v.sign * (e.Interval.High - add)}
	if v.sign < 0 {
		e.Interval.Low, e.Interval.High = e.Interval.High, e.Interval.Low
	}
	return e, ok
}

// sessions says how many sessions each side has.
func (v *verdict) sessions() string {
	return fmt.Sprintf("%s against %d", document.Count(len(v.after.Part), "session"), len(v.before.Part))
}
