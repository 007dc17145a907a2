package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/reading/synthetic"
	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
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

// With a budget for all, the best is the cheapest of a plain sweep; with a third of it, the cheapest
// of as many settings, which is within two per cent of that.
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

// A budget for all settings tries all of each strategy, however many the others have.
func TestTuneTriesAllOfUnequalStrategies(t *testing.T) {
	out, err := tune(t, sweptThresholds+"  - auto-compact/155k\n", Search{Budget: 32}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.Space != 32 || out.Tried != 32 || len(out.Settings) != 32 {
		t.Errorf("%d of %d tried, %d told", out.Tried, out.Space, len(out.Settings))
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
		{Search{Budget: 1}, two, "--budget 1 is less than one setting for each of 2 strategies"},
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
