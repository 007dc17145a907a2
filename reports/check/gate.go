package check

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Loaded is a baseline, or the reason why there is none.
type Loaded struct {
	Baseline *Baseline
	Err      error
}

// Judge judges a run by the rules of f and the baseline that it names.
func (f *File) Judge(in *Input, was Loaded) *Report {
	r := f.report()
	r.Version, r.At, r.Sessions, r.Calls = in.Version, in.At, len(in.Sessions), in.Calls
	if len(in.Sessions) == 0 {
		return f.Empty("no sessions with calls: nothing was simulated")
	}
	b, now := was.Baseline, f.past(in)
	f.tellLost(r, in, b)
	tellMissing(r, b, now, in.Key, in.Version)
	var cases []*verdict
	all := newSums(f)
	if b != nil && f.Paired.asked() {
		all.partners = partnersOf(b.Past, now)
	}
	for i := range f.Rules {
		cases = append(cases, f.cases(&f.Rules[i], in, all, b)...)
	}
	paired := f.pairedCases(in, all, b)
	limits := f.limits(in, all)
	if all.grown > 0 {
		r.note("%s other calls now: not paired", numbers.Counted(all.grown, "session of the baseline has", "sessions of the baseline have"))
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
	r.judgeLimits(limits, share)
	f.judgePrices(r, in, b, now)
	f.judgeModels(r, in)
	f.compareSetup(r, in, b, now, &all.partners)
	if b != nil && in.Price != nil {
		r.Change = f.divide(in, b, now, more)
	}
	f.tellUnpriced(r, in, slices.Concat(cases, paired))
	f.compareHead(r, in, was)
	if drawn > 0 {
		r.note("%s averaged over %d seeds", numbers.Counted(drawn, "figure is", "figures are"), f.Seeds)
	}
	if apart > 0 {
		r.note("%s compared with other sessions'", numbers.Counted(apart, "figure is", "figures are"))
	}
	if drawn+apart > 0 {
		r.note("false-alarm rate: at most %.3g %%", 100*f.Level)
	}
	if b != nil && f.Window > 0 {
		r.History = history(b, now)
		r.tellSlow(f, b)
	}
	f.accept(r)
	f.tellMeant(r)
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

func (f *File) report() *Report {
	return &Report{Schema: reportSchema, File: f.Name, Results: []Result{}, strict: f.Suspect == "fail"}
}

// Empty returns the report of a check that has nothing to judge, for a reason.
func (f *File) Empty(reason string) *Report {
	r := f.report()
	r.fail(f.Scenario.Line, "%s", reason)
	return r
}

// cases returns what a rule has to judge: its cells and groups. A rule without any is not judged, so that it does not
// hold for want of cells.
func (f *File) cases(r *Rule, in *Input, all *sums, b *Baseline) (cases []*verdict) {
	for _, c := range in.targets(r) {
		for _, g := range all.groupsOf(in, r.Group) {
			s := all.of(c, g)
			if s.sessions() == 0 {
				continue
			}
			v := newVerdict(r, in, all, s)
			if v.judgeable(f) {
				v.apart = b != nil && r.Kind.relative() && b.SessionsDigest != in.SessionsDigest && r.Metric.Kind == measures.KindRatio
				if then, ok := all.partners.billedToPredicted(g); ok && v.apart && r.whole.Name == measures.NameOverPredicted {
					v.apart, v.held = false, []float64{then}
				}
				v.prepare(b)
			}
			cases = append(cases, v)
		}
	}
	known := func(v *verdict) bool { return !b.without(r.Group, v.result.Group) }
	if b != nil && (r.Group == ByProject || r.Group == ByModel) && r.Kind.relative() && len(cases) > 0 && !slices.ContainsFunc(cases, known) {
		cases[0].refuse("%s has no sessions of any %s here, so that nothing holds these; %s", f.Baseline, r.Group, f.Accept.anew())
	}
	if len(cases) == 0 {
		v := &verdict{result: Result{Line: r.Line, Metric: r.Metric.Name, Unit: r.Metric.Unit, Rule: r.Text(), Cell: r.Strategy, Group: r.Group}}
		v.refuse("no cell has a session that the rule is about; without strategy: it is about all but the bill")
		return []*verdict{v}
	}
	return cases
}

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
		text := fmt.Sprintf("no baseline: %v", was.Err)
		if errors.Is(was.Err, fs.ErrNotExist) || errors.Is(was.Err, ErrStale) {
			if text += "; " + f.Accept.updating() + " writes it"; !f.Complete(in, nil) {
				text += " when what is lost or in doubt is mended or allowed"
			}
		}
		r.fail(f.baselineLine, "%s", text)
		return
	case b.Key != in.Key:
		r.fail(f.baselineLine, "%s was made with another key of --anonymize, or without one, so that the sessions cannot be compared; %s", f.Baseline, f.Accept.anew())
	case b.SessionsDigest != in.SessionsDigest:
		if models := otherRates(b.Rates, in.Rates, true); len(models) > 0 {
			r.note("%s has other prices of %s", f.Baseline, document.Few(models))
		}
		if f.needsSame(in) {
			r.fail(f.baselineLine, "%s holds other sessions: %d with %s, not these %d with %d; %s", f.Baseline, b.Sessions, document.Count(b.Calls, "call"),
				len(in.Sessions), in.Calls, f.Accept.anew())
		}
	default:
		if models := otherRates(b.Rates, in.Rates, false); len(models) > 0 {
			f.differs(r, "other prices", "of "+document.Few(models))
		}
	}
	renamed := maps.Clone(in.Renamed)
	for model := range b.Renamed {
		if renamed[model] == "" {
			renamed = put(renamed, model, "itself")
		}
	}
	for _, model := range sortedKeys(renamed) {
		if now := renamed[model]; in.Renamed[model] != b.Renamed[model] {
			f.differs(r, "other prices", model+" is billed as "+now+" now")
		}
	}
	if b.ScenarioDigest != in.ScenarioDigest && simulates(f.Rules, in) {
		f.differs(r, "another scenario", fmt.Sprintf("digest %.8s, now %.8s", b.ScenarioDigest, in.ScenarioDigest))
	}
	if b.Version != in.Version {
		r.note("%s was made by version %s, this is %s", f.Baseline, b.Version, in.Version)
	}
}

// simulates reports whether a rule holds a cell that is simulated.
func simulates(rules []Rule, in *Input) bool {
	return slices.ContainsFunc(in.Cells, func(c Cell) bool {
		return c.Strategy != measures.StrategyBilled && slices.ContainsFunc(rules, func(r Rule) bool { return r.speaksOf(c.Name, c.Strategy) })
	})
}

// needsSame reports whether a rule compares what only the same sessions can be compared by.
func (f *File) needsSame(in *Input) bool {
	return slices.ContainsFunc(f.Rules, func(r Rule) bool {
		return r.Kind.relative() && r.Metric.Kind != measures.KindRatio && len(in.targets(&r)) > 0
	})
}

// otherRates returns the models whose rates differ, sorted: of the models that both have, or also of the models that only now has.
func otherRates(was, now map[string]results.Cost, both bool) (models []string) {
	for _, model := range slices.Sorted(maps.Keys(now)) {
		if _, known := was[model]; was[model] != now[model] && (known || !both) {
			models = append(models, model)
		}
	}
	return models
}

// differs fails a baseline of another scenario or of other prices, unless the check is about that change.
func (f *File) differs(r *Report, what, how string) {
	if f.ScenarioMayChange {
		r.note("%s belongs to %s, as scenario_may_change allows", f.Baseline, what)
		return
	}
	r.fail(f.baselineLine, "%s belongs to %s (%s); %s; scenario_may_change: true compares the two", f.Baseline, what, how, f.Accept.anew())
}

// Complete reports whether the sessions of a run were read as far as f demands.
func (f *File) Complete(in *Input, was *Baseline) bool {
	return in.NumLost-f.few(in) <= f.mayLose(in, was) && in.Uncounted <= f.Uncounted
}

// What share of the lines may be lost without unread: up to the first with a note, as a client that is killed cuts its
// last line off, and up to the second with a warning.
const noteLost, warnLost = 0.001, 0.01

// few returns how many lost lines are so few that they fail nothing, with the sessions that were read whole if no rule depends on what
// is wrong with them: without times nothing expires in a simulation, and a bill stays as it is.
func (f *File) few(in *Input) (n int) {
	if f.Unread == nil && float64(in.LostLines) <= warnLost*float64(in.Lines) {
		n = in.LostLines
	}
	if !simulates(f.Rules, in) {
		n += len(in.Doubted)
	}
	return n
}

// mayLose returns how many more lines, files and sessions may be lost: as many as the check
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
		r.fail(0, "%s; the bill is wrong by these; uncounted: %d are allowed; sim audit -v lists them, and uncounted: %d in %s lets them pass",
			in.UncountedText, f.Uncounted, n, f.Name)
	case n > 0:
		r.note("%s; uncounted: %d allows that", in.UncountedText, f.Uncounted)
	}
	few, allowed := f.few(in), f.mayLose(in, was)
	if n := len(in.Doubted); n > 0 {
		text := numbers.Counted(n, "session was", "sessions were") + " read with a defect; the first is " + in.Doubted[0]
		if in.NumLost-few > allowed && simulates(f.Rules, in) {
			r.fail(0, "%s", text)
		} else {
			r.note("%s", text)
		}
	}
	lost := in.NumLost - len(in.Doubted)
	if lost == 0 {
		return
	}
	text := numbers.Counted(lost, "line, file or session", "lines, files or sessions") + " could not be read"
	switch share := float64(in.LostLines) / float64(max(in.Lines, 1)); {
	case in.NumLost-few > allowed:
	case few > 0 && share > noteLost && in.NumLost > allowed:
		r.Results = append(r.Results, Result{Metric: unreadMetric, Unit: measures.UnitRatio, Rule: "max " + Amount{noteLost, true}.String(), Status: Suspect,
			Observed: new(share), Bar: new(noteLost), Margin: new(noteLost - share), Message: text + ": " + figure(measures.UnitRatio, share) +
				" of all lines, which the figures are without", Look: in.Lost[0]})
		return
	default:
		by := "unread or the baseline allows"
		if in.NumLost > allowed {
			by = "a share of " + Amount{noteLost, true}.String() + " of the lines may be"
		}
		first := "the first is"
		if lost == 1 {
			first = "namely"
		}
		r.note("%s, as %s; %s %s", text, by, first, in.Lost[0])
		return
	}
	for _, p := range in.Lost[:min(len(in.Lost), maxLost)] {
		r.fail(0, "not read: %s", p)
	}
	if allowed > 0 || lost > maxLost {
		r.fail(0, "%s, %d are allowed by unread or the baseline", text, allowed)
	}
}

// unreadMetric is the name under which a check says what share of the lines was lost.
const unreadMetric = "unread"

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
		most = max(most, s.totals[i].N(measures.UnpricedCalls))
	}
	return most
}

// cutShort returns in how many sessions of a slice a conversation ended early,
// if that makes a metric too small: sums and times omit what is left out.
func (s *slice) cutShort(m results.Metric) int {
	most := 0
	if m.Kind == measures.KindSum && m.Group == "" && m.Name != measures.NameOverflows {
		for i := range s.totals {
			if r := &s.totals[i]; r.CutShort() {
				most = max(most, r.N(measures.EndedSessions), 1)
			}
		}
	}
	return most
}

// lacksPrice reports whether calls without a price make a metric of a slice too
// small, and the check does not allow that.
func (f *File) lacksPrice(s *slice, m results.Metric) bool {
	return priced(&m) && s.unpriced() > 0 && f.refuses(&s.totals[0])
}

// fewUnpriced is the share of calls without a price that are told and fail nothing, as one call to a local model.
const fewUnpriced = 0.01

// refuses reports whether so many calls have no price that costs are not judged.
func (f *File) refuses(total *results.Row) bool {
	return f.Unpriced != "allow" && float64(total.N(measures.UnpricedCalls)) > fewUnpriced*float64(total.N(measures.Calls))
}

// priced reports whether a metric depends on prices.
func priced(m *results.Metric) bool {
	return m.Unit == measures.UnitUSD || m.Name == measures.NameNetNegative || m.Name == measures.NameOverPredicted
}

// tellUnpriced fails a run with figures that lack prices, once for all figures,
// or notes that such calls cost nothing.
func (f *File) tellUnpriced(r *Report, in *Input, cases []*verdict) {
	added := 0
	for i := range in.Cells {
		added = max(added, in.Cells[i].Draws[0].Total.N(measures.UnpricedCalls))
	}
	if added == 0 {
		return
	}
	calls, models := in.unpriced(added)
	of := ""
	if len(models) > 0 {
		of = " of " + document.Few(models)
	}
	text := numbers.Counted(calls, "call"+of+" has", "calls"+of+" have") + " no price"
	i := slices.IndexFunc(cases, func(v *verdict) bool { return v.unpriced })
	if i < 0 {
		r.note("%s and cost nothing here; costs per call are of calls with a price", text)
		return
	}
	r.fail(cases[i].result.Line, "%s, so that their costs are not judged; prices: {as: {%s: MODEL}} in the scenario prices them as "+
		"--price-as does elsewhere, prices: {file: FILE} gives a table, unpriced: allow in the check lets them cost nothing",
		text, append(models, "A")[0])
}
