package results

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
)

// rowsHead is the first line of a rows file: all of a run but its figures.
type rowsHead struct {
	Schema     int        `json:"schema"`
	Provenance Origin     `json:"provenance"`
	Cells      []cellHead `json:"cells"`
	// Metrics are those that the program which wrote the rows knows. Of others the
	// rows say nothing, whatever zeros are left out of them.
	Metrics []string `json:"metrics,omitempty"`
}

type cellHead struct {
	Cell       string            `json:"cell"`
	Strategy   string            `json:"strategy"`
	Params     map[string]string `json:"params"`
	Unmeasured []string          `json:"unmeasured,omitempty"`
	// Rows is how many rows of the cell the file has, so that one that was cut
	// short shows; nil when it was written while sessions finished.
	Rows *int `json:"rows,omitempty"`
}

// RowWriter writes rows as JSON lines behind a head line. Rows may come in any
// order, so that a file can be written while sessions finish; WriteRows gives
// the canonical order.
type RowWriter struct {
	w          io.Writer
	strategies map[string]string // by cell
}

// NewRowWriter writes the head of run and returns a writer for its rows. It
// does not buffer: each row is one call of w.Write.
func NewRowWriter(w io.Writer, run *Run) (*RowWriter, error) { return newRowWriter(w, run, false) }

// newRowWriter is NewRowWriter for a run whose rows are all there, or not yet.
func newRowWriter(w io.Writer, run *Run, whole bool) (*RowWriter, error) {
	if err := run.validate(); err != nil {
		return nil, fmt.Errorf("encoding a run: %w", err)
	}
	head := rowsHead{Schema: Schema, Provenance: Origin{run.Provenance, run.Workload, run.ModelError, run.Notes}}
	for _, m := range Metrics() {
		head.Metrics = append(head.Metrics, m.Name)
	}
	rw := &RowWriter{w: w, strategies: map[string]string{}}
	for i := range run.Cells {
		c := &run.Cells[i]
		h := cellHead{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Unmeasured: c.Unmeasured}
		if n := len(c.Rows); whole {
			h.Rows = &n
		}
		head.Cells = append(head.Cells, h)
		rw.strategies[c.Cell] = c.Strategy
	}
	return rw, rw.line(head)
}

// Write writes the row of a session. It refuses cells that the head does not
// list, rows of another strategy or without a session, negative counts and costs,
// and figures that are absurd or not finite.
func (rw *RowWriter) Write(cell string, r *Row) error {
	if err := checkRow(rw.strategies, cell, r); err != nil {
		return fmt.Errorf("encoding a row of cell %q, session %q: %w", cell, r.Session, err)
	}
	return rw.line(newRowLine(cell, r))
}

func (rw *RowWriter) line(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding rows: %w", err)
	}
	if _, err := rw.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	return nil
}

func checkRow(strategies map[string]string, cell string, r *Row) error {
	strategy, ok := strategies[cell]
	switch {
	case !ok:
		return fmt.Errorf("cell %q is not in the head", cell)
	case r.Strategy != strategy:
		return fmt.Errorf("row of strategy %q in a cell of %q", r.Strategy, strategy)
	case r.Session == "":
		return errors.New("row without a session")
	}
	return r.validate()
}

// WriteRows writes the rows of run in canonical order: by cell name, then by
// session. Equal runs give equal bytes, whatever the order of their rows.
func WriteRows(w io.Writer, run *Run) error {
	b := bufio.NewWriter(w)
	rw, err := newRowWriter(b, run, true)
	if err != nil {
		return err
	}
	cells := slices.Clone(run.Cells)
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Compare(a.Cell, b.Cell) })
	for _, c := range cells {
		if len(c.Rows) == 0 && c.Sessions > 0 {
			return fmt.Errorf("encoding rows: cell %q has a total of %d sessions but no rows", c.Cell, c.Sessions)
		}
		rows := slices.Clone(c.Rows)
		slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Session, b.Session) })
		for i := range rows {
			if i > 0 && rows[i].Session == rows[i-1].Session {
				return fmt.Errorf("encoding rows: cell %q has two rows of session %q", c.Cell, rows[i].Session)
			}
			if err := rw.Write(c.Cell, &rows[i]); err != nil {
				return err
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	return nil
}
