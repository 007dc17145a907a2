package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// compareHead fails a baseline that is missing or of another run.
func (f *File) compareHead(r *Report, in *Input, was Loaded) {
	b := was.Baseline
	switch {
	case f.Baseline == "":
		return
	case b == nil && was.Err == nil:
		was.Err = fmt.Errorf("%s was not read", f.Baseline)
		fallthrough
	case b == nil:
		r.fail(f.baselineLine, "no baseline: %v", was.Err)
		return
	case b.Key != in.Key:
		r.fail(f.baselineLine, "%s was made with another key of --anonymize, or without one, so that the sessions cannot be compared", f.Baseline)
	case b.SessionsDigest != in.SessionsDigest:
		if f.needsSame(in) {
			r.fail(f.baselineLine, "%s holds other sessions: %d with %d calls, not these %d with %d; %s", f.Baseline, b.Sessions, b.Calls,
				len(in.Sessions), in.Calls, f.update(r, "these"))
		}
		if b.Prices != in.Prices {
			r.note("%s has prices of %s, these are of %s", f.Baseline, b.Prices, in.Prices)
		}
	default:
		if models := otherRates(b.Rates, in.Rates); len(models) > 0 {
			f.differs(r, "other prices", "of "+document.Few(models))
		}
	}
	simulated := func(c Cell) bool {
		return c.Strategy != results.StrategyBilled && slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.speaksOf(c.Name, c.Strategy) })
	}
	if b.ScenarioDigest != in.ScenarioDigest && slices.ContainsFunc(in.Cells, simulated) {
		f.differs(r, "another scenario", fmt.Sprintf("digest %.8s, now %.8s", b.ScenarioDigest, in.ScenarioDigest))
	}
	if b.Version != in.Version {
		r.note("%s was made by version %s, this is %s", f.Baseline, b.Version, in.Version)
	}
}

// needsSame reports whether a rule compares what only the same sessions can be compared by.
func (f *File) needsSame(in *Input) bool {
	return slices.ContainsFunc(f.Rules, func(r Rule) bool {
		return r.Kind.relative() && r.Metric.Kind != results.KindRatio && len(in.targets(&r)) > 0
	})
}

// otherRates returns the models whose rates differ, sorted.
func otherRates(was, now map[string]results.Cost) (models []string) {
	for _, model := range slices.Sorted(maps.Keys(now)) {
		if was[model] != now[model] {
			models = append(models, model)
		}
	}
	return models
}

// update says how to make the current figures the baseline, and to look at
// breaches before that: afterwards the baseline includes them. With a window, a
// run that breaks a rule is not added.
func (f *File) update(r *Report, takes string) string {
	text := "sim check --update takes " + takes
	if f.Window > 0 {
		text = "sim check --update begins with " + takes + " once the file is deleted"
	}
	if r.Broken() {
		return "look at what is beyond the bar first, for " + text
	}
	return text
}

// differs fails a baseline of another scenario or of other prices, unless the check is about that change.
func (f *File) differs(r *Report, what, how string) {
	if f.ScenarioMayChange {
		r.note("%s belongs to %s, as scenario_may_change allows", f.Baseline, what)
		return
	}
	r.fail(f.baselineLine, "%s belongs to %s (%s); %s; scenario_may_change: true compares the two", f.Baseline, what, how,
		f.update(r, "what is there now"))
}

// Complete reports whether the sessions of a run were read as far as f demands.
func (f *File) Complete(in *Input, was *Baseline) bool {
	return in.NumLost <= f.mayLose(in, was) && in.Uncounted <= f.Uncounted
}

// mayLose returns how many lines, files and sessions may be lost: as many as the check
// says, else as the run of the baseline lost, or all where the baseline is still to be made.
func (f *File) mayLose(in *Input, was *Baseline) int {
	switch {
	case f.Unread != nil:
		return *f.Unread
	case f.Baseline == "":
		return 0
	case was == nil:
		return in.NumLost
	}
	return was.Unread
}

// tellLost fails a run of sessions that were not read completely.
func (f *File) tellLost(r *Report, in *Input, was *Baseline) {
	switch n := in.Uncounted; {
	case n > f.Uncounted:
		r.fail(0, "%s; the bill is wrong by these; uncounted: %d are allowed", in.UncountedText, f.Uncounted)
	case n > 0:
		r.note("%s; uncounted: %d allows that", in.UncountedText, f.Uncounted)
	}
	if in.NumLost == 0 {
		return
	}
	text := counted(in.NumLost, "line, file or session", "lines, files or sessions") + " could not be read"
	allowed := f.mayLose(in, was)
	if in.NumLost <= allowed {
		r.note("%s, as unread: or the baseline allows", text)
		return
	}
	for _, p := range in.Lost[:min(len(in.Lost), maxLost)] {
		r.fail(0, "not read: %s", p)
	}
	if allowed > 0 || in.NumLost > maxLost {
		r.fail(0, "%s, %d are allowed by unread: or the baseline", text, allowed)
	}
}

// maxLost is how many of the lost lines, files and sessions are named.
const maxLost = 10

// unpriced returns the recorded calls to models without a price, and those models, sorted. If there are none, it
// is the calls that a strategy adds, at most added.
func (in *Input) unpriced(added int) (calls int, models []string) {
	for _, s := range in.Sessions {
		for model, n := range s.Unpriced {
			calls += n
			models = append(models, model)
		}
	}
	slices.Sort(models)
	return cmp.Or(calls, added), slices.Compact(models)
}

// unpriced returns how many calls of a slice have no price.
func (s *slice) unpriced() int {
	most := 0
	for i := range s.totals {
		most = max(most, s.totals[i].N(results.UnpricedCalls))
	}
	return most
}

// cutShort returns in how many sessions of a slice a conversation ended early,
// if that makes a metric too small: sums and times omit what is left out.
func (s *slice) cutShort(m results.Metric) int {
	most := 0
	if m.Kind == results.KindSum && m.Group == "" && m.Name != results.NameOverflows {
		for i := range s.totals {
			if r := &s.totals[i]; r.CutShort() {
				most = max(most, r.N(results.EndedSessions), 1)
			}
		}
	}
	return most
}

// lacksPrice reports whether calls without a price make a metric of a slice too
// small, and the check does not allow that.
func (f *File) lacksPrice(s *slice, m results.Metric) bool {
	return priced(&m) && f.Unpriced != "allow" && s.unpriced() > 0
}

// priced reports whether a metric depends on prices.
func priced(m *results.Metric) bool {
	return m.Unit == results.UnitUSD || m.Name == results.NameNetNegative || m.Name == results.NameOverPredicted
}

// tellUnpriced fails a run with figures that lack prices, once for all of them,
// or notes that such calls cost nothing.
func (f *File) tellUnpriced(r *Report, in *Input, cases []*verdict) {
	added := 0
	for i := range in.Cells {
		added = max(added, in.Cells[i].Draws[0].Total.N(results.UnpricedCalls))
	}
	if added == 0 {
		return
	}
	calls, models := in.unpriced(added)
	of := ""
	if len(models) > 0 {
		of = " of " + document.Few(models)
	}
	text := counted(calls, "call"+of+" has", "calls"+of+" have") + " no price"
	i := slices.IndexFunc(cases, func(v *verdict) bool { return v.unpriced })
	if i < 0 {
		r.note("%s and cost nothing here", text)
		return
	}
	r.fail(cases[i].result.Line, "%s, so that their costs are not judged; prices: {as: {%s: MODEL}} in the scenario prices them as "+
		"--price-as does elsewhere, prices: {file: FILE} gives a table, unpriced: allow in the check lets them cost nothing",
		text, append(models, "A")[0])
}
