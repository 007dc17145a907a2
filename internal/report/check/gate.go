package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
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
