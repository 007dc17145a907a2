package results

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// sameRows compares what is exported of cells.
var sameRows = cmp.Options{
	cmpopts.IgnoreUnexported(Cell{}), cmp.Transformer("List", func(rows Rows) []*Row { return rows.List() }),
}

// full is a run that uses every field.
func full() *Run {
	r := &Run{
		Provenance: Provenance{Version: "v1", Seed: math.MaxUint64, SessionsDigest: "d", Prices: "2026-04-01",
			Switches: map[string]string{"b": "2", "a": "1"}},
		Workload: Workload{Sessions: 2, Calls: 82, Models: []string{"m|<&>", "n"}, First: "2026-01-01", Last: "2026-01-02",
			PricesAt: "call date", Quality: []Share{{"tokens", "unseen", 0.08}}, Remarks: []string{"é\n\u2028"}},
		Notes: []Note{{Cell: "recorded", Metric: "misses", Text: "text"}, {Text: "all", Detail: true}},
		Cells: []Cell{
			{Cell: "recorded", Strategy: "recorded", Params: map[string]string{"k": "v"}},
			{Cell: "billed", Strategy: "billed", Unmeasured: []string{"misses"}},
		},
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Rows = Rows{}.With(sample(c.Strategy, "s1"), sample(c.Strategy, "s2"))
		c.Rows.Edit(1, func(r *Row) { r.Figures[measures.StorageUSD] = 0.1 })
	}
	r.Sum()
	return r
}

// TestDocumentForm pins the form that scripts read.
func TestDocumentForm(t *testing.T) {
	r := &Run{Provenance: Provenance{Version: "v1", Seed: 3},
		Cells: []Cell{{Cell: "recorded", Strategy: "recorded", Sessions: 45, Params: map[string]string{"b": "1", "a": "2"}}}}
	d, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	d.Cells[0].Metrics = map[string]float64{"cost_usd": 1234.5, "calls": 3}
	var b bytes.Buffer
	if err := WriteDocument(&b, d); err != nil {
		t.Fatal(err)
	}
	want := `{"schema":2,"provenance":{"version":"v1","seed":3,"sessions_digest":"","prices":"","workload":{"sessions":0,"calls":0}},"cells":[
{"cell":"recorded","strategy":"recorded","params":{"a":"2","b":"1"},"sessions":45,"metrics":{"calls":3,"cost_usd":1234.5},"intervals":{}}
]}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
}

func TestDocumentRoundTrip(t *testing.T) {
	d, err := full().Document()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Cells[1].Metrics["misses"]; ok {
		t.Error("a metric without a sample is in the document")
	}
	if diff := cmp.Diff(map[string]int{"full-compact": 14, "microcompact": 16}, d.Cells[0].Firings); diff != "" {
		t.Errorf("firings of two sessions (-want +got):\n%s", diff)
	}
	d.Cells[0].Intervals = map[string]Interval{"cost_usd": {1, 2, 0.95}}
	var b bytes.Buffer
	if err := WriteDocument(&b, d); err != nil {
		t.Fatal(err)
	}
	got, err := ReadDocument("run.json", bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got, cmpopts.EquateEmpty(), sameRows); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
}

// TestSampleIsFull keeps the round trip honest: a figure that sample leaves at
// zero could be missing from the codec unseen.
func TestSampleIsFull(t *testing.T) {
	r := sample("x", "s")
	for i := range reflect.TypeFor[Row]().NumField() {
		if reflect.ValueOf(*r).Field(i).IsZero() {
			t.Errorf("sample does not set %s", reflect.TypeFor[Row]().Field(i).Name)
		}
	}
	var zero []string
	rowForm.Each(func(m *jsonlines.Member) {
		if m.Kind != jsonlines.Small && r.Figures[m.At] == 0 || m.Kind == jsonlines.Small && r.Breaks.Matrix()[m.At] == 0 {
			zero = append(zero, m.Name)
		}
	})
	// Writes have one source, and a hit is no miss.
	zero = slices.DeleteFunc(zero, func(name string) bool { return strings.HasPrefix(name, "write_") || name == "none" })
	if len(zero) > 0 {
		t.Errorf("sample does not set %v", zero)
	}
}

func TestRowsRoundTrip(t *testing.T) {
	want := full()
	var b bytes.Buffer
	if err := WriteRows(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRows("rows.jsonl", bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), sameRows); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
}

// TestRowsCanonical: the file is sorted by cell and session whatever the order
// in memory, and rows in order of completion read as the same run.
func TestRowsCanonical(t *testing.T) {
	var want, shuffled bytes.Buffer
	if err := WriteRows(&want, full()); err != nil {
		t.Fatal(err)
	}
	r := full()
	for i := range r.Cells {
		rows := r.Cells[i].Rows.List()
		slices.Reverse(rows)
		r.Cells[i].Rows = Rows{}.With(rows...)
	}
	if err := WriteRows(&shuffled, r); err != nil {
		t.Fatal(err)
	}
	if want.String() != shuffled.String() {
		t.Error("canonical rows depend on the order in memory")
	}
	var order []string
	for _, l := range strings.Split(want.String(), "\n")[1:5] {
		order = append(order, l[:strings.Index(l, `,"sessions"`)])
	}
	if diff := cmp.Diff([]string{
		`{"cell":"billed","strategy":"billed","session":"s1","loop":"closed","organisation":"acme"`,
		`{"cell":"billed","strategy":"billed","session":"s2","loop":"closed","organisation":"acme"`,
		`{"cell":"recorded","strategy":"recorded","session":"s1","loop":"closed","organisation":"acme"`,
		`{"cell":"recorded","strategy":"recorded","session":"s2","loop":"closed","organisation":"acme"`,
	}, order); diff != "" {
		t.Errorf("order of rows (-want +got):\n%s", diff)
	}

	lines := strings.SplitAfter(want.String(), "\n")
	slices.Reverse(lines[1 : len(lines)-1])
	got, err := ReadRows("rows", strings.NewReader(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), got, cmpopts.EquateEmpty(), sameRows); diff != "" {
		t.Errorf("rows in another order read as another run (-want +got):\n%s", diff)
	}
}

// TestTornRows: the rows before a torn last line are not lost.
func TestTornRows(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRows(&b, full()); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRows("rows", bytes.NewReader(b.Bytes()[:b.Len()-100]))
	if err == nil || !strings.HasPrefix(err.Error(), "rows:5: ") {
		t.Errorf("error %v, want one at rows:5", err)
	}
	if got == nil || got.Cells[1].Rows.Len() != 2 || got.Cells[0].Rows.Len() != 1 || got.Cells[0].Sessions != 1 {
		t.Errorf("got %+v, want the three rows before the torn one", got)
	}
}

// TestEncodeRefuses: figures that JSON cannot carry or no run can have.
func TestEncodeRefuses(t *testing.T) {
	for _, test := range []struct {
		name, want string
		change     func(*Run)
	}{
		{"NaN cost", "cost_usd_by_class.read is NaN", func(r *Run) {
			r.Cells[0].Rows.Edit(0, func(r *Row) { r.CostByClass()[measures.ClassRead] = math.NaN() })
		}},
		{"infinite cost by source", "cost_usd_by_source.agent.uncached is +Inf",
			func(r *Run) {
				r.Cells[0].Rows.Edit(0, func(r *Row) { r.CostBy(measures.SourceAgent)[0] = math.Inf(1) })
			}},
		{"infinite wait", "added_latency_seconds is -Inf", func(r *Run) {
			r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.AddedLatency] = math.Inf(-1) })
		}},
		{"negative tokens", "tokens.read is -5", func(r *Run) {
			r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.Tokens+measures.ID(measures.ClassRead)] = -5 })
		}},
		{"negative count of the row", "counts.dreams is -1", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.Dreams] = float64(-1) }) }},
		{"negative firings", "firings.dream is -2", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Firings = map[string]int{"dream": -2} }) }},
		{"negative reasons", "reasons.dream: locked is -3", func(r *Run) {
			r.Cells[0].Rows.Edit(0, func(r *Row) { r.Reasons = map[string]int{"dream: locked": -3} })
		}},
		{"NaN at a level", "seconds_at_level.warning is NaN", func(r *Run) {
			r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.SecondsAt+measures.ID(measures.LevelWarning)] = math.NaN() })
		}},
		{"infinite part", "added_latency_seconds_by_part.first_token is +Inf",
			func(r *Run) {
				r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.Waits+measures.ID(measures.WaitFirstToken)] = math.Inf(1) })
			}},
		{"negative cost", "cost_usd_by_class.read is -1", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.CostByClass()[measures.ClassRead] = -1 }) }},
		{"negative cost of a source", "cost_usd_by_source.main.read is -0.5",
			func(r *Run) {
				r.Cells[0].Rows.Edit(0, func(r *Row) { r.CostBy(measures.SourceMain)[measures.ClassRead] = -0.5 })
			}},
		{"negative storage", "storage_usd is -0.1", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.StorageUSD] = -0.1 }) }},
		{"negative time at a level", "seconds_at_level.error is -1", func(r *Run) {
			r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.SecondsAt+measures.ID(measures.LevelError)] = -1 })
		}},
		{"absurd cost", "cost_usd_by_class.output is 1e+103", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.CostByClass()[measures.ClassOutput] = 1e103 }) }},
		{"absurd wait", "added_latency_seconds is -1e+20", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.AddedLatency] = -1e20 }) }},
		{"absurd calls", "calls is 1152921504606847232", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Figures[measures.Calls] = float64(1 << 60) }) }},
		{"repeated cell", `cell "recorded" occurs twice`, func(r *Run) { r.Cells[1].Cell = "recorded" }},
		{"cell without a name", "need a name", func(r *Run) { r.Cells[1].Cell = "" }},
		{"unknown unmeasured metric", `unknown unmeasured metric "regret"`, func(r *Run) { r.Cells[1].Unmeasured = []string{"regret"} }},
		{"note on no cell", `unknown cell "x"`, func(r *Run) { r.Notes[0].Cell = "x" }},
		{"NaN share", "share of tokens unseen is NaN", func(r *Run) { r.Workload.Quality[0].Value = math.NaN() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := full()
			test.change(r)
			r.Sum()
			var b bytes.Buffer
			if err := WriteRows(&b, r); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("rows: error %v, want one about %q", err, test.want)
			}
			if _, err := r.Document(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("document: error %v, want one about %q", err, test.want)
			}
		})
	}
}

func TestRowsRefuses(t *testing.T) {
	for _, test := range []struct {
		name, want string
		change     func(*Run)
	}{
		{"no session", "without a session", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Session = "" }) }},
		{"repeated session", "two rows of one session", func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Session = "s2" }) }},
		{"another strategy", `row of strategy "none" in a cell of "recorded"`, func(r *Run) { r.Cells[0].Rows.Edit(0, func(r *Row) { r.Strategy = "none" }) }},
		{"total without rows", "no rows", func(r *Run) { r.Cells[0].Rows = Rows{} }},
	} {
		r := full()
		test.change(r)
		var b bytes.Buffer
		if err := WriteRows(&b, r); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", test.name, err, test.want)
		}
	}
}

// TestReadErrors: each error begins with the file and, for rows and syntax, the
// line.
func TestReadErrors(t *testing.T) {
	const head, row = bareHead, bareRow
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "f:1: empty file"},
		{"not JSON", "# rows\n", "f:1: "},
		{"no schema", "{}\n", "f:1: no schema"},
		{"later schema", strings.Replace(head, `:2,"prov`, `:3,"later":1,"prov`, 1), "f:1: schema 3, this version reads schema 2"},
		{"empty line", head + row + "\n", "f:3: empty line"},
		{"repeated row", head + row + row, `f:3: second row of cell "c", session "a"`},
		{"unknown cell", head + strings.Replace(row, `"c"`, `"d"`, 1), `f:2: cell "d" is not in the head`},
		{"other strategy", head + strings.Replace(row, `"s"`, `"t"`, 1), "f:2: row of strategy"},
		{"unknown kind of token", head + with(t, `"tokens":{}`, `"tokens":{"write_24h":1}`), `f:2: tokens.write_24h is not known`},
		{"unknown kind of token of a source", head + with(t, `"tokens_by_source":{}`, `"tokens_by_source":{"main":{"y":1}}`), `f:2: tokens_by_source.main.y is not known`},
		{"member of a later version", head + with(t, `"unpriced_calls":0`, `"retained":1,"unpriced_calls":0`), `f:2: retained is not known: of a later version of sim`},
		{"source of a later version", head + with(t, `"calls_by_source":{}`, `"calls_by_source":{"nap":1}`), `f:2: calls_by_source.nap is not known`},
		{"head of a later version", strings.Replace(head, `"workload":{`, `"workload":{"later":[{"a":1}],`, 1) + row,
			"f:1: provenance.workload.later is not known: of a later version of sim"},
		{"duplicate member", head + with(t, `"calls":0`, `"calls":0,"calls":0`), "f:2: "},
		{"unknown class", head + with(t, `"cost_usd_by_class":{}`, `"cost_usd_by_class":{"raed":1}`), `f:2: cost_usd_by_class.raed is not known`},
		{"unknown class of a source", head + with(t, `"cost_usd_by_source":{}`, `"cost_usd_by_source":{"main":{"x":1}}`), `f:2: cost_usd_by_source.main.x is not known`},
		{"firings of text", head + with(t, `"unpriced_calls":0`, `"firings":{"dream":"1"},"unpriced_calls":0`), "f:2: "},
		{"negative", head + with(t, `"calls":0`, `"calls":-1`), "f:2: calls is -1"},
		{"NaN", head + with(t, `"storage_usd":0`, `"storage_usd":NaN`), "f:2: "},
		{"out of range", head + with(t, `"storage_usd":0`, `"storage_usd":1e999`), "f:2: "},
		{"invalid UTF-8", head + strings.Replace(row, `"a"`, "\"\xff\"", 1), "f:2: "},
		{"two values on a line", head + strings.TrimSpace(row) + row, "f:2: "},
	} {
		if _, err := ReadRows("f", strings.NewReader(test.data)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("rows, %s: error %v, want it to begin %q", test.name, err, test.want)
		}
	}
	const cell = `{"cell":"c","strategy":"s","params":{},"sessions":1,"metrics":{},"intervals":{}}`
	doc := func(cells string) string {
		return `{"schema":2,"provenance":{"version":"","seed":0,"sessions_digest":"","prices":"","workload":{"sessions":0,"calls":0}},"cells":[` + cells + "\n]}"
	}
	if _, err := ReadDocument("f", strings.NewReader(doc(cell))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "f:1: "},
		{"later schema", strings.Replace(doc(cell), `:2,"prov`, `:3,"later":1,"prov`, 1), "f:1: schema 3"},
		{"torn", doc(cell)[:200], "f:1: "},
		{"later version", doc("\n" + strings.Replace(cell, `"metrics"`, `"later":1,"metrics"`, 1)), "f:2: cells.0.later is not known: of a later version of sim"},
		{"trailing", doc(cell) + "\n{}", "f:3: "},
		{"repeated cell", doc(cell + "," + cell), `f: cell "c" occurs twice`},
		{"unnamed cell", doc(strings.Replace(cell, `"c"`, `""`, 1)), "f: cell 1 has no name"},
		{"metric of text", doc("\n" + strings.Replace(cell, `"metrics":{}`, `"metrics":{"calls":"3"}`, 1)), "f:2: "},
	} {
		if _, err := ReadDocument("f", strings.NewReader(test.data)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("document, %s: error %v, want it to begin %q", test.name, err, test.want)
		}
	}
}

// FuzzReadRows: what is read without an error is written and read back as the
// same run, in bytes that do not change any more.
func FuzzReadRows(f *testing.F) {
	var b bytes.Buffer
	if err := WriteRows(&b, full()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := ReadRows("fuzz", bytes.NewReader(data))
		if err != nil {
			return
		}
		var once, twice bytes.Buffer
		if err := WriteRows(&once, run); err != nil {
			t.Fatalf("a run that was read cannot be written: %v", err)
		}
		again, err := ReadRows("once", bytes.NewReader(once.Bytes()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(run, again, cmpopts.EquateEmpty(), sameRows); diff != "" {
			t.Fatalf("after a round trip:\n%s", diff)
		}
		if err := WriteRows(&twice, again); err != nil || once.String() != twice.String() {
			t.Fatalf("bytes changed (%v):\n%s\n%s", err, once.String(), twice.String())
		}
	})
}

// FuzzReadDocument does the same for summaries.
func FuzzReadDocument(f *testing.F) {
	d, err := full().Document()
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteDocument(&b, d); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ReadDocument("fuzz", bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteDocument(&b, d); err != nil {
			t.Fatalf("a document that was read cannot be written: %v", err)
		}
		again, err := ReadDocument("again", &b)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(d, again, cmpopts.EquateEmpty(), sameRows); diff != "" {
			t.Fatalf("after a round trip:\n%s", diff)
		}
	})
}

// A file of rows that ends early is no run, even where it ends with a line; what is
// there is returned with the error. One written while sessions finish tells no
// number.
func TestRowsCutShort(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRows(&b, full()); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	run, err := ReadRows("cut.jsonl", strings.NewReader(strings.Join(lines[:len(lines)-2], "")))
	if err == nil || !strings.Contains(err.Error(), `cut.jsonl: 1 of 2 rows of cell "recorded" are there`) || run == nil || run.Cells[0].Rows.Len() != 1 {
		t.Errorf("%v, %v", run, err)
	}
	if _, err := ReadRows("rows.jsonl", strings.NewReader(bareHead)); err != nil {
		t.Errorf("a head that tells no number of rows, and no row: %v", err)
	}
}
