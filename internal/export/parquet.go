package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/sim/results"
)

// Keys of the metadata of a Parquet file.
const (
	KeyExport  = "sim.export"  // Version
	KeySchema  = "sim.schema"  // results.Schema
	KeyRuns    = "sim.runs"    // JSON: an Origin for each run
	KeyColumns = "sim.columns" // JSON: a Column for each column
)

// The numbers of the Parquet format that the files use, from parquet.thrift of
// apache/parquet-format.
const (
	magic = "PAR1"

	encodingPlain = 0
	encodingRLE   = 3
	codecZstd     = 6
)

// parquetTypes are the physical and the converted type of the columns of a type, −1
// for no converted type.
var parquetTypes = map[Type]struct{ physical, converted int64 }{
	Int64: {2, 18}, Double: {5, -1}, String: {6, 0}, JSON: {6, 19},
}

// chunk is a column in a row group as the footer lists it.
type chunk struct {
	at            int64 // of its page in the file
	plain, packed int64 // bytes, page header included
}

// group is a row group as the footer lists it.
type group struct {
	rows   int
	chunks []chunk
}

// parquet writes the rows in groups, each column of a group as one page of plain values
// that Zstandard compresses.
func (t *Table) parquet(w io.Writer) error {
	metadata, err := t.metadata()
	if err != nil {
		return err
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	defer zip.Close()
	if _, err := io.WriteString(w, magic); err != nil {
		return err
	}
	at := int64(len(magic))
	var groups []group
	for rows := range slices.Chunk(t.records, t.group) {
		g := group{rows: len(rows)}
		for j := range t.columns {
			page, err := t.columns[j].page(rows)
			if err != nil {
				return err
			}
			packed := zip.EncodeAll(page, nil)
			head := pageHeader(len(rows), len(page), len(packed))
			c := chunk{at, int64(len(head) + len(page)), int64(len(head) + len(packed))}
			if _, err := w.Write(append(head, packed...)); err != nil {
				return err
			}
			at += c.packed
			g.chunks = append(g.chunks, c)
		}
		groups = append(groups, g)
	}
	footer := t.footer(groups, metadata)
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	_, err = w.Write(append(footer, magic...))
	return err
}

// metadata returns what the file says of itself, as keys and values in turn.
func (t *Table) metadata() ([]string, error) {
	d := t.Description()
	runs, err := json.Marshal(d.Runs, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("provenance: %w", err)
	}
	columns, err := json.Marshal(d.Columns, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	return []string{KeyExport, strconv.Itoa(Version), KeySchema, strconv.Itoa(results.Schema),
		KeyRuns, string(runs), KeyColumns, string(columns)}, nil
}

// page returns the values of a column for some rows, with runs of rows that have one
// or are null ahead of them when the column is nullable.
func (c *Column) page(rows []record) ([]byte, error) {
	var values, runs []byte
	run, was := 0, false
	for i := range rows {
		before := len(values)
		var ok bool
		if c.figure == nil {
			var s string
			if s, ok = c.text(&rows[i]); ok {
				values = binary.LittleEndian.AppendUint32(values, uint32(len(s)))
				values = append(values, s...)
			}
		} else {
			var v float64
			var err error
			if v, ok, err = c.number(&rows[i]); err != nil {
				return nil, err
			}
			bits := math.Float64bits(v)
			if c.Type == Int64 {
				bits = uint64(int64(v))
			}
			values = binary.LittleEndian.AppendUint64(values, bits)
			if !ok {
				values = values[:before]
			}
		}
		if ok != was {
			runs, run, was = levels(runs, run, was), 0, ok
		}
		run++
	}
	if !c.Nullable {
		return values, nil
	}
	runs = levels(runs, run, was)
	return slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs, values), nil
}

// levels appends a run of the run-length encoding: rows that have a value, or do not.
func levels(b []byte, rows int, present bool) []byte {
	if rows == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(rows)<<1)
	if present {
		return append(b, 1)
	}
	return append(b, 0)
}

// pageHeader returns the header of a page.
func pageHeader(values, plain, packed int) []byte {
	var t thrift
	t.structure(func() {
		t.int(1, typeInt32, 0) // a data page
		t.int(2, typeInt32, int64(plain))
		t.int(3, typeInt32, int64(packed))
		t.field(5, typeStruct)
		t.structure(func() {
			t.int(1, typeInt32, int64(values))
			t.int(2, typeInt32, encodingPlain)
			t.int(3, typeInt32, encodingRLE) // of rows that have a value
			t.int(4, typeInt32, encodingRLE) // of repetitions, of which there are none
		})
	})
	return t.Bytes()
}

// footer returns the metadata of the file.
func (t *Table) footer(groups []group, metadata []string) []byte {
	var f thrift
	f.structure(func() {
		f.int(1, typeInt32, 2) // version of the format
		t.schema(&f)
		f.int(3, typeInt64, int64(len(t.records)))
		f.list(4, typeStruct, len(groups))
		for _, g := range groups {
			f.structure(func() { t.rowGroup(&f, g) })
		}
		f.list(5, typeStruct, len(metadata)/2)
		for kv := range slices.Chunk(metadata, 2) {
			f.structure(func() {
				f.text(1, kv[0])
				f.text(2, kv[1])
			})
		}
		f.text(6, "compactsim version "+strconv.Itoa(Version))
	})
	return f.Bytes()
}

// schema writes the columns, under the root that has them.
func (t *Table) schema(f *thrift) {
	f.list(2, typeStruct, 1+len(t.columns))
	f.structure(func() {
		f.text(4, "rows")
		f.int(5, typeInt32, int64(len(t.columns)))
	})
	for i := range t.columns {
		c := &t.columns[i]
		kind := parquetTypes[c.Type]
		f.structure(func() {
			f.int(1, typeInt32, kind.physical)
			f.int(3, typeInt32, map[bool]int64{false: 0, true: 1}[c.Nullable]) // required or optional
			f.text(4, c.Name)
			if kind.converted >= 0 {
				f.int(6, typeInt32, kind.converted)
			}
		})
	}
}

// rowGroup writes where the columns of a row group are.
func (t *Table) rowGroup(f *thrift, g group) {
	f.list(1, typeStruct, len(g.chunks))
	var plain int64
	for i, c := range g.chunks {
		column := &t.columns[i]
		plain += c.plain
		f.structure(func() {
			f.int(2, typeInt64, c.at)
			f.field(3, typeStruct)
			f.structure(func() {
				f.int(1, typeInt32, parquetTypes[column.Type].physical)
				f.list(2, typeInt32, 2)
				f.number(encodingPlain)
				f.number(encodingRLE)
				f.list(3, typeBinary, 1)
				f.string(column.Name)
				f.int(4, typeInt32, codecZstd)
				f.int(5, typeInt64, int64(g.rows))
				f.int(6, typeInt64, c.plain)
				f.int(7, typeInt64, c.packed)
				f.int(9, typeInt64, c.at)
			})
		})
	}
	f.int(2, typeInt64, plain)
	f.int(3, typeInt64, int64(g.rows))
}

// thrift writes structures in the compact protocol of Apache Thrift.
type thrift struct {
	bytes.Buffer
	last int // field of the structure
}

// Types of fields.
const (
	typeInt32  = 5
	typeInt64  = 6
	typeBinary = 8
	typeList   = 9
	typeStruct = 12
)

// structure writes the fields of a structure, and its end.
func (t *thrift) structure(fields func()) {
	outer := t.last
	t.last = 0
	fields()
	t.WriteByte(0)
	t.last = outer
}

// field begins a field with a number at most 15 above that of the one before.
func (t *thrift) field(id, kind int) {
	t.WriteByte(byte((id-t.last)<<4 | kind))
	t.last = id
}

// list begins a field that is a list of n elements, which follow.
func (t *thrift) list(id, kind, n int) {
	t.field(id, typeList)
	if n < 15 {
		t.WriteByte(byte(n<<4 | kind))
		return
	}
	t.WriteByte(byte(15<<4 | kind))
	t.Write(binary.AppendUvarint(nil, uint64(n)))
}

func (t *thrift) int(id, kind int, v int64) {
	t.field(id, kind)
	t.number(v)
}

func (t *thrift) number(v int64) { t.Write(binary.AppendVarint(nil, v)) }

func (t *thrift) text(id int, s string) {
	t.field(id, typeBinary)
	t.string(s)
}

func (t *thrift) string(s string) {
	t.Write(binary.AppendUvarint(nil, uint64(len(s))))
	t.WriteString(s)
}
