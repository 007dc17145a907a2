package tune

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
)

// plan returns a plan without cells.
func plan(t testing.TB) *scenarios.Plan {
	t.Helper()
	return &scenarios.Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t)}
}

// scenarioOf parses a scenario.
func scenarioOf(t testing.TB, p *scenarios.Plan, text string) *scenarios.File {
	t.Helper()
	f, err := scenarios.Parse(p.Registry, []byte(text), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// tuned is a search and its figures by cell.
type tuned struct{ *studies.Tuning }

func (x *tuned) value(cell, metric string) float64 {
	m, _ := results.LookupMetric(metric)
	for i := range x.Run.Cells {
		if x.Run.Cells[i].Cell == cell {
			v, _ := x.Run.Cells[i].Value(m)
			return v
		}
	}
	return math.NaN()
}

func tune(t testing.TB, text string, s Search, corpus *traces.Corpus) (*tuned, error) {
	t.Helper()
	p, samples := plan(t), scenariostest.Samples(t)
	if corpus == nil {
		corpus = samples
	}
	p.Seed = 1
	s.Objective = cmp.Or(s.Objective, "cost_usd")
	out, err := Run(context.Background(), p, scenarioOf(t, p, text), corpus, s)
	return &tuned{out}, err
}

const sweptThresholds = `
schema: 1
strategies:
  - name: at
    preset: auto-compact/167k
    set: {full-compact.trigger: {measure: client_tokens}, full-compact.trigger.fixed: {from: 60000, to: 180000, step: 4000}}
`

// With a budget for all, the best is the cheapest of a plain sweep; with a third of the budget it
// is the cheapest of as many settings, within two per cent of the best.
func TestTuneFindsTheBestOfASweep(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	corpus := scenariostest.Made(t, 10)
	all, err := tune(t, sweptThresholds, Search{Budget: 100}, corpus)
	if err != nil {
		t.Fatal(err)
	}
	least := math.Inf(1)
	for i := range all.Run.Cells {
		if c := &all.Run.Cells[i]; c.Strategy == "at" {
			least = min(least, c.Total.CostUSD())
		}
	}
	if got := all.value(all.Settings[0].Cell, "cost_usd"); got != least || all.Tried != 31 {
		t.Errorf("best of all costs %v, the sweep's %v; %d tried", got, least, all.Tried)
	}
	some, err := tune(t, sweptThresholds, Search{Budget: 10}, corpus)
	if err != nil {
		t.Fatal(err)
	}
	if got := some.value(some.Settings[0].Cell, "cost_usd"); got > 1.02*least || some.Tried > 10 || some.Space != 31 {
		t.Errorf("searched: $%v (the best is $%v), %d of %d tried", got, least, some.Tried, some.Space)
	}
}

// A budget for all settings tries all settings of each strategy, however many settings another strategy has.
func TestTuneTriesAllOfUnequalStrategies(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	out, err := tune(t, sweptThresholds+"  - auto-compact/155k\n", Search{Budget: 32}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.Space != 32 || out.Tried != 32 || len(out.Settings) != 32 {
		t.Errorf("%d of %d tried, %d told", out.Tried, out.Space, len(out.Settings))
	}
}

// What a search cannot do is said before it begins.
func TestTuneRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	two := sweptThresholds + "  - auto-compact/155k\n"
	for _, c := range []struct {
		s    Search
		text string
		want string
	}{
		{Search{Budget: 1}, two, "--budget 1 is less than one setting for each of 2 strategies"},
		{Search{Budget: 5, Objective: "cost"}, two, `--objective: unknown metric "cost" (did you mean "cost_usd"`},
		{Search{Budget: 5, Objective: "compactions"}, two, "--objective: neither more nor less of compactions"},
		{Search{Budget: 5, Objective: "chain_max"}, two, "chain_max is a maximum"},
		{Search{Budget: 5}, "schema: 1\nstrategies: [recorded]\n", "no strategy beside recorded"},
	} {
		if _, err := tune(t, c.text, c.s, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

// A sample stays within what is swept, draws no point twice, spreads over every dimension, and is the same under the same
// seed; one as large as the space is the space.
func TestSampleOfARegion(t *testing.T) {
	r := region{strategy: "s", axes: []dimension{{Axis: scenarios.Axis{Values: strings.Fields("0 1 2 3 4 5 6 7 8 9")}}, {Axis: scenarios.Axis{Values: strings.Fields("a b c d e f g h i j")}}}}
	list := r.sample(10, 1)
	seen := map[string]bool{}
	for i, p := range list {
		seen[p[0]], seen[p[1]] = true, true
		for _, q := range list[:i] {
			if slices.Equal(p, q) {
				t.Errorf("%v twice", p)
			}
		}
	}
	if len(list) < 8 || len(list) > 10 || len(seen) < 14 {
		t.Errorf("%d points with %d values", len(list), len(seen))
	}
	if same := func(p, q point) bool { return slices.Equal(p, q) }; !slices.EqualFunc(list, r.sample(10, 1), same) ||
		slices.EqualFunc(list, r.sample(10, 2), same) {
		t.Error("the seed does not decide the sample")
	}
	if got := len(r.sample(100, 1)); got != 100 {
		t.Errorf("a sample as large as the space has %d points", got)
	}
}
