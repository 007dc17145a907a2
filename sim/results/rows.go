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
// list, rows of another strategy or without a session, negative counts, and
// figures that are not finite.
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

// maxRowLine bounds the memory a line may take, bytes. A row takes about 1 kB
// and a head a few hundred bytes a cell.
const maxRowLine = 64 << 20

// ReadRows reads a file of rows in any order and adds them up. Errors begin
// with name and line; rows of cells that the head does not list, repeated rows,
// and classes of tokens and reasons of breaks that are not known are errors. Other
// members and names that are not known are counted in Run.PassedOver, and the
// figures of a source that is not known are those of SourceOther. The run that it returns
// with an error holds all rows before the bad line, or is nil when the head is
// bad.
func ReadRows(name string, r io.Reader) (*Run, error) {
	rr := rowReader{passed: PassedOver{}, drop: PassedOver{}, at: map[string]int{}, strategies: map[string]string{}, seen: map[[2]string]bool{}}
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxRowLine)
	line := 0
	var err error
	for err == nil && s.Scan() {
		line++
		if line == 1 {
			err = rr.head(s.Bytes())
		} else {
			err = rr.row(s.Bytes())
		}
	}
	switch {
	case s.Err() != nil: // the last line may be half of one because of it
		err = fmt.Errorf("%s:%d: %w", name, line+1, s.Err())
	case err != nil:
		err = fmt.Errorf("%s:%d: %w", name, line, err)
	case line == 0:
		err = fmt.Errorf("%s:1: empty file", name)
	}
	if rr.run != nil {
		if err == nil {
			err = rr.whole(name)
		}
		rr.run.Sum()
		if len(rr.passed) == 0 {
			rr.run.PassedOver = nil
		}
		if err == nil {
			err = rr.run.validate()
		}
	}
	return rr.run, err
}

type rowReader struct {
	run        *Run
	rows       []*int            // that the head tells of, by cell
	at         map[string]int    // index of a cell
	strategies map[string]string // by cell
	seen       map[[2]string]bool
	passed     PassedOver
	drop       PassedOver // members of rows
}

func (rr *rowReader) head(line []byte) error {
	var h rowsHead
	if err := rr.passed.unmarshal(line, &h); err != nil {
		return err
	}
	o := h.Provenance
	run := &Run{Provenance: o.Provenance, Workload: o.Workload, ModelError: o.ModelError, Notes: o.Notes, PassedOver: rr.passed}
	for i, c := range h.Cells {
		measured := rr.passed.unmeasured(c.Unmeasured)
		run.Cells = append(run.Cells, Cell{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Unmeasured: measured})
		rr.at[c.Cell] = i
		rr.rows = append(rr.rows, c.Rows)
		rr.strategies[c.Cell] = c.Strategy
	}
	if err := run.validate(); err != nil {
		return err
	}
	rr.run = run
	return nil
}

// whole returns an error when rows are missing that the head tells of.
func (rr *rowReader) whole(name string) error {
	for i := range rr.run.Cells {
		c := &rr.run.Cells[i]
		if n := rr.rows[i]; n != nil && *n != len(c.Rows) {
			return fmt.Errorf("%s: %d of %d rows of cell %q are there: the file was cut short", name, len(c.Rows), *n, c.Cell)
		}
	}
	return nil
}

func (rr *rowReader) row(line []byte) error {
	if len(line) == 0 {
		return errors.New("empty line")
	}
	var l rowLine
	if err := rr.passed.decode(rr.drop, line, &l, "tokens", "tokens_by_source", "breaks"); err != nil {
		return err
	}
	r, err := l.row()
	if err != nil {
		l.passOver(rr.passed)
		r, err = l.row()
	}
	if err != nil {
		return err
	}
	if err := checkRow(rr.strategies, l.Cell, &r); err != nil {
		return err
	}
	key := [2]string{l.Cell, l.Session}
	if rr.seen[key] {
		return fmt.Errorf("second row of cell %q, session %q", l.Cell, l.Session)
	}
	rr.seen[key] = true
	c := &rr.run.Cells[rr.at[l.Cell]]
	c.Rows = append(c.Rows, r)
	return nil
}
