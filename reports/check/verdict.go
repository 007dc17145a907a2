package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results/measures"
)

const (
	// leastEffect is the share of the baseline, or of the bar without one, by which a figure that spreads
	// must be beyond its bar: well below what a person would act on, and above the effect of rounding
	// sizes to whole tokens.
	leastEffect = 0.001
	// apartResamples leaves some draws beyond the end of any interval.
	apartResamples = 4_000
	// apartShare of the chance of an alarm is the share of other sessions: intervals of few sessions
	// of which some outweigh the rest miss more often than they say.
	apartShare = 0.5
	// What an interval must exclude for a figure of other sessions to hold: an increase beyond the bar by
	// twice the figure, or a decrease by half the figure. The smallest break worth a gate is larger: with every
	// second read missing, a bill is several times as large.
	mostIncrease, mostDecrease = 2, 0.5
)

// verdict is one rule in one cell and group, while it is judged. Figures of the same sessions are compared
// as they are or, where they are drawn, seed by seed; ratios of other sessions by their spread over sessions.
type verdict struct {
	rule     *Rule
	slice    *slice
	result   Result
	in       *Input
	shared   *sums
	sign     float64       // the sign of figures that grow towards the bar
	was      *BaselineCell // the same cell and group in the baseline; may be nil
	now      []float64     // the metric under each seed
	then     []float64     // the same in the baseline, for rules against one
	bar      float64
	allowed  float64 // how far the bar is from the baseline
	effect   float64 // what the mean of excess must exceed when it spreads
	unpriced bool    // calls without a price prevent a judgement

	held          []float64 // the figure of the same sessions in the baseline under each seed, of which it has others too
	apart         bool      // the baseline is of other sessions
	before, after stats.Figure
	why           string  // what to look at, where the verdict knows
	dearest       float64 // the largest ratio of a session of the baseline of leastWhole calls
}

// newVerdict returns the verdict of a rule over a slice, to be prepared.
func newVerdict(rule *Rule, in *Input, all *sums, s *slice) *verdict {
	v := &verdict{rule: rule, slice: s, in: in, shared: all, sign: rule.Kind.sign()}
	v.result = Result{Line: rule.Line, Metric: rule.Metric.Name, Unit: rule.Metric.Unit, Rule: rule.Text(), Status: OK,
		Cell: s.cell.Name, Group: s.group.name}
	return v
}

func (v *verdict) refuse(format string, args ...any) {
	v.result.Status, v.result.Message = Unjudged, fmt.Sprintf(format, args...)
}

// leaveOpen says why too little is known to judge.
func (v *verdict) leaveOpen(format string, args ...any) {
	v.result.Status, v.result.Message = Undecided, fmt.Sprintf(format, args...)
}

// judgeable reports whether a metric is of all the work and has its prices, or refuses it.
func (v *verdict) judgeable(f *File) bool {
	if f.lacksPrice(v.slice, v.rule.Metric) {
		v.refuse("calls have no price")
		v.result.told, v.unpriced = true, true
	} else if n := v.slice.cutShort(v.rule.Metric); n > 0 {
		v.refuse("%s early, so that this is of less work; overflow: answer in the scenario goes on", numbers.Counted(n, "session ends", "sessions end"))
	}
	return v.result.Status != Unjudged
}

// prepare sets the figures and the bar, or says why the rule cannot be judged.
func (v *verdict) prepare(b *Baseline) {
	name := v.rule.Metric.Name
	var ok bool
	if v.now, ok = v.slice.values(v.rule.Metric); !ok && v.rule.Name == measures.NameOverPredicted && v.slice.unpriced() == 0 {
		const none = "no conversation here has a second call with counts of its tokens"
		if b != nil && v.slice.sessions() >= leastLone && len(b.parts(v.result.Cell, &v.rule.Metric, v.rule.Group, v.result.Group)) > 0 {
			v.refuse(none+", and sessions of %s have one: nothing is read from the cache again", v.shared.file.Baseline)
			return
		}
		v.leaveOpen(none)
		return
	}
	if !ok {
		v.refuse("%s has no sample here", name)
		return
	}
	if i := slices.IndexFunc(v.now, unbounded); i >= 0 {
		v.refuse("%s is %v", name, v.now[i])
		return
	}
	v.result.Observed = new(mean(v.now))
	if b != nil {
		v.was = b.find(v.result.Cell, v.result.Group)
	}
	switch {
	case v.apart:
		v.comparedApart(b)
		return
	case v.held != nil:
		v.result.Baseline = new(mean(v.held))
	case v.was != nil:
		if was, ok := v.was.mean(name); ok {
			v.result.Baseline = new(was)
		}
	}
	base := v.rule.Bar.Value
	if v.rule.Kind.relative() {
		if v.setBaseline(b); v.result.Status == Unjudged {
			return
		}
		base = mean(v.then)
		v.allowed = v.rule.Bar.of(base)
	} else {
		v.then = slices.Repeat([]float64{base}, len(v.now))
	}
	if v.bar = base + v.sign*v.allowed; v.spread() {
		v.effect = leastEffect * math.Abs(base)
	}
	if limit, ok := v.rule.vacuous(v.bar, v.effect); ok {
		v.refuse("cannot fail: %s", limit)
	}
}

func unbounded(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// setBaseline sets the values of the baseline, or says why there are none.
func (v *verdict) setBaseline(b *Baseline) {
	name, file := v.rule.Metric.Name, v.shared.file.Baseline
	switch {
	case v.held != nil:
		v.then = v.held
	case file == "":
		v.refuse("cannot fail: %s needs a baseline (baseline: FILE above the rules)", v.rule.Kind)
	case b == nil:
		v.refuse("there is no baseline to hold it against")
		v.result.told = true
	case v.was != nil:
		v.then = v.was.Metrics[name]
	}
	now, then := len(v.now), len(v.then)
	switch {
	case v.result.Status == Unjudged || now == then:
	case then == 1 && (v.held != nil || v.was.Draws == 1):
		v.then = slices.Repeat(v.then, now)
	case now == 1 && then > 1:
		v.now = slices.Repeat(v.now, then)
	default:
		v.lacks(b, document.Count(now, "seed")+" of "+name+" of this cell")
	}
}

// lacks refuses a rule for what the baseline has not. Groups have other names under another key, which
// compareHead reports.
func (v *verdict) lacks(b *Baseline, what string) {
	v.refuse("%s has not %s%s: %s", v.shared.file.Baseline, what, inGroup(v.result.Group), v.shared.file.Accept.updating())
	v.result.told = v.result.Group != "" && b.Key != v.in.Key
}

// comparedApart finds the figures of the sessions of baseline and run, or says why there
// is nothing to compare. Nothing is known of a group that the baseline does not have.
func (v *verdict) comparedApart(b *Baseline) {
	m, file := &v.rule.Metric, v.shared.file.Baseline
	parts := b.parts(v.result.Cell, m, v.rule.Group, v.result.Group)
	v.dearest = b.dearest(v.result.Cell, m.Name)
	v.before, v.after = ratioOf(parts), ratioOf(v.slice.parts(m))
	switch was := v.before.Value(); {
	case len(parts) == 0 && v.result.Group != "" && b.without(v.rule.Group, v.result.Group):
		v.leaveOpen("%s has no sessions of %s", file, v.result.Group)
	case unbounded(was):
		v.lacks(b, "the sessions of "+m.Name)
	default:
		v.result.Baseline = new(was)
	}
}

// ratioOf returns the ratio of sums over sessions.
func ratioOf(parts [][2]float64) stats.Figure {
	f := stats.Figure{Part: make([]float64, len(parts)), Base: make([]float64, len(parts))}
	for i, p := range parts {
		f.Part[i], f.Base[i] = p[0], p[1]
	}
	return f
}

func inGroup(group string) string {
	if group == "" {
		return ""
	}
	return " of " + group
}

// spread reports whether draws affect what is compared.
func (v *verdict) spread() bool {
	return v.result.Status != Unjudged && !v.apart && (spread(v.now) || spread(v.then))
}

// judge decides, with an interval that misses in a share of all cases.
func (v *verdict) judge(share float64) {
	excess, most := v.overSeeds, math.Inf(1)
	switch {
	case v.apart:
		excess, most = v.overSessions, v.most()
	case v.rule.Kind == Max && v.rule.whole.Name == measures.NameOverPredicted:
		excess = v.overLimit
	}
	e, ok := excess(share)
	v.result.Bar, v.result.Margin = new(v.bar), new(0-e.Difference)
	// Set the smallest change from the baseline that the rule would have noticed: any beyond the bar where nothing is
	// drawn.
	detectable := e.Detectable
	if !v.apart && !v.spread() {
		detectable = 0
	}
	if v.rule.Kind.relative() && !math.IsNaN(detectable) {
		v.result.Noticed = new(math.Abs(v.bar-*v.result.Baseline) + detectable)
	}
	low, beyond := e.Interval.Low > tolerance(v.bar), e.Difference > tolerance(v.bar)
	broken := v.broken()
	switch {
	case beyond && broken != "":
		v.result.Status, v.result.Message, v.result.Look = Breach, v.words(v.bar)+broken, v.cause()
		v.result.usd = v.usd(e.Difference)
	case !ok:
		v.leaveOpen("%s cannot tell%s", v.sessions(), v.enough(share, most, 0))
	case low && e.Difference > v.effect:
		v.result.Status, v.result.Message, v.result.Look = Breach, v.words(v.bar), v.cause()
		v.result.usd = v.usd(e.Difference)
	case e.Interval.High > most:
		v.leaveOpen("%s cannot tell: %s on these may be %s on others%s", v.sessions(), figure(v.rule.Metric.Unit, *v.result.Observed),
			figure(v.rule.Metric.Unit, v.bar+v.sign*e.Interval.High), v.enough(share, most, e.Interval.High-e.Difference))
	case beyond && !low && v.likely(&e, share):
		v.result.Status, v.result.Look = Suspect, v.cause()
		v.result.Message = v.words(v.bar) + ", which chance may explain" + v.enough(share, e.Difference, e.Difference-e.Interval.Low)
	case low:
		v.result.Message = v.words(v.bar) + ": by less than " + Amount{leastEffect, true}.String() + " of what it is held against, which rounding makes"
	case beyond:
		v.result.Message = v.words(v.bar) + ": where nothing has changed, more than one run in ten is as far beyond it by chance"
		if !v.apart {
			v.result.Message = v.words(v.bar) + ": draws alone may put it there"
		}
	}
}

// leastLone is how many sessions of one call each are no chance, where sessions of the baseline have more.
const leastLone = 3

// usd returns what a figure beyond its bar costs by so much, 0 if it is no cost.
func (v *verdict) usd(beyond float64) float64 {
	switch m := &v.rule.Metric; {
	case m.Name == measures.NameOverPredicted:
		return beyond * v.slice.totals[0].Figures[measures.PredictedUSD]
	case m.Unit == measures.UnitUSD && m.Kind == measures.KindSum:
		return v.sign * beyond
	}
	return 0
}

// overSeeds estimates how far a figure is beyond its bar, and its mean over the seeds.
func (v *verdict) overSeeds(share float64) (excess stats.Estimate, ok bool) {
	if v.spread() {
		now := overSeeds(v.now, share)
		v.result.Seeds = len(v.now)
		v.result.Low, v.result.High = new(now.Interval.Low), new(now.Interval.High)
	}
	beyond := make([]float64, len(v.now))
	for i, x := range v.now {
		beyond[i] = v.sign*(x-v.then[i]) - v.allowed
	}
	return overSeeds(beyond, share), true
}

// bars returns the factor and the addend that make the bar from the ratio of
// the baseline.
func (v *verdict) bars() (factor, add float64) {
	if v.rule.Bar.Percent {
		return 1 + v.sign*v.rule.Bar.Value, 0
	}
	return 1, v.sign * v.rule.Bar.Value
}

// most is what the interval must exclude for a ratio of other sessions to hold.
func (v *verdict) most() float64 {
	was := *v.result.Baseline
	if v.sign < 0 {
		return mostDecrease * math.Abs(was)
	}
	factor, add := v.bars()
	return mostIncrease * max(math.Abs(was), math.Abs(factor*was+add))
}

// overSessions estimates how far the ratio of other sessions is beyond its bar; false when they are
// too few to tell.
func (v *verdict) overSessions(share float64) (excess stats.Estimate, ok bool) {
	factor, add := v.bars()
	was := *v.result.Baseline
	v.bar, v.effect = factor*was+add, leastEffect*math.Abs(was)
	v.result.Observed = new(v.after.Value())
	v.result.Sessions, v.result.Before = len(v.after.Part), len(v.before.Part)
	e, err := stats.Estimator{Level: 1 - apartShare*share, Seed: 1, Resamples: apartResamples}.Apart(context.Background(), v.before, v.after, factor)
	if ok = err == nil && e.Verdict != stats.TooFew; ok {
		v.result.Low, v.result.High = new(factor*was+e.Interval.Low), new(factor*was+e.Interval.High)
	}
	e.Difference = v.sign * (e.Difference - add)
	e.Interval = stats.Interval{Low: v.sign * (e.Interval.Low - add), High: v.sign * (e.Interval.High - add)}
	if v.sign < 0 {
		e.Interval.Low, e.Interval.High = e.Interval.High, e.Interval.Low
	}
	return e, ok
}

// suspectShare is the share of healthy runs that may be suspect: one in ten is as far beyond its bar by chance.
const suspectShare = 0.1

// likely reports whether a figure that is beyond its bar is so in few healthy runs only. Half the interval is so many
// standard errors as its confidence says, of a normal figure.
func (v *verdict) likely(e *stats.Estimate, share float64) bool {
	half := (e.Difference - e.Interval.Low) / distuv.UnitNormal.Quantile(1-apartShare*share/2)
	return !v.apart || e.Difference >= half*distuv.UnitNormal.Quantile(1-suspectShare)
}

// enough says how many sessions like these would show a difference from the baseline's, of which half the interval is
// so wide: the interval narrows with the root of their number. It is more than there are, as these do not.
func (v *verdict) enough(share, difference, half float64) string {
	if !v.apart {
		return ""
	}
	factor, _ := v.bars()
	n, here := stats.Estimator{Level: 1 - share}.Enough(v.before, v.after, factor, difference), len(v.after.Part)
	if wide := float64(here) * math.Pow(half/difference, 2); n > 0 && wide < 1e6 {
		n = max(n, here+1, int(math.Ceil(wide)))
	}
	if n == 0 {
		return fmt.Sprintf("; the baseline has too few sessions (%d) for any number to tell", len(v.before.Part))
	}
	return fmt.Sprintf("; %s would do", document.Count(n, "session"))
}

// sessions says how many sessions each side has.
func (v *verdict) sessions() string {
	return fmt.Sprintf("%s against %d", document.Count(len(v.after.Part), "session"), len(v.before.Part))
}

// cause says what to look at.
func (v *verdict) cause() string {
	if v.why != "" {
		return v.why
	}
	if why := v.in.why(); v.rule.Name == measures.NameOverPredicted && why != "" {
		return why
	}
	return looker{v.slice, v.in.Paths, v.was, v.shared.metrics, !v.rule.Kind.relative(), v.apart}.look(v.rule.whole)
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

// mostFigure is more than any sum of recordings: a thousand machines that read a million tokens each second, for ten days.
const mostFigure = 1e15

// vacuous reports whether no figure could break a rule with a bar, and why.
func (r *Rule) vacuous(bar, effect float64) (why string, ok bool) {
	name := r.Metric.Name
	low := r.Kind == Min || r.Kind == MaxDecrease
	switch {
	case low && !strings.HasPrefix(name, measures.NameAddedLatency) && bar-effect <= 0:
		return fmt.Sprintf("%s is never below 0, the bar is %s", name, figure(r.Metric.Unit, bar)), true
	case !low && r.Metric.Unit == measures.UnitRatio && bar+effect >= 1:
		return fmt.Sprintf("%s is never above 100 %%, the bar is %s", name, figure(r.Metric.Unit, bar)), true
	case !low && bar > mostFigure:
		return fmt.Sprintf("%s is never above %g, the bar is %g", name, mostFigure, bar), true
	}
	return "", false
}
