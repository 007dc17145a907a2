package scenarios

import (
	_ "embed" // the figures of the experiment
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/scenarios/tried"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// annotate adds the assumptions behind the figures. real says that summaries do
// not come from the stub.
func annotate(run *results.Run, d *Design, real bool) {
	note := func(cell, metric, format string, args ...any) {
		run.Notes = append(run.Notes, results.Note{Cell: cell, Metric: metric, Text: fmt.Sprintf(format, args...)})
	}
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy == measures.StrategyRecorded {
			if parts := unlogged(c, run.Reference(measures.StrategyBilled)); len(parts) > 0 {
				note(c.Cell, measures.NameCost, "includes %s that are in no log", strings.Join(parts, " and "))
			}
			if billed := run.Reference(measures.StrategyBilled); billed != nil {
				if text := unshown(billed, c); text != "" {
					note(billed.Cell, measures.NameCost, "%s", text)
				}
			}
		}
	}
	environment := d.environment()
	for i := range run.Cells {
		c := &run.Cells[i]
		set := d.givenTo(c.Strategy)
		if d.heeds(c) {
			set = append(set, environment...)
		}
		if len(set) > 0 {
			note(c.Cell, "", measures.ChangedTo+"%s", strings.Join(set, ", "))
		}
		for _, why := range notRun(c) {
			note(c.Cell, "", "%s", why)
		}
		if idle(c) { // it forgets nothing because it does nothing
			c.Unmeasured = append(c.Unmeasured, measures.NameRecall)
		}
	}
	run.Notes = append(run.Notes, ineffective(run)...)
	for _, s := range d.servers() {
		note("", "", "server %s: %s (%s, %s)", s.Name, s.About, s.Certainty, s.AsOf)
	}
	if len(run.Cells) > 2 && !d.Scenario.Users.Any() {
		note("", "", "other strategies keep the recording's actions, pauses, model, window and client%s", d.departures(run))
		summaries := "summaries have a size, drawn or set, and no text: their quality is not modelled"
		if real {
			summaries = "real models wrote the summaries; what a summary leaves out does not change what the agent does later"
		}
		run.Notes = append(run.Notes, results.Note{Text: summaries, Detail: true})
	}
}

// servers returns the named servers of the cells, each once.
func (d *Design) servers() (list []*servers.Server) {
	for i := range d.Cells {
		if s, err := servers.Of(d.Cells[i].Scenario.Server.Name); err == nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// notRun says which layers of a cell could not do what they are asked in how many sessions, and why.
func notRun(c *results.Cell) (list []string) {
	found := map[string]int{}
	for _, r := range c.Rows.All() {
		for reason := range r.Reasons {
			for _, begin := range []string{measures.NotRun, measures.NotFast} {
				if layer, why, ok := strings.Cut(reason, ": "+begin); ok {
					found[layer+" "+strings.TrimSuffix(begin, ": ")+" in %s: "+why]++
				}
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(found)) {
		list = append(list, fmt.Sprintf(text, document.Count(found[text], "session")))
	}
	return list
}

// ineffective says which events of the scenario change no request of how many sessions, and why: once for a run, as
// most strategies agree.
func ineffective(run *results.Run) (list []results.Note) {
	type span struct{ cells, least, most int }
	found, cells, sessions := map[string]span{}, 0, 0
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Strategy == measures.StrategyBilled {
			continue
		}
		counts := map[string]int{}
		for _, r := range c.Rows.All() {
			for reason := range r.Reasons {
				for _, begin := range []string{sim.EventIdle, sim.EventDue, sim.EventMissing} {
					if event, why, ok := strings.Cut(reason, ": "+begin); ok {
						counts[event+" "+strings.TrimSuffix(begin, ": ")+" in %s of %s: "+why]++
					}
				}
			}
		}
		cells, sessions = cells+1, max(sessions, c.Rows.Len())
		for text, n := range counts {
			s, ok := found[text]
			if !ok {
				s.least = n
			}
			found[text] = span{s.cells + 1, min(s.least, n), max(s.most, n)}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(found)) {
		s := found[text]
		if s.cells < cells {
			s.least = 0
		}
		n := document.Whole(s.most)
		if s.least < s.most {
			n = fmt.Sprintf("%d to %s, by strategy,", s.least, n)
		}
		list = append(list, results.Note{Text: fmt.Sprintf(text, n, document.Count(sessions, "session"))})
	}
	return list
}

// idle reports whether a strategy can do nothing in any session.
func idle(c *results.Cell) bool {
	for _, r := range c.Rows.All() {
		if r.Unfit() == "" {
			return false
		}
	}
	return c.Rows.Len() > 0
}

// openRows counts the sessions in which agents fetch nothing again, the most of any cell.
func openRows(run *results.Run) (most int) {
	for i := range run.Cells {
		n := 0
		for _, r := range run.Cells[i].Rows.All() {
			if r.Loop == measures.LoopOpen {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// closes reports whether a cell is in a closed loop.
func (d *Design) closes() bool {
	return slices.ContainsFunc(d.Cells, func(c Cell) bool { return c.Scenario.Agent.Refetch != sim.RefetchNever })
}

// departures says where agents do not act as recorded.
func (d *Design) departures(run *results.Run) string {
	text := "; agents fetch again what they need but have lost" + mostFetches(run)
	switch open := openRows(run); {
	case d.closes() && open > 0:
		text += ", but not in " + document.Count(open, "session") + " without texts"
	case !d.closes():
		text = "; in this open loop agents fetch nothing again"
	}
	if slices.ContainsFunc(d.Cells, func(c Cell) bool { return c.Scenario.Agent.Elongation > 0 }) {
		text += ", but take longer after compactions"
	}
	return text
}

// mostFetches says under which strategy agents fetch again most often, "" where none fetches: how often they do is known
// least of all that a prediction rests on (docs/fidelity.md).
func mostFetches(run *results.Run) string {
	strategy, most := "", 0
	for i := range run.Cells {
		if n := run.Cells[i].Total.N(measures.Needs + measures.ID(recall.Fetches)); n > most {
			strategy, most = run.Cells[i].Strategy, n
		}
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s of %s; --open-loop leaves these out)", document.Count(most, "call"), strategy)
}

// unlogged says which costs of a recorded cell are in no log. A session whose
// bill includes such calls adds nothing for these.
func unlogged(c, billed *results.Cell) []string {
	r := &c.Total
	var parts []string
	add := func(source measures.Source, what string) {
		usd := r.CostBy(source).Total()
		if billed != nil && billed.Covers(c) {
			for i, row := range billed.Rows.All() {
				if row.CallsBy(source) > 0 {
					usd -= c.Rows.At(i).CostBy(source).Total()
				}
			}
		}
		if usd >= 0.005 {
			parts = append(parts, fmt.Sprintf("$%.2f for %s", usd, what))
		}
	}
	add(measures.SourceCompact, "summary calls")
	add(measures.SourceOther, "calls beside the conversation")
	if usd := r.Figures[measures.UnloggedInputUSD]; usd >= 0.005 {
		parts = append(parts, fmt.Sprintf("$%.2f for input of calls without counts", usd))
	}
	return parts
}

// unshown says what of the bill is for calls that no line shows, if that is a tenth or more, and how far the model is from the
// rest: rows repeat these calls, and so the model error of the whole looks small.
func unshown(billed, recorded *results.Cell) string {
	bill, beside := billed.Total.CostUSD(), billed.Total.CostBy(measures.SourceOther).Total()
	if bill <= 0 || 10*beside < bill || !billed.Covers(recorded) {
		return ""
	}
	text := fmt.Sprintf("includes %s for calls that no line shows", document.USD(beside, 2))
	if rest := bill - beside; rest > 0 {
		shown := recorded.Total.LoggedUSD(&billed.Total) - recorded.Total.CostBy(measures.SourceOther).Total()
		text += fmt.Sprintf("; the model error of the rest is %s net", document.SignedPercent(shown/rest-1))
	}
	return text
}

// givenTo returns the parameters of a strategy's layers that were set from outside the
// scenario and are not swept: the name of the cell does not show these.
func (d *Design) givenTo(strategy string) []string {
	var set []string
	for _, e := range d.entries {
		for _, g := range e.given {
			path := strings.TrimPrefix(g[0], "--set ")
			swept := slices.ContainsFunc(e.axes, func(a spec.Axis) bool { return a.Path == path || strings.HasPrefix(a.Path, path+".") })
			if e.name == strategy && !swept {
				set = append(set, path+"="+g[1])
			}
		}
	}
	return set
}

// heeds reports whether a cell is simulated with the variables of the client's environment. A strategy without the
// layers that variables change is as it was, and so is what a recording did.
func (d *Design) heeds(of *results.Cell) bool {
	at := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Name == of.Cell })
	return at >= 0 && of.Strategy != measures.StrategyRecorded && (d.Cells[at].adjusted || len(settings(&d.Cells[at].Scenario.Client.Assembly)) == 0)
}

// environment returns the variables of the client's environment that are set and that no axis names.
func (d *Design) environment() (set []string) {
	for _, c := range d.changed() {
		if strings.HasPrefix(c.Path, "client.env.") && !c.swept {
			set = append(set, c.Path+"="+c.text)
		}
	}
	return set
}

// inSample is the remark on a sweep that was not interrupted: the cheapest cell was chosen on the sessions it is shown for.
func inSample(run *results.Run) []results.Note {
	swept := slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		for name := range c.Params {
			if name != "prices.at" && name != measures.SeedParam {
				return true
			}
		}
		return false
	})
	if !swept || run.Workload.Unfinished > 0 {
		return nil
	}
	return []results.Note{{Text: "the cheapest setting was chosen on these same sessions; sim advise PATH tests settings on others"}}
}

// tellTrials says for the agents of a run how far such predictions were off; nothing for agents that were not tried, and for
// runs without a strategy besides the recorded one. lengths says what own costs with short and with long summaries, as span has it.
func tellTrials(d *Design, sessions []*traces.Session, run *results.Run, lengths string) []results.Note {
	if !asksAnother(run) {
		return nil
	}
	var parts []string
	for _, t := range tried.List() {
		if !slices.ContainsFunc(sessions, func(s *traces.Session) bool { return s.Agent == t.Agent }) {
			continue
		}
		off := t.Closed
		if d.Scenario.Agent.Refetch == sim.RefetchNever {
			off = t.Open
		}
		text := fmt.Sprintf("%s off what %s %s really cost", document.Percent(off[0]), agents.Of(t.Agent).Title, t.Version)
		if t.Pairs > 1 {
			text += fmt.Sprintf(" on average, %s at worst", document.Percent(off[1]))
		}
		text += ", in " + document.Count(t.Pairs, "pair")
		if n := t.Later(sessions); n > 0 {
			text += "; nobody has tried the later versions of " + document.Count(n, "session")
		}
		parts = append(parts, text)
	}
	var text string
	if len(parts) > 0 {
		text = "predictions under another setting were " + strings.Join(parts, "; ") + " (docs/validation.md)"
	}
	switch {
	case lengths != "" && text != "":
		text += "; " + lengths
	case lengths != "":
		text = lengths
	case text == "":
		return nil
	}
	return []results.Note{{Text: text}}
}

// asksAnother reports whether a run has cells of other strategies than the recorded one.
func asksAnother(run *results.Run) bool {
	return slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		return c.Strategy != measures.StrategyBilled && c.Strategy != measures.StrategyRecorded
	})
}
