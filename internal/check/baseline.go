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
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/jsonlines"
	"github.com/compactsim/compactsim/sim/results"
)

// baselineSchema is the version of the encoded form of a baseline.
const baselineSchema = 2

// Baseline is what a check holds later runs against.
type Baseline struct {
	Schema         int    `json:"schema"`
	Tool           string `json:"tool"` // always "sim check"
	Version        string `json:"version"`
	Sessions       int    `json:"sessions"`
	Calls          int    `json:"calls"` // recorded, of all sessions
	SessionsDigest string `json:"sessions_digest"`
	ScenarioDigest string `json:"scenario_digest"`
	PricesDigest   string `json:"prices_digest"`           // of the models in use
	Prices         string `json:"prices"`                  // date of the table, ISO 8601
	Key            string `json:"pseudonyms_key,omitzero"` // Input.Key
	// Undecided says that these sessions could not tell: they are judged together with
	// the next run, and later runs are not held against them.
	Undecided bool           `json:"undecided,omitzero"`
	Earlier   []Baseline     `json:"earlier,omitempty"` // runs before this one, the last first
	Cells     []BaselineCell `json:"cells"`
	// PassedOver is what ReadBaseline did not know.
	PassedOver results.PassedOver `json:"-"`
}

// BaselineCell is one cell over all sessions or over a group of them.
type BaselineCell struct {
	Cell     string `json:"cell"`
	Strategy string `json:"strategy"`
	Group    string `json:"group,omitzero"`
	Sessions int    `json:"sessions"`
	Draws    int    `json:"draws"` // seeds the cell was run under, 1 for a cell without draws
	// Metrics are means over seeds by name, in the unit of the metric. Without a
	// sample one is absent.
	Metrics map[string]float64 `json:"metrics"`
	// Seeds are the values under each seed, Draws of each, of what rules compared
	// in a cell with draws when the baseline was made.
	Seeds map[string][]float64 `json:"seeds,omitempty"`
	// Parts are both sums of a ratio in each session, of what rules compare where
	// sessions may change.
	Parts map[string][][2]float64 `json:"parts,omitempty"`
}

const baselineTool = "sim check"

// find returns a cell over a group, nil when there is none.
func (b *Baseline) find(cell, group string) *BaselineCell {
	i := slices.IndexFunc(b.Cells, func(c BaselineCell) bool { return c.Cell == cell && c.Group == group })
	if i < 0 {
		return nil
	}
	return &b.Cells[i]
}

// NewBaseline returns the figures of a run as the baseline called file keeps
// them: all metrics of all cells, and those of groups that rules on it ask for.
func (f *File) NewBaseline(file string, in *Input) (*Baseline, error) {
	if len(in.Sessions) == 0 {
		return nil, errors.New("no sessions: nothing to compare later runs with")
	}
	b := &Baseline{Schema: baselineSchema, Tool: baselineTool, Version: in.Version, Sessions: len(in.Sessions), Calls: in.Calls,
		SessionsDigest: in.SessionsDigest, ScenarioDigest: in.ScenarioDigest,
		PricesDigest: in.PricesDigest, Prices: in.Prices, Key: in.Key}
	all := f.newSums()
	for i := range in.Cells {
		c := &in.Cells[i]
		for _, g := range f.groupsOf(file, c, in, all) {
			s := all.of(c, g)
			if g.name != "" && s.sessions() == 0 {
				continue
			}
			cell, err := f.keep(file, s, all.metrics)
			if err != nil {
				return nil, err
			}
			b.Cells = append(b.Cells, cell)
		}
	}
	return b, nil
}

// After returns b, of a run that was judged, in front of the runs that a baseline keeps
// beside it. A run that left a rule open is one of them and holds nothing yet; the next one
// that can tell takes it along. Of the same sessions again the later run stands, and runs of
// another scenario go.
func (f *File) After(b, was *Baseline, open bool) *Baseline {
	if b.Undecided = open; was == nil || f.Window < 2 {
		return b
	}
	for _, run := range was.runs() {
		own := *run
		own.Earlier, own.Undecided = nil, own.Undecided && open
		same := own.ScenarioDigest == b.ScenarioDigest || f.ScenarioMayChange
		if same && own.SessionsDigest != b.SessionsDigest && len(b.Earlier) < f.Window-1 {
			b.Earlier = append(b.Earlier, own)
		}
	}
	return b
}

// groupsOf returns the groups of a cell that rules on a baseline ask for, all
// sessions first.
func (f *File) groupsOf(file string, c *Cell, in *Input, known *sums) []group {
	all := slices.Clone(known.groupsOf(in, ""))
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.Baseline != file || r.Group == "" || !slices.Contains(in.targets(r), c) {
			continue
		}
		for _, g := range known.groupsOf(in, r.Group) {
			if !slices.ContainsFunc(all, func(h group) bool { return h.name == g.name }) {
				all = append(all, g)
			}
		}
	}
	return all
}

// keep returns the figures of one slice. Costs that lack prices are left out, for
// they would make a bar of too little.
func (f *File) keep(file string, s *slice, metrics []results.Metric) (BaselineCell, error) {
	out := BaselineCell{Cell: s.cell.Name, Strategy: s.cell.Strategy, Group: s.group.name, Sessions: s.sessions(), Draws: len(s.totals),
		Metrics: map[string]float64{}, Seeds: map[string][]float64{}, Parts: map[string][][2]float64{}}
	for _, m := range metrics {
		values, ok := s.values(m)
		if !ok || f.lacksPrice(s, m) {
			continue
		}
		if v := mean(values); math.IsNaN(v) || math.IsInf(v, 0) {
			return out, fmt.Errorf("%s of %s is %v: no baseline is made of it", m.Name, s.cell.Name, v)
		}
		out.Metrics[m.Name] = mean(values)
		compared := slices.ContainsFunc(f.Rules, func(r Rule) bool {
			return r.Kind.relative() && r.Baseline == file && r.Metric.Name == m.Name && r.speaksOf(out.Cell, out.Strategy)
		})
		if compared && len(values) > 1 {
			out.Seeds[m.Name] = values
		}
		if compared && m.Kind == results.KindRatio && f.mayChange(out.Strategy) {
			out.Parts[m.Name] = s.parts(m)
		}
	}
	return out, nil
}

// Write writes b as JSON with one cell a line. Equal baselines give equal bytes.
func (b *Baseline) Write(w io.Writer) error {
	head := *b
	head.Cells = []BaselineCell{}
	if err := jsonlines.Write(w, &head, b.Cells); err != nil {
		return fmt.Errorf("writing a baseline: %w", err)
	}
	return nil
}

// ErrStale is wrapped by the errors for a baseline that this version cannot use
// and may replace: one of another schema, or whose contents contradict.
var ErrStale = errors.New("sim check --update writes it anew")

// ReadBaseline reads what Write wrote. Another schema, something else than a
// baseline, cells that occur twice, seeds that contradict the means and figures
// that are no numbers are errors that begin with the name. Metrics it does not
// know are kept, other members are counted in PassedOver.
func ReadBaseline(name string, r io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	b := new(Baseline)
	if err := decodeBaseline(data, b); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, jsonlines.Line(data, err), err)
	}
	if err := b.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, err, ErrStale)
	}
	return b, nil
}

func (b *Baseline) validate() error {
	if b.SessionsDigest == "" || b.ScenarioDigest == "" || b.PricesDigest == "" {
		return errors.New("no digest of sessions, scenario and prices")
	}
	if b.Sessions <= 0 || len(b.Cells) == 0 {
		return errors.New("a baseline of no sessions")
	}
	seen := map[[2]string]bool{}
	for i := range b.Cells {
		c := &b.Cells[i]
		key := [2]string{c.Cell, c.Group}
		switch {
		case c.Cell == "":
			return fmt.Errorf("cell %d has no name", i+1)
		case seen[key]:
			return fmt.Errorf("cell %q occurs twice", c.Cell)
		}
		seen[key] = true
		if err := c.validate(); err != nil {
			return fmt.Errorf("cell %q%s: %w", c.Cell, inGroup(c.Group), err)
		}
	}
	return nil
}

// validate holds the values under seeds against their number and their mean.
func (c *BaselineCell) validate() error {
	if c.Draws < 1 {
		return fmt.Errorf("draws %d must be above 0", c.Draws)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Seeds)) {
		values := c.Seeds[name]
		was, ok := c.Metrics[name]
		switch {
		case len(values) != c.Draws:
			return fmt.Errorf("%s has values under %s, the cell has %d", name, document.Count(len(values), "seed"), c.Draws)
		case !ok:
			return fmt.Errorf("%s has values under seeds and no mean", name)
		}
		if is := mean(values); math.Abs(is-was) > tolerance(was) {
			return fmt.Errorf("%s is %v, the mean of its seeds is %v", name, was, is)
		}
	}
	return nil
}

// decodeBaseline decodes data and looks whether it is a baseline of this schema.
// That explains errors too: another schema has members of other kinds.
func decodeBaseline(data []byte, b *Baseline) error {
	passed := results.PassedOver{}
	err := cmp.Or(passed.Decode(data, b), nullFigure(data))
	head := struct {
		Schema int    `json:"schema"`
		Tool   string `json:"tool"`
	}{b.Schema, b.Tool}
	if err != nil {
		err := json.Unmarshal(data, &head)
		if found, _ := misplaced(err); err != nil && !found {
			return err // no JSON at all
		}
	}
	switch {
	case head.Tool != baselineTool:
		return errors.New("not a baseline: sim check --update writes one")
	case head.Schema != baselineSchema:
		return fmt.Errorf("a baseline of schema %d, this version reads schema %d; %w", head.Schema, baselineSchema, ErrStale)
	case err != nil:
		_, plain := misplaced(err)
		return fmt.Errorf("%w; %w", plain, ErrStale)
	}
	b.PassedOver = passed
	return nil
}

// nullFigure refuses a figure that is null, which the decoder takes for 0.
func nullFigure(data []byte) error {
	if !bytes.Contains(data, []byte("null")) {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return nil // its end, or an error that the decoder reports
		}
		place := d.StackPointer()
		path := strings.Split(string(place), "/")
		if token.Kind() == 'n' && len(path) > 4 && path[1] == "cells" && (path[3] == "metrics" || path[3] == "seeds") {
			return &json.SemanticError{ByteOffset: d.InputOffset(), JSONPointer: place, JSONKind: 'n'}
		}
	}
}

// misplaced reports whether err is about a value of the wrong kind, and returns it
// in words that name no types of this program. Other errors are returned as they are.
func misplaced(err error) (found bool, plain error) {
	var at *json.SemanticError
	if !errors.As(err, &at) {
		return false, err
	}
	kinds := map[jsontext.Kind]string{'n': "null", 'f': "false", 't': "true", '"': "a string", '0': "a number", '{': "an object", '[': "a list"}
	kind := kinds[at.JSONKind]
	if kind == "" {
		return true, err
	}
	if errors.Is(at.Err, strconv.ErrRange) {
		kind += " so large"
	}
	return true, jsonError{err, fmt.Sprintf("%s cannot be %s", cmp.Or(string(at.JSONPointer), "the document"), kind)}
}

// jsonError is an error of the decoder, with its place, in other words.
type jsonError struct {
	error
	text string
}

// Error returns the words.
func (e jsonError) Error() string { return e.text }

// Unwrap returns the error as the decoder has it.
func (e jsonError) Unwrap() error { return e.error }

// Changes says in lines what a new baseline changes of an old one, nil for the
// first. Metrics that rules on it name are shown, others counted.
func (f *File) Changes(file string, was, now *Baseline) []string {
	if was == nil {
		return []string{fmt.Sprintf("%s: new, %s of %s", file, document.Count(len(now.Cells), "row"), document.Count(now.Sessions, "session"))}
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	if was.SessionsDigest != now.SessionsDigest {
		add("sessions: other ones, %d with %d calls in the place of %d with %d", now.Sessions, now.Calls, was.Sessions, was.Calls)
	}
	if was.ScenarioDigest != now.ScenarioDigest {
		add("scenario: another")
	}
	if was.PricesDigest != now.PricesDigest {
		add("prices: others, of %s in the place of %s", now.Prices, was.Prices)
	}
	if was.Version != now.Version {
		add("version: %s, was %s", now.Version, was.Version)
	}
	for i := range was.Cells {
		if c := &was.Cells[i]; now.find(c.Cell, c.Group) == nil {
			add("%s%s: gone", c.Cell, inGroup(c.Group))
		}
	}
	named := f.named(file)
	for i := range now.Cells {
		c := &now.Cells[i]
		old := was.find(c.Cell, c.Group)
		if old == nil {
			add("%s%s: new", c.Cell, inGroup(c.Group))
			continue
		}
		lines = append(lines, c.changes(old, named)...)
	}
	if len(lines) == 0 {
		return []string{file + ": unchanged"}
	}
	return append([]string{file + ": rewritten"}, lines...)
}

// named returns the metrics that rules name with their units.
func (f *File) named(file string) map[string]string {
	units := map[string]string{}
	for i := range f.Rules {
		if f.Rules[i].Baseline == file {
			units[f.Rules[i].Metric.Name] = f.Rules[i].Metric.Unit
		}
	}
	return units
}

// changes says which metrics of a cell differ from those of old.
func (c *BaselineCell) changes(old *BaselineCell, named map[string]string) []string {
	all := maps.Clone(c.Metrics)
	maps.Copy(all, old.Metrics)
	var lines []string
	others := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		is, has := c.Metrics[name]
		was, had := old.Metrics[name]
		unit, shown := named[name]
		switch {
		case is == was && has == had:
		case !shown:
			others++
		case !had:
			lines = append(lines, fmt.Sprintf("  %s%s: %s %s, had no sample", c.Cell, inGroup(c.Group), name, figure(unit, is)))
		case !has:
			lines = append(lines, fmt.Sprintf("  %s%s: %s has no sample, was %s", c.Cell, inGroup(c.Group), name, figure(unit, was)))
		default:
			lines = append(lines, fmt.Sprintf("  %s%s: %s %s, was %s", c.Cell, inGroup(c.Group), name, figure(unit, is), figure(unit, was)))
		}
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("  %s%s: %s besides", c.Cell, inGroup(c.Group), document.Count(others, "metric")))
	}
	return lines
}
