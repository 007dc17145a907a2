package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/jsonlines"
)

// Brief is what reports need of every row of a run.
type Brief struct {
	Session    string
	USD        float64 // of all calls
	SummaryUSD float64 // of the summary calls of compactions
	Summaries  int     // these calls
	// logged is Row.LoggedUSD for a bill without summary calls, loggedAll with some, USD.
	logged, loggedAll float64
}

// brief returns what reports need of r.
func (r *Row) brief() Brief {
	return Brief{
		Session: r.Session, USD: r.CostUSD(),
		SummaryUSD: r.CostBySource[SourceCompact].Total(), Summaries: r.CallsBySource[SourceCompact],
		logged: r.loggedUSD(false), loggedAll: r.loggedUSD(true),
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

// Keep adds a row to c: to a journal, or to Rows when there is none. Only one goroutine may call it at a time.
func (c *Cell) Keep(j *Journal, r *Row) error {
	if j == nil {
		row := *r
		c.Rows = append(c.Rows, &row)
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
	c.Rows = slices.DeleteFunc(c.Rows, func(r *Row) bool { return drop(r.Session) })
	if c.kept != nil {
		c.kept.list = slices.DeleteFunc(c.kept.list, func(k keptRow) bool { return drop(k.Session) })
	}
}

// EachRow calls f with the rows of c, by session when they are added up. A row is valid during the call.
func (c *Cell) EachRow(f func(*Row) error) error {
	for _, r := range c.Rows {
		if err := f(r); err != nil {
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

// Revise calls f with each row of c and keeps the row as f leaves it.
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
		slices.SortFunc(c.kept.list, func(a, b keptRow) int {
			return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.at, b.at))
		})
	}
}

// sumKept adds up the rows of cells that are in journals, each sorted.
func sumKept(cells []Cell) error {
	var journals []*Journal
	in := map[*Journal]*summing{}
	for i := range cells {
		c := &cells[i]
		if c.kept == nil {
			continue
		}
		j := c.kept.journal
		if in[j] == nil {
			journals, in[j] = append(journals, j), &summing{journal: j}
		}
		in[j].cells = append(in[j].cells, keptCell{c, c.kept.list})
	}
	for _, j := range journals {
		if err := in[j].sum(); err != nil {
			return err
		}
	}
	return nil
}

// summing adds up the rows of cells in one journal, session by session: rows of one session stand together there, and have
// much in common.
type summing struct {
	journal *Journal
	cells   []keptCell
	scan    jsonlines.Reader
	row     Row
	text    []byte
}

// keptCell is a cell with those of its rows that are not added up yet.
type keptCell struct {
	*Cell
	rest []keptRow
}

func (x *summing) sum() error {
	var of []*keptCell // that have a row of the session
	for {
		of = of[:0]
		for i := range x.cells {
			c := &x.cells[i]
			if len(c.rest) == 0 {
				continue
			}
			order := -1
			if len(of) > 0 {
				order = strings.Compare(c.rest[0].Session, of[0].rest[0].Session)
			}
			if order < 0 {
				of = of[:0]
			}
			if order <= 0 {
				of = append(of, c)
			}
		}
		if len(of) == 0 {
			return nil
		}
		slices.SortFunc(of, func(a, b *keptCell) int { return cmp.Compare(a.rest[0].at, b.rest[0].at) })
		if err := x.sumSession(of); err != nil {
			return err
		}
	}
}

// nearby is how far apart rows are read together, bytes.
const nearby = 1 << 15

// sumSession adds up the next row of each of the cells, which come as the rows lie in the journal.
func (x *summing) sumSession(of []*keptCell) error {
	for len(of) > 0 {
		at, end, n := of[0].rest[0].at, int64(0), 0
		for ; n < len(of) && (n == 0 || of[n].rest[0].at < end+nearby); n++ {
			end = of[n].rest[0].at + int64(of[n].rest[0].size)
		}
		x.text = slices.Grow(x.text[:0], int(end-at))[:end-at]
		if err := x.journal.read(x.text, at); err != nil {
			return err
		}
		for _, c := range of[:n] {
			k := &c.rest[0]
			line := x.text[k.at-at:][:k.size-1]
			if err := rowForm.ReadNext(&x.scan, line, &x.row); err != nil {
				return fmt.Errorf("cell %q, session %q: %w", c.Cell.Cell, k.Session, err)
			}
			c.Total.Add(&x.row)
			c.Sessions = c.Total.Sessions
			c.rest = c.rest[1:]
		}
		of = of[n:]
	}
	return nil
}
