package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// compareHeads fails baselines that are missing or of another run.
func (f *File) compareHeads(r *Report, in *Input, baselines map[string]Loaded) {
	for _, file := range f.Baselines() {
		i := slices.IndexFunc(f.Rules, func(r Rule) bool { return r.Baseline == file })
		line := 0
		if i >= 0 {
			line = f.Rules[i].Line
		}
		b, err := baselines[file].Baseline, baselines[file].Err
		if b == nil {
			if err == nil {
				err = fmt.Errorf("%s was not read", file)
			}
			r.fail(line, "no baseline: %v", err)
			continue
		}
		if same := b.SessionsDigest == in.SessionsDigest; !same {
			if line := f.needsSame(in, file); line > 0 {
				r.fail(line, "%s%s", file, f.otherSessions(r, in, b))
			}
			if b.Prices != in.Prices {
				r.Notes = append(r.Notes, fmt.Sprintf("%s has prices of %s, these are of %s", file, b.Prices, in.Prices))
			}
		}
		f.compareScenarios(r, in, b, file, line)
		f.compareCells(r, in, b, file)
		if b.Version != in.Version {
			r.Notes = append(r.Notes, fmt.Sprintf("%s was made by version %s, this is %s", file, b.Version, in.Version))
		}
	}
}

// needsSame returns the line of the first rule on a baseline that can only
// compare the same sessions, 0 if there is none.
func (f *File) needsSame(in *Input, file string) int {
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.Baseline == file && slices.ContainsFunc(in.targets(r), func(c *Cell) bool { return !f.mayChange(c.Strategy) }) {
			return r.Line
		}
	}
	return 0
}

// otherSessions says how the sessions of a baseline differ from those of the run.
func (f *File) otherSessions(r *Report, in *Input, b *Baseline) string {
	const untold = ", so that the sessions cannot be compared"
	switch {
	case b.Key == in.Key:
		return fmt.Sprintf(" holds other sessions: %d with %d calls, not these %d with %d (digest %.8s, now %.8s); %s",
			b.Sessions, b.Calls, len(in.Sessions), in.Calls, b.SessionsDigest, in.SessionsDigest, f.update(r, "these"))
	case b.Key == "":
		return " was made without --anonymize, this run has pseudonyms" + untold
	case in.Key == "":
		return " has pseudonyms: it is held against under --anonymize and its key" + untold
	}
	return " has pseudonyms under another key than this run" + untold
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

// compareScenarios fails a baseline of another scenario or of other prices,
// unless the check is about that change.
func (f *File) compareScenarios(r *Report, in *Input, b *Baseline, file string, line int) {
	differs := func(what, was, now string) {
		if f.ScenarioMayChange {
			r.Notes = append(r.Notes, fmt.Sprintf("%s belongs to %s, as scenario_may_change allows", file, what))
			return
		}
		r.fail(line, "%s belongs to %s (%s, now %s); %s; scenario_may_change: true compares the two",
			file, what, was, now, f.update(r, "what is there now"))
	}
	rule := slices.IndexFunc(f.Rules, func(r Rule) bool {
		return r.Baseline == file && slices.ContainsFunc(in.targets(&r), func(c *Cell) bool { return c.Strategy != results.StrategyBilled })
	})
	if rule >= 0 && b.ScenarioDigest != in.ScenarioDigest {
		line = f.Rules[rule].Line
		differs("another scenario", fmt.Sprintf("digest %.8s", b.ScenarioDigest), fmt.Sprintf("%.8s", in.ScenarioDigest))
	}
	if b.SessionsDigest == in.SessionsDigest && b.PricesDigest != in.PricesDigest { // the digest covers the models of the sessions
		differs("other prices", fmt.Sprintf("digest %.8s, table of %s", b.PricesDigest, b.Prices), fmt.Sprintf("%.8s, %s", in.PricesDigest, in.Prices))
	}
}

// compareCells fails cells of a baseline that its rules name and that are no
// longer simulated.
func (f *File) compareCells(r *Report, in *Input, b *Baseline, file string) {
	for i := range b.Cells {
		c := &b.Cells[i]
		gone := !slices.ContainsFunc(in.Cells, func(now Cell) bool { return now.Name == c.Cell })
		if c.Group != "" || !gone {
			continue
		}
		for j := range f.Rules {
			if rule := &f.Rules[j]; rule.Baseline == file && rule.speaksOf(c.Cell, c.Strategy) {
				r.fail(rule.Line, "%s has the cell %s, which is not in the scenario any more; sim check --update drops it", file, c.Cell)
				break
			}
		}
	}
}

// Complete reports whether the sessions of a run were read as far as f demands.
func (f *File) Complete(in *Input, baselines map[string]Loaded) bool {
	return in.NumLost <= f.mayLose(in, baselines) && in.Uncounted <= f.Uncounted
}

// mayLose returns how many lines, files and sessions may be lost: as many as the check
// says, else the most of a run of a baseline, or all where the baseline is still to be made.
func (f *File) mayLose(in *Input, baselines map[string]Loaded) (n int) {
	if f.Unread != nil {
		return *f.Unread
	}
	for _, file := range f.Baselines() {
		b := baselines[file].Baseline
		if b == nil {
			return in.NumLost
		}
		for _, run := range b.runs() {
			n = max(n, run.Unread)
		}
	}
	return n
}

// tellLost fails a run of sessions that were not read completely.
func (f *File) tellLost(r *Report, in *Input, baselines map[string]Loaded) {
	if n := in.Uncounted; n > 0 {
		if n <= f.Uncounted {
			r.Notes = append(r.Notes, in.UncountedText+fmt.Sprintf("; uncounted: %d allows that", f.Uncounted))
		} else {
			r.fail(0, "%s; the bill is wrong by these; uncounted: %d are allowed", in.UncountedText, f.Uncounted)
		}
	}
	if in.NumLost == 0 {
		return
	}
	text := counted(in.NumLost, "line, file or session", "lines, files or sessions") + " could not be read"
	allowed := f.mayLose(in, baselines)
	switch {
	case in.NumLost <= allowed && f.Unread == nil:
		r.Notes = append(r.Notes, text+"; runs of the baseline may lose as many")
		return
	case in.NumLost <= allowed:
		r.Notes = append(r.Notes, text+fmt.Sprintf(", as unread: %d allows", allowed))
		return
	}
	for _, p := range in.Lost[:min(len(in.Lost), maxLost)] {
		r.fail(0, "not read: %s", p)
	}
	if allowed > 0 || in.NumLost > maxLost {
		r.fail(0, "%s, unread: %d are allowed", text, allowed)
	}
}

// maxLost is how many of the lost lines, files and sessions are named.
const maxLost = 10

// unpriced returns the recorded calls of the sessions of a group to models without a price, and
// those models, sorted. If there are none, it is the calls that a strategy adds, at most added.
func (in *Input) unpriced(g group, added int) (calls int, models []string) {
	for id, s := range in.Sessions {
		if g.has(id) {
			for model, n := range s.Unpriced {
				calls += n
				models = append(models, model)
			}
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
	priced := m.Unit == results.UnitUSD || m.Name == results.NameNetNegative || m.Name == results.NameOverPredicted
	return priced && f.Unpriced != "allow" && s.unpriced() > 0
}

// unpricedCalls says how many calls of which models have no price.
func unpricedCalls(n int, models []string) string {
	of := ""
	if len(models) > 0 {
		of = " of " + document.Few(models)
	}
	return counted(n, "call"+of+" has", "calls"+of+" have") + " no price"
}

// tellUnpriced fails a run with figures that lack prices, once for all of them,
// or notes that such calls cost nothing.
func (f *File) tellUnpriced(r *Report, in *Input, cases []*verdict) {
	var models, cells []string
	calls, line := 0, 0
	for _, c := range cases {
		if !c.unpriced {
			continue
		}
		n, of := in.unpriced(c.slice.group, c.slice.unpriced())
		calls, line = max(calls, n), cmp.Or(line, c.result.Line)
		models = append(models, of...)
		if !slices.Contains(cells, c.result.Cell) {
			cells = append(cells, c.result.Cell)
		}
	}
	if calls > 0 {
		slices.Sort(models)
		models = slices.Compact(models)
		r.fail(line, "%[1]s, so that costs of %[2]s are not judged; prices: {as: {%[3]s: MODEL}} in the scenario prices them as --price-as does elsewhere, prices: {file: FILE} gives a table, unpriced: allow in the check lets them cost nothing",
			unpricedCalls(calls, models), document.Few(cells), append(models, "A")[0])
		return
	}
	added := 0
	for i := range in.Cells {
		added = max(added, in.Cells[i].Draws[0].Total.N(results.UnpricedCalls))
	}
	if added > 0 {
		r.Notes = append(r.Notes, unpricedCalls(in.unpriced(in.groups("")[0], added))+" and cost nothing here; --strict refuses such models")
	}
}
