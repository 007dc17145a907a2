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

	"github.com/compactsim/compactsim/internal/kit/stats"
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
	list, notes, err := matched(inputs, o)
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
	r.Notes = append(mixed(inputs, list, reseeded), notes...)
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
