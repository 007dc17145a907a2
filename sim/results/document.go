package results

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Document is the published summary of a run: metrics by name, without rows.
// It is what sim run --format json prints and what checks and comparisons
// read.
type Document struct {
	Schema     int    `json:"schema"`
	Provenance Origin `json:"provenance"`
	// Front is absent without a bound.
	Front *Front    `json:"front,omitempty"`
	Cells []Summary `json:"cells"`
	// Files are the names of the files beside a summary in a folder of sim run --out; nil elsewhere.
	Files []string `json:"files,omitempty"`
}

// Origin is the provenance of a document: what the figures depend on, what was
// replayed, and how far to trust them.
type Origin struct {
	Provenance
	Workload   Workload   `json:"workload"`
	ModelError ModelError `json:"model_error,omitzero"`
	Notes      []Note     `json:"notes,omitempty"`
}

// Summary is one cell of a document. A metric without a sample is absent.
type Summary struct {
	Cell      string              `json:"cell"`
	Strategy  string              `json:"strategy"`
	Params    map[string]string   `json:"params"`
	Sessions  int                 `json:"sessions"`
	Seeds     int                 `json:"seeds,omitzero"` // number of seeds that the metrics are means over; 0 for one
	Metrics   map[string]float64  `json:"metrics"`        // by name, in the unit of the metric
	Intervals map[string]Interval `json:"intervals"`      // by name, for metrics that have one
	// VsRecorded is the difference in cost against the recorded cell, nil where
	// there is none.
	VsRecorded *Difference `json:"vs_recorded,omitempty"`
	// Firings are how often each layer acted; Reasons how often one failed or
	// refused, as "layer: reason".
	Firings map[string]int `json:"firings,omitzero"`
	Reasons map[string]int `json:"reasons,omitzero"`
	// Breaks are what the client's break detector says, against what happened.
	Breaks jsontext.Value `json:"breaks,omitzero"`
}

// Interval is a confidence interval of a metric, in the unit of the metric.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"` // of confidence, in (0, 1]
}

// Interval returns the interval of a metric, false without one. Where draws put the
// value outside, the interval is widened to hold it.
func (c *Cell) Interval(m Metric) (Interval, bool) {
	lower, ok := LookupMetric(m.Low)
	upper, also := LookupMetric(m.High)
	if !ok || !also {
		return c.OverSeeds(m)
	}
	low, ok := c.Value(lower)
	high, also := c.Value(upper)
	at, within := c.Value(m)
	if !ok || !also || !within {
		return Interval{}, false
	}
	return Interval{min(low, high, at), max(low, high, at), m.Level}, true // one more fetch may bring a compaction that pays
}

// Document returns the summary of r. It fails on figures that are not finite,
// negative counts and cells without a unique name.
func (r *Run) Document() (*Document, error) {
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("summarising a run: %w", err)
	}
	d := &Document{
		Schema:     measures.Schema,
		Provenance: Origin{r.Provenance, r.Workload, r.ModelError, r.Footnotes()},
		Front:      r.Front,
		Cells:      []Summary{},
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		s := Summary{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Sessions: c.Sessions, Seeds: len(c.seeds),
			Metrics: map[string]float64{}, Intervals: map[string]Interval{}, Firings: c.Total.Firings, Reasons: c.Total.Reasons,
		}
		text, err := breaksForm.Append(nil, c.Total.line(c.Cell))
		if err != nil {
			return nil, fmt.Errorf("summarising a run: %w", err)
		}
		if len(text) > len("{}") {
			s.Breaks = text
		}
		if diff, ok := r.VsRecorded(c); ok {
			s.VsRecorded = &diff
		}
		for _, m := range published {
			if v, ok := c.Value(m); ok {
				s.Metrics[m.Name] = v
			}
			if between, ok := c.Interval(m); ok {
				s.Intervals[m.Name] = between
			}
		}
		d.Cells = append(d.Cells, s)
	}
	return d, nil
}

// WriteDocument writes d as JSON with one cell a line. Equal documents give
// equal bytes.
func WriteDocument(w io.Writer, d *Document) error {
	head := *d
	head.Cells = []Summary{}
	if err := jsonlines.Write(w, &head, d.Cells); err != nil {
		return fmt.Errorf("writing the summary of a run: %w", err)
	}
	return nil
}

// ReadDocument reads what WriteDocument wrote. Duplicate and unknown members, another
// schema, unnamed or repeated cells and trailing data are errors that begin with name
// and line. Metrics with unknown names are kept.
func ReadDocument(name string, r io.Reader) (*Document, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	d := new(Document)
	if err := unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, jsonlines.Line(data, err), err)
	}
	seen := map[string]bool{}
	for i := range d.Cells {
		c := &d.Cells[i]
		switch {
		case c.Cell == "" || c.Strategy == "":
			return nil, fmt.Errorf("%s: cell %d has no name or no strategy", name, i+1)
		case seen[c.Cell]:
			return nil, fmt.Errorf("%s: cell %q occurs twice", name, c.Cell)
		case c.Sessions < 0:
			return nil, fmt.Errorf("%s: cell %q has %d sessions", name, c.Cell, c.Sessions)
		}
		seen[c.Cell] = true
	}
	return d, nil
}
