package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/report/charts"
	"github.com/compactsim/compactsim/internal/report/check"
	"github.com/compactsim/compactsim/internal/report/pseudonym"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// withSeeds returns a design that runs those cells with draws that a check
// names under all its seeds: the scenario's and the following ones. draws are
// the names of the runs of each cell of d, in the order of the seeds.
func withSeeds(d *scenarios.Design, file *check.File) (seeded *scenarios.Design, draws [][]string) {
	out := *d
	out.Cells = nil
	for i := range d.Cells {
		c := d.Cells[i]
		names := []string{c.Name}
		out.Cells = append(out.Cells, c)
		for k := 1; k < file.Seeds && c.Draws() && file.Touches(c.Name, c.Strategy.Name); k++ {
			again := c
			scenario := *c.Scenario
			scenario.Seed += uint64(k)
			again.Scenario = &scenario
			again.Name = fmt.Sprintf("%s %s=%d", c.Name, results.SeedParam, scenario.Seed)
			names = append(names, again.Name)
			out.Cells = append(out.Cells, again)
		}
		draws = append(draws, names)
	}
	return &out, draws
}

// checkInput returns a run in the form that a check judges.
func checkInput(
	plan *scenarios.Plan, corpus *traces.Corpus, run *results.Run, draws [][]string, hide hiding,
) (*check.Input, error) {
	digest, err := scenarioDigest(plan)
	if err != nil {
		return nil, err
	}
	prices, err := pricesDigest(plan, corpus.Sessions)
	if err != nil {
		return nil, err
	}
	table := run.Provenance.Prices
	if plan.Design.Scenario.Prices.File != "" { // the name of the file
		table = hide.name(table)
	}
	in := &check.Input{Version: version(),
		SessionsDigest: hide.name(run.Provenance.SessionsDigest), ScenarioDigest: digest, PricesDigest: prices,
		Prices: table, Calls: run.Workload.Calls, Sessions: map[string]check.Session{}}
	in.Lost, in.NumLost = lost(corpus, hide)
	if n, text, first := reports.Uncounted(corpus); n > 0 {
		in.Uncounted, in.UncountedText = n, text+", as in session "+hide.name(first.ID)
	}
	in.Key = hide.keyName()
	if err := sessionsInto(in, plan, corpus.Sessions, hide); err != nil {
		return nil, err
	}
	byName := map[string]*results.Cell{}
	for i := range run.Cells {
		c := &run.Cells[i]
		byName[c.Cell] = c
		if c.Strategy == results.StrategyBilled {
			in.Cells = append(in.Cells, check.Cell{Name: c.Cell, Strategy: c.Strategy, Draws: []*results.Cell{c}})
		}
	}
	for i, names := range draws {
		c := check.Cell{Name: names[0], Strategy: plan.Design.Cells[i].Strategy.Name}
		for _, name := range names {
			if byName[name] == nil {
				return nil, fmt.Errorf("cell %s was not simulated", name)
			}
			c.Draws = append(c.Draws, byName[name])
		}
		in.Cells = append(in.Cells, c)
	}
	return in, nil
}

// sessionsInto sets the properties of the sessions of a check.
func sessionsInto(in *check.Input, plan *scenarios.Plan, sessions []*traces.Session, hide hiding) error {
	dates, err := priceDates(plan)
	if err != nil {
		return err
	}
	task, err := regexp.Compile(plan.Design.Scenario.Sessions.Task)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.NumCalls() == 0 {
			continue
		}
		own := check.Session{Project: hide.name(s.Project), Model: hide.model(usualModel(s)), Agent: s.Agent}
		if own.Task = taskOf(s, task); hide.on() {
			own.Name, own.Task = hide.name(s.ID), hide.task(own.Task)
		}
		if missing := unpricedModels(plan, dates, s); len(missing) > 0 {
			own.Unpriced = map[string]int{}
			for i, calls := range s.ModelCalls() {
				if missing[s.Models[i]] != nil {
					own.Unpriced[hide.model(s.Models[i])] += int(calls)
				}
			}
		}
		in.Sessions[s.ID] = own
	}
	return nil
}

// taskFolder is sessions.task for the folder of a recording.
const taskFolder = "folder"

// taskOf returns the task of a session by the path of its recording, "" for none.
func taskOf(s *traces.Session, task *regexp.Regexp) string {
	if task.String() == "" || len(s.Files) == 0 {
		return ""
	}
	path := filepath.ToSlash(s.Files[0])
	if task.String() == taskFolder {
		return filepath.Base(filepath.Dir(s.Files[0]))
	}
	if found := task.FindStringSubmatch(path); len(found) > 1 {
		return found[1]
	}
	return ""
}

// usualModel returns the model of most calls of a session, the first seen of
// equals.
func usualModel(s *traces.Session) string {
	if len(s.Models) == 0 {
		return ""
	}
	calls := s.ModelCalls()
	return s.Models[slices.Index(calls, slices.Max(calls))]
}

// lost says which parts of the recordings are not in the figures: lines that
// could not be read, files that could not be read to their end, sessions
// without a call. Problems with single calls that were read do not count. n
// counts all; the list has at most those that reading keeps.
func lost(c *traces.Corpus, hide hiding) (told []string, n int) {
	n = c.NumProblems
	for _, p := range c.Problems {
		told = append(told, hide.problem(p))
	}
	for _, s := range c.Sessions {
		n += s.Quality.BadLines - s.Quality.Problems
		bad := s.Quality.BadLines // counted before problems with calls
		for _, p := range s.Problems {
			switch {
			case p.Line == 0: // the whole file, not a line
				n++
			case bad > 0:
				bad--
			default:
				continue
			}
			told = append(told, hide.problem(p))
		}
	}
	return told, n
}

// unpricedModels returns the models of a session for which a plan has no price,
// at the price dates of its cells or, without one, when the session began.
func unpricedModels(plan *scenarios.Plan, dates []time.Time, s *traces.Session) map[string]error {
	missing := map[string]error{}
	for _, at := range dates {
		if at.IsZero() {
			at = s.StartTime()
		}
		for _, model := range s.Models {
			if _, err := plan.Prices.Lookup(model, at); err != nil {
				missing[model] = err
			}
		}
	}
	return missing
}

// refuseUnpriced returns the error of a strict check for models without a price. It names
// keys of the scenario, because sim check has no flags for prices.
func refuseUnpriced(plan *scenarios.Plan, sessions []*traces.Session, hide hiding) error {
	dates, err := priceDates(plan)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var errs []error
	for _, s := range sessions {
		missing := unpricedModels(plan, dates, s)
		for _, model := range slices.Sorted(maps.Keys(missing)) {
			if seen[model] {
				continue
			}
			seen[model] = true
			near, other := "", "MODEL"
			var unknown *costmodel.UnknownModelError
			if errors.As(missing[model], &unknown) && len(unknown.Near) > 0 {
				near, other = "; near names: "+strings.Join(unknown.Near, ", "), unknown.Near[0]
			}
			name, key := hide.model(model), model
			if name != model {
				key = "A" // a pseudonym cannot be billed as a model
			}
			errs = append(errs, fmt.Errorf("--strict: no price for model %q%s; prices in the scenario gives "+
				"one: {file: FILE}, or {as: {%s: %s}}", name, near, key, other))
		}
	}
	return errors.Join(errs...)
}

// hiding puts pseudonyms under a key into what a check prints and stores;
// without a key it changes nothing.
type hiding struct{ key []byte }

func (h hiding) on() bool { return h.key != nil }

// name returns the pseudonym of a project, a file or a digest.
func (h hiding) name(s string) string {
	if !h.on() {
		return s
	}
	return pseudonym.Of(h.key, s)
}

// keyName returns a separate pseudonym that distinguishes keys; "" without a
// key.
func (h hiding) keyName() string {
	if !h.on() {
		return ""
	}
	return h.name("the key of sim check")
}

// task returns the pseudonym of a task; "" has none.
func (h hiding) task(s string) string {
	if s == "" {
		return ""
	}
	return h.name(s)
}

// model returns the pseudonym of a model.
func (h hiding) model(s string) string {
	if !h.on() {
		return s
	}
	return pseudonym.Model(h.key, s)
}

// problem describes a problem of reading. The problem of a line may quote the line.
func (h hiding) problem(p traces.Problem) string {
	if h.on() {
		p.File, p.Text = h.name(p.File), "could not be read"
	}
	return p.String()
}

// reason says why there is nothing to check.
func (h hiding) reason(err error) string {
	if h.on() {
		return "nothing to check: no sessions"
	}
	return "nothing to check: " + err.Error()
}
