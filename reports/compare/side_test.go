package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// named is a cell of a strategy with parameters, whose sessions cost usd each.
func named(name, strategy string, params map[string]string, sessions string, usd float64) results.Cell {
	c := results.Cell{Cell: name, Strategy: strategy, Params: params}
	for _, s := range sessions {
		c.Rows.Keep(session(strategy, string(s), usd, 90, 10, 100))
	}
	return c
}

func seed(n string) map[string]string { return map[string]string{"seed": n} }

// What cannot be compared is named, with the nearest name there is.
func TestErrors(t *testing.T) {
	broken := before()
	broken.Cells[0].Rows.Edit(2, func(r *results.Row) { r.CostByClass()[0] = math.NaN() })
	huge := before()
	for i := range huge.Cells[0].Rows.Len() {
		huge.Cells[0].Rows.Edit(i, func(r *results.Row) { r.CostByClass()[0] = 1e308 })
	}
	for _, tc := range []struct {
		what   string
		o      Options
		inputs []Input
		want   string
	}{
		{"a label twice", Options{}, []Input{{"x", before()}, {"x", after()}}, `label "x" is there twice`},
		{"no label", Options{}, []Input{{"", before()}, {"x", after()}}, "run 1 has no label"},
		{"an empty run", Options{}, []Input{{"x", before()}, {"y", run(results.Cell{Cell: "x", Strategy: "x"})}}, "y: an empty run"},
		{"no session in common", Options{}, []Input{{"x", run(named("c", "c", nil, "ab", 1))}, {"y", run(named("c", "c", nil, "cd", 1))}},
			`cell "c": no session in common: x has a, b; y has c, d`},
		{"no cell in common", Options{}, []Input{
			{"x", run(named("c", "c", nil, "ab", 1), named("d", "d", nil, "ab", 1))}, {"y", run(named("e", "e", nil, "ab", 1))},
		}, "no cell in common: x has cells c, d; y has cells e"},
		{"a cell that the other run lacks", Options{Cells: []string{"e"}}, []Input{
			{"x", run(named("c", "c", nil, "ab", 1), named("d", "d", nil, "ab", 1))}, {"y", run(named("e", "e", nil, "ab", 1))},
		}, "x has no such cell (its cells are c, d); y has cells e"},
		{"an unknown metric", Options{Metrics: []string{"cost_use", "misses"}}, []Input{{"x", before()}, {"y", after()}},
			`unknown metric "cost_use" (did you mean "cost_usd"?); docs/schema.md`},
		{"a part of names of metrics", Options{Metrics: []string{"hit"}}, []Input{{"x", before()}, {"y", after()}},
			`unknown metric "hit" (did you mean "cache_hit_ratio" or "call_hit_ratio"`},
		{"a metric that is not measured", Options{Metrics: []string{"happiness"}}, []Input{{"x", before()}, {"y", after()}},
			`unknown metric "happiness"; docs/schema.md lists all`},
		{"a sum beyond the range of numbers", Options{}, []Input{{"x", before()}, {"y", huge}}, "cost_usd is too large to compare: 360 in x, +Inf in y"},
		{"an unknown cell", Options{Cells: []string{"y"}}, []Input{{"x", before()}, {"y", after()}}, `no cell or strategy "y" (did you mean "x"?)`},
		{"one run alone", Options{}, []Input{{"x", before()}}, "x is one run"},
		{"an unknown side", Options{Cells: []string{"x", "z"}}, []Input{{"x", before()}}, `no cell or strategy "z"`},
		{"a side twice", Options{Cells: []string{"x", "x"}}, []Input{{"x", before()}}, `"x" is named twice`},
		{"no runs", Options{}, nil, "nothing to compare"},
		{"not a number", Options{}, []Input{{"x", before()}, {"y", broken}}, `y: cost_usd of session "c" is NaN`},
	} {
		if _, err := Run(context.Background(), tc.inputs, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.what, err, tc.want)
		}
	}
}

// A closed loop has costs that an open one leaves out; the two are not compared.
func TestLoopsAreNotMixed(t *testing.T) {
	row := func(loop measures.Loop) *results.Run {
		r := session("x", "a", 10, 1, 1, 1)
		r.Loop = loop
		return run(cell("x", r))
	}
	for _, tc := range []struct {
		was, is measures.Loop
		says    string
	}{
		{measures.LoopClosed, measures.LoopClosed, ""},
		{measures.LoopNone, measures.LoopOpen, ""},
		{measures.LoopClosed, measures.LoopOpen, "was is of a loop that is closed and is of one that is open: run both with --open-loop or both without"},
	} {
		_, err := Run(context.Background(), []Input{{Label: "was", Run: row(tc.was)}, {Label: "is", Run: row(tc.is)}}, Options{})
		if got := fmt.Sprint(err); (tc.says == "") != (err == nil) || !strings.Contains(got, tc.says) && err != nil {
			t.Errorf("%q against %q: %v, want %q", tc.was, tc.is, err, tc.says)
		}
	}
}

// Each of the other runs is held against the first.
func TestBaseline(t *testing.T) {
	r := compared(t, Options{}, Input{"b", after()}, Input{"a", before()}, Input{"c", before()})
	if r.Baseline != "b" || len(r.Comparisons) != 2 {
		t.Fatalf("baseline %s, %d comparisons", r.Baseline, len(r.Comparisons))
	}
	for _, c := range r.Comparisons {
		if f := c.Figure("cost_usd"); c.Base != "b" || !near(f.Difference, 20) {
			t.Errorf("%s against %s: %v", c.Other, c.Base, f.Difference)
		}
	}
}

// Strategies of one run are sides; a strategy with several cells has one for each.
func TestWithinRun(t *testing.T) {
	one := run(
		named("p t=1", "p", map[string]string{"t": "1"}, "abc", 1),
		named("p t=2", "p", map[string]string{"t": "2"}, "abc", 3),
		named("q", "q", nil, "abc", 5))
	r := compared(t, Options{Cells: []string{"q", "p"}}, Input{"run", one})
	if len(r.Comparisons) != 2 {
		t.Fatalf("%d comparisons", len(r.Comparisons))
	}
	for i, want := range []float64{3, 9} {
		if f := r.Comparisons[i].Figure("cost_usd"); !near(f.Base, 15) || !near(f.Other, want) || f.Lower != 3 || len(r.Comparisons[i].Notes) > 0 {
			t.Errorf("%+v %q", f, r.Comparisons[i].Notes)
		}
	}
}

// Seeds are repetitions: seeds of both runs are averaged, all other seeds left out. In x
// seeds 1 and 2 cost 1 and 3, in y seeds 2 and 3 cost 4 and 100: 3 against 4.
func TestSeedsArePaired(t *testing.T) {
	x := run(named("p seed=1", "p", seed("1"), "ab", 1), named("p seed=2", "p", seed("2"), "ab", 3))
	y := run(named("p seed=2", "p", seed("2"), "ab", 4), named("p seed=3", "p", seed("3"), "ab", 100))
	r := compared(t, Options{}, Input{"x", x}, Input{"y", y})
	c := r.Comparisons[0]
	if f := c.Figure("cost_usd"); c.Cell != "p" || !near(f.Base, 6) || !near(f.Other, 8) {
		t.Errorf("cell %q: %+v", c.Cell, f)
	}
	if want := []string{"left out, only in x: seed 1", "left out, only in y: seed 3"}; !slices.Equal(c.Notes, want) {
		t.Errorf("notes %q, want %q", c.Notes, want)
	}
	// A run without a sweep has its seed in its provenance: x's second cell it is.
	alone := run(named("p", "p", nil, "ab", 4))
	alone.Provenance.Seed = 2
	c = compared(t, Options{}, Input{"x", x}, Input{"y", alone}).Comparisons[0]
	if f := c.Figure("cost_usd"); !near(f.Base, 6) || !near(f.Other, 8) || !slices.Equal(c.Notes, []string{"left out, only in x: seed 1"}) {
		t.Errorf("%+v %q", f, c.Notes)
	}
	both := run(named("p seed=1", "p", seed("1"), "ab", 2), named("p seed=2", "p", seed("2"), "ab", 6))
	c = compared(t, Options{}, Input{"x", x}, Input{"y", both}).Comparisons[0]
	if f := c.Figure("cost_usd"); !near(f.Base, 4) || !near(f.Other, 8) || f.Pairs != 2 {
		t.Errorf("%+v", f)
	}
	if want := []string{"x: means over 2 seeds of each session: 1, 2", "y: means over 2 seeds of each session: 1, 2"}; !slices.Equal(c.Notes, want) {
		t.Errorf("notes %q, want %q", c.Notes, want)
	}
}

// Each seed has a maximum of its own: over sessions a and b it is 100 and 200 under
// the seeds of x, 150 in the mean, and 120 and 80 in y, 100. Taken over all seeds
// it would be 200 and 120, and grow with the number of seeds.
func TestMaximaOfSeeds(t *testing.T) {
	peaks := func(n string, peaks ...int64) results.Cell {
		c := named("p seed="+n, "p", seed(n), "ab", 1)
		for i, peak := range peaks {
			c.Rows.Edit(i, func(r *results.Row) { r.Figures[measures.PeakContext] = float64(peak) })
		}
		return c
	}
	x, y := run(peaks("1", 100, 90), peaks("2", 40, 200)), run(peaks("1", 80, 120), peaks("2", 80, 60))
	c := compared(t, Options{}, Input{"x", x}, Input{"y", y}).Comparisons[0]
	f := c.Figure("peak_context_tokens")
	if f.Base != 150 || f.Other != 100 || f.Difference != -50 {
		t.Errorf("%v → %v", f.Base, f.Other)
	}
	// Sessions in the mean: a 70 → 80, b 145 → 90.
	if f.Higher != 1 || f.Lower != 1 {
		t.Errorf("%+v", f)
	}
}

// Resamples take the maximum of each seed too. Of seven sessions the first peaks
// at 700 under seed 1 and 100 under seed 2, all else is 100; the other side is 50.
// A resample without it has a mean of 100, one with it of 400.
func TestMaximaOfSeedsResampled(t *testing.T) {
	cells := func(first, rest int64) []results.Cell {
		all := []results.Cell{named("p seed=1", "p", seed("1"), "abcdefg", 1), named("p seed=2", "p", seed("2"), "abcdefg", 1)}
		for k, c := range all {
			for i := range c.Rows.Len() {
				peak := rest
				if i == 0 && k == 0 {
					peak = first
				}
				c.Rows.Edit(i, func(r *results.Row) { r.Figures[measures.PeakContext] = float64(peak) })
			}
		}
		return all
	}
	c := compared(t, Options{}, Input{"x", run(cells(700, 100)...)}, Input{"y", run(cells(50, 50)...)}).Comparisons[0]
	f := c.Figure("peak_context_tokens")
	if f.Base != 400 || f.Interval != (stats.Interval{Low: -350, High: -50}) {
		t.Errorf("%v, %+v", f.Base, f.Interval)
	}
}

// A seed without a sample in any session has no part in a minimum, one that lacks
// a session has the other sessions' minimum.
func TestMinimumOfSampledSeeds(t *testing.T) {
	used := func(n string, used ...int) results.Cell {
		c := named("p seed="+n, "p", seed(n), "abcdefg", 1)
		for i, u := range used {
			c.Rows.Edit(i, func(r *results.Row) { r.Figures[measures.LeftCalls], r.Figures[measures.MostUsed] = 1, float64(u) })
		}
		return c
	}
	x := run(used("1", 20, 30, 40, 50, 60, 70, 80), used("2"), used("3", 10, 40, 10, 10, 10, 10))
	y := run(used("1", 10, 10, 10, 10, 10, 10, 10), used("2"), used("3", 0, 0, 0, 0, 0, 0, 0))
	f := compared(t, Options{}, Input{"x", x}, Input{"y", y}).Comparisons[0].Figure("percent_left_least")
	// x: 1 − 0.8 and 1 − 0.4; y: 1 − 0.1 and 1.
	if !near(f.Base, 0.4) || !near(f.Other, 0.95) || f.Higher != 7 || !f.Interval.Known() {
		t.Errorf("%v → %v, %+v", f.Base, f.Other, f.Interval)
	}
}

// Sessions of one side alone are left out and named; so are those that a cell
// lacks.
func TestUnmatched(t *testing.T) {
	x := run(named("c", "c", nil, "abcdef", 1))
	y := run(named("c", "c", nil, "efgh", 2))
	c := compared(t, Options{}, Input{"x", x}, Input{"y", y}).Comparisons[0]
	want := []string{"left out, only in x: 4 sessions (a, b, c, d)", "left out, only in y: 2 sessions (g, h)"}
	if c.Sessions != 2 || !slices.Equal(c.Notes, want) || !near(c.Figure("cost_usd").Base, 2) {
		t.Errorf("%d sessions, notes %q", c.Sessions, c.Notes)
	}
	x = run(named("p seed=1", "p", seed("1"), "ab", 1), named("p seed=2", "p", seed("2"), "a", 3))
	c = compared(t, Options{}, Input{"x", x}, Input{"y", x}, Input{"z", x}).Comparisons[0]
	if c.Sessions != 1 || !slices.Contains(c.Notes, "left out, not in every cell of x: 1 session (b)") {
		t.Errorf("%d sessions, notes %q", c.Sessions, c.Notes)
	}
}

// Cells of the same name are matched, others named; runs of one cell each are
// compared whatever it is called.
func TestAcrossRuns(t *testing.T) {
	x := run(named("c", "c", nil, "ab", 1), named("d", "d", nil, "ab", 1))
	y := run(named("c", "c", nil, "ab", 2), named("e", "e", nil, "ab", 2))
	r := compared(t, Options{}, Input{"x", x}, Input{"y", y})
	if len(r.Comparisons) != 1 || !slices.Equal(r.Notes, []string{"Only in x: cell d.", "Only in y: cell e."}) {
		t.Errorf("%d comparisons, notes %q", len(r.Comparisons), r.Notes)
	}
	r = compared(t, Options{}, Input{"x", run(named("d", "d", nil, "ab", 1))}, Input{"y", run(named("e", "e", nil, "ab", 2))})
	if r.Comparisons[0].Cell != "" || !slices.Equal(r.Comparisons[0].Notes, []string{"cells of different names: d in x, e in y"}) {
		t.Errorf("cell %q, notes %q", r.Comparisons[0].Cell, r.Notes)
	}
	recorded := named("recorded", "recorded", nil, "ab", 3)
	r = compared(t, Options{}, Input{"x", run(recorded, named("d", "d", nil, "ab", 1))}, Input{"y", run(recorded, named("e", "e", nil, "ab", 2))})
	if len(r.Comparisons) != 2 || !near(r.Comparisons[0].Figure("cost_usd").Difference, 2) || r.Comparisons[1].Cell != "recorded" {
		t.Errorf("%d comparisons: %+v", len(r.Comparisons), r.Comparisons[0].Figure("cost_usd"))
	}
	billed := named("billed", "billed", nil, "ab", 3)
	for _, tc := range []struct {
		x, y []results.Cell
		want []string
	}{
		{[]results.Cell{billed, recorded}, []results.Cell{recorded}, []string{"Only in x: cell billed."}},
		{[]results.Cell{billed}, []results.Cell{recorded}, []string{"Only in x: cell billed.", "Only in y: cell recorded."}},
	} {
		d, e := named("d", "d", nil, "ab", 1), named("e", "e", nil, "ab", 2)
		r = compared(t, Options{}, Input{"x", run(append(tc.x, d)...)}, Input{"y", run(append(tc.y, e)...)})
		if !slices.Equal(r.Notes, tc.want) {
			t.Errorf("notes %q, want %q", r.Notes, tc.want)
		}
	}
	r = compared(t, Options{Cells: []string{"c"}}, Input{"x", x}, Input{"y", y})
	if len(r.Comparisons) != 1 || r.Comparisons[0].Cell != "c" || len(r.Notes) > 0 {
		t.Errorf("%d comparisons, notes %q", len(r.Comparisons), r.Notes)
	}
}

// Runs of other provenance are compared with a warning that gives the values.
func TestMixedRuns(t *testing.T) {
	y := after()
	y.Provenance = results.Provenance{Version: "v2", Seed: 7, SessionsDigest: "e", Prices: "2026-02-02", Switches: map[string]string{"window": "1"}}
	y.Workload.Unfinished, y.Workload.Remarks = 8, []string{"samples"}
	y.Cells[0].Total.Figures[measures.UnpricedCalls] = 3
	y.Cells[0].Rows.Edit(0, func(r *results.Row) { r.Figures[measures.CallsBySource+measures.ID(measures.SourceCompact)] = 1 }) // so that its seed matters
	y.Cells = append(y.Cells, named("only here", "c", nil, "ab", 1))
	y.Cells[1].Total.Figures[measures.UnpricedCalls] = 9 // of a cell that is not compared
	x := before()
	x.Workload.Unfinished = 1
	r := compared(t, Options{}, Input{"x", x}, Input{"y", y})
	want := []string{
		"The runs have different versions of the tool: x v1, y v2.",
		"The runs have different sets of sessions: x d, y e.",
		"The runs have different prices: x 2026-01-01, y 2026-02-02.",
		"The runs have different seeds: x 1, y 7.",
		"The runs differ in the switch window: x (none), y 1.",
		"Run x stopped before its end: 1 simulation of a session not done.",
		"Run y stopped before its end: 8 simulations of a session not done.",
		"Run y, cell x: the cost leaves out 3 calls of models without a price.",
		"Only in y: cell only here.",
	}
	if !slices.Equal(r.Notes, want) {
		t.Errorf("notes %q", r.Notes)
	}
}

// A metric that one side does not measure has no difference; one that neither
// does is not there.
func TestUnmeasured(t *testing.T) {
	x, y := before(), after()
	x.Cells[0].Unmeasured = []string{"misses", "levels of the window"}
	y.Cells[0].Unmeasured = []string{"levels of the window"}
	r := compared(t, Options{}, Input{"x", x}, Input{"y", y})
	f := r.Comparisons[0].Figure("misses")
	if f == nil || f.Verdict != Missing || !math.IsNaN(f.Base) || math.IsNaN(f.Other) || f.Changed() {
		t.Errorf("%+v", f)
	}
	if r.Comparisons[0].Figure("warning_calls") != nil {
		t.Error("a figure that neither side measures")
	}
}
