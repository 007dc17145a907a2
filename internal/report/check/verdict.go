package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// verdict is one rule in one cell and group, while it is judged.
type verdict struct {
	rule     *Rule
	slice    *slice
	result   Result
	in       *Input
	metrics  []results.Metric
	sign     float64       // that of figures that grow towards the bar
	was      *BaselineCell // the same cell and group in the baseline; may be nil
	now      []float64     // the metric under each seed
	then     []float64     // the same in the baseline, for rules against one
	excess   []float64     // how far each is beyond the bar, negative within it
	bar      float64
	unpriced bool    // calls without a price prevent a judgement
	effect   float64 // what the mean of excess must exceed when it spreads
	most     float64 // what the interval must exclude for a figure to hold

	held          []float64 // the figure of the same sessions in the baseline under each seed, of which it has others too
	apart         bool      // the baseline is of other sessions
	before, after stats.Figure
	pending       [][2]float64 // of undecided runs, which are judged together with this one
	look          int          // how often these sessions have been judged, including now
	why           string       // what to look at, where the verdict knows
}

func unjudged(base Result, format string, args ...any) *verdict {
	v := &verdict{result: base}
	v.refuse(format, args...)
	return v
}

func (v *verdict) refuse(format string, args ...any) {
	v.result.Status, v.result.Message = Unjudged, fmt.Sprintf(format, args...)
}

// prepare sets the figures and the bar, or says why the rule cannot be judged.
func (v *verdict) prepare(b *Baseline) {
	var ok bool
	if v.now, ok = v.slice.values(v.rule.Metric); !ok && v.rule.Name == results.NameOverPredicted && v.slice.unpriced() == 0 {
		v.leaveOpen("no conversation here has a second call")
		return
	}
	if !ok {
		v.refuse("%s has no sample here", v.rule.Metric.Name)
		return
	}
	for _, x := range v.now {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			v.refuse("%s is %v", v.rule.Metric.Name, x)
			return
		}
	}
	v.result.Observed = new(mean(v.now))
	switch {
	case v.apart:
		v.was = b.pooled(v.result.Cell, v.result.Group)
		for _, run := range b.runs() {
			if c := run.find(v.result.Cell, v.result.Group); run.Undecided && c != nil {
				v.pending = append(v.pending, c.Parts[v.rule.Metric.Name]...)
				v.look++
			}
		}
		v.comparedApart()
		return
	case b != nil:
		v.was = b.find(v.result.Cell, v.result.Group)
	}
	if v.was != nil {
		if was, ok := v.was.Metrics[v.rule.Metric.Name]; ok {
			v.result.Baseline = new(was)
		}
	}
	if v.rule.Kind.relative() && !v.compared(b) {
		return
	}
	v.measure()
	if bar := v.bar + v.effect; math.IsNaN(bar) || math.IsInf(bar, 0) {
		v.refuse("cannot fail: the bar is larger than any number")
		return
	}
	scale := math.Abs(v.bar)
	if len(v.then) > 0 {
		scale = max(scale, math.Abs(mean(v.then)))
	}
	if v.spread() && scale > 0 && v.effect > scale {
		v.refuse("cannot fail: min_effect %s is more than the whole of it, %s", figure(v.rule.Metric.Unit, v.effect), figure(v.rule.Metric.Unit, scale))
		return
	}
	if limit, ok := v.rule.vacuous(v.bar, v.effect); ok {
		v.refuse("cannot fail: %s", limit)
	}
}

// compared sets the values of the baseline, or says why there are none.
func (v *verdict) compared(b *Baseline) bool {
	r, name := v.rule, v.rule.Metric.Name
	switch {
	case v.held != nil:
		v.result.Baseline, v.then = new(mean(v.held)), v.held
	case r.Baseline == "":
		v.refuse("cannot fail: %s needs a baseline (against: FILE, or baseline: FILE above the rules)", r.Kind)
	case b == nil:
		v.refuse("there is no baseline to hold it against")
		v.result.told = true
	case v.was == nil:
		v.refuse("%s has no such cell%s", r.Baseline, inGroup(v.result.Group))
		// Groups have other names there, which otherSessions reports.
		v.result.told = v.result.Group != "" && b.Key != v.in.Key && b.SessionsDigest != v.in.SessionsDigest
	case v.result.Baseline == nil:
		v.refuse("%s has no %s of this cell", r.Baseline, name)
	case v.was.Draws > 1 && v.was.Seeds[name] == nil:
		v.refuse("%s has no seeds of %s, which no rule compared when it was made: sim check --update", r.Baseline, name)
	case v.was.Draws == 1:
		v.then = []float64{*v.result.Baseline}
	default:
		v.then = v.was.Seeds[name]
	}
	switch now, then := len(v.now), len(v.then); {
	case then == 1:
		v.then = slices.Repeat(v.then, now)
	case now == 1 && then > 0:
		v.now = slices.Repeat(v.now, then)
	case now != then && v.result.Status != Unjudged:
		v.refuse("%s has %d seeds, this check has %d: sim check --update", r.Baseline, then, now)
	}
	return v.result.Status != Unjudged
}

func inGroup(group string) string {
	if group == "" {
		return ""
	}
	return " of " + group
}

// measure sets the bar and how far each value is beyond it.
func (v *verdict) measure() {
	base, allowed := v.rule.Bar.Value, 0.0
	if v.rule.Kind.relative() {
		base = mean(v.then)
		allowed = v.rule.Bar.of(base)
	} else {
		v.then = slices.Repeat([]float64{base}, len(v.now))
	}
	v.bar, v.excess = base+v.sign*allowed, make([]float64, len(v.now))
	for i, x := range v.now {
		v.excess[i] = v.sign*(x-v.then[i]) - allowed
	}
	if v.spread() {
		v.effect = v.rule.MinEffect.of(base)
	}
}

// spread reports whether draws affect what is compared.
func (v *verdict) spread() bool {
	return v.result.Status != Unjudged && (spread(v.now) || spread(v.then) && len(v.then) > 0)
}

// newVerdict returns the verdict of a rule over a slice, to be prepared.
func newVerdict(rule *Rule, in *Input, all *sums, s *slice) *verdict {
	v := &verdict{rule: rule, slice: s, in: in, metrics: all.metrics, sign: rule.Kind.sign(), look: 1, most: math.Inf(1)}
	v.result = Result{Line: rule.Line, Metric: rule.Metric.Name, Unit: rule.Metric.Unit, Rule: rule.Text(), Status: OK,
		Cell: s.cell.Name, Group: s.group.name}
	return v
}

// judgeable reports whether a metric is of all the work and has its prices, or refuses it.
func (f *File) judgeable(v *verdict) bool {
	if f.lacksPrice(v.slice, v.rule.Metric) {
		v.refuse("%s", unpricedCalls(v.in.unpriced(v.slice.group, v.slice.unpriced())))
		v.result.told, v.unpriced = true, true
	} else if n := v.slice.cutShort(v.rule.Metric); n > 0 {
		v.refuse("%s early, so that this is of less work; overflow: answer in the scenario goes on", counted(n, "session ends", "sessions end"))
	}
	return v.result.Status != Unjudged
}

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
