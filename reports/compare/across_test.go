package compare

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// A cell that the third run lacks is compared in the first two: c in both pairs,
// d in x → y alone, e in x → z alone.
func TestCellThatOneRunLacks(t *testing.T) {
	x := run(named("c", "c", nil, "ab", 1), named("d", "d", nil, "ab", 1), named("e", "e", nil, "ab", 1))
	y := run(named("c", "c", nil, "ab", 2), named("d", "d", nil, "ab", 3))
	z := run(named("c", "c", nil, "ab", 4), named("e", "e", nil, "ab", 5), named("f", "f", nil, "ab", 5))
	r := compared(t, Options{}, Input{"x", x}, Input{"y", y}, Input{"z", z})
	var got []string
	for _, c := range r.Comparisons {
		got = append(got, c.title())
	}
	if want := []string{"c: x → y", "c: x → z", "d: x → y", "e: x → z"}; !slices.Equal(got, want) {
		t.Errorf("comparisons %q, want %q", got, want)
	}
	want := []string{"Left out of x → y, only in x: cell e.", "Left out of x → z, only in x: cell d; only in z: cell f."}
	if !slices.Equal(r.Notes, want) {
		t.Errorf("notes %q, want %q", r.Notes, want)
	}
}

// A run that shares nothing with the baseline is named and keeps nobody from being
// compared; the cells called otherwise are matched where each run has one alone.
func TestRunThatSharesNothing(t *testing.T) {
	two := run(named("c", "c", nil, "ab", 1), named("d", "d", nil, "ab", 1))
	other := run(named("f", "f", nil, "ab", 1), named("g", "g", nil, "ab", 1))
	r := compared(t, Options{}, Input{"x", two}, Input{"y", two}, Input{"z", other})
	if len(r.Comparisons) != 2 || !slices.Equal(r.Notes, []string{"No cell in common: x has cells c, d; z has cells f, g."}) {
		t.Errorf("%d comparisons, notes %q", len(r.Comparisons), r.Notes)
	}
	x, y, z := run(named("c", "c", nil, "ab", 1)), run(named("c", "c", nil, "ab", 2)), run(named("d", "d", nil, "ab", 3))
	r = compared(t, Options{}, Input{"x", x}, Input{"y", y}, Input{"z", z})
	if len(r.Comparisons) != 2 || r.Comparisons[0].title() != "x → z" || r.Comparisons[1].title() != "c: x → y" ||
		!slices.Equal(r.Comparisons[0].Notes, []string{"cells of different names: c in x, d in z"}) {
		t.Errorf("%s, %s, notes %q", r.Comparisons[0].title(), r.Comparisons[1].title(), r.Comparisons[0].Notes)
	}
}

// What is said of a pair of several runs is what is said of the two alone.
func TestPairsOfRunsAreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) Input {
			names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "recorded"}), 1, 4, rapid.ID).Draw(t, label)
			var cells []results.Cell
			for _, name := range names {
				cells = append(cells, named(name, name, nil, "uvwxyz", rapid.Float64Range(1, 9).Draw(t, "usd")))
			}
			return Input{label, run(cells...)}
		}
		first := draw("first")
		inputs := []Input{first, draw("second"), draw("third")}
		var want []string
		for _, other := range inputs[1:] {
			if r, err := Run(t.Context(), []Input{first, other}, Options{}); err == nil {
				want = append(want, csvOf(t, r)...)
			}
		}
		var got []string
		if r, err := Run(t.Context(), inputs, Options{}); err == nil {
			got = csvOf(t, r)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%d lines of three runs, %d of the pairs", len(got), len(want))
		}
	})
}

// csvOf returns the lines of a report without the head.
func csvOf(t *rapid.T, r *Report) []string {
	var b strings.Builder
	if err := Write(&b, "csv", r); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(b.String()), "\n")[1:]
}

// A pattern stands for every group of cells whose name or strategy it takes, in
// the order of the run, each a side of its own; a name is first a name.
func TestPatterns(t *testing.T) {
	sweep := run(
		named("recorded", "recorded", nil, "ab", 1),
		named("p/1 t=1 seed=1", "p/1", map[string]string{"t": "1", "seed": "1"}, "ab", 1),
		named("p/1 t=1 seed=2", "p/1", map[string]string{"t": "1", "seed": "2"}, "ab", 2),
		named("p/1 t=[5m,10m] seed=1", "p/1", map[string]string{"t": "[5m,10m]", "seed": "1"}, "ab", 3),
		named("p/2", "p/2", nil, "ab", 4))
	for _, tc := range []struct {
		wanted, want []string
	}{
		{[]string{"recorded", "p/*"}, []string{"recorded", "p/1 t=1", "p/1 t=[5m,10m]", "p/2"}},
		{[]string{"p/?"}, []string{"p/1 t=1", "p/1 t=[5m,10m]", "p/2"}}, // the strategy is enough
		{[]string{"*"}, []string{"recorded", "p/1 t=1", "p/1 t=[5m,10m]", "p/2"}},
		{[]string{"p/2", "p*"}, []string{"p/2", "p/1 t=1", "p/1 t=[5m,10m]"}},
		{[]string{"p/1 t=[5m,10m]", "p/2"}, []string{"p/1 t=[5m,10m]", "p/2"}},
		{[]string{"p/1 t=1 seed=*"}, []string{"p/1 t=1 seed=1", "p/1 t=1 seed=2"}},
		{[]string{"p/1"}, []string{"p/1 t=1", "p/1 t=[5m,10m]"}},
	} {
		if got, err := Cells([]Input{{"x", sweep}}, tc.wanted); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, %v, want %q", tc.wanted, got, err, tc.want)
		}
	}
	r := compared(t, Options{Cells: []string{"recorded", "p/*"}}, Input{"x", sweep})
	if len(r.Comparisons) != 3 || r.Comparisons[1].Other != "p/1 t=[5m,10m]" || !near(r.Comparisons[1].Figure("cost_usd").Other, 6) {
		t.Errorf("%d comparisons, second with %s", len(r.Comparisons), r.Comparisons[1].Other)
	}
	r = compared(t, Options{Cells: []string{"p/*"}}, Input{"x", sweep}, Input{"y", sweep})
	if len(r.Comparisons) != 3 || r.Comparisons[2].Cell != "p/2" {
		t.Errorf("%d comparisons", len(r.Comparisons))
	}
	for pattern, want := range map[string]string{
		"q/*":   `no cell or strategy "q/*" (did you mean "p/1"?); there are: p/1, p/1 t=1,`,
		"p/[":   `no cell or strategy "p/["`,
		"p/2*]": `no cell or strategy "p/2*]"`,
	} {
		if _, err := Cells([]Input{{"x", sweep}}, []string{pattern}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

// Switches that all runs have alike are no difference; of all other switches each value
// stands once, with the runs that have it, and a line of the table stays within
// the width of text.
func TestSwitches(t *testing.T) {
	with := func(label string, switches ...string) Input {
		in := Input{label, before()}
		in.Run.Provenance.Switches = map[string]string{}
		for i := 0; i < len(switches); i += 2 {
			in.Run.Provenance.Switches[switches[i]] = switches[i+1]
		}
		return in
	}
	long := strings.Repeat("0123456789", 12)
	for _, tc := range []struct {
		inputs []Input
		want   string
	}{
		{[]Input{with("a", "s", "1"), with("b", "s", "1")}, ""},
		{[]Input{with("a"), with("b", "layer.x", "1", "same", "0")}, "The runs differ in the switch layer.x: a (none), b 1.\nThe runs differ in the switch same: a (none), b 0."},
		{[]Input{with("a", "s", "1"), with("b", "s", "2"), with("c", "s", "1"), with("d", "s", "1")}, "The runs differ in the switch s: a, c and d 1, b 2."},
		{[]Input{with("a", "s", "1"), with("b", "s", long)}, "The runs differ in the switch s: a 1, b 01234567890123456789…1234567890123456789."},
	} {
		r := compared(t, Options{}, tc.inputs...)
		if got := strings.Join(r.Notes, "\n"); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
		var b strings.Builder
		if err := Write(&b, "table", r); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > document.Width {
				t.Errorf("a line beyond %d columns: %s", document.Width, line)
			}
		}
	}
}
