package check

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results"
)

// baselineSchema is the version of the encoded form of a baseline.
const baselineSchema = 3

// Baseline has the figures with which later runs are compared.
type Baseline struct {
	Schema         int    `json:"schema"`
	Tool           string `json:"tool"` // always "sim check"
	Version        string `json:"version"`
	Sessions       int    `json:"sessions"`
	Calls          int    `json:"calls"`           // recorded, of all sessions
	Unread         int    `json:"unread,omitzero"` // Input.NumLost
	SessionsDigest string `json:"sessions_digest"`
	ScenarioDigest string `json:"scenario_digest"`
	PricesDigest   string `json:"prices_digest"`           // of the models in use
	Prices         string `json:"prices"`                  // date of the table, ISO 8601
	Key            string `json:"pseudonyms_key,omitzero"` // Input.Key
	// Undecided says that these sessions were too few: they are judged together
	// with the next run, and later runs are not compared with them.
	Undecided bool                    `json:"undecided,omitzero"`
	Rates     map[string]results.Cost `json:"rates,omitempty"`   // Input.Rates
	Past      []Past                  `json:"past,omitempty"`    // sessions, in the order of their ids
	Earlier   []Baseline              `json:"earlier,omitempty"` // runs before this one, the latest first
	Cells     []BaselineCell          `json:"cells"`
}

// BaselineCell is one cell over all sessions or over a group of them.
type BaselineCell struct {
	Cell     string `json:"cell"`
	Strategy string `json:"strategy"`
	Group    string `json:"group,omitzero"`
	Sessions int    `json:"sessions"`
	Draws    int    `json:"draws"` // seeds of the cell's runs, 1 for a cell without draws
	// Metrics are means over seeds by name, in the unit of the metric. A metric
	// without a sample is absent.
	Metrics map[string]float64 `json:"metrics"`
	// Seeds has a value for each of the Draws seeds, for the metrics that rules
	// compared in a cell with draws when the baseline was made.
	Seeds map[string][]float64 `json:"seeds,omitempty"`
	// Parts has both sums of a ratio in each session, for the metrics that rules
	// compare where sessions may change.
	Parts map[string][][2]float64 `json:"parts,omitempty"`
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

// NewBaseline returns the figures of a run for the baseline called file: all
// metrics of all cells, and those of the groups that its rules name.
func (f *File) NewBaseline(file string, in *Input) (*Baseline, error) {
	if len(in.Sessions) == 0 {
		return nil, errors.New("no sessions: nothing to compare later runs with")
	}
	b := &Baseline{Schema: baselineSchema, Tool: baselineTool, Version: in.Version, Sessions: len(in.Sessions), Calls: in.Calls, Unread: in.NumLost,
		SessionsDigest: in.SessionsDigest, ScenarioDigest: in.ScenarioDigest,
		PricesDigest: in.PricesDigest, Prices: in.Prices, Key: in.Key, Rates: in.Rates}
	if f.Facts.asked() || f.Paired.asked() {
		b.Past = f.past(in)
	}
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

// After puts b, the baseline of a judged run, before the runs that was has. A
// run that left a rule open is kept undecided until a later run decides with
// it. A later run of the same sessions replaces an earlier one, and runs of
// another scenario are dropped.
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

// groupsOf returns the groups of a cell that rules on a baseline name, all
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

// keep returns the figures of one slice, without costs that lack prices: these
// would make too low a bar.
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

// pooled returns a cell over a group in all decided runs of a baseline, nil if
// there is none.
func (b *Baseline) pooled(cell, group string) *BaselineCell {
	var all *BaselineCell
	for _, run := range b.decided() {
		c := run.find(cell, group)
		switch {
		case c == nil:
		case all == nil:
			own := *c
			own.Metrics, own.Parts = map[string]float64{}, map[string][][2]float64{}
			all = &own
			all.add(c)
		default:
			all.add(c)
		}
	}
	return all
}

// add adds the additive figures of another run.
func (c *BaselineCell) add(run *BaselineCell) {
	for _, m := range results.Metrics() {
		if v, ok := run.Metrics[m.Name]; ok && m.Kind != results.KindRatio {
			c.Metrics[m.Name] = m.Kind.Join(c.Metrics[m.Name], v)
		}
	}
	for name, parts := range run.Parts {
		c.Parts[name] = slices.Concat(c.Parts[name], parts)
	}
}

// runs returns the runs of a baseline, the last one first.
func (b *Baseline) runs() []*Baseline {
	list := []*Baseline{b}
	for i := range b.Earlier {
		list = append(list, &b.Earlier[i])
	}
	return list
}

// decided returns the runs with which later ones are compared.
func (b *Baseline) decided() []*Baseline {
	return slices.DeleteFunc(b.runs(), func(r *Baseline) bool { return r.Undecided })
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
var ErrStale = errors.New("sim check --update writes it anew")

// ReadBaseline reads what Write wrote. Another schema, something other than a
// baseline, repeated cells, seeds that contradict the means and figures that
// are no numbers, and unknown members are errors that begin with name. Unknown
// metrics are kept.
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
	for i := range b.Earlier {
		if err := b.Earlier[i].validate(); err != nil {
			return fmt.Errorf("earlier run %d: %w", i+1, err)
		}
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

// validate compares the values of seeds with their number and their mean.
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
		return errors.New("not a baseline: sim check --update writes one")
	case head.Schema != baselineSchema:
		return fmt.Errorf("a baseline of schema %d, this version reads schema %d; %w", head.Schema, baselineSchema, ErrStale)
	}
	if err := jsonlines.Read(data, b); err != nil {
		return fmt.Errorf("%w; %w", err, ErrStale)
	}
	if nulls.Match(data) { // which the decoder reads as 0
		return fmt.Errorf("a figure that is null; %w", ErrStale)
	}
	return nil
}

// nulls matches a member or an element that is null; Write writes none.
var nulls = regexp.MustCompile(`[:,\[]\s*null\s*[,\]}]`)

// Size says how much a baseline holds.
func (b *Baseline) Size() string {
	return document.Count(len(b.Cells), "row") + " of " + document.Count(b.Sessions, "session")
}
