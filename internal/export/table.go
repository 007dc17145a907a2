package export

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/results"
)

// Source is a run to export. Label tells its rows from those of others; it may
// be empty.
type Source struct {
	Label string
	Run   *results.Run
}

// Table is what is written: a row for each source, cell and session, in the
// order of the sources, then by cell and session. It refers to the runs it was
// made from, which must not change.
type Table struct {
	columns []Column
	records []record
	sources []Source
	group   int // rows of a row group of Parquet
}

// groupRows is the number of rows of a row group. It bounds what is held in
// memory of each group and gives readers something to skip.
const groupRows = 1 << 16

// New returns the table of runs. It fails on a run without rows, on one that
// results would not encode, and on a cell and session that occur twice under
// one label.
func New(sources []Source) (*Table, error) {
	if len(sources) == 0 {
		return nil, errors.New("exporting: no run")
	}
	labelled := slices.ContainsFunc(sources, func(s Source) bool { return s.Label != "" })
	t := &Table{sources: slices.Clone(sources), group: groupRows}
	metrics := figures()
	t.columns = slices.Concat(keys(labelled), metrics, parameters(sources), tallies())
	for i := range sources {
		if err := t.add(&sources[i], metrics); err != nil {
			return nil, fmt.Errorf("exporting %s: %w", naming(&sources[i], i), err)
		}
	}
	return t, t.conflict()
}

// naming words which run an error is about.
func naming(s *Source, i int) string {
	if s.Label != "" {
		return fmt.Sprintf("run %q", s.Label)
	}
	return fmt.Sprintf("run %d", i+1)
}

// Columns returns the columns that every table with a label has, in order. A
// table without labels has no column run; those of parameters, p_NAME, stand
// ahead of the last two.
func Columns() []Column { return slices.Concat(keys(true), figures(), tallies()) }

// Columns returns the columns in order.
func (t *Table) Columns() []Column { return slices.Clone(t.columns) }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.records) }

// add adds the rows of a run.
func (t *Table) add(s *Source, figures []Column) error {
	// What the summary of a run refuses is refused here in the same words.
	if _, err := s.Run.Document(); err != nil {
		return err
	}
	cells := make([]*results.Cell, len(s.Run.Cells))
	for i := range s.Run.Cells {
		cells[i] = &s.Run.Cells[i]
	}
	slices.SortFunc(cells, func(a, b *results.Cell) int { return cmp.Compare(a.Cell, b.Cell) })
	before := len(t.records)
	for _, c := range cells {
		measured := measures(c, figures)
		first := len(t.records)
		for i := range c.Rows {
			t.records = append(t.records, record{label: s.Label, cell: c, row: &c.Rows[i], measured: measured})
		}
		slices.SortStableFunc(t.records[first:], func(a, b record) int { return cmp.Compare(a.row.Session, b.row.Session) })
	}
	if len(t.records) == before {
		return errors.New("it has no rows")
	}
	return nil
}

// measures says which figures a cell has, see results.Cell.Unmeasured.
func measures(c *results.Cell, figures []Column) []bool {
	list := make([]bool, len(figures))
	for i, f := range figures {
		list[i] = !slices.ContainsFunc(c.Unmeasured, func(name string) bool {
			return name == f.Name || name == f.Of || name == f.Group
		})
	}
	return list
}

// ErrConflict is wrapped by the error for two rows that nothing tells apart.
var ErrConflict = errors.New("occur twice")

func (t *Table) conflict() error {
	type key struct{ label, cell, session string }
	seen := make(map[key]bool, len(t.records))
	for i := range t.records {
		r := &t.records[i]
		k := key{r.label, r.cell.Cell, r.row.Session}
		if !seen[k] {
			seen[k] = true
			continue
		}
		where := ""
		if r.label != "" {
			where = fmt.Sprintf(" of run %q", r.label)
		}
		return fmt.Errorf("cell %q and session %q%s %w", k.cell, k.session, where, ErrConflict)
	}
	return nil
}

// parameters returns a column for each parameter of any cell, by name.
func parameters(sources []Source) []Column {
	names := map[string]bool{}
	for _, s := range sources {
		for i := range s.Run.Cells {
			for name := range s.Run.Cells[i].Params {
				names[name] = true
			}
		}
	}
	var list []Column
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		column := parameterColumn(name)
		for n := 2; taken[strings.ToLower(column)]; n++ {
			column = parameterColumn(name) + "_" + strconv.Itoa(n)
		}
		taken[strings.ToLower(column)] = true
		list = append(list, Column{Name: column, Type: String, Nullable: true,
			Definition: "parameter " + name + "; null in cells that it does not vary in",
			text: func(r *record) (string, bool) {
				v, ok := r.cell.Params[name]
				return v, ok
			}})
	}
	return list
}

// parameterColumn returns the column of a parameter: a name that needs no
// quotes in a query.
func parameterColumn(name string) string {
	return "p_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// counts returns m as a JSON object with its names in order, false when it is
// empty.
func counts(m map[string]int) (string, bool) {
	if len(m) == 0 {
		return "", false
	}
	b := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(b, name)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(m[name]), 10)
	}
	return string(append(b, '}')), true
}

// quote appends s as a JSON string. What is no UTF-8 becomes U+FFFD.
func quote(b []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return quoted
}
