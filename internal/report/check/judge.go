package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// Loaded is a baseline, or the reason why there is none.
type Loaded struct {
	Baseline *Baseline
	Err      error
}

// Judge judges a run by the rules of f. baselines has the names of
// File.Baselines.
func (f *File) Judge(in *Input, baselines map[string]Loaded) *Report {
	r := f.report()
	r.Version, r.Sessions, r.Calls = in.Version, len(in.Sessions), in.Calls
	if len(in.Sessions) == 0 {
		return f.Empty("no sessions with calls: nothing was simulated")
	}
	f.tellLost(r, in, baselines)
	var cases []*verdict
	all := f.newSums()
	b, now := baselines[baselinePath(f.Baseline)].Baseline, f.past(in)
	if b != nil && f.Paired.asked() {
		all.partners = partnersOf(b.past(), now)
	}
	for i := range f.Rules {
		cases = append(cases, f.cases(&f.Rules[i], in, all, baselines)...)
	}
	paired := f.pairedCases(in, all, b)
	if n := all.grown; n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s of the baseline have other calls now and are not paired", document.Count(n, "session")))
	}
	drawn, apart := 0, 0
	for _, c := range slices.Concat(cases, paired) {
		switch {
		case c.result.Status == OK && c.apart:
			apart++
		case c.spread():
			drawn++
		}
	}
	share := f.Level / float64(max(1, drawn+apart))
	r.judge(cases, share)
	more := f.judgeFacts(r, in, b, now)
	r.judge(paired, share)
	r.tellAbove(in)
	if b != nil && in.Price != nil {
		r.Change = f.divide(in, b, now, more)
	}
	f.tellUnpriced(r, in, slices.Concat(cases, paired))
	f.compareHeads(r, in, baselines)
	if drawn > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s averaged over %d seeds", counted(drawn, "figure is", "figures are"), f.Seeds))
	}
	if apart > 0 {
		r.Notes = append(r.Notes, counted(apart, "figure is", "figures are")+" compared with those of other sessions")
	}
	if drawn+apart > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("false-alarm rate: at most %.3g %%", 100*f.Level))
	}
	r.settle()
	return r
}

// judge judges cases, with intervals that miss in a share of all.
func (r *Report) judge(cases []*verdict, share float64) {
	for _, c := range cases {
		if c.result.Status == OK {
			c.judge(share)
		}
		r.Results = append(r.Results, c.result)
	}
}

// farAbove is the ratio of bill and prediction from which a cache that never worked is likelier than an error of the
// model, which is at most 1.2 in recordings of any agent.
const farAbove = 1.5

// tellAbove names the causes of a bill far above its prediction where no rule is broken by it, as when the
// baseline is as bad.
func (r *Report) tellAbove(in *Input) {
	for i := range r.Results {
		s := &r.Results[i]
		if s.Metric == results.NameOverPredicted && s.Status != Breach && s.Observed != nil && *s.Observed > farAbove {
			r.Notes = append(r.Notes, fmt.Sprintf("these sessions were billed %s times what is predicted, whatever the baseline: %s",
				figure(s.Unit, *s.Observed), in.why()))
		}
	}
}

// report returns an empty report.
func (f *File) report() *Report {
	return &Report{Schema: reportSchema, File: f.Name, Results: []Result{},
		strict: map[Status]bool{Breach: true, Unjudged: true, Suspect: f.Suspect == "fail", Undecided: f.Undecided == "fail"}}
}

// counted says of how many things something holds: with the words for one, or with a number before those for more.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return document.Whole(n) + " " + more
}

// Empty returns the report of a check that has nothing to judge, for a reason.
func (f *File) Empty(reason string) *Report {
	r := f.report()
	r.fail(f.Scenario.Line, "%s", reason)
	return r
}

// cases returns what a rule has to judge: its cells and groups, or the reason
// why there are none.
func (f *File) cases(r *Rule, in *Input, all *sums, baselines map[string]Loaded) []*verdict {
	base := Result{Line: r.Line, Metric: r.Metric.Name, Unit: r.Metric.Unit, Rule: r.Text(), Status: OK, Cell: r.Strategy}
	if base.Cell == "" {
		base.Cell = r.Cell
	}
	cells := in.targets(r)
	if len(cells) == 0 {
		base.Group = r.Group
		return []*verdict{unjudged(base, "no cell matches%s", in.knownCells(r))}
	}
	var cases []*verdict
	for _, c := range cells {
		found := false
		for _, g := range all.groupsOf(in, r.Group) {
			s := all.of(c, g)
			if s.sessions() == 0 {
				continue
			}
			found = true
			v := newVerdict(r, in, all, s)
			if f.judgeable(v) {
				b := baselines[r.Baseline].Baseline
				v.apart = b != nil && r.Kind.relative() && b.SessionsDigest != in.SessionsDigest && f.mayChange(c.Strategy)
				if then, ok := all.partners.billedToPredicted(); ok && v.apart && r.whole.Name == results.NameOverPredicted && g.name == "" {
					v.apart, v.held = false, []float64{then}
				}
				v.prepare(b)
			}
			cases = append(cases, v)
		}
		if !found {
			v := unjudged(base, "no session matches group %q%s", r.Group, in.knownSessions())
			v.result.Cell, v.result.Group = c.Name, r.Group
			cases = append(cases, v)
		}
	}
	return cases
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

// knownCells says which cells a rule that matches none could have named.
func (in *Input) knownCells(r *Rule) string {
	var names []string
	for i := range in.Cells {
		names = append(names, in.Cells[i].Name)
	}
	return fmt.Sprintf("%s; the cells are %s", nearest.Hint(cmp.Or(r.Cell, r.Strategy), names), document.Few(names))
}

// knownSessions says what sessions are called, unless that is hidden.
func (in *Input) knownSessions() string {
	if in.Key != "" {
		return ""
	}
	ids := slices.Sorted(maps.Keys(in.Sessions))
	return fmt.Sprintf("; %s called %s", counted(len(ids), "session is", "sessions are"), document.Few(ids))
}

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
