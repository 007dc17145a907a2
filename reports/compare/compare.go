// Package compare compares runs, or cells of one run, session by session.
//
// Two statements are kept apart. What the sides did on the sessions they share
// is known: values and differences are those figures, without any test. What
// another set of sessions of this kind would show is not known: intervals,
// p-values and verdicts are about that, with the session as the sampling unit.
package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/go-json-experiment/json"
)

// Input is a run with a label.
type Input struct {
	Label string
	Run   *results.Run
}

// MarshalJSON writes where the figures of the run come from.
func (in Input) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Label      string             `json:"label"`
		Provenance results.Provenance `json:"provenance"`
		ModelError results.ModelError `json:"model_error,omitzero"`
	}{in.Label, in.Run.Provenance, in.Run.ModelError}, json.Deterministic(true))
}

// Options say what to compare. The zero value compares every cell that the runs share.
type Options struct {
	// Cells are names or patterns of the cells or strategies to compare, see Cells.
	// In one run they are the sides; in several runs they select among the shared
	// cells.
	Cells []string
	// Metrics are the names of the metrics to compare; empty for all.
	Metrics []string
	// All shows every metric in tables, not only the metrics of the run table and the classes of
	// cost and of misses that differ. CSV and JSON have all.
	All bool
}

// sampling estimates what other sessions would show.
var sampling = stats.Estimator{Level: stats.DefaultLevel, Resamples: stats.DefaultResamples, Seed: 1}

// Report is a comparison of two or more sides.
type Report struct {
	Schema      int          `json:"schema"`
	Level       float64      `json:"level"`
	Resamples   int          `json:"resamples"`
	Seed        uint64       `json:"seed"`
	Baseline    string       `json:"baseline"` // a label
	Inputs      []Input      `json:"runs"`     // the baseline's first
	Comparisons []Comparison `json:"comparisons"`
	Notes       []string     `json:"notes,omitempty"` // about the whole report
	// Chosen says that metrics were selected by name, so that every one is shown.
	Chosen bool `json:"-"`
	All    bool `json:"-"` // see [Options]
}

// Comparison compares one side with the baseline over the sessions of both.
type Comparison struct {
	Cell     string   `json:"cell,omitzero"` // that two runs share; "" if sides are themselves cells
	Base     string   `json:"baseline"`      // label
	Other    string   `json:"label"`
	Sessions int      `json:"sessions"`        // in both
	Notes    []string `json:"notes,omitempty"` // what was averaged, what has no counterpart
	// Figures are in the order of publication, without those for which neither side
	// has a sample, unless they were selected by name.
	Figures []Figure `json:"metrics"`

	pairs *pairs
	// drawn says that chance affected a side; reseeded that it affected one
	// differently, because their seeds differ.
	drawn, reseeded bool
}

// Run compares inputs. It fails on unknown labels, cells and metrics, on
// figures that are not finite, and if there is nothing in common; the error
// names what exists.
func Run(ctx context.Context, inputs []Input, o Options) (*Report, error) {
	return runWith(ctx, inputs, o, sampling)
}

func runWith(ctx context.Context, inputs []Input, o Options, e stats.Estimator) (*Report, error) {
	metrics, err := chooseMetrics(o.Metrics)
	if err := errors.Join(checkInputs(inputs), err); err != nil {
		return nil, err
	}
	list, notes, err := match(inputs, o)
	if err != nil {
		return nil, err
	}
	r := &Report{Schema: Schema, Level: e.Level, Resamples: e.Resamples, Seed: e.Seed, Inputs: inputs, Chosen: len(o.Metrics) > 0, All: o.All,
		Baseline: list[0].sides[0].label}
	for _, p := range list {
		c, err := r.compareSides(ctx, p, metrics, e)
		if err != nil && p.name != "" {
			err = fmt.Errorf("cell %q: %w", p.name, err)
		}
		if err != nil {
			return nil, err
		}
		r.Comparisons = append(r.Comparisons, *c)
	}
	reseeded := slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return c.reseeded })
	r.Notes = append(tellMixed(inputs, list, reseeded), notes...)
	return r, nil
}

// compareSides compares the two sides of p.
func (r *Report) compareSides(ctx context.Context, p *pairs, metrics []results.Metric, e stats.Estimator) (*Comparison, error) {
	notes, err := p.match()
	if err == nil {
		err = p.sameLoop()
	}
	if err != nil {
		return nil, err
	}
	c := &Comparison{Cell: p.name, Base: p.sides[0].label, Other: p.sides[1].label, Sessions: len(p.sessions), Notes: notes, pairs: p}
	if a, b := &p.sides[0], &p.sides[1]; a.name != b.name && len(r.Inputs) > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("cells of different names: %s in %s, %s in %s", a.name, a.label, b.name, b.label))
	}
	c.drawn = p.drawn(0) || p.drawn(1)
	c.reseeded = c.drawn && !slices.Equal(p.seeds(0), p.seeds(1))
	list, err := measure(p, metrics, e.Workers)
	if err != nil {
		return nil, err
	}
	if !r.Chosen {
		list = slices.DeleteFunc(list, func(m *measured) bool { return math.IsNaN(m.Base) && math.IsNaN(m.Other) })
	}
	if err := r.estimate(ctx, list, e); err != nil {
		return nil, err
	}
	for _, m := range list {
		m.Exact = m.Metric.Exact && !c.drawn
		m.judge(c, e.Level)
		c.Figures = append(c.Figures, m.Figure)
	}
	return c, nil
}

// side is one side of a comparison: cells of a run whose figures are averaged
// session by session.
type side struct {
	label          string
	run            *results.Run
	name, strategy string // of its cells, without their seed
	cells          []*results.Cell
}

// sides returns the cells of a run that have rows, in the order of the run, those that differ only in their
// seed as one side: the cells with a wanted name or strategy, all without any.
func (in Input) sides(wanted ...string) []side {
	var list []side
	for _, g := range in.Run.Replications() {
		s := side{in.Label, in.Run, g.Cell, g.Strategy, nil}
		for _, c := range g.Cells {
			named := len(wanted) == 0 || slices.ContainsFunc(wanted, func(name string) bool {
				return name == g.Cell || name == g.Strategy || name == c.Cell
			})
			if named && c.Rows.Len() > 0 {
				s.cells = append(s.cells, c)
			}
		}
		if len(s.cells) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func sideNames(list []side) []string {
	var names []string
	for i := range list {
		names = append(names, list[i].name)
	}
	return names
}

// anySeed reports whether the cells draw nothing and are compared with every seed: they have no seed in a run
// that sweeps it.
func (s *side) anySeed() bool {
	return !slices.ContainsFunc(s.cells, hasSeed) && slices.ContainsFunc(s.run.Cells, func(c results.Cell) bool { return hasSeed(&c) })
}

func hasSeed(c *results.Cell) bool { return c.Params[measures.SeedParam] != "" }

// seed returns the seed of a cell of the side, as a text.
func (s *side) seed(c *results.Cell) string {
	return cmp.Or(c.Params[measures.SeedParam], strconv.FormatUint(s.run.Provenance.Seed, 10))
}

// setting returns the value of a setting around the strategy of a cell; false
// when it is the default.
func (s *side) setting(c *results.Cell, path string) (string, bool) {
	if value, ok := c.Params[path]; ok {
		return value, true
	}
	value, ok := s.run.Provenance.Switches[path]
	return value, ok
}

// checkInputs returns an error for labels and runs that cannot be compared.
func checkInputs(inputs []Input) error {
	var errs []error
	for i, in := range inputs {
		if in.Label == "" {
			errs = append(errs, fmt.Errorf("run %d has no label", i+1))
		}
		if slices.ContainsFunc(inputs[:i], func(x Input) bool { return x.Label == in.Label }) {
			errs = append(errs, fmt.Errorf("label %q is there twice: name each run with LABEL=PATH", in.Label))
		}
		if len(in.sides()) == 0 {
			errs = append(errs, fmt.Errorf("%s: an empty run, without a single session", in.Label))
		}
	}
	if len(inputs) == 0 {
		errs = append(errs, errors.New("nothing to compare"))
	}
	return errors.Join(errs...)
}

// known returns the names of cells and strategies of runs.
func known(inputs ...Input) []string {
	var names []string
	for _, in := range inputs {
		for _, s := range in.sides() {
			names = append(names, s.name, s.strategy)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Cells returns names of cells and strategies of inputs, with each pattern
// replaced by what it matches: every side whose name or strategy matches, in
// the order of the runs, and of other sides the single cells. A text that is
// an existing name is no pattern. An unknown name is an error with the nearest
// known one.
func Cells(inputs []Input, wanted []string) ([]string, error) {
	var list []string
	var errs []error
	for i, name := range wanted {
		found, err := namesLike(inputs, name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(inputs) == 1 && slices.Contains(wanted[:i], name) && slices.Equal(found, []string{name}):
			errs = append(errs, fmt.Errorf("%q is named twice", name))
		}
		for _, n := range found {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list, errors.Join(errs...)
}

// namesLike returns the names that a name or a pattern stands for.
func namesLike(inputs []Input, pattern string) (list []string, err error) {
	for _, in := range inputs {
		if found := in.sides(pattern); len(found) == 1 {
			return []string{pattern}, nil
		}
		for _, s := range in.sides() {
			if nearest.Match(pattern, s.name) || nearest.Match(pattern, s.strategy) {
				list = append(list, s.name)
				continue
			}
			for _, c := range s.cells {
				if nearest.Match(pattern, c.Cell) {
					list = append(list, c.Cell)
				}
			}
		}
	}
	if len(list) == 0 {
		names := known(inputs...)
		return nil, fmt.Errorf("no cell or strategy %q%s; there are: %s", pattern, nearest.Hint(pattern, names), strings.Join(names, ", "))
	}
	return list, nil
}

// match returns the pairs of sides to compare, and what has no counterpart.
func match(inputs []Input, o Options) ([]*pairs, []string, error) {
	wanted, err := Cells(inputs, o.Cells)
	switch {
	case err != nil:
		return nil, nil, err
	case len(inputs) == 1:
		list, err := within(inputs[0], wanted)
		return list, nil, err
	}
	return across(inputs, wanted)
}

// within makes a side for each name of a cell or strategy of one run.
func within(in Input, wanted []string) (list []*pairs, err error) {
	if len(wanted) < 2 {
		return nil, fmt.Errorf("%s is one run: give another, or --strategy with two or more of its cells or strategies: %s",
			in.Label, strings.Join(known(in), ", "))
	}
	sides := make([]side, len(wanted))
	for i, name := range wanted {
		sides[i] = in.sides(name)[0]
		sides[i].label = name
		if i > 0 {
			list = append(list, &pairs{sides: [2]side{sides[0], sides[i]}})
		}
	}
	return list, nil
}

// across compares each run with the first, whatever further runs hold: a cell that a third run lacks is
// still compared. Pairs are in the order of the baseline's cells; cells with different names come first.
func across(inputs []Input, wanted []string) (list []*pairs, notes []string, err error) {
	var errs []error
	for _, in := range inputs[1:] {
		found, only, err := inputs[0].match(in, wanted)
		if err != nil {
			errs = append(errs, err)
			notes = append(notes, document.Sentence(err.Error()))
			continue
		}
		list = append(list, found...)
		if len(inputs) > 2 && len(only) > 0 {
			only = []string{fmt.Sprintf("left out of %s → %s, %s", inputs[0].Label, in.Label, strings.Join(only, "; "))}
		}
		for _, note := range only {
			notes = append(notes, document.Sentence(note))
		}
	}
	if len(list) == 0 {
		return nil, nil, errors.Join(errs...)
	}
	order := sideNames(inputs[0].sides())
	slices.SortStableFunc(list, func(a, b *pairs) int {
		return cmp.Compare(slices.Index(order, a.name), slices.Index(order, b.name))
	})
	return list, notes, nil
}

// match pairs the cells of two runs by name, and says which only one run has. If each run has a single
// cell, or one besides the billed and the recorded one, these are compared whatever their names.
func (in Input) match(other Input, wanted []string) (list []*pairs, only []string, err error) {
	inputs := [2]Input{in, other}
	var have, own [2][]side
	var texts [2]string
	for i, x := range inputs {
		have[i] = x.sides(wanted...)
		if texts[i] = "cells " + document.Few(sideNames(have[i])); len(have[i]) == 0 {
			texts[i] = fmt.Sprintf("no such cell (its cells are %s)", document.Few(sideNames(x.sides())))
		}
		own[i] = slices.DeleteFunc(slices.Clone(have[i]), func(s side) bool {
			return s.strategy == measures.StrategyBilled || s.strategy == measures.StrategyRecorded
		})
	}
	for _, single := range [][2][]side{have, own} {
		if len(single[0]) == 1 && len(single[1]) == 1 && single[0][0].name != single[1][0].name {
			list = append(list, &pairs{sides: [2]side{single[0][0], single[1][0]}})
			for i := range have {
				have[i] = slices.DeleteFunc(have[i], func(s side) bool { return s.name == list[0].sides[i].name })
			}
			break
		}
	}
	for i := range have {
		var alone []string
		for _, s := range have[i] {
			k := slices.Index(sideNames(have[1-i]), s.name)
			if k < 0 {
				alone = append(alone, s.name)
			} else if i == 0 {
				list = append(list, &pairs{name: s.name, sides: [2]side{s, have[1][k]}})
			}
		}
		if len(alone) > 0 {
			only = append(only, fmt.Sprintf("only in %s: cell %s", inputs[i].Label, document.Few(alone)))
		}
	}
	if len(list) == 0 {
		err = fmt.Errorf("no cell in common: %s has %s; %s has %s", in.Label, texts[0], other.Label, texts[1])
	}
	return list, only, err
}
