package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxRowLine bounds the memory a line may take, bytes. A row takes about 1 kB
// and a head a few hundred bytes a cell.
const maxRowLine = 64 << 20

// ReadRows reads a file of rows in any order and adds them up. Errors begin
// with name and line; rows of cells that the head does not list, repeated rows,
// rows without a member that all rows have, figures that no run can have or that
// contradict each other, and classes of tokens and reasons of breaks that are not
// known are errors. Other members and names that are not known are counted in
// Run.PassedOver, and the figures of a source that is not known are those of
// SourceOther. Metrics that the program which wrote the file did not know are
// unmeasured in all cells. The run that it returns with an error holds all rows
// before the bad line, or is nil when the head is bad.
func ReadRows(name string, r io.Reader) (*Run, error) {
	rr := rowReader{passed: PassedOver{}, drop: PassedOver{}, at: map[string]int{}, strategies: map[string]string{}, scan: newRowScanner()}
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
		err = rr.end(name, err)
	}
	return rr.run, err
}

// end completes the run, whether its rows were read to the end or to an error.
func (rr *rowReader) end(name string, err error) error {
	if err == nil {
		err = rr.whole(name)
	}
	rr.run.withoutYounger(rr.metrics)
	rr.run.Sum()
	if len(rr.passed) == 0 {
		rr.run.PassedOver = nil
	}
	if err == nil {
		err = rr.run.validateCells((*Cell).validateTotal) // each row was looked at
	}
	return err
}

type rowReader struct {
	run        *Run
	metrics    []string // that the head lists, nil for none
	cells      []cellRows
	at         map[string]int    // index of a cell
	strategies map[string]string // by cell
	passed     PassedOver
	drop       PassedOver // members of rows
	scan       *rowScanner
	next       Row // that is being read: large, and so made once
}

// cellRows is what is known of the rows of a cell so far.
type cellRows struct {
	want *int // that the head tells of
	// seen are their sessions, nil as long as these come in order.
	seen map[string]bool
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
		rr.cells = append(rr.cells, cellRows{want: c.Rows})
		rr.strategies[c.Cell] = c.Strategy
	}
	if err := run.validate(); err != nil {
		return err
	}
	rr.run, rr.metrics = run, rr.passed.metrics(h.Metrics)
	return nil
}

// whole returns an error when rows are missing that the head tells of.
func (rr *rowReader) whole(name string) error {
	for i := range rr.run.Cells {
		c := &rr.run.Cells[i]
		if n := rr.cells[i].want; n != nil && *n != len(c.Rows) {
			return fmt.Errorf("%s: %d of %d rows of cell %q are there: the file was cut short", name, len(c.Rows), *n, c.Cell)
		}
	}
	return nil
}

func (rr *rowReader) row(line []byte) error {
	if len(line) == 0 {
		return errors.New("empty line")
	}
	r := &rr.next
	*r = Row{}
	at, ok := rr.scanned(line, r)
	if !ok {
		*r = Row{}
		var err error
		if at, err = rr.decoded(line, r); err != nil {
			return err
		}
	}
	return rr.add(at, r)
}

// scanned reads a row in the form of RowWriter, and returns the index of its cell.
func (rr *rowReader) scanned(line []byte, r *Row) (int, bool) {
	cell, strategy, ok := rr.scan.row(line, r)
	at, known := rr.at[string(cell)]
	if !ok || !known || rr.run.Cells[at].Strategy != string(strategy) || !rr.splits(r) {
		return 0, false
	}
	r.Strategy = rr.run.Cells[at].Strategy
	return at, r.Session != "" && r.validate() == nil && r.agree(beyond{}) == nil
}

// decoded reads any row.
func (rr *rowReader) decoded(line []byte, r *Row) (int, error) {
	var l rowLine
	if err := rr.passed.decode(rr.drop, line, &l, "tokens", "tokens_by_source", "breaks"); err != nil {
		return 0, err
	}
	var over beyond
	var err error
	if *r, err = l.row(); err != nil {
		over = l.passOver(rr.passed)
		*r, err = l.row()
	}
	if err != nil {
		return 0, err
	}
	if err := firstError(checkRow(rr.strategies, l.Cell, r), required(line)); err != nil {
		return 0, err
	}
	if !rr.splits(r) {
		over.waits = r.AddedLatency
	}
	return rr.at[l.Cell], r.agree(over)
}

// splits reports whether the parts of the added latency are those of r: a program
// that did not know them wrote none.
func (rr *rowReader) splits(r *Row) bool {
	return rr.metrics != nil || r.Waits != [NumWaits]float64{} || r.AddedLatency == 0
}

// add adds a row to a cell.
func (rr *rowReader) add(at int, r *Row) error {
	c, k := &rr.run.Cells[at], &rr.cells[at]
	if n := len(c.Rows); k.seen == nil && n > 0 && c.Rows[n-1].Session >= r.Session {
		k.seen = make(map[string]bool, n)
		for i := range c.Rows {
			k.seen[c.Rows[i].Session] = true
		}
	}
	if k.seen != nil {
		if k.seen[r.Session] {
			return fmt.Errorf("second row of cell %q, session %q", c.Cell, r.Session)
		}
		k.seen[r.Session] = true
	}
	if n := len(c.Rows); n == cap(c.Rows) && k.want != nil && *k.want > n {
		// Rows are large: what the head tells of saves copies, and is believed as
		// far as it is in proportion to what has come.
		c.Rows = slices.Grow(c.Rows, min(*k.want-n, 7*n+64))
	}
	c.Rows = append(c.Rows, *r)
	return nil
}
