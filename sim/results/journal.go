package results

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/compactsim/compactsim/internal/files"
	"github.com/compactsim/compactsim/internal/jsonlines"
)

// A Journal holds the rows of a run on the disk, in order of completion: a row takes some 4 kB of
// memory, and what reports need of most of them is a Brief. It is safe for concurrent use.
type Journal struct {
	mu    sync.Mutex
	f     *os.File
	w     *bufio.Writer
	begin int64 // where rows begin
	end   int64
	buf   []byte
	named bool
	only  bool                  // rows of another run are an error
	known map[[2]string]keptRow // rows of an earlier program, by cell and session
}

// NewJournal returns an empty journal in the folder for temporary files, where it has no name that
// a killed program could leave behind (but on Windows). The caller closes it.
func NewJournal() (*Journal, error) {
	f, err := os.CreateTemp("", "sim-rows-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("keeping rows: %w", err)
	}
	_ = os.Remove(f.Name()) // where an open file keeps its name, Close removes it
	return &Journal{f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// ErrJournal is the error of a journal that cannot be gone on with.
var ErrJournal = errors.New("rows of another run: other sessions, settings, prices or version")

// OpenJournal opens the journal called name, or makes it. It outlives the program, so that another can
// go on with it; only one has it at a time. Rows of another run are dropped, or with only an ErrJournal.
func OpenJournal(name string, only bool) (*Journal, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keeping rows: %w", err)
	}
	if !files.Lock(f) {
		f.Close()
		return nil, fmt.Errorf("keeping rows: %s: another run writes there", name)
	}
	return &Journal{f: f, w: bufio.NewWriterSize(f, 1<<16), named: true, only: only}, nil
}

// Begin says which run the rows are of. Of a journal that outlives the program it reads those of an
// earlier one, as far as they are whole.
func (j *Journal) Begin(run string) error {
	if !j.named || j.known != nil {
		return nil
	}
	j.known = map[[2]string]keptRow{}
	head := []byte("{\"run\":" + strconv.Quote(run) + "}\n")
	in := bufio.NewReaderSize(j.f, 1<<16)
	first, err := in.ReadBytes('\n')
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("reading rows of an earlier run: %w", err)
	case j.only && err == nil && !bytes.Equal(first, head):
		return fmt.Errorf("%s: %w", j.f.Name(), ErrJournal)
	}
	j.begin = int64(len(head))
	j.end = j.begin
	if !bytes.Equal(first, head) { // nothing, a head that is torn, or another run's
		_, err := j.f.WriteAt(head, 0)
		return errors.Join(err, j.rewind())
	}
	var scan jsonlines.Reader
	for {
		line, err := in.ReadBytes('\n')
		r := new(Row)
		if err == nil {
			err = rowForm.Read(&scan, line[:len(line)-1], r)
		}
		if err != nil { // the last one is torn
			break
		}
		j.known[[2]string{scan.Label, r.Session}] = keptRow{r.brief(), j.end, len(line)}
		j.end += int64(len(line))
	}
	return j.rewind()
}

// rewind takes away what stands behind the last whole row.
func (j *Journal) rewind() error {
	_, err := j.f.Seek(j.end, io.SeekStart)
	if err := errors.Join(err, j.f.Truncate(j.end)); err != nil {
		return fmt.Errorf("keeping rows: %w", err)
	}
	return nil
}

// Restore adds to cells the rows of sessions that an earlier program has put into the journal, and returns the cell and
// the session of each other row.
func (j *Journal) Restore(cells []Cell, has func(session string) bool) (others [][2]string) {
	at := map[string]*Cell{}
	for i := range cells {
		at[cells[i].Cell] = &cells[i]
	}
	for of, row := range j.known {
		c := at[of[0]]
		if c == nil || !has(of[1]) {
			others = append(others, of)
			continue
		}
		if c.kept == nil {
			c.kept = &kept{journal: j}
		}
		c.kept.list = append(c.kept.list, row)
	}
	return others
}

// Known reports whether an earlier program has put the row of a session into the journal.
func (j *Journal) Known(cell, session string) bool {
	_, ok := j.known[[2]string{cell, session}]
	return ok
}

// Leave closes a journal and leaves it for another program: as it was before Begin, else with what was put, or when
// nothing was, only if empty ones are kept too.
func (j *Journal) Leave(empty bool) error {
	if j.begin > 0 && j.end == j.begin && !empty {
		j.Close()
		return nil
	}
	if err := errors.Join(j.w.Flush(), j.f.Sync(), j.f.Close()); err != nil {
		return fmt.Errorf("keeping rows: %w", err)
	}
	if info, err := os.Stat(j.f.Name()); err == nil && info.Size() == 0 {
		_ = os.Remove(j.f.Name()) // made by this program
	}
	return nil
}

// Close removes the journal. Cells whose rows it held have no rows from then on.
func (j *Journal) Close() {
	_ = j.f.Close()           // what was written is of no use any more
	_ = os.Remove(j.f.Name()) // it has none on most systems
}

// put writes a row of a cell as the line that a file of rows has for it.
func (j *Journal) put(cell string, r *Row) (k keptRow, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err = rowForm.Check(r); err == nil {
		j.buf, err = rowForm.Append(j.buf[:0], cell, r)
	}
	if err != nil {
		return k, err
	}
	j.buf = append(j.buf, '\n')
	if _, err := j.w.Write(j.buf); err != nil {
		return k, fmt.Errorf("keeping rows: %w", err)
	}
	k = keptRow{r.brief(), j.end, len(j.buf)}
	j.end += int64(len(j.buf))
	return k, nil
}

// line reads a line into buf.
func (j *Journal) line(k *keptRow, buf []byte) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	buf = slices.Grow(buf[:0], k.size)[:k.size]
	err := j.w.Flush()
	if err == nil {
		_, err = j.f.ReadAt(buf, k.at)
	}
	if err != nil {
		return buf, fmt.Errorf("reading rows that were kept: %w", err)
	}
	return buf, nil
}

// Brief is what reports need of every row of a run.
type Brief struct {
	Session    string
	USD        float64 // of all calls
	SummaryUSD float64 // of the summary calls of compactions
	Summaries  int     // these calls
	// logged is Row.LoggedUSD given a bill without summary calls, loggedAll with some, USD.
	logged, loggedAll float64
}

// brief returns what reports need of r.
func (r *Row) brief() Brief {
	var some Row
	some.CallsBySource[SourceCompact] = 1
	return Brief{
		Session: r.Session, USD: r.CostUSD(),
		SummaryUSD: r.CostBySource[SourceCompact].Total(), Summaries: r.CallsBySource[SourceCompact],
		logged: r.LoggedUSD(&Row{}), loggedAll: r.LoggedUSD(&some),
	}
}

// keptRow is a row in a journal.
type keptRow struct {
	Brief
	at   int64
	size int
}

// kept are the rows of a cell in a journal, by session once they are added up.
type kept struct {
	journal *Journal
	list    []keptRow
}

// Keep adds a row to c: to a journal, or to Rows when there is none. It is for one goroutine at a time.
func (c *Cell) Keep(j *Journal, r *Row) error {
	if j == nil {
		c.Rows = append(c.Rows, *r)
		return nil
	}
	err := c.owns(r)
	var row keptRow
	if err == nil {
		row, err = j.put(c.Cell, r)
	}
	if err != nil {
		return fmt.Errorf("cell %q, session %q: %w", c.Cell, r.Session, err)
	}
	if c.kept == nil {
		c.kept = &kept{journal: j}
	}
	c.kept.list = append(c.kept.list, row)
	return nil
}

// NumRows returns how many rows c has, in a journal or in memory.
func (c *Cell) NumRows() int {
	if c.kept != nil {
		return len(c.kept.list)
	}
	return len(c.Rows)
}

// Brief returns what reports need of a row, 0…NumRows−1, by session when they are added up.
func (c *Cell) Brief(i int) Brief {
	if c.seeds != nil {
		return c.meanBrief(i)
	}
	if c.kept != nil {
		return c.kept.list[i].Brief
	}
	return c.Rows[i].brief()
}

// Drop leaves out the rows of sessions.
func (c *Cell) Drop(drop func(session string) bool) {
	c.Rows = slices.DeleteFunc(c.Rows, func(r Row) bool { return drop(r.Session) })
	if c.kept != nil {
		c.kept.list = slices.DeleteFunc(c.kept.list, func(k keptRow) bool { return drop(k.Session) })
	}
}

// EachRow calls f with the rows of c, by session when they are added up. A row is valid during the call.
func (c *Cell) EachRow(f func(*Row) error) error {
	for i := range c.Rows {
		if err := f(&c.Rows[i]); err != nil {
			return err
		}
	}
	if c.kept == nil {
		return nil
	}
	var scan jsonlines.Reader
	var buf []byte
	r := new(Row)
	for i := range c.kept.list {
		line, err := c.kept.journal.line(&c.kept.list[i], buf)
		if err != nil {
			return err
		}
		buf, *r = line, Row{}
		if err := rowForm.Read(&scan, line[:len(line)-1], r); err != nil {
			return fmt.Errorf("cell %q, session %q: %w", c.Cell, c.kept.list[i].Session, err)
		}
		r.Strategy = c.Strategy
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// Revise calls f with the rows of c and keeps what it makes of them.
func (c *Cell) Revise(f func(*Row) error) error {
	i := 0
	return c.EachRow(func(r *Row) error {
		err := f(r)
		if err == nil && c.kept != nil {
			c.kept.list[i], err = c.kept.journal.put(c.Cell, r)
			i++
		}
		return err
	})
}

// sort orders the rows by session.
func (c *Cell) sort() {
	sortRows(c.Rows)
	if c.kept != nil {
		slices.SortStableFunc(c.kept.list, func(a, b keptRow) int { return cmp.Compare(a.Session, b.Session) })
	}
}

// errTwice is the error of rows that cannot be told apart.
var errTwice = errors.New("two rows of one session")
