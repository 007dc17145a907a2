package rank

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
)

// Places count the sides that are shown to be better or worse; those that differ in one session of twelve share theirs.
func TestPlaces(t *testing.T) {
	flat := func(usd float64) *ranked {
		x := &ranked{}
		for i := range 12 {
			r := &results.Row{Session: string(rune('a' + i))}
			r.Figures[measures.StorageUSD] = usd + float64(i)/100
			x.rows = append(x.rows, r)
		}
		return x
	}
	tie, lacking := flat(2), flat(3)
	tie.rows[3].Figures[measures.StorageUSD] += 0.1
	lacking.rows = slices.Delete(lacking.rows, 4, 5) // judged on eleven sessions
	sides := []*ranked{lacking, flat(2), tie, flat(1)}
	if got := placesBy(sides, costFigure, stats.Lower, nil, 0); !slices.Equal(got, []studies.Place{{First: 4, Last: 4}, {First: 2, Last: 3}, {First: 2, Last: 3}, {First: 1, Last: 1}}) {
		t.Errorf("places by cost are %v", got)
	}
	if got := placesBy(sides, costFigure, stats.Higher, nil, 0); !slices.Equal(got, []studies.Place{{First: 1, Last: 1}, {First: 2, Last: 3}, {First: 2, Last: 3}, {First: 4, Last: 4}}) {
		t.Errorf("places where more is better are %v", got)
	}
}

// What is compared depends on the agent's own strategy alone, and one that ends a session early has no place.
func TestComparedByOwn(t *testing.T) {
	row := func(session string, id measures.ID) *results.Row {
		r := &results.Row{Session: session}
		r.Figures[measures.Sessions], r.Figures[id] = 1, 1
		return r
	}
	run := &results.Run{Cells: []results.Cell{
		{Cell: measures.StrategyOwn, Strategy: measures.StrategyOwn, Rows: results.Rows{}.With(row("a", measures.Calls), row("b", measures.UnsimulatedCalls), row("c", measures.UnpricedCalls))},
		{Cell: "none", Strategy: "none", Rows: results.Rows{}.With(row("a", measures.UnsimulatedCalls), row("b", measures.Calls), row("c", measures.Calls))},
	}}
	compared, over, unpriced := comparedIn(run, func(string) bool { return true })
	if len(compared) != 1 || !compared["a"] || len(over) != 1 || unpriced != 1 {
		t.Errorf("compared are %v, %d over and %d unpriced", compared, len(over), unpriced)
	}
	v, _ := (&ranker{plan: &scenarios.Plan{Registry: scenariostest.Registry(t)}}).view("", run, func(string) bool { return true })
	if len(v.Ended) != 1 || v.Ended[0].Strategy != "none" || v.Of("none") != nil || v.Of(measures.StrategyOwn) == nil || v.Ordered() {
		t.Errorf("the view is %+v", v)
	}
}

// Others are held against the first cell of the agent's own strategy, where settings of its layers are swept too.
func TestOwnInSweep(t *testing.T) {
	cell := func(name, strategy string, usd float64) results.Cell {
		r := &results.Row{Session: "a"}
		r.Figures[measures.Sessions], r.Figures[measures.Compactions], r.Figures[measures.StorageUSD] = 1, 1, usd
		return results.Cell{Cell: name, Strategy: strategy, Rows: results.Rows{}.With(r)}
	}
	run := &results.Run{Cells: []results.Cell{cell("none", "none", 3), cell("own breaker=1", measures.StrategyOwn, 2), cell("own breaker=2", measures.StrategyOwn, 1)}}
	v, _ := (&ranker{plan: &scenarios.Plan{Registry: scenariostest.Registry(t)}}).view("", run, func(string) bool { return true })
	if own, none := v.Of("own breaker=1"), v.Of("none"); own == nil || !own.Own || own.VsOwn != 0 || none.Own || none.VsOwn != 0.5 {
		t.Errorf("the view is %+v", v)
	}
}

// A strategy that the program fails with on a session is compared with the agent's own on the
// sessions that it has, and takes its place by that ratio: $1 where own is $2 in one of two
// sessions is half of own's $5.
func TestRankedWithoutASession(t *testing.T) {
	cell := func(name string, usd map[string]float64) results.Cell {
		c := results.Cell{Cell: name, Strategy: name}
		for _, session := range []string{"a", "b"} {
			if cost, ok := usd[session]; ok {
				r := &results.Row{Session: session}
				r.Figures[measures.Sessions], r.Figures[measures.Compactions], r.Figures[measures.StorageUSD] = 1, 1, cost
				c.Rows.Keep(r)
			}
		}
		return c
	}
	run := &results.Run{Cells: []results.Cell{
		cell(measures.StrategyOwn, map[string]float64{"a": 2, "b": 3}), cell("none", map[string]float64{"a": 1}), cell("codex", map[string]float64{"a": 1, "b": 1}),
	}}
	v, _ := (&ranker{plan: &scenarios.Plan{Registry: scenariostest.Registry(t)}}).view("", run, func(string) bool { return true })
	lacking := v.Of("none")
	if v.Acting != 2 || lacking == nil || lacking.CostUSD != 1 || lacking.VsOwn != -0.5 || lacking.Lacks != 1 || lacking.Whole(5) != 2.5 ||
		!strings.HasSuffix(lacking.Why, "; without 1 session") {
		t.Errorf("the view is %+v", v)
	}
	if v.Standings[0].Strategy != "codex" || v.Standings[0].Lacks != 0 || v.Standings[0].CostUSD != 2 {
		t.Errorf("the order is %+v", v.Standings)
	}
}

// A strategy that ends one of twelve sessions early keeps a place by the eleven that it brings to their end, and its cost is held
// against the own strategy's there: 11 × $1 of 11 × $2. The interval of one that saves in a project of two sessions and loses in
// other projects is wider by projects than by sessions. No interval promises more than the whole cost: half of the projects at $0 and
// half at $4 have a mean of ±0 and a half-width beyond 100 %.
func TestEndingEarlyKeepsAPlace(t *testing.T) {
	cell := func(name string, usd func(i int) float64) results.Cell {
		c := results.Cell{Cell: name, Strategy: name}
		for i := range 12 {
			r := &results.Row{Session: string(rune('a' + i))}
			r.Figures[measures.Sessions], r.Figures[measures.Compactions], r.Figures[measures.StorageUSD] = 1, 1, usd(i)
			if name == "none" && i == 4 {
				r.Figures[measures.UnsimulatedCalls] = 7
			}
			c.Rows.Keep(r)
		}
		return c
	}
	flat := func(usd float64) func(int) float64 { return func(i int) float64 { return usd + float64(i%3)/1000 } }
	run := &results.Run{Cells: []results.Cell{
		cell(measures.StrategyOwn, flat(2)), cell("none", flat(1)), cell("kimi-code", func(i int) float64 { return 1.9 - float64(i/2%6)/4 + float64(i%3)/1000 }),
		cell("copilot-cli", func(i int) float64 { return float64(i / 6 * 4) }),
	}}
	r := &ranker{plan: &scenarios.Plan{Registry: scenariostest.Registry(t)}}
	for i := range 12 {
		r.sessions = append(r.sessions, &traces.Session{ID: string(rune('a' + i)), Project: string(rune('A' + i/2)), Start: int64(i)})
	}
	v, _ := r.view("", run, func(string) bool { return true })
	early, spread := v.Of("none"), v.Of("kimi-code")
	if v.Acting != 12 || len(v.Ended) != 0 || early == nil || early.Ends != 1 || early.Unanswered != 7 || early.Lacks != 1 ||
		math.Abs(early.VsOwn+0.5) > 0.01 || !early.Cheaper || early.Place.First != 1 || !strings.HasSuffix(early.Why, "; ends 1 session early, 7 calls not answered") {
		t.Errorf("the view is %+v, %+v", v, early)
	}
	if all := v.Of("copilot-cli"); all.Low != -1 || !(all.High > 1) {
		t.Errorf("the interval is %+v", all)
	}
	if spread.Drawn != choose.UnitProject || !(spread.Low < spread.VsOwn && spread.VsOwn < spread.High) || spread.Basis != "run" {
		t.Errorf("the interval is %+v", spread)
	}
}

// The headline counts what every view shows, those under other assumptions too: the first of these is the first window's again and
// counts once.
func TestSurvivesAssumptions(t *testing.T) {
	view := func(name string, cheaper ...string) studies.View {
		v := studies.View{Name: name, Acting: 12}
		for _, strategy := range []string{"x", "y", "own"} {
			v.Standings = append(v.Standings, studies.Standing{Strategy: strategy, Cheaper: slices.Contains(cheaper, strategy)})
		}
		return v
	}
	r := &studies.Ranking{Windows: []studies.View{view("as recorded", "x", "y"), view("200,000", "x", "y")}}
	if got := survivors(r).text(); !strings.HasPrefix(got, "What survives: x and y are shown to cost less than the agents' own strategy in all 2 views below, and no other") {
		t.Error(got)
	}
	r.Assumed = []studies.View{view("as it is", "x", "y"), view("summary ×2", "y"), view("seed 2", "y")}
	if got := survivors(r).text(); !strings.HasPrefix(got, "What survives: y is shown to cost less than the agents' own strategy in all 4 views below") {
		t.Error(got)
	}
	r.Assumed[2] = view("seed 2")
	if got := survivors(r).text(); got != "What survives: no strategy is shown to cost less than the agents' own in all 4 views below. y is in 3 of them, "+
		"more than any other strategy that all views rank: not in seed 2." {
		t.Error(got)
	}
	r.Windows[0], r.Windows[1], r.Assumed[2] = view("as recorded", "x"), view("200,000"), view("seed 2")
	if got := survivors(r).text(); !strings.HasSuffix(got, " x and y are in 1 of them, more than any other strategy that all views rank: x in as recorded; y in summary ×2.") {
		t.Error(got) // as many views of each, and others
	}
}

// A headline says where strategies are shown to cost less only of all that it counts: of eight, six in one view and two in another,
// it names six and no view; of eight in one view, the view. One view is no "all 1 view", and where the views
// have the strategies in front alone, "no strategy" means one that all views rank.
func TestSurvivesSaysWhereOfAll(t *testing.T) {
	shown := func(last ...string) (s survival) {
		for i := range 8 {
			s.names, s.shows = append(s.names, string(rune('a'+i))), append(s.shows, []string{"A"})
		}
		s.shows[6], s.shows[7], s.views = last, last, []string{"A", "B", "C"}
		return s
	}
	const eight = "What survives: no strategy is shown to cost less than the agents' own in all 3 views below. " +
		"a, b, c, d, e, f and 2 more are in 1 of them, and no other strategy in as many"
	one := survival{views: []string{"A"}, names: []string{"a"}, shows: [][]string{{"A"}}}
	for want, s := range map[string]survival{
		eight + ".":       shown("B"),
		eight + ": in A.": shown("A"),
		"What survives: a is shown to cost less than the agents' own strategy in the one view below, and no other strategy is.": one,
		"What survives: no strategy is shown to cost less than the agents' own in any view.":                                    {views: []string{"A", "B"}},
		"What survives: no strategy that all views rank is shown to cost less than the agents' own in any view.":                {views: []string{"A", "B"}, front: true},
	} {
		if got := s.text(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Where the views behind the first have the strategies in front alone, the headline names none but these: x and z
// are shown to cost less in the one view that has them, y in none of two.
func TestSurvivesInFront(t *testing.T) {
	view := func(strategies ...string) studies.View {
		v := studies.View{Name: "v", Acting: 12}
		for _, strategy := range strategies {
			v.Standings = append(v.Standings, studies.Standing{Strategy: strategy, Cheaper: strategy != "y"})
		}
		return v
	}
	r := &studies.Ranking{Front: true, Windows: []studies.View{view("x", "y", "z"), view("y")}}
	if got := survivors(r); len(got.names) != 0 {
		t.Errorf("%v hold in %v; only y is ranked in both", got.names, got.shows)
	}
	if r.Front = false; len(survivors(r).names) != 2 {
		t.Error("x and z hold in the view that has them where every view ranks all")
	}
}

// A strategy that makes calls of a model without a price, three in each of twelve sessions, is not shown to cost less, and its
// standing counts them.
func TestUnpricedCallsAreToldInARanking(t *testing.T) {
	cell := func(name string, usd, unpriced float64) results.Cell {
		c := results.Cell{Cell: name, Strategy: name}
		for i := range 12 {
			r := &results.Row{Session: string(rune('a' + i))}
			r.Figures[measures.Sessions], r.Figures[measures.Compactions], r.Figures[measures.UnpricedCalls] = 1, 1, unpriced
			r.Figures[measures.StorageUSD] = usd + float64(i%3)/1000
			c.Rows.Keep(r)
		}
		return c
	}
	run := &results.Run{Cells: []results.Cell{cell(measures.StrategyOwn, 2, 0), cell("none", 1, 3), cell("kimi-code", 1, 0)}}
	v, _ := (&ranker{plan: &scenarios.Plan{Registry: scenariostest.Registry(t)}}).view("", run, func(string) bool { return true })
	if x := v.Of("none"); x.Cheaper || x.Unpriced != 36 {
		t.Errorf("%+v", x)
	}
	if x := v.Of("kimi-code"); !x.Cheaper {
		t.Errorf("%+v", x)
	}
}

// Judged each by itself, x and y have an interval below 0 in both views, z in one.
func TestIntervalsBelowOwn(t *testing.T) {
	view := func(high ...float64) studies.View {
		v := studies.View{Name: "v", Acting: 12}
		for i, strategy := range []string{"x", "y", "z"} {
			v.Standings = append(v.Standings, studies.Standing{Strategy: strategy, High: high[i]})
		}
		return v
	}
	r := &studies.Ranking{Windows: []studies.View{view(-0.1, -0.2, -0.1), view(-0.1, -0.3, 0.1)}}
	if got := survivors(r).byThemselves(); !strings.HasPrefix(got, " Judged each by itself, 2 strategies have a 95 % interval below the agents' own cost in 2 of 2 views;") {
		t.Error(got)
	}
}

// Every assumption can be set, and is another than what the scenario has, whatever its seed.
func TestAssumptionsAreSettings(t *testing.T) {
	for _, text := range []string{"strategies: [none]", "strategies: [none]\nseed: 2"} {
		f, err := scenarios.Parse(scenariostest.Registry(t), []byte(text), "a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		as, err := f.Expand()
		if err != nil {
			t.Fatal(err)
		}
		is, err := as.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range assumptions(as.Scenario.Seed, 3070) {
			other, err := as.With(a.set(&as.Scenario))
			if err != nil {
				t.Fatalf("%s: %v", a.name, err)
			}
			if text, err := other.Resolved(); err != nil || string(text) == string(is) || a.about == "" {
				t.Errorf("%s changes nothing, or says nothing: %v", a.name, err)
			}
		}
	}
}

// On another server, for which no bound holds, none is sought.
func TestNoBoundOnAnotherServer(t *testing.T) {
	r, run := &ranker{design: new(scenarios.Design)}, new(results.Run)
	r.design.Scenario.Server.Name = "openai"
	if err := r.bound(t.Context(), nil, run); err != nil || r.bounds != nil {
		t.Errorf("%v, bounds %v", err, r.bounds)
	}
}
