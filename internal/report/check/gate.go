package check

import (
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// Loaded is a baseline, or the reason why there is none.
type Loaded struct {
	Baseline *Baseline
	Err      error
}

// Judge judges a run by the rules of f and the baseline that it names.
func (f *File) Judge(in *Input, was Loaded) *Report {
	r := f.report()
	r.Version, r.Sessions, r.Calls = in.Version, len(in.Sessions), in.Calls
	if len(in.Sessions) == 0 {
		return f.Empty("no sessions with calls: nothing was simulated")
	}
	b, now := was.Baseline, f.past(in)
	f.tellLost(r, in, b)
	var cases []*verdict
	all := f.newSums()
	if b != nil && f.Paired.asked() {
		all.partners = partnersOf(b.Past, now)
	}
	for i := range f.Rules {
		cases = append(cases, f.cases(&f.Rules[i], in, all, b)...)
	}
	paired := f.pairedCases(in, all, b)
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
	f.compareHead(r, in, was)
	if drawn > 0 {
		r.note("%s averaged over %d seeds", counted(drawn, "figure is", "figures are"), f.Seeds)
	}
	if apart > 0 {
		r.note("%s compared with those of other sessions", counted(apart, "figure is", "figures are"))
	}
	if drawn+apart > 0 {
		r.note("false-alarm rate: at most %.3g %%", 100*f.Level)
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
			r.note("these sessions were billed %s times what is predicted, whatever the baseline: %s", figure(s.Unit, *s.Observed), in.why())
		}
	}
}

// report returns an empty report.
func (f *File) report() *Report {
	return &Report{Schema: reportSchema, File: f.Name, Results: []Result{}, strict: f.Suspect == "fail"}
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

// cases returns what a rule has to judge: its cells and groups.
func (f *File) cases(r *Rule, in *Input, all *sums, b *Baseline) (cases []*verdict) {
	for _, c := range in.targets(r) {
		for _, g := range all.groupsOf(in, r.Group) {
			s := all.of(c, g)
			if s.sessions() == 0 {
				continue
			}
			v := newVerdict(r, in, all, s)
			if f.judgeable(v) {
				v.apart = b != nil && r.Kind.relative() && b.SessionsDigest != in.SessionsDigest && r.Metric.Kind == results.KindRatio
				if then, ok := all.partners.billedToPredicted(); ok && v.apart && r.whole.Name == results.NameOverPredicted && g.name == "" {
					v.apart, v.held = false, []float64{then}
				}
				v.prepare(b)
			}
			cases = append(cases, v)
		}
	}
	return cases
}
