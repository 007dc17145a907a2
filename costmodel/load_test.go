package costmodel_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results/measures"
)

func load(t testing.TB, text string) *costmodel.Table {
	t.Helper()
	tab, err := costmodel.Load(strings.NewReader(text), "my.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// Price files with what is wrong in them, or the prices they give.
func TestLoad(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "load"), func(t *testing.T, d *datadriven.TestData) string {
		tab, err := costmodel.Load(strings.NewReader(d.Input), "my.yaml")
		if err != nil {
			return err.Error() + "\n"
		}
		var b strings.Builder
		for _, name := range tab.Names() {
			p := lookup(t, tab, name, "2026-11-01")
			r := p.Standard()
			fmt.Fprintf(&b, "%s: %.6g\n", name, r.PerMTok(0))
			for _, above := range r.Thresholds() {
				fmt.Fprintf(&b, "  above %d: %.6g\n", above, r.PerMTok(above+1))
			}
		}
		return b.String()
	})
}

// The reference file of the package comment is accepted as it stands there.
func TestLoadDocumentedFile(t *testing.T) {
	text, err := os.ReadFile("rate.go")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(text), "prices.yaml:\n//\n")
	if !ok {
		t.Fatal("the package comment has no reference file")
	}
	example, _, _ = strings.Cut(example, "\npackage ")
	tab := load(t, strings.ReplaceAll(example, "//\t", ""))
	p := lookup(t, tab, "my-model-2", "2026-11-30")
	if p.Model.Window != 200_000 || p.Model.Provider != "acme" || p.Fast != 2 || p.StoragePerMTokHour != 4.5 {
		t.Errorf("facts %+v, fast %g, storage %g", p.Model, p.Fast, p.StoragePerMTokHour)
	}
	wantClasses(t, "tier", listed(p.Standard(), 200_000), [measures.NumClasses]float64{6, 0.6, 7.5, 12, 7.5, 22.5})
	later := lookup(t, tab, "my-model", "2026-12-01")
	wantClasses(t, "later", listed(later.Standard(), 0), [measures.NumClasses]float64{2, 2, 2, 2, 2, 10})
	if want := date(t, "2026-11-01"); !tab.AsOf().Equal(want) {
		t.Errorf("as of %s, want %s", tab.AsOf(), want)
	}
}

// JSON is read as well, tabs and all.
func TestLoadJSON(t *testing.T) {
	tab := load(t, "{\n\t\"schema\": 1,\n\t\"models\": {\n\t\t\"m\": {\"prices\": {\"input\": 3e0, \"output\": 15}}\n\t}\n}\n")
	p := lookup(t, tab, "m", "")
	wantClasses(t, "m", listed(p.Standard(), 0), [measures.NumClasses]float64{3, 3, 3, 3, 3, 15})
}

func TestMerge(t *testing.T) {
	tab := table(t).Merge(load(t, `
schema: 1
as_of: 2026-12-24
models:
  claude-opus-4-6:              # override: prices change, facts stay
    prices: {input: 1, output: 2}
  claude-opus-4-5-20251101:     # a longer spelling is a model of its own
    window: 150000
    prices: {input: 3, output: 4}
  gpt-5.6:                      # a name before an alias
    prices: {input: 5, output: 6}
  new-model:
    aliases: [newer-model]
    prices: {input: 7, output: 8}
`))
	for _, row := range []struct {
		name, want       string
		in, out          float64
		window, minCache int
	}{
		{"claude-opus-4-6", "claude-opus-4-6", 1, 2, 1_000_000, 4096},
		{"claude-opus-4-6-20260205", "claude-opus-4-6", 1, 2, 1_000_000, 4096},
		{"claude-opus-4-5-20251101", "claude-opus-4-5-20251101", 3, 4, 150_000, 4096},
		{"claude-opus-4-5", "claude-opus-4-5", 5, 25, 200_000, 4096},
		{"gpt-5.6", "gpt-5.6", 5, 6, 1_050_000, 1024},
		{"gpt-5.6-sol", "gpt-5.6-sol", 5, 30, 1_050_000, 1024},
		{"newer-model", "new-model", 7, 8, 0, 0},
		{"claude-opus-4-1", "claude-opus-4-1", 15, 75, 200_000, 1024},
	} {
		p := lookup(t, tab, row.name, "2026-02-01")
		r := p.Standard()
		l := r.PerMTok(0)
		m := p.Model
		if m.Name != row.want || !near(l[measures.ClassUncached], row.in) || !near(l[measures.ClassOutput], row.out) ||
			m.Window != row.window || m.MinCache != row.minCache {
			t.Errorf("%s: %s at %g/%g, window %d, min cache %d; want %+v", row.name,
				m.Name, l[measures.ClassUncached], l[measures.ClassOutput], m.Window, m.MinCache, row)
		}
	}
	if want := date(t, "2026-12-24"); !tab.AsOf().Equal(want) {
		t.Errorf("as of %s, want the later date %s", tab.AsOf(), want)
	}
	p := lookup(t, table(t), "claude-opus-4-6", "2026-11-01")
	wantClasses(t, "the built-in table afterwards", listed(p.Standard(), 0),
		[measures.NumClasses]float64{5, 0.5, 6.25, 10, 6.25, 25})
}

// Without a date of the call or of the table the newest prices hold.
func TestLookupWithoutDates(t *testing.T) {
	tab := load(t, `
schema: 1
models:
  m:
    prices:
      - {input: 1, output: 2}
      - {from: 2026-01-01, input: 3, output: 4}
`)
	p := lookup(t, tab, "m", "")
	wantClasses(t, "m", listed(p.Standard(), 0), [measures.NumClasses]float64{3, 3, 3, 3, 3, 4})
}

// An alias follows the prices merged later.
func TestMergeAfterAliases(t *testing.T) {
	tab, err := table(t).WithAliases(map[string]string{"a": "claude-opus-4-6"})
	if err != nil {
		t.Fatal(err)
	}
	tab = tab.Merge(load(t, "{schema: 1, models: {claude-opus-4-6: {prices: {input: 1, output: 2}}}}"))
	p := lookup(t, tab, "a", "")
	wantClasses(t, "a", listed(p.Standard(), 0), [measures.NumClasses]float64{1, 1, 1, 1, 1, 2})
}

func TestLoadReadErrors(t *testing.T) {
	broken := errors.New("broken pipe")
	if _, err := costmodel.Load(iotest.ErrReader(broken), "p.yaml"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "p.yaml") {
		t.Errorf("error %v, want the reader's with the file's name", err)
	}
	big := strings.NewReader("# " + strings.Repeat("x", 17<<20))
	if _, err := costmodel.Load(big, "p.yaml"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("error %v, want one about the size", err)
	}
	for _, bad := range []string{"schema: 1\n\xff\xfe\n", "schema: 1\nmodels: \x00\n"} {
		if _, err := costmodel.Load(strings.NewReader(bad), "p.yaml"); err == nil || !strings.HasPrefix(err.Error(), "p.yaml:") {
			t.Errorf("error %v, want one that names the file", err)
		}
	}
	many := "schema: 1\nmodels:\n" + strings.Repeat("  m: {}\n", 200)
	if _, err := costmodel.Load(strings.NewReader(many), "p.yaml"); err == nil || !strings.Contains(err.Error(), "and 150 more problems") {
		t.Errorf("error %v, want fifty problems and the number of the others", err)
	}
	fifty := "schema: 1\nmodels:\n" + strings.Repeat("  m: {}\n", 50)
	if _, err := costmodel.Load(strings.NewReader(fifty), "p.yaml"); err == nil || strings.Contains(err.Error(), "more problems") {
		t.Errorf("error %v, want fifty problems alone", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	text, err := os.ReadFile("prices.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		load(b, string(text))
	}
}

// No input crashes the loader, and what it accepts can be billed.
func FuzzLoad(f *testing.F) {
	f.Add("schema: 1\nmodels: {m: {prices: {input: 3, output: 15, write: 1}}}\n")
	f.Add(`
schema: 1
models:
  m:
    aliases: [n]
    prices:
      - {input: 1, output: 2}
      - {from: 2026-01-01, input: 1, output: 2, tiers: [{above: 5, input: 2, output: 4}]}
`)
	f.Add(`{"schema":1,"models":{"m":{"prices":{"input":.nan,"output":-1}}}}`)
	f.Add("a: &a [*a]\n")
	f.Add("--- 1\n--- 2\n")
	f.Add("\xff\xfe")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		tab, err := costmodel.Load(strings.NewReader(text), "fuzz.yaml")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fuzz.yaml:") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		for _, name := range tab.Names() {
			p, err := tab.Lookup(name, time.Time{})
			if err != nil {
				t.Errorf("accepted, but %v", err)
			}
			r := p.Standard()
			for _, above := range append(r.Thresholds(), 0) {
				for i, v := range r.PerMTok(above + 1) {
					if !(v >= 0 && v <= 1e6*(1+1e-9)) {
						t.Errorf("%s: class %d costs %g", name, i, v)
					}
				}
			}
		}
	})
}
