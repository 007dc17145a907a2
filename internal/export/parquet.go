package export

import (
	"fmt"
	"io"
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

// parquet writes the rows in groups.
func (t *Table) parquet(w io.Writer) error {
	options, err := t.options()
	if err != nil {
		return err
	}
	pw := parquet.NewGenericWriter[any](w, options...)
	for rows := range slices.Chunk(t.records, t.group) {
		if err := t.encode(pw.ColumnWriters(), rows); err != nil {
			return err
		}
		if err := pw.Flush(); err != nil {
			return err
		}
	}
	return pw.Close()
}

// options returns the schema and the metadata.
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
	schema := ordered{Group: parquet.Group{}}
	for i := range t.columns {
		c := &t.columns[i]
		node := c.node()
		if c.Nullable {
			node = parquet.Optional(node)
		}
		schema.Group[c.Name] = node
		schema.names = append(schema.names, c.Name)
	}
	return []parquet.WriterOption{
		parquet.NewSchema("rows", schema),
		parquet.Compression(&parquet.Snappy),
		parquet.CreatedBy("compactsim", strconv.Itoa(Version), ""),
		parquet.KeyValueMetadata(KeyExport, strconv.Itoa(Version)),
		parquet.KeyValueMetadata(KeySchema, strconv.Itoa(results.Schema)),
		parquet.KeyValueMetadata(KeyRuns, string(runs)),
		parquet.KeyValueMetadata(KeyColumns, string(columns)),
	}, nil
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

// ordered is a group whose fields keep the order of the table instead of being
// sorted by name.
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
// while one column after another reads them.
const blockRows = 64

// encode fills a row group. Its columns are independent and are divided among
// the processors.
func (t *Table) encode(columns []*parquet.ColumnWriter, rows []record) error {
	shares := min(runtime.GOMAXPROCS(0), len(columns))
	errs := make([]error, shares)
	var all sync.WaitGroup
	for k := range shares {
		all.Go(func() {
			from, to := k*len(columns)/shares, (k+1)*len(columns)/shares
			values := make([]parquet.Value, blockRows)
			for block := range slices.Chunk(rows, blockRows) {
				for j := from; j < to && errs[k] == nil; j++ {
					errs[k] = t.columns[j].encode(columns[j], values[:len(block)], block, j)
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err // the first column's, as with one share
		}
	}
	return nil
}

// encode writes the values of a column for some rows; values is its buffer. A
// text that repeats from row to row, such as the name of a cell, is made once.
func (c *Column) encode(w *parquet.ColumnWriter, values []parquet.Value, rows []record, column int) error {
	level := 0 // of definition
	if c.Nullable {
		level = 1
	}
	var last string
	var text parquet.Value
	for i := range rows {
		if c.figure == nil {
			s, ok := c.text(&rows[i])
			if ok && (s != last || text.IsNull()) {
				last, text = s, parquet.ByteArrayValue([]byte(s)).Level(0, level, column)
			}
			if values[i] = text; !ok {
				values[i] = parquet.NullValue().Level(0, 0, column)
			}
			continue
		}
		v, ok, err := c.number(&rows[i])
		switch {
		case err != nil:
			return err
		case !ok:
			values[i] = parquet.NullValue().Level(0, 0, column)
		case c.Type == Int64:
			values[i] = parquet.Int64Value(int64(v)).Level(0, level, column)
		default:
			values[i] = parquet.DoubleValue(v).Level(0, level, column)
		}
	}
	if _, err := w.WriteRowValues(values); err != nil {
		return fmt.Errorf("column %s: %w", c.Name, err)
	}
	return nil
}
