package results

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// fileHead is the first line of a file of rows: all of a run but its
// figures.
type fileHead struct {
	Schema     int        `json:"schema"`
	Content    string     `json:"content,omitempty"`
	Provenance Origin     `json:"provenance"`
	Cells      []cellHead `json:"cells"`
	// Metrics are those that the writing program knows, nil for all. The rows say nothing of
	// others: a missing figure of those is unknown, not zero.
	Metrics []string `json:"metrics,omitempty"`
}

type cellHead struct {
	Cell       string            `json:"cell"`
	Strategy   string            `json:"strategy"`
	Params     map[string]string `json:"params"`
	Unmeasured []string          `json:"unmeasured,omitempty"`
	// Rows is how many rows of the cell the file has, which shows a file that was cut
	// short; nil in files that do not say.
	Rows *int `json:"rows,omitempty"`
}

func (r *Run) head() (*fileHead, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	h := &fileHead{Schema: measures.Schema, Provenance: Origin{r.Provenance, r.Workload, r.ModelError, r.Notes}}
	for i := range r.Cells {
		c := &r.Cells[i]
		h.Cells = append(h.Cells, cellHead{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Unmeasured: c.Unmeasured})
	}
	return h, nil
}

// run returns the run of a head, without figures.
func (h *fileHead) run() (*Run, error) {
	o := h.Provenance
	r := &Run{Provenance: o.Provenance, Workload: o.Workload, ModelError: o.ModelError, Notes: o.Notes}
	for _, c := range h.Cells {
		r.Cells = append(r.Cells, Cell{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Unmeasured: c.Unmeasured})
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// write writes a head as one line.
func (h *fileHead) write(w io.Writer) error {
	b, err := json.Marshal(h, json.Deterministic(true))
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// WriteRows writes the rows of run as JSON lines after a head line, by the name
// of the cell, then by session: equal runs give equal bytes, whatever the order
// of their rows. It refuses rows of another strategy or without a session,
// negative counts and costs, and figures that are absurd or not finite.
func WriteRows(w io.Writer, run *Run) error {
	if err := run.writeRows(w); err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	return nil
}

func (r *Run) writeRows(w io.Writer) error {
	head, err := r.head()
	if err != nil {
		return err
	}
	for i := range r.Cells {
		n := r.Cells[i].Rows.Len()
		head.Cells[i].Rows = &n
	}
	for _, m := range published {
		head.Metrics = append(head.Metrics, m.Name)
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if err := head.write(b); err != nil {
		return err
	}
	cells := slices.Clone(r.Cells)
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Compare(a.Cell, b.Cell) })
	var line []byte
	for i := range cells {
		if line, err = cells[i].writeRows(b, line); err != nil {
			return fmt.Errorf("cell %q: %w", cells[i].Cell, err)
		}
	}
	return b.Flush()
}

// writeRows writes the rows of c by session. It returns line, which it uses.
func (c *Cell) writeRows(w io.Writer, line []byte) ([]byte, error) {
	if c.Rows.Len() == 0 && c.Sessions > 0 {
		return line, fmt.Errorf("a total of %d sessions but no rows", c.Sessions)
	}
	rows := Rows{slices.Clone(c.Rows.list)}
	rows.Sort()
	for i, r := range rows.All() {
		err := c.owns(r)
		if err == nil && i > 0 && r.Session == rows.Session(i-1) {
			err = errors.New("two rows of one session")
		}
		if err == nil {
			line, err = rowForm.Append(line[:0], r.line(c.Cell))
		}
		if err == nil {
			line = append(line, '\n')
			_, err = w.Write(line)
		}
		if err != nil {
			return line, fmt.Errorf("session %q: %w", r.Session, err)
		}
	}
	return line, nil
}

// owns returns an error for a row that cannot be one of c.
func (c *Cell) owns(r *Row) error {
	switch {
	case r.Strategy != c.Strategy:
		return fmt.Errorf("row of strategy %q in a cell of %q", r.Strategy, c.Strategy)
	case r.Session == "":
		return errors.New("row without a session")
	}
	return nil
}

// maxLine bounds the memory a line may take, bytes. A row takes about 1 kB, a
// call 300 bytes, and a head a few hundred bytes a cell.
const maxLine = 64 << 20

// readLines calls head with the first line of a file and line with every later line, and begins
// errors with the name of the file and the line.
func readLines(name string, r io.Reader, head, line func([]byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		var err error
		switch {
		case n == 1:
			err = head(s.Bytes())
		case len(s.Bytes()) == 0:
			err = errors.New("empty line")
		default:
			err = line(s.Bytes())
		}
		if err != nil && s.Err() == nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	switch err := s.Err(); {
	case err != nil:
		return fmt.Errorf("%s:%d: %w", name, n+1, err)
	case n == 0:
		return fmt.Errorf("%s:1: empty file", name)
	}
	return nil
}

// ReadRows reads a file of rows in any order and adds them up. Errors begin
// with name and line; rows of cells that the head does not list, repeated rows,
// rows without a member that all rows have, figures that no run can have or that
// contradict each other, and members that are not known are errors. Metrics that
// the program which wrote the file did not know are unmeasured in all cells. The run that it returns with an error holds all rows
// before the bad line, or is nil when the head is bad.
func ReadRows(name string, r io.Reader) (*Run, error) {
	rr := rowReader{at: map[string]int{}}
	err := readLines(name, r, rr.head, rr.row)
	if rr.run == nil {
		return nil, err
	}
	if err == nil {
		err = rr.whole(name)
	}
	rr.run.withoutYounger(rr.metrics)
	rr.run.Sum()
	if err == nil {
		err = rr.run.validateCells((*Cell).validateTotal) // each row was looked at
	}
	return rr.run, err
}

type rowReader struct {
	run     *Run
	metrics []string // listed by the head, nil for none
	cells   []cellRows
	at      map[string]int // index of a cell
	scan    jsonlines.Reader
}

// cellRows is what is known of the rows of a cell so far.
type cellRows struct {
	want *int // as the head says
	// seen are their sessions, nil as long as these come in order.
	seen map[string]bool
}

func (rr *rowReader) head(line []byte) error {
	var h fileHead
	if err := unmarshal(line, &h); err != nil {
		return err
	}
	if h.Content != "" {
		return fmt.Errorf("content %q: not a file of rows", h.Content)
	}
	run, err := h.run()
	if err != nil {
		return err
	}
	for i, c := range h.Cells {
		rr.at[c.Cell] = i
		rr.cells = append(rr.cells, cellRows{want: c.Rows})
	}
	rr.run, rr.metrics = run, h.Metrics
	return nil
}

// whole returns an error when rows are missing that the head promises.
func (rr *rowReader) whole(name string) error {
	for i := range rr.run.Cells {
		c := &rr.run.Cells[i]
		if n := rr.cells[i].want; n != nil && *n != c.Rows.Len() {
			return fmt.Errorf("%s: %d of %d rows of cell %q are there: the file was cut short", name, c.Rows.Len(), *n, c.Cell)
		}
	}
	return nil
}

func (rr *rowReader) row(line []byte) error {
	r := &Row{}
	l := r.line("")
	if err := rowForm.Read(&rr.scan, bytes.TrimRight(line, " \t\r"), l); err != nil {
		return err
	}
	r.take(l)
	at, ok := rr.at[l.Texts[textCell]]
	if !ok {
		return fmt.Errorf("cell %q is not in the head", l.Texts[textCell])
	}
	c := &rr.run.Cells[at]
	if err := c.owns(r); err != nil {
		return err
	}
	r.Strategy = c.Strategy
	if err := r.agree(); err != nil {
		return err
	}
	k := &rr.cells[at]
	if n := c.Rows.Len(); k.seen == nil && n > 0 && c.Rows.Session(n-1) >= r.Session {
		k.seen = make(map[string]bool, n)
		for i := range n {
			k.seen[c.Rows.Session(i)] = true
		}
	}
	if k.seen != nil {
		if k.seen[r.Session] {
			return fmt.Errorf("second row of cell %q, session %q", c.Cell, r.Session)
		}
		k.seen[r.Session] = true
	}
	c.Rows.Keep(r)
	return nil
}

// unmarshal decodes a value whose schema is this package's. It looks at the schema first,
// as another schema explains unknown members.
func unmarshal(data []byte, v any) error {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	switch {
	case head.Schema == nil:
		return errors.New("no schema: not a result of this tool")
	case *head.Schema != measures.Schema:
		return fmt.Errorf("schema %d, this version reads schema %d", *head.Schema, measures.Schema)
	}
	return jsonlines.Read(data, v)
}

// withoutYounger makes the metrics unmeasured that the writing program did not know: what it left
// out is not 0.
func (r *Run) withoutYounger(known []string) {
	for _, m := range published {
		if known == nil || slices.Contains(known, m.Name) {
			continue
		}
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Measures(m) {
				c.Unmeasured = append(c.Unmeasured, m.Name)
			}
		}
	}
}
