package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/reports/pseudonym"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
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
			again.Name = fmt.Sprintf("%s %s=%d", c.Name, measures.SeedParam, scenario.Seed)
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
	table := run.Provenance.Prices
	if plan.Design.Scenario.Prices.File != "" { // the name of the file
		table = hide.name(table)
	}
	in := &check.Input{Version: version(),
		SessionsDigest: hide.name(run.Provenance.SessionsDigest), ScenarioDigest: digest,
		Prices: table, Calls: run.Workload.Calls, Sessions: map[string]check.Session{}}
	in.Lost, in.Doubted, in.NumLost = listLost(corpus, hide)
	for _, s := range corpus.Sessions {
		if end := s.EndTime(); end.After(in.At) {
			in.At = end
		}
		in.LostLines, in.Lines = in.LostLines+s.Quality.BadLines, in.Lines+s.Quality.Lines
	}
	if n, text, first := charts.Uncounted(corpus); n > 0 {
		in.Uncounted, in.UncountedText = n, text+", as in session "+hide.name(first.ID)
	}
	in.Key = hide.keyName()
	if err := sessionsInto(in, plan, corpus.Sessions, hide); err != nil {
		return nil, err
	}
	builtin, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	byName := map[string]*results.Cell{}
	for i := range run.Cells {
		c := &run.Cells[i]
		byName[c.Cell] = c
		if c.Strategy == measures.StrategyBilled {
			in.Cells = append(in.Cells, check.Cell{Name: c.Cell, Strategy: c.Strategy, Asked: " --strategy " + measures.StrategyRecorded, Draws: []*results.Cell{c}})
		}
	}
	for i, names := range draws {
		c := check.Cell{Name: names[0], Strategy: plan.Design.Cells[i].Strategy.Name}
		if _, err := builtin.Strategy(c.Strategy); err == nil {
			c.Asked = " --strategy " + document.Argument(c.Strategy)
		}
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
	task, err := regexp.Compile(plan.Design.Scenario.Sessions.Task)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.NumCalls() == 0 {
			continue
		}
		own := check.Session{Project: hide.name(s.Project), Model: hide.model(usualModel(s)), Agent: s.Agent,
			Task: hide.name(taskOf(s, task)), Unpriced: map[string]int{}, Models: map[string]int{}}
		for i, n := range s.ModelCalls() {
			own.Models[hide.model(s.Models[i])] += int(n)
		}
		if hide.on() {
			own.Name = hide.name(s.ID)
		}
		in.Sessions[s.ID] = own
	}
	return ratesInto(in, plan, sessions, hide)
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

// listLost says which parts of the recordings are not in the figures: lines that
// could not be read, files that could not be read to their end, sessions
// without a call; and which sessions were read whole with a defect, such as calls without a time.
// Problems with single calls that were read do not count. n counts all problems; the lists have
// at most the problems that reading keeps.
func listLost(c *traces.Corpus, hide hiding) (told, doubted []string, n int) {
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
				if n++; !p.Unread {
					doubted = append(doubted, hide.problem(p))
					continue
				}
			case bad > 0:
				bad--
			default:
				continue
			}
			told = append(told, hide.problem(p))
		}
	}
	return told, doubted, n
}

// ratesInto sets the standard prices of the recorded models at the end of the last session of each, and the calls
// of models without a price when their session began, or at the date that the scenario has prices of.
func ratesInto(in *check.Input, plan *scenarios.Plan, sessions []*traces.Session, hide hiding) error {
	last := map[string]time.Time{}
	for _, s := range sessions {
		at, err := plan.Design.Scenario.Prices.At.On()
		if err != nil {
			return fmt.Errorf("prices.at: %w", err)
		}
		if at.IsZero() {
			at = s.StartTime()
		}
		calls := s.ModelCalls()
		for i, model := range s.Models {
			if end := s.EndTime(); !end.Before(last[model]) {
				last[model] = end
			}
			if own, counted := in.Sessions[s.ID]; counted && !hasPrice(plan, model, at) {
				own.Unpriced[hide.model(model)] += int(calls[i])
			}
		}
	}
	var err error
	if in.Renamed, err = findRenamed(plan, in.At, hide); err != nil {
		return err
	}
	in.Rates = map[string]results.Cost{}
	for model, at := range last {
		if price, err := plan.Prices.Lookup(model, at); err == nil {
			rate := price.Standard()
			in.Rates[hide.model(model)] = rate.PerMTok(0)
		}
	}
	return nil
}

// findRenamed returns the models that the scenario bills as another one though they have a price of their own, and the day whose
// prices it takes.
func findRenamed(plan *scenarios.Plan, at time.Time, hide hiding) (map[string]string, error) {
	prices := &plan.Design.Scenario.Prices
	table, err := priceTable(prices.File, nil)
	if err != nil {
		return nil, err
	}
	as := map[string]string{}
	for from, to := range prices.As {
		if _, err := table.Lookup(from, at); err == nil {
			as[hide.model(from)] = hide.model(to)
		}
	}
	if day, err := prices.At.On(); err == nil && !day.IsZero() {
		as["every model"] = "on " + day.Format(time.DateOnly)
	}
	return as, nil
}

func hasPrice(plan *scenarios.Plan, model string, at time.Time) bool {
	_, err := plan.Prices.Lookup(model, at)
	return err == nil
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

// beside are the keys of a scenario, and the sections, that a baseline does not depend on: its name, the
// sessions and the price file it names (sessions and rates are compared by themselves), real calls, which a
// check does not make, and the strategies, which are part of the cells.
var beside = regexp.MustCompile(`^(schema|name|doc|strategies|verify|bound|live.*|sessions\.(paths|since|until|utc|project|model|agent|task|generate.*)|prices\.file)$`)

// scenarioDigest identifies the cells of a plan: their strategies in full and, of what
// surrounds them, everything that is not the default, so that a key which a later version
// adds changes no digest. A profile from a file is identified by its content.
func scenarioDigest(plan *scenarios.Plan) (string, error) {
	defaults := scenarios.Default()
	h := sha256.New()
	for i := range plan.Design.Cells {
		c := &plan.Design.Cells[i]
		parts := []any{c.Name}
		for _, m := range c.Strategy.Members() {
			layers, err := layersOf(m)
			if err != nil {
				return "", err
			}
			parts = append(parts, layers)
		}
		for _, d := range spec.Diff(c.Scenario, &defaults) {
			if !beside.MatchString(d.Path) {
				parts = append(parts, d.Path, d.A)
			}
		}
		if p := plan.Profiles[c.Scenario.Profile]; p != nil {
			var text bytes.Buffer
			if err := p.Write(&text); err != nil {
				return "", err
			}
			parts = append(parts, text.String())
		}
		line, err := json.Marshal(parts, json.Deterministic(true))
		if err != nil {
			return "", fmt.Errorf("digest of cell %s: %w", c.Name, err)
		}
		h.Write(append(line, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// layersOf returns a strategy as maps, lists and values, without its name and
// description.
func layersOf(s *strategies.Strategy) (map[string]any, error) {
	text, err := s.YAML()
	if err != nil {
		return nil, err
	}
	var layers map[string]any
	if err := yaml.Unmarshal(text, &layers); err != nil {
		return nil, fmt.Errorf("digest of strategy %s: %w", s.Name, err)
	}
	for _, key := range strategies.HeadKeys() {
		if key != "name" {
			delete(layers, key)
		}
	}
	return layers, nil
}
