// Package compare compares runs, or cells of one run, session by session.
//
// Two statements are kept apart. What the sides did on the sessions they share
// is known: values and differences are those figures, without any test. What
// another set of sessions of this kind would show is not known: intervals,
// p-values and verdicts are about that, with the session as the sampling unit.
package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/sim/results"
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

// Options say what to compare, and at which level of confidence. The zero value
// compares every cell that the runs share, at 95 %.
type Options struct {
	// Cells are names or patterns of the cells or strategies to compare, see Cells.
	// In one run they are the sides; in several runs they select among the shared
	// cells.
	Cells []string
	// Metrics are the names of the metrics to compare; empty for all.
	Metrics []string
	// Baseline is the label of the side with which the others are compared; "" for
	// the first.
	Baseline string
	// Resamples of the bootstrap, 100 to MaxResamples; 0 for 1,000.
	Resamples int
	// Level of confidence, in [0.5, 1); 0 for 0.95.
	Level float64
	Seed  uint64 // of the resamples
	// Workers is the number of goroutines, 0 for one per processor.
	Workers int
}

// defaults of Options.
const (
	defaultResamples = 1000
	defaultLevel     = 0.95
	leastResamples   = 100
)

// MaxResamples is the largest number of resamples. The share of 2.5 % beyond an
// end of an interval then has a standard error of 0.05 %, and a metric takes up
// to five megabytes.
const MaxResamples = 100_000

// Report is a comparison of two or more sides.
type Report struct {
	Schema      int          `json:"schema"`
	Level       float64      `json:"level"`
	Resamples   int          `json:"resamples"`
	Seed        uint64       `json:"seed"`
	Baseline    string       `json:"baseline"` // the first of Labels
	Inputs      []Input      `json:"runs"`     // the baseline's first
	Comparisons []Comparison `json:"comparisons"`
	Notes       []string     `json:"notes,omitempty"` // about the whole report
	Labels      []string     `json:"-"`
	// Chosen says that metrics were selected by name, so that all of them are shown.
	Chosen bool `json:"-"`
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
	if o.Resamples == 0 {
		o.Resamples = defaultResamples
	}
	if o.Level == 0 {
		o.Level = defaultLevel
	}
	metrics, err := chooseMetrics(o.Metrics)
	if err := errors.Join(o.check(), checkInputs(inputs), err); err != nil {
		return nil, err
	}
	ordered, list, notes, err := matched(inputs, o)
	if err != nil {
		return nil, err
	}
	labels := labelsOf(ordered, list)
	r := &Report{
		Schema: Schema, Level: o.Level, Resamples: o.Resamples, Seed: o.Seed, Inputs: ordered, Chosen: len(o.Metrics) > 0, Labels: labels, Baseline: labels[0],
		Notes: mixed(comparedOf(ordered, list)),
	}
	for _, p := range list {
		c, err := r.compareSides(ctx, p, metrics, o)
		if err != nil && p.name != "" {
			err = fmt.Errorf("cell %q: %w", p.name, err)
		}
		if err != nil {
			return nil, err
		}
		r.Comparisons = append(r.Comparisons, *c)
	}
	r.Notes = slices.Concat(r.Notes, r.differentSeeds(), notes)
	return r, nil
}

// comparedOf returns the inputs with only the compared cells, and those without
// rows to compare: notes about others would not help.
func comparedOf(inputs []Input, list []*pairs) []Input {
	used := map[*results.Cell]bool{}
	for _, p := range list {
		for _, c := range slices.Concat(p.sides[0].cells, p.sides[1].cells) {
			used[c] = true
		}
	}
	inputs = slices.Clone(inputs)
	for i := range inputs {
		run := *inputs[i].Run
		run.Cells = nil
		for k := range inputs[i].Run.Cells {
			if c := &inputs[i].Run.Cells[k]; used[c] || len(c.Rows) == 0 {
				run.Cells = append(run.Cells, *c)
			}
		}
		inputs[i].Run = &run
	}
	return inputs
}

// labelsOf returns the labels of the sides: the cells of one run, or the runs.
func labelsOf(inputs []Input, list []*pairs) []string {
	labels := []string{inputs[0].Label}
	if len(inputs) > 1 {
		for _, in := range inputs[1:] {
			labels = append(labels, in.Label)
		}
		return labels
	}
	labels[0] = list[0].sides[0].label
	for _, p := range list {
		labels = append(labels, p.sides[1].label)
	}
	return labels
}

func (o *Options) check() error {
	var errs []error
	if o.Resamples < leastResamples {
		errs = append(errs, fmt.Errorf("%d resamples: at least %d", o.Resamples, leastResamples))
	}
	if o.Resamples > MaxResamples {
		errs = append(errs, fmt.Errorf("%d resamples: at most %d", o.Resamples, MaxResamples))
	}
	// The comparison is false for NaN.
	if !(o.Level >= 0.5 && o.Level < 1) {
		errs = append(errs, fmt.Errorf("level %v: at least 0.5 and below 1", o.Level))
	}
	if outside := (1 - o.Level) / 2; o.Resamples >= leastResamples && o.Level < 1 && outside*float64(o.Resamples) < 1 {
		errs = append(errs,
			fmt.Errorf("%d resamples are too few for a level of %v: at least %.0f", o.Resamples, o.Level,
				math.Ceil(1/outside)))
	}
	return errors.Join(errs...)
}

// compareSides compares the two sides of p.
func (r *Report) compareSides(ctx context.Context, p *pairs, metrics []results.Metric, o Options) (*Comparison, error) {
	notes, err := p.match()
	if err == nil {
		err = p.sameLoop()
	}
	if err != nil {
		return nil, err
	}
	c := &Comparison{Cell: p.name, Base: p.sides[0].label, Other: p.sides[1].label, Sessions: len(p.sessions), Notes: notes, pairs: p}
	c.drawn = p.drawn(0) || p.drawn(1)
	c.reseeded = c.drawn && !slices.Equal(p.seeds(0), p.seeds(1))
	list, err := measure(p, metrics, o.Workers)
	if err != nil {
		return nil, err
	}
	if !r.Chosen {
		list = slices.DeleteFunc(list, func(m *measured) bool { return math.IsNaN(m.Base) && math.IsNaN(m.Other) })
	}
	if err := estimate(ctx, list, o); err != nil {
		return nil, err
	}
	for _, m := range list {
		m.Exact = m.Metric.Exact && !c.drawn
		m.judge(c, o)
		c.Figures = append(c.Figures, m.Figure)
	}
	return c, nil
}
