package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// baselineSchema is the version of the encoded form of a baseline.
const baselineSchema = 4

// Baseline has the figures with which later runs are compared: figures of the cells of the last
// run, and the sessions of the last runs.
type Baseline struct {
	Schema         int                     `json:"schema"`
	Tool           string                  `json:"tool"` // always "sim check"
	Version        string                  `json:"version"`
	Sessions       int                     `json:"sessions"`
	Calls          int                     `json:"calls"`           // recorded, of all sessions
	Unread         int                     `json:"unread,omitzero"` // Input.NumLost
	SessionsDigest string                  `json:"sessions_digest"`
	ScenarioDigest string                  `json:"scenario_digest"`
	Prices         string                  `json:"prices"`                  // date of the table, ISO 8601
	Key            string                  `json:"pseudonyms_key,omitzero"` // Input.Key
	Rates          map[string]results.Cost `json:"rates,omitempty"`         // Input.Rates; of earlier runs too
	Renamed        map[string]string       `json:"renamed,omitempty"`       // Input.Renamed
	First          *RunFigures             `json:"first,omitzero"`          // of the first run of all, which the window may no longer have
	Past           []Past                  `json:"past"`                    // sessions by id, the last run's first
	Cells          []BaselineCell          `json:"cells"`
}

// BaselineCell is one cell over all sessions of a run or over a group of sessions.
type BaselineCell struct {
	Cell     string `json:"cell"`
	Strategy string `json:"strategy"`
	Group    string `json:"group,omitzero"`
	Draws    int    `json:"draws"`             // seeds of the cell's runs, 1 for a cell without draws
	Unpriced int    `json:"unpriced,omitzero"` // calls without a price, of the first seed
	// Metrics are values by name, in the unit of the metric: under each of the Draws seeds for metrics that
	// rules compared when the baseline was made, the mean for others. A metric without a sample is absent.
	Metrics map[string][]float64 `json:"metrics"`
}

const baselineTool = "sim check"

// find returns a cell over a group, nil if there is none.
func (b *Baseline) find(cell, group string) *BaselineCell {
	i := slices.IndexFunc(b.Cells, func(c BaselineCell) bool { return c.Cell == cell && c.Group == group })
	if i < 0 {
		return nil
	}
	return &b.Cells[i]
}

// mean returns a metric of a cell, false without a sample.
func (c *BaselineCell) mean(metric string) (float64, bool) {
	values, ok := c.Metrics[metric]
	if !ok {
		return 0, false
	}
	return mean(values), true
}

// parts returns both sums of a ratio in the sessions of a group that have them.
func (b *Baseline) parts(cell string, m *results.Metric, by, group string) (list [][2]float64) {
	for i := range b.Past {
		p := &b.Past[i]
		if parts, ok := p.Parts[cell][m.Name]; ok && (by == "" || groupName(by, p.Groups[by]) == group) {
			list = append(list, parts)
		}
	}
	return list
}

// without reports whether a baseline tells its sessions apart by a property and has none of a group.
func (b *Baseline) without(by, group string) bool {
	apart := false
	for i := range b.Past {
		name, known := b.Past[i].Groups[by]
		if known && groupName(by, name) == group {
			return false
		}
		apart = apart || known
	}
	return apart
}

// NewBaseline returns the figures of a run: all metrics of all cells, and the metrics of the groups that rules name.
func (f *File) NewBaseline(in *Input) (*Baseline, error) {
	if len(in.Sessions) == 0 {
		return nil, errors.New("no sessions: nothing to compare later runs with")
	}
	b := &Baseline{Schema: baselineSchema, Tool: baselineTool, Version: in.Version, Sessions: len(in.Sessions), Calls: in.Calls,
		Unread: in.NumLost, SessionsDigest: in.SessionsDigest, ScenarioDigest: in.ScenarioDigest, Prices: in.Prices, Key: in.Key,
		Rates: maps.Clone(in.Rates), Renamed: in.Renamed, Past: f.past(in)}
	all := newSums(f)
	for i := range in.Cells {
		c := &in.Cells[i]
		for _, g := range f.groupsOf(c, in, all) {
			cell, err := f.keep(all.of(c, g), all.metrics)
			if err != nil {
				return nil, err
			}
			b.Cells = append(b.Cells, cell)
		}
	}
	return b, nil
}

// After adds to b, the baseline of a judged run, the sessions of the runs that was has. Runs of
// another scenario are dropped, and a session that both have is the later one.
func (f *File) After(b, was *Baseline) *Baseline {
	if was == nil || was.ScenarioDigest != b.ScenarioDigest && !f.ScenarioMayChange {
		return b
	}
	later := 1
	if was.SessionsDigest == b.SessionsDigest {
		later = 0 // the same run again
	}
	if f.Window > 0 {
		b.First = was.firstRun(&f.Accept)
	}
	ids := map[string]bool{}
	for i := range b.Past {
		ids[b.Past[i].ID] = true
	}
	for _, p := range f.Accept.forget(was.Past) {
		if p.Run += later; p.Run < f.Window && !ids[p.ID] {
			b.Past = append(b.Past, p)
		}
	}
	for model, rate := range was.Rates {
		if _, known := b.Rates[model]; !known {
			b.Rates = put(b.Rates, model, rate)
		}
	}
	return b
}

// groupsOf returns the groups of a cell that rules name, all sessions first.
func (f *File) groupsOf(c *Cell, in *Input, known *sums) []group {
	all := slices.Clone(known.groupsOf(in, ""))
	for _, by := range groupings(f.Rules) {
		if slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.Group == by && r.speaksOf(c.Name, c.Strategy) }) {
			all = append(all, known.groupsOf(in, by)...)
		}
	}
	return all
}

// groupings returns by what rules group.
func groupings(rules []Rule) (list []string) {
	for i := range rules {
		if by := rules[i].Group; by != "" && !slices.Contains(list, by) {
			list = append(list, by)
		}
	}
	return list
}

// keep returns the figures of one slice, without costs that lack prices: these
// would make too low a bar.
func (f *File) keep(s *slice, metrics []results.Metric) (BaselineCell, error) {
	out := BaselineCell{Cell: s.cell.Name, Strategy: s.cell.Strategy, Group: s.group.name, Draws: len(s.totals),
		Unpriced: s.totals[0].N(measures.UnpricedCalls), Metrics: map[string][]float64{}}
	for _, m := range metrics {
		values, ok := s.values(m)
		if !ok || f.lacksPrice(s, m) {
			continue
		}
		v := mean(values)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return out, fmt.Errorf("%s of %s is %v: it cannot enter a baseline", m.Name, s.cell.Name, v)
		}
		if !f.compares(m.Name, s.cell) {
			values = []float64{v}
		}
		out.Metrics[m.Name] = values
	}
	return out, nil
}

// compares reports whether a rule holds a metric of a cell against a baseline.
func (f *File) compares(metric string, c *Cell) bool {
	return slices.ContainsFunc(f.Rules, func(r Rule) bool {
		return r.Kind.relative() && r.Metric.Name == metric && r.speaksOf(c.Name, c.Strategy)
	})
}

// Write writes b as JSON with one cell per line. Equal baselines give equal bytes.
func (b *Baseline) Write(w io.Writer) error {
	head := *b
	head.Cells = []BaselineCell{}
	if err := jsonlines.Write(w, &head, b.Cells); err != nil {
		return fmt.Errorf("writing a baseline: %w", err)
	}
	return nil
}

// ErrStale is wrapped by the errors for a baseline that this version cannot use
// and may replace: one of another schema, or with contradictory content.
var ErrStale = errors.New("it is to be written anew")

// ReadBaseline reads what Write wrote. Another schema, something other than a baseline, unknown members and
// figures that are no numbers are errors that begin with name and line.
func ReadBaseline(name string, r io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	b := new(Baseline)
	if err = decodeBaseline(data, b); err == nil {
		err = b.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, jsonlines.Line(data, err), err)
	}
	for i := range b.Past {
		b.Past[i].leaveUnpriced(b.Rates)
	}
	return b, nil
}

// validate refuses a baseline without what every run has, and figures that no run has: a rule held against these could not fail.
func (b *Baseline) validate() error {
	if b.SessionsDigest == "" || b.ScenarioDigest == "" || b.Sessions <= 0 || len(b.Cells) == 0 {
		return fmt.Errorf("a baseline without sessions, cells or digests; %w", ErrStale)
	}
	last, billed, priced := 0, 0.0, true
	ids := map[string]bool{}
	for i := range b.Past {
		p := &b.Past[i]
		if p.Run == 0 {
			last++
			billed, priced = billed+p.USD, priced && p.Calls > 0
		}
		if p.Unpriced < 0 || p.pricedCalls() < 0 || p.USD < 0 || p.Tokens < 0 || p.Run < 0 || ids[p.ID] {
			return fmt.Errorf("session %s is twice in past, or has a figure below 0; %w", p.ID, ErrStale)
		}
		if most := p.most(); !(most <= mostFigure) {
			return fmt.Errorf("session %s has a figure of %g, and no sum is above %g; %w", p.ID, most, mostFigure, ErrStale)
		}
		ids[p.ID] = true
	}
	if last != b.Sessions {
		return fmt.Errorf("past has %s of the last run, which had %d; %w", document.Count(last, "session"), b.Sessions, ErrStale)
	}
	for i := range b.Cells {
		c := &b.Cells[i]
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			values := c.Metrics[name]
			if len(values) == 0 || len(values) > 1 && len(values) != c.Draws {
				return fmt.Errorf("%s of cell %q has values under %s, the cell has %d; %w", name, c.Cell,
					document.Count(len(values), "seed"), c.Draws, ErrStale)
			}
			if most := largest(values...); !(most <= mostFigure) {
				return fmt.Errorf("%s of cell %q is %g, and no sum is above %g; %w", name, c.Cell, most, mostFigure, ErrStale)
			}
		}
		if usd, ok := c.mean(measures.NameCost); ok && priced && c.Strategy == measures.StrategyBilled && c.Group == "" && math.Abs(usd-billed) > 1e-6*billed {
			return fmt.Errorf("%s of cell %q is %g, and its sessions were billed %g; %w", measures.NameCost, c.Cell, usd, billed, ErrStale)
		}
	}
	return nil
}

// most returns the largest figure of a session, without its sign.
func (p *Past) most() float64 {
	most := largest(p.USD, float64(p.Calls), float64(p.Tokens), p.Input[0], p.Input[1])
	for _, usd := range p.Excess {
		most = max(most, largest(usd))
	}
	for _, fact := range p.Facts {
		most = max(most, largest(fact[:]...))
	}
	for _, costs := range p.Costs {
		most = max(most, largest(costs...))
	}
	for _, parts := range p.Parts {
		for _, sums := range parts {
			most = max(most, largest(sums[:]...))
		}
	}
	return most
}

// largest returns the largest value without its sign.
func largest(values ...float64) (most float64) {
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	return most
}

// decodeBaseline decodes data and checks that it is a baseline of this schema:
// another one has members of other kinds.
func decodeBaseline(data []byte, b *Baseline) error {
	var head struct {
		Schema int    `json:"schema"`
		Tool   string `json:"tool"`
	}
	if err, wrong := json.Unmarshal(data, &head), new(json.SemanticError); err != nil && !errors.As(err, &wrong) {
		return err // not JSON
	}
	switch {
	case head.Tool != baselineTool:
		return errors.New("not a baseline of sim check")
	case head.Schema != baselineSchema:
		return fmt.Errorf("a baseline of schema %d, this version reads schema %d; %w", head.Schema, baselineSchema, ErrStale)
	}
	if err := jsonlines.Read(data, b); err != nil {
		return fmt.Errorf("%w; %w", err, ErrStale)
	}
	// Refuse a null: read as a figure it would be 0, as a list nothing, and a rule held against it could pass. Write
	// writes none.
	for d := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.ReadToken()
		switch {
		case err != nil: // the end: the text was decoded before
			return nil
		case token.Kind() == 'n':
			return fmt.Errorf("%s is null; %w", d.StackPointer(), ErrStale)
		}
	}
}

// Size says how much a baseline holds.
func (b *Baseline) Size() string {
	return document.Count(len(b.Cells), "row") + " of " + document.Count(b.Sessions, "session")
}

// Acceptance lists changes that are intended, and the command that accepts changes.
type Acceptance struct {
	Names   []string // facts and metrics that break nothing in this run, and that the next baseline forgets of earlier ones
	Command string   // runs the check again, with its paths; "" for sim check
}

// agentFact is the name by which the sessions of an agent are accepted.
func agentFact(agent string) string { return "agent " + agent }

// updating is the command that writes the baseline.
func (a *Acceptance) updating() string { return cmp.Or(a.Command, "sim check") + " --update" }

// accepting returns the command that accepts facts and metrics as they are now: later runs are held against these.
func (a *Acceptance) accepting(names ...string) string {
	text := "if it is meant: " + a.updating()
	for _, name := range names {
		text += " --accept " + document.Argument(name)
	}
	return text
}

// Anew is what is accepted to begin a baseline anew: nothing of earlier runs is kept or compared with.
const Anew = "baseline"

// anew returns the command that makes all current figures the baseline, also figures beyond their bars.
func (a *Acceptance) anew() string { return a.accepting(Anew) + " begins it anew" }

// Renews reports whether the baseline is to begin anew.
func (a *Acceptance) Renews() bool { return a.accepted(Anew) }

// accepted reports whether what is there now of a fact or a metric is meant.
func (a *Acceptance) accepted(name string) bool {
	return slices.ContainsFunc(a.Names, func(own string) bool { return strings.EqualFold(own, name) })
}

// forget takes out of the sessions of earlier runs what is accepted, and reports whether anything is left to compare
// with: of a metric, nothing of an earlier run is.
func (a *Acceptance) forget(past []Past) []Past {
	var kept []Past
	for _, p := range past {
		if a.accepted(agentFact(p.Agent)) {
			continue // an agent that is not here any more
		}
		p.Facts = maps.Clone(p.Facts)
		maps.DeleteFunc(p.Facts, func(name string, _ [2]float64) bool {
			ofPrices := validate.Level(name) || validate.Named(name)
			return a.accepted(name) || a.accepted(pricesMetric) && ofPrices || a.accepted(factsMetric) && !ofPrices
		})
		p.Parts = maps.Clone(p.Parts)
		for cell, parts := range p.Parts {
			parts = maps.Clone(parts)
			maps.DeleteFunc(parts, func(metric string, _ [2]float64) bool { return a.accepted(metric) })
			p.Parts[cell] = parts
		}
		kept = append(kept, p)
	}
	return kept
}

// accept turns what is accepted among the results into what holds, and notes it.
func (f *File) accept(r *Report) {
	for _, name := range f.Accept.Names {
		found := strings.EqualFold(name, Anew)
		for i := range r.Results {
			if s := &r.Results[i]; strings.EqualFold(s.Metric, name) && (s.Status == Breach || s.Status == Suspect) {
				s.Status, found = OK, true
				r.note("%s, which --accept %q takes as meant", s.Message, name)
				s.Message, s.Look = "", ""
			}
		}
		for i := range r.Changed {
			found = found || strings.HasPrefix(strings.ToLower(r.Changed[i]), strings.ToLower(name))
		}
		if !found && !strings.HasPrefix(strings.ToLower(name), "agent ") {
			r.note("--accept %q: nothing of this name is beyond its bar here", name)
		}
	}
}

// tellMeant notes the one command that takes as meant all that is broken against the baseline.
func (f *File) tellMeant(r *Report) {
	names := r.meant
	for i := range r.Results {
		if s := &r.Results[i]; s.Status == Breach && (s.Metric == pricesMetric || strings.HasPrefix(s.Rule, "max_")) && !slices.Contains(names, s.Metric) {
			names = append(names, s.Metric)
		}
	}
	anew := slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.Contains(p.Text, f.Accept.anew()) }) // the whole run is accepted
	if len(names) < 2 || !r.Broken() || anew {
		return
	}
	r.note("for all of this, %s", f.Accept.accepting(names...))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
