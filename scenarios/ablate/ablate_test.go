package ablate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
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

// Every cell of an ablation differs from its base in one mechanism, and in
// nothing else that can be switched.
func TestAblationSwitchesOneAtATime(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	p := plan(t)
	a, err := Of(scenarioOf(t, p, "strategies: [claude-code/2026-03, auto-compact/small-model]"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Bases() != 2 || len(a.Design.Cells) != 3+len(a.Changes) {
		t.Fatalf("%d bases, %d cells for %d changes", a.Bases(), len(a.Design.Cells), len(a.Changes))
	}
	known := map[string][]string{} // switches of bases
	switches := func(c *scenarios.Cell) []string {
		if list := known[c.Name]; list != nil {
			return list
		}
		around := switchesAround(c.Scenario)
		var list []string
		for _, m := range slices.Concat(c.Strategy.Mechanisms(), around) {
			list = append(list, m.Path+"="+m.Now)
		}
		if len(c.Params) == 0 {
			known[c.Name] = list
		}
		return list
	}
	find := func(name string) *scenarios.Cell {
		i := slices.IndexFunc(a.Design.Cells, func(c scenarios.Cell) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("no cell %s", name)
		}
		return &a.Design.Cells[i]
	}
	for i, c := range a.Changes {
		if i%3 > 0 && c.Base != "auto-compact/small-model" {
			continue // of the many of a whole pipeline, every third
		}
		base, cell := find(c.Base), find(c.Cell)
		if base.Strategy.Name != cell.Strategy.Name || c.Set == "" {
			t.Errorf("%s: of %s, set %q", c.Cell, base.Strategy.Name, c.Set)
		}
		was, is := switches(base), switches(cell)
		for _, now := range is {
			path, _, _ := strings.Cut(now, "=")
			if !slices.Contains(was, now) && path != c.Path && !strings.HasPrefix(path, strings.TrimSuffix(c.Path, "enabled")) {
				t.Errorf("%s: also %s", c.Cell, now)
			}
		}
		if slices.Contains(is, c.Path+"="+valueIn(was, c.Path)) {
			t.Errorf("%s: is as it was", c.Cell)
		}
	}
}

// valueIn returns the value of a path in a list of path=value.
func valueIn(list []string, path string) string {
	for _, s := range list {
		if v, ok := strings.CutPrefix(s, path+"="); ok {
			return v
		}
	}
	return ""
}

// A cell of an ablation is what the same assignment makes of the scenario, and
// what cannot be switched by itself says why.
func TestAblationIsAnOrdinaryScenario(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	p, corpus := plan(t), scenariostest.Samples(t)
	const text = "strategies: [auto-compact/167k]"
	a, err := Of(scenarioOf(t, p, text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Run(context.Background(), p, corpus)
	if err != nil {
		t.Fatal(err)
	}
	f := scenarioOf(t, p, text)
	if err := f.Assign("full-compact.auto=false"); err != nil {
		t.Fatal(err)
	}
	if p.Design, err = f.Expand(); err != nil {
		t.Fatal(err)
	}
	run, err := p.Run(context.Background(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	base := out.Run.Reference("auto-compact/167k").Total.CostUSD()
	want := run.Reference("auto-compact/167k").Total.CostUSD() - base
	list := out.Differences("auto-compact/167k")
	i := slices.IndexFunc(list, func(d studies.Difference) bool { return d.Change.Set == "full-compact.auto=false" })
	if i < 0 || math.Abs(list[i].USD-want) > 1e-9 || want == 0 {
		t.Errorf("differences %+v, the run without has $%.6f more", list, want)
	}
	if !slices.IsSortedFunc(list, func(x, y studies.Difference) int { return cmp.Compare(math.Abs(y.USD), math.Abs(x.USD)) }) {
		t.Error("the largest difference does not come first")
	}
	refused := slices.IndexFunc(out.Refused, func(r studies.Refusal) bool { return r.Set == "full-compact.trigger.reserve_output=false" })
	if refused < 0 || !strings.HasPrefix(out.Refused[refused].Reason, "full-compact.trigger.output_cap 20000") {
		t.Errorf("refused %+v", out.Refused)
	}
}

// A swept parameter has no one value to start from.
func TestAblationOfASweep(t *testing.T) {
	p := plan(t)
	for _, text := range []string{
		"strategies: [none]\nserver: {lookback: [20, 21]}",
		"strategies: [{preset: auto-compact/167k, set: {full-compact.breaker: [0, 1]}}]",
	} {
		if _, err := Of(scenarioOf(t, p, text)); err == nil || !strings.Contains(err.Error(), "is swept") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// BenchmarkAblate expands the scenario of an ablation: a cell for each mechanism.
func BenchmarkAblate(b *testing.B) {
	p := plan(b)
	for b.Loop() {
		if _, err := Of(scenarioOf(b, p, "strategies: [claude-code/2026-03]")); err != nil {
			b.Fatal(err)
		}
	}
}
