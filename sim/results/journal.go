package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/files"
	"github.com/compactsim/compactsim/internal/jsonlines"
)

// A Journal holds the rows of a run on the disk, in order of completion: a row takes some 4 kB of
// memory, and reports need only a Brief of most rows. It is safe for concurrent use.
type Journal struct {
	mu    sync.Mutex
	f     *os.File
	w     *bufio.Writer
	begin int64 // where rows begin
	end   int64
	rows  [8]*jsonlines.Writer[Row] // of sessions that are simulated at once
	named bool
	only  bool                  // rows of another run are an error
	known map[[2]string]keptRow // rows of an earlier program, by cell and session
}

// NewJournal returns an empty journal in the folder for temporary files, where it has no name that
// a killed program could leave behind (except on Windows). The caller closes it.
func NewJournal() (*Journal, error) {
	f, err := os.CreateTemp("", "sim-rows-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("keeping rows: %w", err)
	}
	_ = os.Remove(f.Name()) // where an open file keeps its name, Close removes it
	return &Journal{f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// ErrJournal is the error of a journal that cannot be continued.
var ErrJournal = errors.New("rows of another run: other sessions, settings, prices, version or build")

// OpenJournal opens or makes the journal called name. It outlives the program, and another can continue
// it; only one has it at a time. Begin drops rows of another run, or with only returns ErrJournal.
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

// Begin says which run the rows belong to. From a journal that outlives the program it reads the
// whole rows of an earlier program.
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
	scan := jsonlines.Reader{Passed: map[string]int{}}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil { // the last one is torn
			break
		}
		r := new(Row)
		err = rowForm.Read(&scan, line[:len(line)-1], r)
		if err == nil && len(scan.Passed) > 0 {
			err = fmt.Errorf("%s is not known", strings.Join(slices.Sorted(maps.Keys(scan.Passed)), ", "))
		}
		if err == nil {
			err = r.agree(0, 0)
		}
		if err != nil {
			if j.only {
				return fmt.Errorf("%s: row %d: %w", j.f.Name(), len(j.known)+1, err)
			}
			break // it and what follows is simulated again
		}
		j.known[[2]string{scan.Label, r.Session}] = keptRow{r.brief(), j.end, len(line)}
		j.end += int64(len(line))
	}
	return j.rewind()
}

// rewind removes what follows the last whole row.
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

// Leave closes a journal and leaves it for another program: as it was if Begin was not called, else with the rows
// that were put. It removes one without rows, unless empty ones are kept too.
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
	_ = j.f.Close()           // what was written is no longer needed
	_ = os.Remove(j.f.Name()) // it has none on most systems
}

// put writes a row of a cell as the line that a file of rows has for it.
func (j *Journal) put(cell string, r *Row) (k keptRow, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	line, err := j.writer(r.Session).Line(cell, r)
	if err != nil {
		return k, err
	}
	if _, err := j.w.Write(line); err != nil {
		return k, fmt.Errorf("keeping rows: %w", err)
	}
	k = keptRow{r.brief(), j.end, len(line)}
	j.end += int64(len(line))
	return k, nil
}

// writer returns the writer that wrote the last row of a session, or else the oldest: rows of one session have much in
// common.
func (j *Journal) writer(session string) *jsonlines.Writer[Row] {
	n := slices.IndexFunc(j.rows[:], func(w *jsonlines.Writer[Row]) bool { return w != nil && w.Last().Session == session })
	if n < 0 {
		n = len(j.rows) - 1
	}
	w := j.rows[n]
	if w == nil {
		w = rowForm.Writer()
	}
	copy(j.rows[1:], j.rows[:n])
	j.rows[0] = w
	return w
}

// line reads a line into buf.
func (j *Journal) line(k *keptRow, buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], k.size)[:k.size]
	return buf, j.read(buf, k.at)
}

// read fills buf from a place on.
func (j *Journal) read(buf []byte, at int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.w.Flush(); err != nil {
		return fmt.Errorf("keeping rows: %w", err)
	}
	if _, err := j.f.ReadAt(buf, at); err != nil {
		return fmt.Errorf("reading rows that were kept: %w", err)
	}
	return nil
}

// errTwice is the error of rows that cannot be told apart.
var errTwice = errors.New("two rows of one session")
