package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// cellNames returns the names of the cells of a design in order.
func cellNames(d *Design) []string {
	var names []string
	for _, c := range d.Cells {
		names = append(names, c.Name)
	}
	return names
}

// The product, counted by hand: which axes multiply which strategies.
func TestExpand(t *testing.T) {
	const compact = "full-compact: {trigger: {measure: tokens, fixed: 100000}, "
	for name, tc := range map[string]struct {
		text string
		want int
		some []string // names of cells that must be among them
	}{
		"the default has its five strategies": {"schema: 1", 5, []string{"recorded", "none"}},
		"recorded comes of itself": {
			"strategies: [none]", 2, []string{"recorded", "none"},
		},
		"what was billed is no cell": {
			"strategies: [none, recorded, billed]", 2, []string{"recorded", "none"},
		},
		// recorded 1 + 3 + none 1
		"an axis of one strategy does not multiply another": {
			"strategies: [{preset: auto-compact/167k, set: {full-compact.breaker: [0, 1, 2]}}, none]",
			5, []string{"auto-compact/167k breaker=0", "auto-compact/167k breaker=2", "none"},
		},
		// recorded 1 + 3 × 2
		"axes of one strategy multiply each other": {
			"strategies: [{name: x, layers: [{" + compact + "breaker: [0, 1, 2], subagents: [true, false]}}]}]",
			7, []string{"x breaker=1 subagents=false"},
		},
		// recorded × 2 + (none + auto-compact) × 2 × 3: none draws what it leaves out of the recording
		"axes of the server multiply all, the seed what draws": {
			"strategies: [none, auto-compact/167k]\nserver: {lookback: [20, 21]}\nseed: [1, 2, 3]",
			14, []string{"recorded server.lookback=20", "none server.lookback=21 seed=2", "auto-compact/167k server.lookback=21 seed=3"},
		},
		// (recorded + none) × 3: the server evicts by a draw
		"the seed multiplies all where the server draws": {
			"strategies: [none]\nserver: {evict_per_call: 0.01}\nseed: [1, 2, 3]",
			6, []string{"recorded seed=1", "none seed=3"},
		},
		// (recorded + none) × 2 windows × 2 dates
		"axes of the client and of prices multiply all": {
			"strategies: [none]\nclient: {window: [200000, 1000000]}\nprices: {at: [call, 2026-03-01]}",
			8, []string{"none client.window=1000000 prices.at=2026-03-01"},
		},
		// recorded 1 + none 1 + truncate-oldest 1 + auto-compact 2
		"axes of the summariser multiply those that ask it": {
			"strategies: [none, truncate-oldest, auto-compact/167k]\nsummarizer: {median: [1000, 3000]}",
			5, []string{"recorded", "none", "truncate-oldest", "auto-compact/167k summarizer.median=1000"},
		},
		// recorded 1 + none 2 + auto-compact 2 × 2
		"seed and summariser": {
			"strategies: [none, auto-compact/167k]\nsummarizer: {median: [1000, 3000]}\nseed: [1, 2]",
			7, []string{"none seed=2", "auto-compact/167k summarizer.median=3000 seed=2"},
		},
		// recorded 1 + 13: 60, 70, …, 180 thousand
		"a range holds both ends": {
			"strategies: [{preset: auto-compact/167k, set: {full-compact.trigger.fixed: {from: 60000, to: 180000, step: 10000}}}]",
			14, []string{"auto-compact/167k trigger.fixed=60000", "auto-compact/167k trigger.fixed=180000"},
		},
		// 0, 0.1, 0.2, 0.3: steps of a tenth do not miss the end
		"a range of fractions": {
			"strategies: [recorded]\nserver: {evict_per_call: {from: 0, to: 0.3, step: 0.1}}",
			4, []string{"recorded server.evict_per_call=0.3"},
		},
		"a range of times": {
			"strategies: [recorded]\nserver: {lifetime_5m: {from: 5m, to: 20m, step: 5m}}",
			4, []string{"recorded server.lifetime_5m=20m"},
		},
		// recorded 1 + 2; parameters of one name in two layers keep their layers
		"names that are not clear keep the layer": {
			`strategies: [{name: x, layers: [{microcompact: {trigger: {measure: tokens, fixed: [50000, 60000]}}},
  {truncate-oldest: {trigger: {measure: tokens, fixed: [70000, 80000]}}}]}]`,
			5, []string{"x microcompact.trigger.fixed=50000 truncate-oldest.trigger.fixed=80000"},
		},
		"a list where a parameter is a list is its value": {
			"strategies: [{preset: auto-compact/167k, set: {full-compact.call: [fork, streaming]}}]", 2, []string{"auto-compact/167k"},
		},
		"a list of lists sweeps it": {
			"strategies: [{preset: auto-compact/167k, set: {full-compact.call: [[fork], [streaming]]}}]", 3, []string{"auto-compact/167k call=[fork]"},
		},
		"equal values in other words are one": {
			"strategies: [none]\nserver: {lifetime_5m: [5m, 1h]}", 4, []string{"none server.lifetime_5m=1h"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := expand(t, tc.text)
			names := cellNames(d)
			if len(names) != tc.want {
				t.Errorf("%d cells, want %d: %q", len(names), tc.want, names)
			}
			for _, want := range tc.some {
				if !slices.Contains(names, want) {
					t.Errorf("no cell %q among %q", want, names)
				}
			}
			if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
				t.Errorf("names are not unique: %q", names)
			}
		})
	}
}

// Cells carry the values that are swept, by name, and no others.
func TestCellParams(t *testing.T) {
	d := expand(t, "strategies: [{preset: auto-compact/167k, set: {full-compact.trigger.fixed: [100000, 120000]}}]\nserver: {lookback: [20, 21]}")
	got := d.Cells[len(d.Cells)-1].Params
	want := map[string]string{"trigger.fixed": "120000", "server.lookback": "21"}
	if !maps.Equal(got, want) {
		t.Errorf("params %v, want %v", got, want)
	}
}

// lists contain all presets or layers, which grow.
var lists = regexp.MustCompile("; known: .*")

// Every problem of a file is reported at once, by line, with the nearest known
// name: testdata/errors has files and what is said about them.
// A chart names an axis after its parameter, with the unit that the declaration gives; a
// trigger's value has the unit of what it measures.
func TestLabelsOfAxes(t *testing.T) {
	d := expand(t, `
strategies:
- {name: a, preset: auto-compact/167k, set: {full-compact.trigger.fixed: [1, 2]}}
- {preset: own, set: {full-compact.trigger.reserve: [1, 2]}}
server: {lookback: [1, 20], lifetime_5m: [5m, 10m]}
`)
	want := map[string]string{
		"trigger.fixed":      "threshold (tokens)",
		"trigger.reserve":    "trigger reserve (tokens)",
		"server.lookback":    "server lookback (positions)",
		"server.lifetime_5m": "cache lifetime (entries of 5 minutes)", // the values say their unit
	}
	if diff := cmp.Diff(want, d.labels()); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, td *datadriven.TestData) string {
		f, err := Parse(scenariostest.Registry(t), []byte(td.Input), "t.yaml")
		if err == nil {
			for _, arg := range td.CmdArgs {
				if e := f.Assign(arg.Key + "=" + strings.Join(arg.Vals, ",")); e != nil {
					return e.Error() + "\n"
				}
			}
			var d *Design
			if d, err = f.Expand(); err == nil {
				return fmt.Sprintf("%d cells\n", len(d.Cells))
			}
		}
		return lists.ReplaceAllString(err.Error(), "; known: …") + "\n"
	})
}

// rowsOf runs a scenario on a sample and returns its canonical rows.
func rowsOf(t *testing.T, text string) string {
	t.Helper()
	return encode(t, run(t, expand(t, text)))
}

func run(t *testing.T, d *Design) *results.Run {
	t.Helper()
	plan := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}
	r, err := plan.Run(context.Background(), scenariostest.Samples(t, "long-refactor"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t *testing.T, r *results.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := results.WriteRows(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Ways to say the same thing give the same rows, to the byte.
func TestEqualScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, pair := range map[string][2]string{
		"an axis of one value is that value": {
			"strategies: [{preset: auto-compact/167k, set: {full-compact.trigger: {measure: tokens, fixed: [90000]}}}]\nserver: {lookback: [18]}",
			"strategies: [{preset: auto-compact/167k, set: {full-compact.trigger: {measure: tokens, fixed: 90000}}}]\nserver: {lookback: 18}",
		},
		"a range is the list of its values": {
			"strategies: [none]\nserver: {lookback: {from: 18, to: 20, step: 1}}",
			"strategies: [none]\nserver: {lookback: [18, 19, 20]}",
		},
		"the order of axes does not matter": {
			"seed: [1, 2]\nserver: {max_markers: [4, 1], lookback: [20, 5]}\nstrategies: [none]",
			"strategies: [none]\nserver: {lookback: [20, 5], max_markers: [4, 1]}\nseed: [1, 2]",
		},
		"the order of values does not matter": {
			"strategies: [none]\nserver: {lookback: [20, 5]}\nsummarizer: {sigma: 0.29}",
			"strategies: [none]\nserver: {lookback: [5, 20]}",
		},
		"a preset is its layers": {
			"strategies: [truncate-oldest]",
			"strategies: [{name: truncate-oldest, layers: [{truncate-oldest: {trigger: {measure: client_tokens, reserve: 13000, reserve_output: true, output_cap: 20000}, target: 0.5}}]}]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := rowsOf(t, pair[0]), rowsOf(t, pair[1])
			if name == "the order of values does not matter" {
				a, b = rowLines(a), rowLines(b)
			}
			if a != b || strings.Count(a, "\n") < 2 {
				t.Errorf("rows differ or are too few:\n%s", cmp.Diff(a, b))
			}
		})
	}
}

// rowLines drops the head, which lists cells in the order they are presented.
func rowLines(text string) string {
	_, rows, _ := strings.Cut(text, "\n")
	return rows
}

// Expanding leaves the file as it is.
func TestExpandTwice(t *testing.T) {
	f, err := Parse(scenariostest.Registry(t), []byte("strategies: [{preset: auto-compact/167k, set: {full-compact.breaker: [0, 1]}}]\nseed: [1, 2]"), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Assign("full-compact.instruction=[500, 900]"); err != nil {
		t.Fatal(err)
	}
	var names [2][]string
	for i := range names {
		d, err := f.Expand()
		if err != nil {
			t.Fatal(err)
		}
		names[i] = cellNames(d)
	}
	// recorded + 2 breakers × 2 instructions × 2 seeds
	if len(names[0]) != 9 || !slices.Equal(names[0], names[1]) {
		t.Errorf("cells %q, then %q", names[0], names[1])
	}
}

// A date of prices is an axis, of the bill too.
func TestDatesOfPrices(t *testing.T) {
	f, err := Parse(scenariostest.Registry(t), []byte("strategies: [none]\nprices: {at: [call, 2026-03-20]}"), "t.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	if names := cellNames(d); !slices.Contains(names, "none prices.at=2026-03-20") {
		t.Errorf("cells %q", names)
	}
	run := run(t, d)
	// The bill of each date, without a model.
	if run.Cells[1].Cell != "billed prices.at=2026-03-20" || run.Cells[1].Strategy != measures.StrategyBilled {
		t.Errorf("cells begin with %q, %q", run.Cells[0].Cell, run.Cells[1].Cell)
	}
	if v, ok := run.VsRecorded(&run.Cells[len(run.Cells)-1]); !ok || v.Relative == 0 {
		t.Errorf("the last cell is not compared: %v, %v", v, ok)
	}
}

// The resolved scenario says everything: run again it makes the same rows and
// resolves to itself.
func TestResolvedRunsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for name, text := range map[string]string{
		"default": "schema: 1",
		"sweep": `
strategies:
  - auto-compact/155k
  - {name: c, preset: auto-compact/167k, set: {full-compact.trigger: {measure: tokens}, full-compact.trigger.fixed: [80000, 90000], full-compact.call: [[fork], [streaming]]}}
  - {name: n, layers: []}
server: {lifetime_5m: [5m, 90s], anchor: [end, start]}
summarizer: {sizing: fixed, median: [2000, 4000], failures: {fork: {api: 0.5}}}
prices: {at: [call, 2026-03-20]}
seed: [1, 18446744073709551615]
`,
		"groups": "strategies: [claude-code/2026-03]\nprices: {at: 2026-03-20}",
	} {
		t.Run(name, func(t *testing.T) {
			d := expand(t, text)
			resolved, err := d.Resolved()
			if err != nil {
				t.Fatal(err)
			}
			again := expand(t, string(resolved))
			twice, err := again.Resolved()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(resolved), string(twice)); diff != "" {
				t.Errorf("resolved again it is different:\n%s", diff)
			}
			if a, b := encode(t, run(t, d)), encode(t, run(t, again)); a != b {
				t.Errorf("rows differ:\n%s", cmp.Diff(a, b))
			}
		})
	}
}

// The strategies of a design that are read once are the same cells under new settings as those read again.
func TestDesignWith(t *testing.T) {
	parse := func() *File {
		f, err := Parse(scenariostest.Registry(t), []byte("strategies: [none, {name: x, layers: [{full-compact: {trigger: {fixed: 160000}}}]}, {preset: mux, set: {full-compact.breaker: [0, 2]}}, own]\nserver: {lookback: [20, 21]}"), "a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	settings := []string{"client.window=180000", "server.name=openai", "client.env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50"}
	f := parse()
	before, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range settings {
		if err := f.Assign(a); err != nil {
			t.Fatal(err)
		}
	}
	want, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	got, err := before.With(settings)
	if err != nil {
		t.Fatal(err)
	}
	if text(t, want) != text(t, got) || !slices.Equal(cellNames(want), cellNames(got)) {
		t.Errorf("%v\n%s\nwant %v\n%s", cellNames(got), text(t, got), cellNames(want), text(t, want))
	}
	for i := range want.Cells {
		if a, b := want.Cells[i].Strategy, got.Cells[i].Strategy; !a.Same(b) && a.Name != "none" && a.Name != measures.StrategyOwn {
			t.Errorf("%s is another strategy", want.Cells[i].Name)
		}
	}
	if _, err := before.With([]string{"client.window=150000"}); err == nil || !strings.Contains(err.Error(), "client.window 150000") {
		t.Errorf("a window below the level of a strategy: %v", err)
	}
}

func text(t *testing.T, d *Design) string {
	t.Helper()
	b, err := d.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
