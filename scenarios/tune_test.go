package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// madeCorpus returns long generated sessions.
func madeCorpus(t testing.TB, sessions int) *traces.Corpus {
	t.Helper()
	w, err := synthetic.LoadWorkload("long-refactor")
	if err != nil {
		t.Fatal(err)
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Corpus(context.Background(), sessions, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
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
	p, samples := samplePlan(t)
	if corpus == nil {
		corpus = samples
	}
	p.Seed = 1
	if len(s.Objectives) == 0 {
		s.Objectives = []string{"cost_usd"}
	}
	if s.Design == "" {
		s.Design = Designs()[0]
	}
	out, err := p.Tune(context.Background(), scenarioOf(t, p, text), corpus, s)
	return &tuned{out}, err
}

const sweptThresholds = `
schema: 1
strategies:
  - name: at
    preset: auto-compact/167k
    set: {full-compact.trigger: {measure: client_tokens}, full-compact.trigger.fixed: {from: 60000, to: 180000, step: 4000}}
`

// With a budget for all, the best is the cheapest of a plain sweep; with a third of it the search
// comes within half a per cent of that.
func TestTuneFindsTheBestOfASweep(t *testing.T) {
	corpus := madeCorpus(t, 20)
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
	if got := all.value(all.Settings[0].Cell, "cost_usd"); got != least || all.Tried != 31 || all.Work != 31 || all.Chosen != 0 || all.Judged != 20 {
		t.Errorf("best of all costs %v, the sweep's %v; %d tried, work %v, judged %d", got, least, all.Tried, all.Work, all.Judged)
	}
	some, err := tune(t, sweptThresholds, Search{Budget: 10}, corpus)
	if err != nil {
		t.Fatal(err)
	}
	if got := some.value(some.Settings[0].Cell, "cost_usd"); got > 1.005*least || some.Work > 14 || some.Chosen != 10 || some.Judged != 10 {
		t.Errorf("searched: $%v (the best is $%v), work %v, chosen on %d", got, least, some.Work, some.Chosen)
	}
}

// A limit that the cheapest misses moves the choice; one that nothing meets is told as such. The front
// holds no setting that another beats in both figures.
func TestTuneKeepsLimits(t *testing.T) {
	corpus := madeCorpus(t, 12)
	free, err := tune(t, sweptThresholds, Search{Budget: 100, Objectives: []string{"cost_usd", "cache_hit_ratio"}}, corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range free.Settings {
		for _, b := range free.Settings {
			if a.Front && free.value(b.Cell, "cost_usd") < free.value(a.Cell, "cost_usd") &&
				free.value(b.Cell, "cache_hit_ratio") > free.value(a.Cell, "cache_hit_ratio") {
				t.Errorf("%s is on the front and %s beats it", a.Cell, b.Cell)
			}
		}
	}
	most := free.value(free.Settings[0].Cell, "compactions")
	bound, err := tune(t, sweptThresholds, Search{Budget: 100, SubjectTo: []string{fmt.Sprintf("compactions<=%v", most-1)}}, corpus)
	if err != nil {
		t.Fatal(err)
	}
	if got := bound.value(bound.Settings[0].Cell, "compactions"); got >= most || !bound.Settings[0].Keeps {
		t.Errorf("%v compactions under a limit below %v", got, most)
	}
	none, err := tune(t, sweptThresholds, Search{Budget: 100, SubjectTo: []string{"cost_usd<=0"}}, corpus)
	if err != nil {
		t.Fatal(err)
	}
	if none.Settings[0].Keeps {
		t.Errorf("%s is said to cost nothing", none.Settings[0].Cell)
	}
}

// What a search cannot do is said ahead of it.
func TestTuneRefuses(t *testing.T) {
	two := sweptThresholds + "  - auto-compact/155k\n"
	for _, c := range []struct {
		s    Search
		text string
		want string
	}{
		{Search{Budget: 1}, two, "--budget 1 is less than one run for each of 2 strategies"},
		{Search{Budget: 5}, sweptThresholds, "31 settings are more than the budget of 5, and dropping some takes 10 sessions, not 5"},
		{Search{Budget: 5, Objectives: []string{"cost"}}, two, `--objective: unknown metric "cost" (did you mean "cost_usd"`},
		{Search{Budget: 5, Objectives: []string{"compactions"}}, two, "--objective: neither more nor less of compactions"},
		{Search{Budget: 5, Objectives: []string{"chain_max"}}, two, "chain_max is a maximum"},
		{Search{Budget: 5, SubjectTo: []string{"cost_usd<3"}}, two, "--subject-to cost_usd<3: want METRIC>=VALUE or METRIC<=VALUE"},
		{Search{Budget: 5, SubjectTo: []string{"cost_usd<=x"}}, two, `"x" is no number`},
		{Search{Budget: 5, SubjectTo: []string{"cost_usd<=NaN"}}, two, `"NaN" is no number`},
		{Search{Budget: 5, SubjectTo: []string{"needed_recall>=2"}}, two, "--subject-to needed_recall>=2: a ratio is at most 1"},
		{Search{Budget: 5}, "schema: 1\nstrategies: [recorded]\n", "no strategy beside recorded"},
	} {
		if _, err := tune(t, c.text, c.s, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

// The Sobol indices of Ishigami's function with a = 7, b = 0.1 are known: 0.314, 0.442, 0 by
// themselves and 0.558, 0.442, 0.244 in all (Saltelli et al. 2008, table 4.1).
func TestSobolIndices(t *testing.T) {
	const n = 4096
	f := func(u []float64) float64 {
		x := make([]float64, 3)
		for i := range x {
			x[i] = math.Pi * (2*u[i] - 1)
		}
		return math.Sin(x[0]) + 7*math.Pow(math.Sin(x[1]), 2) + 0.1*math.Pow(x[2], 4)*math.Sin(x[0])
	}
	cube := unit(designHalton, n, 6, 1)
	values := make([][]float64, n)
	all := make([]int, n)
	for i := range values {
		a, b := cube.RawRowView(i)[:3], cube.RawRowView(i)[3:]
		values[i], all[i] = []float64{f(a), f(b)}, i
		for d := range a {
			mixed := slices.Clone(a)
			mixed[d] = b[d]
			values[i] = append(values[i], f(mixed))
		}
	}
	for d, want := range [][2]float64{{0.314, 0.558}, {0.442, 0.442}, {0, 0.244}} {
		if first, total := sobol(values, all, d); math.Abs(first-want[0]) > 0.03 || math.Abs(total-want[1]) > 0.03 {
			t.Errorf("x%d: %.3f by itself, %.3f in all, want %v", d+1, first, total, want)
		}
	}
}

// The runs of a search count as one: what is done grows up to all of it, and every new run adds to both.
func TestProgressOfASearch(t *testing.T) {
	p, _ := samplePlan(t)
	p.Workers = 1
	var done [][2]int
	p.Done = func(finished, total int) { done = append(done, [2]int{finished, total}) }
	s := Search{Budget: 10, Points: 4, Objectives: []string{"cost_usd"}, Design: Designs()[0]}
	if _, err := p.Tune(t.Context(), scenarioOf(t, p, sweptThresholds), madeCorpus(t, 10), s); err != nil {
		t.Fatal(err)
	}
	last, runs := [2]int{}, 0
	for _, d := range done {
		if d[0] < last[0] || d[1] < last[1] || d[0] > d[1] {
			t.Fatalf("%d of %d behind %d of %d", d[0], d[1], last[0], last[1])
		}
		if d[1] > last[1] {
			runs++
		}
		last = d
	}
	if last[0] != last[1] || runs < 5 {
		t.Errorf("at the end %d of %d in %d runs", last[0], last[1], runs)
	}
}

// Of two parameters one of which does nothing here, that one makes none of the variance.
func TestSensitivityNamesWhatMatters(t *testing.T) {
	text := strings.TrimSuffix(sweptThresholds, "}\n") + ", full-compact.breaker: [2, 3, 4]}\n"
	out, err := tune(t, text, Search{Budget: 200, Points: 8}, madeCorpus(t, 10))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out.Indices {
		if idle := x.Parameter != "trigger.fixed"; idle != (x.Total == 0) {
			t.Errorf("%s makes %v of the variance", x.Parameter, x.Total)
		}
	}
}

// Every design stays within what is swept and draws no point twice; a Latin hypercube has one point
// in each of its layers.
func TestDesigns(t *testing.T) {
	r := region{strategy: "s", axes: []dimension{{values: strings.Fields("0 1 2 3 4 5 6 7 8 9")}, {values: strings.Fields("a b c d e f g h i j")}}}
	by := func(i int) design { return design(i) }
	for i, name := range Designs() {
		list := r.sample(by(i), 10, 1)
		if len(list) == 0 || len(list) > 10 || len(distinct(slices.Clone(list))) != len(list) {
			t.Errorf("%s: %d points", name, len(list))
		}
		if by(i) == designLatin {
			for d := range r.axes {
				seen := map[string]bool{}
				for _, p := range list {
					seen[p[d]] = true
				}
				if len(seen) != 10 {
					t.Errorf("a Latin hypercube of 10 points has %d values in dimension %d", len(seen), d)
				}
			}
		}
	}
	if got := len(r.sample(designRandom, 100, 1)); got != 100 {
		t.Errorf("a sample as large as the space has %d points", got)
	}
}

// Values between others keep their form, and end where the step is finer than what recordings tell
// apart.
func TestRefinedValues(t *testing.T) {
	f := func(values ...string) dimension {
		d := dimension{values: values}
		d.read()
		return d
	}
	r := region{axes: []dimension{f("100000", "60000", "180000"), f("5m", "1h"), f("none", "all")}}
	got := r.around(point{"100000", "5m", "all"}, []point{{"60000", "5m", "all"}, {"100000", "5m", "all"}})
	var text []string
	for _, p := range got {
		text = append(text, strings.Join(p, " "))
	}
	if want := "80000 5m all; 140000 5m all; 100000 32m30s all"; strings.Join(text, "; ") != want {
		t.Errorf("around: %q, want %q", text, want)
	}
	if got := r.around(point{"100000", "1h", "none"}, []point{{"101000", "1h", ""}, {"99000", "1h", ""}, {"100000", "59m", ""}}); len(got) != 0 {
		t.Errorf("steps below a hundredth of the range: %v", got)
	}
}

// A scenario that asks for some settings has as many of each strategy beside the recorded one, of any parameter, and
// the same ones under the same seed.
func TestSampledDesign(t *testing.T) {
	p, _ := samplePlan(t)
	const text = `
design: {points: 12, by: latin-hypercube}
strategies:
- {name: a, preset: auto-compact/167k, set: {full-compact.trigger.fixed: {from: 60000, to: 160000, step: 500}}}
- none
server: {lifetime_5m: [1m, 5m, 10m, 1h]}
`
	cells := func(text string) (names []string) {
		d, err := scenarioOf(t, p, text).Expand()
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Cells {
			names = append(names, d.Cells[i].Name)
		}
		return names
	}
	list := cells(text)
	// A half of 12 for each strategy: none has only the four lifetimes.
	if len(list) != 1+6+4 || list[0] != results.StrategyRecorded || !slices.Equal(list, cells(text)) {
		t.Errorf("%d cells: %q", len(list), list)
	}
	if slices.Equal(list, cells(text+"seed: 2\n")) {
		t.Error("another seed draws the same settings")
	}
	if all := cells("seed: 1" + strings.Replace(text, "points: 12", "points: 0", 1)); len(all) != 4*(1+201+1) {
		t.Errorf("%d combinations, want %d", len(all), 4*(1+201+1))
	}
}
