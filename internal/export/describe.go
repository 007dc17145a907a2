package export

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/results"
)

// Origin is where the rows of one run come from.
type Origin struct {
	Run string `json:"run,omitzero"` // its label
	results.Origin
}

// Description is what a table says of itself.
type Description struct {
	Export  int      `json:"export"` // see Version
	Schema  int      `json:"schema"` // see results.Schema
	Rows    int      `json:"rows"`
	Runs    []Origin `json:"runs"`
	Columns []Column `json:"columns"`
}

// Description returns what is known of the table beside its rows. The notes of
// a run are its footnotes, warnings that follow from the figures included.
func (t *Table) Description() Description {
	d := Description{Export: Version, Schema: results.Schema, Rows: len(t.records), Columns: t.Columns()}
	for _, s := range t.sources {
		r := s.Run
		d.Runs = append(d.Runs, Origin{s.Label, results.Origin{
			Provenance: r.Provenance, Workload: r.Workload, ModelError: r.ModelError, Notes: r.Footnotes()}})
	}
	return d
}

// Describe writes the description as JSON, for a file beside the rows.
func (t *Table) Describe(w io.Writer) error {
	b, err := json.Marshal(t.Description(), json.Deterministic(true), jsontext.Multiline(true))
	if err != nil {
		return fmt.Errorf("describing an export: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("describing an export: %w", err)
	}
	return nil
}
