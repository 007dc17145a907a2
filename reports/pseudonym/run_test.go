package pseudonym_test

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/reports/pseudonym"
	"github.com/compactsim/compactsim/sim/results"
)

var key = []byte("0123456789abcdef")

// walk calls visit for every string in v, keys of maps included, with the path
// that leads to it.
func walk(v reflect.Value, path string, visit func(path, s string)) {
	if v.Type() == reflect.TypeFor[results.Rows]() {
		rows := v.Interface().(results.Rows)
		walk(reflect.ValueOf(rows.List()), path, visit)
		return
	}
	switch v.Kind() {
	case reflect.String:
		visit(path, v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), path+"[]", visit)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			walk(it.Key(), path+" key", visit)
			walk(it.Value(), path+" value", visit)
		}
	}
}

// plant puts a string of make into every field of v that holds text, two
// elements into slices, one into maps, and 1 into every number. What is not exported stays as it is.
func plant(v reflect.Value, make func() string) {
	if rows, ok := v.Addr().Interface().(*results.Rows); ok {
		var list []*results.Row
		plant(reflect.ValueOf(&list).Elem(), make)
		*rows = results.Rows{}.With(list...)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(make())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				plant(v.Field(i), make)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), make)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			plant(v.Index(i), make)
		}
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(k, make)
		plant(e, make)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	default:
		panic("a kind of field that this test does not fill: " + v.Kind().String())
	}
}

// A text in any field of a run, whatever field it is, leaves in no format.
func TestNothingPlantedLeaves(t *testing.T) {
	for _, form := range []string{"/home/canary-%d/plan.md", `C:\Users\canary-%d`, "fix canary-%d in main.go", "layer: canary-%d is ill", "canary-%d@example.com"} {
		var run results.Run
		planted := 0
		plant(reflect.ValueOf(&run).Elem(), func() string { planted++; return fmt.Sprintf(form, planted) })
		if planted < 50 {
			t.Fatalf("only %d fields were filled", planted)
		}
		anonymous := pseudonym.Run(&run, key)
		walk(reflect.ValueOf(anonymous).Elem(), "", func(path, s string) {
			if strings.Contains(s, "canary") {
				t.Errorf("%s holds %q", path, s)
			}
		})
		for name, out := range outputs(t, anonymous) {
			if i := bytes.Index(out, []byte("canary")); i >= 0 {
				t.Errorf("%s of %q holds %q", name, form, out[i:min(i+40, len(out))])
			}
		}
	}
}

// outputs returns a run in every form in which it can leave.
func outputs(t *testing.T, run *results.Run) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	write := func(name string, write func(*bytes.Buffer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = b.Bytes()
	}
	for i := range run.Cells {
		for k := range run.Cells[i].Rows.Len() { // each was planted on its own
			run.Cells[i].Rows.Edit(k, func(r *results.Row) { r.Strategy = run.Cells[i].Strategy })
		}
	}
	write("rows", func(b *bytes.Buffer) error { return results.WriteRows(b, run) })
	write("document", func(b *bytes.Buffer) error {
		d, err := run.Document()
		if err != nil {
			return err
		}
		return results.WriteDocument(b, d)
	})
	return all
}

// What is formed like a name stays in these places and in no others: names of
// strategies, layers, parameters and models.
func TestNamesThatStay(t *testing.T) {
	var run results.Run
	at := map[string]string{}
	planted := 0
	plant(reflect.ValueOf(&run).Elem(), func() string { planted++; return "canary" + strconv.Itoa(planted) })
	walk(reflect.ValueOf(&run).Elem(), "", func(path, s string) { at[s] = path })
	var stayed []string
	walk(reflect.ValueOf(pseudonym.Run(&run, key)).Elem(), "", func(path, s string) {
		if was, ok := at[s]; ok {
			if was != path {
				t.Errorf("%q moved from %s to %s", s, was, path)
			}
			stayed = append(stayed, path)
		}
	})
	slices.Sort(stayed)
	want := []string{
		"Cells[].Params key", "Cells[].Rows[].Firings key", "Cells[].Rows[].Strategy", "Cells[].Strategy",
		"Cells[].Total.Firings key", "Cells[].Total.Strategy", "Provenance.Switches key", "Workload.Models[]",
	}
	if got := slices.Compact(stayed); !slices.Equal(got, want) {
		t.Errorf("names stay in\n%q, want\n%q", got, want)
	}
}

// What a run really holds, and what pseudonyms make it. The pseudonym of
// /home/me/prices.yaml is the first 16 characters of
// printf %s /home/me/prices.yaml | openssl dgst -sha256 -hmac 0123456789abcdef -binary | base32.
func TestWhatStaysOfARun(t *testing.T) {
	run := runOf(2)
	run.Provenance.Switches = map[string]string{"server.lifetime_5m": "10m", "prices.file": "/home/me/prices.yaml", "client.model": "claude-opus-4-6"}
	run.Provenance.Version = "v0.0.0-20261121202801-40a1c735b2f1+dirty"
	run.Workload.Models = []string{"claude-opus-4-6", "gpt-5.1-codex", "anthropic/claude-opus-4[1m]", "<synthetic>",
		"us.anthropic.claude-sonnet-4-20250514-v1:0", "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2"}
	run.Workload.PricesAt = "call date"
	run.Workload.Quality = []results.Share{{Of: "tokens", What: "unseen", Value: 0.25}}
	run.Workload.Remarks = []string{"sessions of /home/me/acme"}
	run.Notes = []results.Note{{Text: "read from /home/me/acme"}}
	got := pseudonym.Run(run, key)

	wantProvenance := results.Provenance{Version: run.Provenance.Version, Seed: 1, SessionsDigest: pseudonym.Of(key, "deb6e9e4"), Prices: "2026-11-01",
		Switches: map[string]string{"server.lifetime_5m": "10m", "prices.file": "yunmxsxjwvalkjms", "client.model": "claude-opus-4-6"}}
	if !reflect.DeepEqual(got.Provenance, wantProvenance) {
		t.Errorf("provenance\n%+v, want\n%+v", got.Provenance, wantProvenance)
	}
	wantWorkload := results.Workload{Sessions: 2, First: "2026-01-28", Last: "2026-03-12", PricesAt: "call date", Quality: run.Workload.Quality,
		Models: append(slices.Clone(run.Workload.Models[:5]), pseudonym.Of(key, run.Workload.Models[5]))}
	if !reflect.DeepEqual(got.Workload, wantWorkload) {
		t.Errorf("workload\n%+v, want\n%+v", got.Workload, wantWorkload)
	}
	if len(got.Notes) > 0 {
		t.Errorf("notes stay: %v", got.Notes)
	}
	if c := got.Cells[1]; c.Cell != "auto-compact/167k trigger.fixed=90000" || c.Params["trigger.fixed"] != "90000" {
		t.Errorf("cell %q, %v", c.Cell, c.Params)
	}
	if !reflect.DeepEqual(got.Cells[0].Unmeasured, run.Cells[0].Unmeasured) {
		t.Errorf("unmeasured %v", got.Cells[0].Unmeasured)
	}
}

// The name of a cell changes as its parameters do, so that it can still be
// told from others and found again.
func TestCellNames(t *testing.T) {
	secret := pseudonym.Of(key, "my plan")
	for _, tc := range []struct {
		cell, strategy string
		params         map[string]string
		want           string
	}{
		{"none", "none", nil, "none"},
		{"compact-at a.b=my plan c=5m", "compact-at", map[string]string{"a.b": "my plan", "c": "5m"}, "compact-at a.b=" + secret + " c=5m"},
		{"my plan", "my plan", nil, secret},
		{"compact-at of acme", "compact-at", nil, pseudonym.Of(key, "compact-at of acme")},
		{"x", "compact-at", nil, pseudonym.Of(key, "x")},
	} {
		run := &results.Run{Cells: []results.Cell{{Cell: tc.cell, Strategy: tc.strategy, Params: tc.params}}}
		if got := pseudonym.Run(run, key).Cells[0].Cell; got != tc.want {
			t.Errorf("cell %q becomes %q, want %q", tc.cell, got, tc.want)
		}
	}
}

// Under one key a session has one pseudonym in every run and cell; under
// another it has another; figures do not change, nor does the run given.
func TestPseudonymsPair(t *testing.T) {
	run, again := runOf(5), runOf(5)
	got := pseudonym.Run(run, key)
	if !reflect.DeepEqual(run, again) {
		t.Error("the run given was changed")
	}
	form := regexp.MustCompile(`^[a-z2-7]{16}$`)
	for i, c := range got.Cells {
		bySession := map[string]*results.Row{}
		for _, r := range c.Rows.All() {
			bySession[r.Session] = r
		}
		for _, r := range run.Cells[i].Rows.All() {
			p := pseudonym.Of(key, r.Session)
			if !form.MatchString(p) || p == pseudonym.Of([]byte("another key of 16"), r.Session) {
				t.Errorf("pseudonym %q of %q", p, r.Session)
			}
			if g := bySession[p]; g.Usage() != r.Usage() || g.CostUSD() != r.CostUSD() || g.Firings["full-compact"] != r.Firings["full-compact"] {
				t.Errorf("cell %q, session %q: figures changed", c.Cell, r.Session)
			}
		}
		if !slices.IsSortedFunc(c.Rows.List(), func(a, b *results.Row) int { return strings.Compare(a.Session, b.Session) }) {
			t.Errorf("cell %q: rows are not in the order of pseudonyms", c.Cell)
		}
	}
}
