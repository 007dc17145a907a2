package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// judge decides, with an interval that misses in a share of all cases.
func (v *verdict) judge(share float64) {
	excess := v.overSeeds
	if v.apart {
		excess = v.overSessions
	}
	e, ok := excess(share)
	v.result.Bar, v.result.Margin = new(v.bar), new(0-e.Difference)
	v.notice(e.Detectable)
	low, beyond := e.Interval.Low > tolerance(v.bar), e.Difference > tolerance(v.bar)
	switch {
	case !ok:
	case low && e.Difference > v.effect:
		v.result.Status, v.result.Message, v.result.Look = Breach, v.words(v.bar), v.cause()
	case e.Interval.High > v.most:
		v.leaveOpen("%s cannot tell: %s on these may be %s on others%s", v.sessions(), figure(v.rule.Metric.Unit, *v.result.Observed),
			figure(v.rule.Metric.Unit, v.bar+v.sign*e.Interval.High), v.enough(share, v.most))
	case low && beyond:
		v.result.Note = fmt.Sprintf("beyond the bar by less than min_effect %s", v.rule.MinEffect)
	case beyond:
		v.result.Status, v.result.Look = Suspect, v.cause()
		v.result.Message = v.words(v.bar) + ", which chance may explain" + v.enough(share, e.Difference)
	}
}

// notice sets the smallest change from the baseline that the rule would have noticed: any beyond the
// bar where nothing is drawn.
func (v *verdict) notice(detectable float64) {
	switch {
	case !v.rule.Kind.relative():
	case !v.apart && !v.spread():
		detectable = 0
		fallthrough
	case !math.IsNaN(detectable):
		v.result.Noticed = new(math.Abs(v.bar-*v.result.Baseline) + detectable)
	}
}

// cause says what to look at.
func (v *verdict) cause() string {
	if v.why != "" {
		return v.why
	}
	if why := v.in.why(); v.rule.Name == results.NameOverPredicted && why != "" {
		return why
	}
	return v.looker().look(v.rule.whole)
}

// enough says how many sessions like these would show a difference from the baseline's.
func (v *verdict) enough(share, difference float64) string {
	if !v.apart {
		return ""
	}
	factor, _ := v.bars()
	n := stats.Estimator{Level: 1 - share}.Enough(v.before, v.after, factor, difference)
	if n == 0 {
		return fmt.Sprintf("; the baseline has too few sessions (%d) for any number to tell", len(v.before.Part))
	}
	return fmt.Sprintf("; %s would do", document.Count(n, "session"))
}

// overSeeds estimates how far a figure is beyond its bar, and its mean over the seeds.
func (v *verdict) overSeeds(share float64) (excess stats.Estimate, ok bool) {
	if v.spread() {
		now := overSeeds(v.now, share)
		v.result.Seeds = len(v.now)
		v.result.Low, v.result.High = new(now.Interval.Low), new(now.Interval.High)
	}
	return overSeeds(v.excess, share), true
}

// looker returns the looker for the rows that broke the rule.
func (v *verdict) looker() looker {
	return looker{v.slice, v.was, v.metrics, !v.rule.Kind.relative(), v.apart}
}

// tolerance is the difference of figures between machines, which round sums of
// floating-point numbers differently.
func tolerance(bar float64) float64 { return 1e-9 * math.Abs(bar) }

// words describes a breach.
func (v *verdict) words(limit float64) string {
	unit := v.rule.Metric.Unit
	side := "above"
	if v.sign < 0 {
		side = "below"
	}
	observed, bar := document.Apart(unit, *v.result.Observed, limit)
	text := fmt.Sprintf("%s of %s%s is %s, %s %s", v.result.Metric, v.result.Cell, inGroup(v.result.Group), observed, side, bar)
	if v.rule.Kind.relative() {
		text += fmt.Sprintf(" (%s from %s", v.rule.Text(), figure(unit, *v.result.Baseline))
		if v.apart {
			text += ", " + v.sessions()
		}
		text += ")"
	}
	return text
}

// vacuous reports whether no figure could break a rule with a bar, and why.
func (r *Rule) vacuous(bar, effect float64) (why string, ok bool) {
	name := r.Metric.Name
	low := r.Kind == Min || r.Kind == MaxDecrease
	switch {
	case low && !strings.HasPrefix(name, results.NameAddedLatency) && bar-effect <= 0:
		return fmt.Sprintf("%s is never below 0, the bar is %s", name, figure(r.Metric.Unit, bar)), true
	case !low && r.Metric.Unit == results.UnitRatio && bar+effect >= 1:
		return fmt.Sprintf("%s is never above 100 %%, the bar is %s", name, figure(r.Metric.Unit, bar)), true
	}
	return "", false
}
