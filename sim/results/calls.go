package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// CellCalls are the calls of one cell in order of completion, session by
// session.
type CellCalls struct {
	Cell  string
	Calls []CallRecord
}

// callsHead is the first line of a file of calls.
type callsHead struct {
	Schema     int        `json:"schema"`
	Content    string     `json:"content"`
	Provenance Origin     `json:"provenance"`
	Cells      []cellHead `json:"cells"`
}

// contentCalls tells a file of calls from one of rows, whose head is alike.
const contentCalls = "calls"

// CallWriter writes call records as JSON lines behind a head line.
type CallWriter struct {
	w     io.Writer
	cells map[string]bool
}

// NewCallWriter writes the head of run and returns a writer for the calls of
// its cells. Figures of the run are not written. It does not buffer: each call
// is one call of w.Write.
func NewCallWriter(w io.Writer, run *Run) (*CallWriter, error) {
	if err := run.validate(); err != nil {
		return nil, fmt.Errorf("encoding calls: %w", err)
	}
	head := callsHead{Schema: Schema, Content: contentCalls,
		Provenance: Origin{run.Provenance, run.Workload, run.ModelError, run.Notes}}
	cw := &CallWriter{w: w, cells: map[string]bool{}}
	for i := range run.Cells {
		c := &run.Cells[i]
		head.Cells = append(head.Cells, cellHead{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Unmeasured: c.Unmeasured})
		cw.cells[c.Cell] = true
	}
	return cw, cw.line(head)
}

// Write writes one call. It refuses cells that the head does not list and
// records that no call can have: see CallReader.
func (cw *CallWriter) Write(cell string, c *CallRecord) error {
	if !cw.cells[cell] {
		return fmt.Errorf("encoding a call: cell %q is not in the head", cell)
	}
	if err := c.validate(); err != nil {
		return fmt.Errorf("encoding a call of cell %q, session %q: %w", cell, c.Session, err)
	}
	return cw.line(newCallLine(cell, c))
}

func (cw *CallWriter) line(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encoding calls: %w", err)
	}
	if _, err := cw.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing calls: %w", err)
	}
	return nil
}

// WriteCalls writes the calls of the cells of run in the order given. Equal
// arguments give equal bytes.
func WriteCalls(w io.Writer, run *Run, calls []CellCalls) error {
	b := bufio.NewWriter(w)
	cw, err := NewCallWriter(b, run)
	if err != nil {
		return err
	}
	for i := range calls {
		for j := range calls[i].Calls {
			if err := cw.Write(calls[i].Cell, &calls[i].Calls[j]); err != nil {
				return err
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing calls: %w", err)
	}
	return nil
}

// maxCallLine bounds the memory a line may take, bytes. A call takes about
// 300; the head takes a few hundred a cell.
const maxCallLine = 64 << 20

// CallReader reads a file of calls one at a time: the calls of a large sweep
// need not fit in memory. Unknown sources, miss classes, classes of tokens and
// cells, calls without a session, that end before they start, with negative
// counts or costs, or with costs that are absurd or not finite, are errors with name
// and line. Other members that are not known are counted in Run.PassedOver.
type CallReader struct {
	name    string
	scanner *bufio.Scanner
	line    int
	run     *Run
	cells   map[string]bool
	drop    PassedOver // members of calls
}

// NewCallReader reads the head.
func NewCallReader(name string, r io.Reader) (*CallReader, error) {
	cr := &CallReader{name: name, scanner: bufio.NewScanner(r), line: 1, cells: map[string]bool{}, drop: PassedOver{}}
	cr.scanner.Buffer(nil, maxCallLine)
	if !cr.scanner.Scan() {
		err := cr.scanner.Err()
		if err == nil {
			err = errors.New("empty file")
		}
		return nil, cr.wrap(err)
	}
	if err := cr.head(cr.scanner.Bytes()); err != nil {
		return nil, cr.wrap(err)
	}
	return cr, nil
}

func (cr *CallReader) head(line []byte) error {
	var kind struct {
		Schema  *int   `json:"schema"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	if kind.Schema != nil && *kind.Schema == Schema && kind.Content != contentCalls {
		return fmt.Errorf("content %q: not a file of calls", kind.Content)
	}
	var h callsHead
	passed := PassedOver{}
	if err := passed.unmarshal(line, &h); err != nil {
		return err
	}
	o := h.Provenance
	cr.run = &Run{Provenance: o.Provenance, Workload: o.Workload, ModelError: o.ModelError, Notes: o.Notes, PassedOver: passed}
	for _, c := range h.Cells {
		measured := passed.unmeasured(c.Unmeasured)
		cr.run.Cells = append(cr.run.Cells, Cell{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Unmeasured: measured})
		cr.cells[c.Cell] = true
	}
	return cr.run.validate()
}

func (cr *CallReader) wrap(err error) error { return fmt.Errorf("%s:%d: %w", cr.name, cr.line, err) }

// Run returns the run of the head. Its cells have no figures.
func (cr *CallReader) Run() *Run { return cr.run }

// Next returns the next call and its cell, and io.EOF after the last one.
func (cr *CallReader) Next() (cell string, c CallRecord, err error) {
	cr.line++
	if !cr.scanner.Scan() {
		if err := cr.scanner.Err(); err != nil {
			return "", c, cr.wrap(err)
		}
		return "", c, io.EOF
	}
	if len(cr.scanner.Bytes()) == 0 {
		return "", c, cr.wrap(errors.New("empty line"))
	}
	var l callLine
	if err := cr.run.PassedOver.decode(cr.drop, cr.scanner.Bytes(), &l, "tokens", "cost_usd"); err != nil {
		return "", c, cr.wrap(err)
	}
	if !cr.cells[l.Cell] {
		return "", c, cr.wrap(fmt.Errorf("cell %q is not in the head", l.Cell))
	}
	if c, err = l.record(); err == nil {
		err = c.validate()
	}
	if err != nil {
		return "", c, cr.wrap(err)
	}
	return l.Cell, c, nil
}

// ReadCalls reads a whole file of calls: the run of its head and the calls by
// cell, in the order of the head, cells without calls left out. What it returns
// with an error holds all calls before the bad line, or is nil when the head is
// bad.
func ReadCalls(name string, r io.Reader) (*Run, []CellCalls, error) {
	cr, err := NewCallReader(name, r)
	if err != nil {
		return nil, nil, err
	}
	byCell := map[string][]CallRecord{}
	for {
		var cell string
		var c CallRecord
		if cell, c, err = cr.Next(); err != nil {
			break
		}
		byCell[cell] = append(byCell[cell], c)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	var calls []CellCalls
	for i := range cr.run.Cells {
		name := cr.run.Cells[i].Cell
		if len(byCell[name]) > 0 {
			calls = append(calls, CellCalls{Cell: name, Calls: byCell[name]})
		}
	}
	return cr.run, calls, err
}
