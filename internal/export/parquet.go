package export

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"

	"github.com/compactsim/compactsim/sim/results"
)

// Keys of the metadata of a Parquet file.
const (
	KeyExport  = "sim.export"  // Version
	KeySchema  = "sim.schema"  // results.Schema
	KeyRuns    = "sim.runs"    // JSON: an Origin for each run
	KeyColumns = "sim.columns" // JSON: a Column for each column
)

// parquet writes the rows in groups. Groups are encoded at the same time and
// committed in order, so that the bytes do not depend on how many are.
func (t *Table) parquet(w io.Writer) error {
	options, err := t.options()
	if err != nil {
		return err
	}
	pw := parquet.NewGenericWriter[any](w, options...)
	type group struct {
		writer *parquet.ConcurrentRowGroupWriter
		done   chan error
	}
	var pending []group
	commit := func() error {
		g := pending[0]
		pending = pending[1:]
		if err := <-g.done; err != nil {
			return err
		}
		_, err := g.writer.Commit()
		return err
	}
	for at := 0; at < len(t.records) && err == nil; at += t.group {
		g := group{pw.BeginRowGroup(), make(chan error, 1)}
		rows := t.records[at:min(at+t.group, len(t.records))]
		go func() { g.done <- t.encode(g.writer, rows) }()
		if pending = append(pending, g); len(pending) >= runtime.GOMAXPROCS(0) {
			err = commit()
		}
	}
	for len(pending) > 0 && err == nil {
		err = commit()
	}
	for _, g := range pending { // none unless a commit failed
		err = errors.Join(err, <-g.done)
	}
	if err != nil {
		return err
	}
	return pw.Close()
}

// options returns the schema and what the file says of itself.
func (t *Table) options() ([]parquet.WriterOption, error) {
	d := t.Description()
	runs, err := json.Marshal(d.Runs, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	columns, err := json.Marshal(d.Columns, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	return []parquet.WriterOption{
		t.schema(),
		parquet.Compression(&parquet.Snappy),
		parquet.CreatedBy("compactsim", strconv.Itoa(Version), ""),
		parquet.KeyValueMetadata(KeyExport, strconv.Itoa(Version)),
		parquet.KeyValueMetadata(KeySchema, strconv.Itoa(results.Schema)),
		parquet.KeyValueMetadata(KeyRuns, string(runs)),
		parquet.KeyValueMetadata(KeyColumns, string(columns)),
	}, nil
}

func (t *Table) schema() *parquet.Schema {
	o := ordered{Group: parquet.Group{}}
	for i := range t.columns {
		c := &t.columns[i]
		node := c.node()
		if c.Nullable {
			node = parquet.Optional(node)
		}
		o.Group[c.Name] = node
		o.names = append(o.names, c.Name)
	}
	return parquet.NewSchema("rows", o)
}

// node returns the Parquet type of a column.
func (c *Column) node() parquet.Node {
	switch c.Type {
	case Int64:
		return parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
	case Double:
		return parquet.Leaf(parquet.DoubleType)
	case JSON:
		return parquet.Encoded(parquet.JSON(), &parquet.RLEDictionary)
	}
	return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
}

// ordered is a group whose fields stay in the order of the table instead of
// being sorted by name.
type ordered struct {
	parquet.Group
	names []string
}

// Fields returns the columns in order.
func (o ordered) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range o.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(o.names))
	for i, name := range o.names {
		fields[i] = byName[name]
	}
	return fields
}

// blockRows is the number of rows whose columns are filled in turn. A row has
// some kilobytes of figures: those of a block stay in the processor's cache
// while column after column asks for them.
const blockRows = 64

// encode fills a row group: its columns, which know nothing of each other, in as
// many shares as there are processors.
func (t *Table) encode(g *parquet.ConcurrentRowGroupWriter, rows []record) error {
	columns := g.ColumnWriters()
	shares := min(runtime.GOMAXPROCS(0), len(columns))
	errs := make([]error, shares)
	var all sync.WaitGroup
	for k := range shares {
		from, to := k*len(columns)/shares, (k+1)*len(columns)/shares
		all.Go(func() { errs[k] = t.encodeColumns(columns[from:to], from, rows) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err // of the first column, as with one share
		}
	}
	return nil
}

// encodeColumns fills columns from a place in the table on.
func (t *Table) encodeColumns(columns []*parquet.ColumnWriter, from int, rows []record) error {
	values := make([]parquet.Value, blockRows)
	for block := range slices.Chunk(rows, blockRows) {
		for j, w := range columns {
			c := &t.columns[from+j]
			if err := c.fill(values[:len(block)], block, from+j); err != nil {
				return err
			}
			if _, err := w.WriteRowValues(values[:len(block)]); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
		}
	}
	return nil
}

// fill sets the values of a column. Most figures are those of the row above, 0 above
// all: a value is made again only where its bits are others.
func (c *Column) fill(values []parquet.Value, rows []record, column int) error {
	if c.figure == nil {
		c.fillTexts(values, rows, column)
		return nil
	}
	level, null := c.levels(column)
	var last uint64
	var made parquet.Value
	for i := range rows {
		v, ok, err := c.number(&rows[i])
		bits := math.Float64bits(v)
		switch {
		case err != nil:
			return err
		case !ok:
			values[i] = null
			continue
		case bits == last && !made.IsNull():
		case c.Type == Int64:
			last, made = bits, parquet.Int64Value(int64(v)).Level(0, level, column)
		default:
			last, made = bits, parquet.DoubleValue(v).Level(0, level, column)
		}
		values[i] = made
	}
	return nil
}

// fillTexts sets the values of a column of texts. One that stands in row after row,
// as the name of a cell does, is made once.
func (c *Column) fillTexts(values []parquet.Value, rows []record, column int) {
	level, null := c.levels(column)
	var last string
	var made parquet.Value
	for i := range rows {
		s, ok := c.text(&rows[i])
		switch {
		case !ok:
			values[i] = null
			continue
		case s != last || made.IsNull():
			last, made = s, parquet.ByteArrayValue([]byte(s)).Level(0, level, column)
		}
		values[i] = made
	}
}

// levels returns the definition level of a value, 1 in a column that can be null,
// else 0, and null, which has 0.
func (c *Column) levels(column int) (level int, null parquet.Value) {
	if c.Nullable {
		level = 1
	}
	return level, parquet.NullValue().Level(0, 0, column)
}
