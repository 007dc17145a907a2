// Package export writes the rows of runs as tables for other programs: JSON
// lines, CSV and Parquet with the same columns.
//
// A table has one row for each run, cell and session. Its columns are those
// that name the row, the figures that package results declares, the parameters
// and the counts of layers; docs/schema.md lists them. A figure without a
// sample is null in JSON and Parquet and empty in CSV, never 0. Equal runs give
// equal bytes in every format.
//
// What the figures depend on is in the key-value metadata of a Parquet file.
// JSON lines and CSV have no place for it: Table.Describe writes it for a file
// beside them.
package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/results"
)

// Version is the version of the columns of an export. Removing a column or
// changing its meaning raises it; adding one does not. The figures have their
// own version, results.Schema.
const Version = 1

// Type is the type of a column.
type Type string

// The types of columns.
const (
	String Type = "string"
	Int64  Type = "int64"
	Double Type = "double"
	// JSON is an object of counts by name; text in all formats but JSON lines.
	JSON Type = "json"
)

// Column describes one column of a table.
type Column struct {
	Name       string `json:"name"`
	Type       Type   `json:"type"`
	Nullable   bool   `json:"nullable"`
	Unit       string `json:"unit,omitzero"`   // of results.Metric; empty for what is no figure
	Better     string `json:"better,omitzero"` // lower, higher or neither; empty for what is no metric
	Kind       string `json:"kind,omitzero"`   // of results.Kind: how rows add up; empty for what is no figure
	Sampled    bool   `json:"sampled,omitzero"`
	Of         string `json:"of,omitzero"` // the metric that this one is a part of
	By         string `json:"by,omitzero"` // the way in which that is split
	Group      string `json:"group,omitzero"`
	Definition string `json:"definition"`

	// One of the two gives the value; false means null.
	text   func(*record) (string, bool)
	figure func(*results.Row) (float64, bool)
	// at is the index of a figure in record.measured.
	at int
}

// record is one row of a table.
type record struct {
	label string
	cell  *results.Cell
	row   *results.Row
	// measured says which of the columns of figures the cell has.
	measured []bool
}

// number returns the figure of a row, false for null, or the reason why it
// cannot be written.
func (c *Column) number(r *record) (float64, bool, error) {
	if !r.measured[c.at] {
		return 0, false, nil
	}
	v, ok := c.figure(r.row)
	if ok && (v-v != 0 || c.Type == Int64 && v != math.Trunc(v)) { // v-v is 0 for finite values
		return 0, false, fmt.Errorf("cell %q, session %q: %s is %v, which is no %s", r.cell.Cell, r.row.Session, c.Name, v, c.Type)
	}
	return v, ok, nil
}

func textColumn(name string, nullable bool, definition string, text func(*record) (string, bool)) Column {
	return Column{Name: name, Type: String, Nullable: nullable, Definition: definition, text: text}
}

// keys returns the columns that name a row, including the label of a run if one
// was given.
func keys(labelled bool) []Column {
	list := []Column{
		textColumn("run", true, "label given to the run; null for a run without one",
			func(r *record) (string, bool) { return r.label, r.label != "" }),
		textColumn("cell", false, "strategy with its parameters, unique in a run",
			func(r *record) (string, bool) { return r.cell.Cell, true }),
		textColumn("strategy", false, "name of the strategy",
			func(r *record) (string, bool) { return r.cell.Strategy, true }),
		textColumn("session", false, "id of the session, or its pseudonym",
			func(r *record) (string, bool) { return r.row.Session, true }),
	}
	if !labelled {
		return list[1:]
	}
	return list
}

// figures returns the columns of the figures of a row. The first one, the
// number of sessions, is never null.
func figures() []Column {
	var list []Column
	for i, m := range results.Figures() {
		c := Column{Name: m.Name, Type: Double, Nullable: i > 0, Unit: m.Unit, Better: m.Better.String(), Kind: m.Kind.String(),
			Sampled: !m.Exact, Of: m.Of, By: m.By, Group: m.Group, Definition: m.Definition, figure: m.Value, at: i}
		switch m.Unit {
		case results.UnitTokens, results.UnitCalls, results.UnitCount:
			c.Type = Int64
		}
		list = append(list, c)
	}
	return list
}

// tallies returns the columns of the counts of layers.
func tallies() []Column {
	return []Column{
		{Name: "firings", Type: JSON, Nullable: true, Unit: results.UnitCount,
			Definition: "how often each layer acted, by its name; null when none did",
			text:       func(r *record) (string, bool) { return counts(r.row.Firings) }},
		{Name: "reasons", Type: JSON, Nullable: true, Unit: results.UnitCount,
			Definition: `failures and refusals of layers, as "layer: reason"; null without any`,
			text:       func(r *record) (string, bool) { return counts(r.row.Reasons) }},
	}
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
		list = append(list, textColumn(column, true, "parameter "+name+"; null in cells that it does not vary in",
			func(r *record) (string, bool) {
				v, ok := r.cell.Params[name]
				return v, ok
			}))
	}
	return list
}

// parameterColumn returns the column name of a parameter, which needs no quotes
// in a query.
func parameterColumn(name string) string {
	return "p_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// counts returns m as a JSON object with sorted names, false if it is empty.
// Invalid UTF-8 becomes U+FFFD.
func counts(m map[string]int) (string, bool) {
	if len(m) == 0 {
		return "", false
	}
	b, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	return string(b), err == nil
}

// Source is a run to export. Label distinguishes its rows from those of others; it may
// be empty.
type Source struct {
	Label string
	Run   *results.Run
}

// Table has a row for each source, cell and session, in the order of the
// sources, then by cell and session. It refers to its runs, which must not
// change.
type Table struct {
	// Raw leaves texts in CSV unchanged, even if a spreadsheet takes one for a formula.
	Raw bool

	columns []Column
	records []record
	sources []Source
	group   int // rows of a row group of Parquet
}

// groupRows is the number of rows of a row group. It bounds the memory for a
// group and lets readers skip groups.
const groupRows = 1 << 16

// New returns the table of runs. It fails on a run without rows, on one that
// results would not encode, and on a repeated cell and session under one label.
func New(sources []Source) (*Table, error) {
	if len(sources) == 0 {
		return nil, errors.New("exporting: no run")
	}
	labelled := slices.ContainsFunc(sources, func(s Source) bool { return s.Label != "" })
	t := &Table{sources: slices.Clone(sources), group: groupRows}
	metrics := figures()
	t.columns = slices.Concat(keys(labelled), metrics, parameters(sources), tallies())
	for i := range sources {
		s := &sources[i]
		if err := t.add(s, metrics); err != nil {
			name := fmt.Sprintf("run %d", i+1)
			if s.Label != "" {
				name = fmt.Sprintf("run %q", s.Label)
			}
			return nil, fmt.Errorf("exporting %s: %w", name, err)
		}
	}
	return t, t.conflict()
}

// Columns returns the columns in order.
func (t *Table) Columns() []Column { return slices.Clone(t.columns) }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.records) }

// add adds the rows of a run.
func (t *Table) add(s *Source, figures []Column) error {
	// The summary of a run has the same checks and words.
	if _, err := s.Run.Document(); err != nil {
		return err
	}
	before := len(t.records)
	for i := range s.Run.Cells {
		c := &s.Run.Cells[i]
		measured := make([]bool, len(figures))
		for i, f := range figures {
			measured[i] = !slices.ContainsFunc(c.Unmeasured, func(name string) bool {
				return name == f.Name || name == f.Of || name == f.Group
			})
		}
		for _, row := range c.Rows {
			t.records = append(t.records, record{label: s.Label, cell: c, row: row, measured: measured})
		}
	}
	slices.SortStableFunc(t.records[before:], func(a, b record) int {
		return cmp.Or(cmp.Compare(a.cell.Cell, b.cell.Cell), cmp.Compare(a.row.Session, b.row.Session))
	})
	if len(t.records) == before {
		return errors.New("it has no rows")
	}
	return nil
}

// ErrConflict is wrapped by the error for two rows that nothing distinguishes.
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

// Origin is where the rows of one run come from.
type Origin struct {
	Run string `json:"run,omitzero"` // its label
	results.Origin
}

// Description is the metadata of a table.
type Description struct {
	Export  int      `json:"export"` // see Version
	Schema  int      `json:"schema"` // see results.Schema
	Rows    int      `json:"rows"`
	Runs    []Origin `json:"runs"`
	Columns []Column `json:"columns"`
}

// Description returns the metadata of the table. The notes of a run are its
// footnotes, including warnings that follow from the figures.
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
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("describing an export: %w", err)
	}
	return nil
}
