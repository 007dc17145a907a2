package export_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"

	"github.com/compactsim/compactsim/internal/export"
	"github.com/compactsim/compactsim/sim/results"
)

// unpack reads a Parquet file with nothing of ours: its rows by column, nil for
// null, and its metadata.
func unpack(t *testing.T, file []byte) ([]map[string]any, map[string]string) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	metadata := map[string]string{}
	for _, kv := range f.Metadata().KeyValueMetadata {
		metadata[kv.Key] = kv.Value
	}
	var list []map[string]any
	for _, group := range f.RowGroups() {
		rows := group.Rows()
		buffer := make([]parquet.Row, 100)
		for {
			n, err := rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				m := map[string]any{}
				for _, v := range row {
					m[f.Schema().Columns()[v.Column()][0]] = native(v)
				}
				list = append(list, m)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		rows.Close()
	}
	return list, metadata
}

func native(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case v.Kind() == parquet.Double:
		return v.Double()
	}
	return string(v.ByteArray())
}

func written(t *testing.T, table *export.Table, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := table.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What every format holds when it is read back is what results says of a row:
// each metric with a sample, null for one without, never 0.
func TestRoundTrip(t *testing.T) {
	run := runOf(3)
	table := tableOf(t, export.Source{Run: run})
	var want []map[string]any
	for _, c := range []*results.Cell{&run.Cells[1], &run.Cells[0]} { // cells by name
		for i := range c.Rows {
			want = append(want, expected(c, c.Rows[i]))
		}
	}
	packed, metadata := unpack(t, written(t, table, export.FormatParquet))
	compare(t, "parquet", packed, want)
	compare(t, "jsonl", parseJSONL(t, table), want)
	compare(t, "csv", parseCSV(t, table), want)

	if metadata[export.KeyExport] != "1" || metadata[export.KeySchema] != "1" {
		t.Errorf("versions in the metadata: %v", metadata)
	}
	var origins []export.Origin
	if err := json.Unmarshal([]byte(metadata[export.KeyRuns]), &origins); err != nil {
		t.Fatal(err)
	}
	if len(origins) != 1 || !reflect.DeepEqual(origins[0].Provenance, run.Provenance) || !reflect.DeepEqual(origins[0].Workload, run.Workload) {
		t.Errorf("origin %+v", origins)
	}
	if !strings.Contains(metadata[export.KeyColumns], `"definition":"price of all calls of all sources, storage included"`) {
		t.Errorf("columns in the metadata: %s", metadata[export.KeyColumns])
	}
}

// expected returns the values of a row as results gives them.
func expected(c *results.Cell, r *results.Row) map[string]any {
	m := map[string]any{"cell": c.Cell, "strategy": r.Strategy, "session": r.Session, "sessions": int64(r.Sessions),
		"expected_loss_usd": 0.0, "over_window": int64(0), "failed_compactions": int64(0), "bounded": int64(0), "unpriced_calls": int64(0), "logged_output_usd": nil, "unlogged_writes_usd": nil,
		"missed_tokens": r.MissedTokens, "hit_calls": int64(r.HitCalls), "later_calls": int64(r.LaterCalls),
		"firings":         `{"full-compact":` + strconv.Itoa(r.Firings["full-compact"]) + `}`,
		"reasons":         `{"full-compact: too few messages":` + strconv.Itoa(r.Reasons["full-compact: too few messages"]) + `}`,
		"p_trigger_fixed": nil}
	if v, ok := c.Params["trigger.fixed"]; ok {
		m["p_trigger_fixed"] = v
	}
	if slices.Contains(c.Unmeasured, "misses") {
		m["missed_tokens"] = nil
	}
	for _, metric := range results.Metrics() {
		m[metric.Name] = nil
		v, ok := c.RowValue(r, metric)
		switch {
		case !ok:
		case slices.Contains([]string{"tokens", "calls", "count"}, metric.Unit):
			m[metric.Name] = int64(v)
		default:
			m[metric.Name] = v
		}
	}
	return m
}

func compare(t *testing.T, format string, got, want []map[string]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", format, len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Errorf("%s, row %d: %d columns, want %d", format, i, len(got[i]), len(want[i]))
		}
		for name, w := range want[i] {
			if g, ok := got[i][name]; !ok || g != w {
				t.Errorf("%s, row %d: %s is %v (%T), want %v (%T)", format, i, name, g, g, w, w)
			}
		}
	}
}

func parseJSONL(t *testing.T, table *export.Table) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range bytes.Lines(written(t, table, export.FormatJSONL)) {
		var raw map[string]any
		if err := json.Unmarshal(line, &raw); err != nil {
			t.Fatal(err)
		}
		m := map[string]any{}
		for _, c := range table.Columns() {
			v, ok := raw[c.Name]
			switch {
			case !ok:
				t.Fatalf("%s is missing in %s", c.Name, line)
			case v != nil && c.Type == export.Int64:
				v = int64(v.(float64))
			case v != nil && c.Type == export.JSON:
				b, err := json.Marshal(v, json.Deterministic(true))
				if err != nil {
					t.Fatal(err)
				}
				v = string(b)
			}
			m[c.Name] = v
		}
		list = append(list, m)
	}
	return list
}

func parseCSV(t *testing.T, table *export.Table) []map[string]any {
	t.Helper()
	lines, err := csv.NewReader(bytes.NewReader(written(t, table, export.FormatCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	for _, line := range lines[1:] {
		m := map[string]any{}
		for i, c := range table.Columns() {
			var v any
			switch {
			case lines[0][i] != c.Name:
				t.Fatalf("column %d is %q, want %q", i, lines[0][i], c.Name)
			case line[i] == "":
			case c.Type == export.Int64:
				v, err = strconv.ParseInt(line[i], 10, 64)
			case c.Type == export.Double:
				v, err = strconv.ParseFloat(line[i], 64)
			default:
				v = line[i]
			}
			if err != nil {
				t.Fatal(err)
			}
			m[c.Name] = v
		}
		list = append(list, m)
	}
	return list
}

// The same runs give the same bytes, whatever the order of their rows and
// cells and the number of processors, also over several row groups.
func TestSameBytes(t *testing.T) {
	bytesOf := func(shuffle bool, processors int) map[string][]byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		run := runOf(150)
		if shuffle {
			slices.Reverse(run.Cells)
			for i := range run.Cells {
				slices.Reverse(run.Cells[i].Rows)
			}
		}
		table := tableOf(t, export.Source{Run: run})
		table.SetGroup(70)
		all := map[string][]byte{}
		for _, format := range export.Formats() {
			all[format] = written(t, table, format)
		}
		return all
	}
	one, other := bytesOf(false, 1), bytesOf(true, 5)
	for format, b := range one {
		if !bytes.Equal(b, other[format]) {
			t.Errorf("%s differs", format)
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(one[export.FormatParquet]), int64(len(one[export.FormatParquet])))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(f.RowGroups()); got != 5 || f.NumRows() != 300 { // 4 × 70 + 20
		t.Errorf("%d rows in %d groups, want 300 in 5", f.NumRows(), got)
	}
}

// Labels tell runs apart that have the same cells and sessions.
func TestLabels(t *testing.T) {
	run := runOf(2)
	if _, err := export.New([]export.Source{{Run: run}, {Run: run}}); !errors.Is(err, export.ErrConflict) ||
		!strings.Contains(err.Error(), `cell "auto-compact/167k trigger.fixed=90000" and session "session-0000000"`) {
		t.Errorf("the same run twice: %v", err)
	}
	if _, err := export.New([]export.Source{{Label: "a", Run: run}, {Label: "a", Run: run}}); !errors.Is(err, export.ErrConflict) ||
		!strings.Contains(err.Error(), `of run "a"`) {
		t.Errorf("the same label twice: %v", err)
	}
	table := tableOf(t, export.Source{Label: "before", Run: run}, export.Source{Run: run})
	rows, _ := unpack(t, written(t, table, export.FormatParquet))
	if table.Len() != 8 || rows[0]["run"] != "before" || rows[4]["run"] != nil {
		t.Errorf("%d rows, runs %v and %v", table.Len(), rows[0]["run"], rows[4]["run"])
	}
}

// What cannot be exported is refused, and the error says where.
func TestRefused(t *testing.T) {
	with := func(change func(*results.Run)) *results.Run {
		run := runOf(1)
		change(run)
		return run
	}
	for _, tc := range []struct {
		name string
		run  *results.Run
		want string
	}{
		{"no rows", &results.Run{Cells: []results.Cell{{Cell: "none", Strategy: "none"}}}, "it has no rows"},
		{"no cells", &results.Run{}, "it has no rows"},
		{"not a number", with(func(r *results.Run) { r.Cells[1].Rows[0].StorageUSD = math.NaN() }), "storage_usd is NaN"},
		{"infinite", with(func(r *results.Run) { r.Cells[1].Rows[0].Waits[0] = math.Inf(1) }), "compaction is +Inf"},
		{"negative", with(func(r *results.Run) { r.Cells[1].Rows[0].Calls = -1 }), "calls is -1"},
		{"a cell twice", with(func(r *results.Run) { r.Cells[1].Cell = "recorded" }), `"recorded" occurs twice`},
	} {
		_, err := export.New([]export.Source{{Label: "mine", Run: tc.run}})
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `exporting run "mine"`) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if _, err := export.New(nil); err == nil {
		t.Error("no run at all is exported")
	}
}

// A run that changes under a table is found out when it is written.
func TestChangedRun(t *testing.T) {
	run := runOf(1)
	table := tableOf(t, export.Source{Run: run})
	run.Cells[1].Rows[0].CostByClass[0] = math.Inf(1)
	for _, format := range export.Formats() {
		err := table.Write(io.Discard, format)
		if err == nil || !strings.Contains(err.Error(), `session "session-0000000": cost_usd is +Inf`) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// Names of columns are unique whatever the case, and need no quotes in a
// query; parameters do not take the place of metrics.
func TestColumnNames(t *testing.T) {
	run := runOf(1)
	run.Cells[0].Params = map[string]string{"a.b": "1", "a-b": "2", "A b": "", "a_b_2": "4"}
	seen := map[string]bool{}
	var parameters []string
	for _, c := range tableOf(t, export.Source{Label: "x", Run: run}).Columns() {
		name := strings.ToLower(c.Name)
		if seen[name] {
			t.Errorf("column %s occurs twice", name)
		}
		seen[name] = true
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("column %q needs quotes", c.Name)
		}
		if strings.HasPrefix(name, "p_") {
			parameters = append(parameters, c.Name)
		}
	}
	if want := []string{"p_A_b", "p_a_b_2", "p_a_b_3", "p_a_b_2_2", "p_trigger_fixed"}; !slices.Equal(parameters, want) {
		t.Errorf("parameters %q, want %q", parameters, want)
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]string{"a.csv": "csv", "x/y.parquet": "parquet", "rows.jsonl": "jsonl"} {
		if got, err := export.FormatOf(name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"a.xlsx", "a", "a.csv.gz", "a.CSV"} {
		if _, err := export.FormatOf(name); err == nil || !strings.Contains(err.Error(), ".jsonl, .csv, .parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tableOf(t, export.Source{Run: runOf(1)}).Write(io.Discard, "xml"); err == nil {
		t.Error("a format nobody knows is written")
	}
}
