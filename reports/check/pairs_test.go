package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

const pairedRules = "baseline: base.json\npaired: {max: 3%}\nrules:\n  - {metric: cost_usd, strategy: billed, max: 1e6}\n"

// bills is a run of sessions, ID or ID TASK, that were billed so many USD.
func bills(of map[string]float64) *Input {
	in := input()
	in.Sessions, in.SessionsDigest = map[string]Session{}, fmt.Sprint(of)
	var rows []tally
	for name, usd := range of {
		id, task, _ := strings.Cut(name, " ")
		in.Sessions[id] = Session{Task: task}
		rows = append(rows, tally{session: id, usd: usd})
	}
	in.Cells = []Cell{cell("billed", rows)}
	return in
}

// pairedResults returns the results of paired sessions and tasks.
func pairedResults(r *Report) (list []Result) {
	for _, s := range r.Results {
		if s.Group != "" {
			list = append(list, s)
		}
	}
	return list
}

// The same sessions are compared as they are: 3 % more holds, a cent over it breaks the rule, whatever
// other sessions cost. Sessions that went on, and other ones, are not paired.
func TestPairedSessions(t *testing.T) {
	f := levels(t, pairedRules)
	was := bills(map[string]float64{"a": 60, "b": 40, "c": 7})
	for _, c := range []struct {
		now    map[string]float64
		status Status
		group  string
	}{
		{map[string]float64{"a": 63, "b": 40}, OK, "2 paired sessions"},
		{map[string]float64{"a": 63, "b": 40.01, "d": 1}, Breach, "2 paired sessions"},
		{map[string]float64{"a": 61.9}, Breach, "1 paired session"},
		{map[string]float64{"a": 10, "x": 1000}, OK, "1 paired session"},
		{map[string]float64{"x": 1000}, "", ""},
	} {
		list := pairedResults(against(t, f, was, bills(c.now)))
		switch {
		case c.group == "" && len(list) == 0:
		case len(list) != 1 || list[0].Status != c.status || list[0].Group != c.group:
			t.Errorf("%v: %+v, want %s of %s", c.now, list, c.status, c.group)
		case math.Abs(*list[0].Noticed-0.03**list[0].Baseline) > 1e-9:
			t.Errorf("%v: noticed from %v, want 3 %% of %v", c.now, *list[0].Noticed, *list[0].Baseline)
		}
	}
	// A session without prices is compared with nothing, and hides no other.
	was.Cells[0].Draws[0].Rows.Edit(0, func(r *results.Row) { r.Figures[measures.UnpricedCalls] = 1 })
	unpriced := was.Cells[0].Draws[0].Rows.At(0).Session
	if list := pairedResults(against(t, f, was, was)); len(list) != 1 || list[0].Status != OK || list[0].Group != "2 paired sessions" {
		t.Errorf("%s lacks prices: %+v", unpriced, list)
	}
	was.Cells[0].Draws[0].Rows.Edit(0, func(r *results.Row) { r.Figures[measures.UnpricedCalls] = 0 })
	longer := bills(map[string]float64{"a": 90})
	longer.Cells[0].Draws[0].Rows.Edit(0, func(r *results.Row) { r.Figures[measures.Calls]++ })
	r := against(t, f, was, longer)
	if list := pairedResults(r); len(list) > 0 {
		t.Errorf("a session that went on is paired: %+v", list)
	}
	if want := "1 session of the baseline has other calls now: not paired"; !slices.Contains(r.Notes, want) {
		t.Errorf("notes %q, want %q", r.Notes, want)
	}
}

// Draws are paired by session and seed: every seed of session a 5 % dearer is beyond a bar of 3 %, though seeds
// spread by more; the same figures under other seeds are not proven. Session b is in one run alone.
func TestPairedSeeds(t *testing.T) {
	f := levels(t, strings.Replace(pairedRules, "strategy: billed, ", "", 1))
	run := func(other string, usd ...float64) *Input {
		in := input(drawnUSD("s", usd...))
		in.SessionsDigest = other
		in.Sessions[other] = in.Sessions["b"]
		delete(in.Sessions, "b")
		for _, draw := range in.Cells[0].Draws {
			draw.Rows.Edit(1, func(r *results.Row) { r.Session = other })
		}
		return in
	}
	was := run("b", 10, 11, 12, 13, 14)
	for _, c := range []struct {
		usd    []float64
		status Status
	}{{[]float64{10.5, 11.55, 12.6, 13.65, 14.7}, Breach}, {[]float64{14.7, 10.5, 13.65, 11.55, 12.6}, Suspect}, {[]float64{10.1, 11.1, 12.1, 13.1, 14.1}, OK}} {
		list := pairedResults(against(t, f, was, run("c", c.usd...)))
		if len(list) != 1 || list[0].Status != c.status || list[0].Group != "1 paired session" {
			t.Errorf("%v: %+v, want %s", c.usd, list, c.status)
		}
	}
}

// tries draws three tries of each of eight tasks, whose costs differ by a factor of 50 while their
// tries' costs differ by about a fifth, each so many times as dear.
func tries(draw *rand.Rand, run string, times float64) *Input {
	of := map[string]float64{}
	for task := range 8 {
		for try := range 3 {
			usd := math.Pow(50, float64(task)/7) * (1 + 0.2*draw.NormFloat64())
			of[fmt.Sprintf("%s-%d-%d task-%d", run, task, try, task)] = times * usd
		}
	}
	return bills(of)
}

// Tries are compared within tasks: what tasks differ by is no spread. Without a change at most 5 % of runs
// are broken (up to three standard errors), and the smallest change that is printed is found in more than half of the runs, half that change in less than half, twice that change nearly always.
func TestTries(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 40
	}
	f := levels(t, pairedRules)
	draw := rand.New(rand.NewPCG(4, 1))
	count := func(times float64) (broken int, noticed float64) {
		for range runs {
			list := pairedResults(against(t, f, tries(draw, "was", 1), tries(draw, "now", times)))
			if len(list) != 1 || list[0].Group != "8 tasks" {
				t.Fatalf("%+v", list)
			}
			if list[0].Status == Breach {
				broken++
			}
			noticed += *list[0].Noticed / *list[0].Baseline / float64(runs)
		}
		return broken, noticed
	}
	alarms, noticed := count(1.03)
	half, _ := count(1 + noticed/2)
	once, _ := count(1 + noticed)
	twice, _ := count(1 + 2*noticed)
	t.Logf("at the bar %d alarms of %d; noticed from %.1f %%: half %d, once %d, twice %d", alarms, runs, 100*noticed, half, once, twice)
	if float64(alarms) > float64(runs)*(0.05+3*math.Sqrt(0.05*0.95/float64(runs))) || half > runs/2 || once < runs/2 || twice < runs*9/10 {
		t.Error("the interval is not that of the level, or the smallest change is not as printed")
	}
}

// The parts of a change add up: of $2.00 a call 0.10 is the cache, 0.40 dearer prices, 0.15 another
// fact, and the rest of the way from $1.00 work.
func TestDivide(t *testing.T) {
	was, now := bills(map[string]float64{"a": 10}), bills(map[string]float64{"b": 20})
	priced := func(in *Input, id string, price, lost float64) {
		s := in.Sessions[id]
		s.Excess = map[string]float64{"lost": lost, rest: 0}
		s.Predicted = map[string]results.Cost{"m": {measures.ClassRead: 3}}
		s.Facts = map[string][2]float64{"writes for an hour, conversations": {price - 1, 1}}
		in.Sessions[id], in.Rates = s, map[string]results.Cost{"m": {measures.ClassRead: price}}
		in.Price = func(string, func(string) float64) (map[string]float64, bool, error) {
			return map[string]float64{id: 1.5}, true, nil
		}
	}
	priced(was, "a", 1, 1)
	priced(now, "b", 1.25, 2) // predicted $18, of which 1.50 by the fact: a fifth of 16.50 is by the price
	r := against(t, levels(t, "facts: {max: 20%}\n"+pairedRules), was, now)
	c := r.Change
	if c == nil {
		t.Fatal("no change")
	}
	for name, v := range map[string][2]float64{"was": {c.Was, 1}, "now": {c.Now, 2}, "cache": {c.Cache, 0.1}, "lost": {c.Causes["lost"], 0.1},
		"facts": {c.Facts, 0.15}, "prices": {c.Prices, 0.33}, "work": {c.Work, 0.42}, "sum": {c.Work + c.Prices + c.Facts + c.Cache, 1}} {
		if math.Abs(v[0]-v[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, v[0], v[1])
		}
	}
	if want := "+100 % per call: work +42 %, prices +33 %, facts +15 %, cache +10 %"; c.Text != want {
		t.Errorf("%q, want %q", c.Text, want)
	}
	for format, first := range map[string]string{"text": c.Text, "markdown": "**" + c.Text + "**", "json": "{\n  \"schema\": 1,\n  \"change\": {\n    \"text\": \"" + c.Text} {
		var b strings.Builder
		if err := r.Write(&b, format); err != nil || !strings.HasPrefix(b.String(), first) {
			t.Errorf("%s: %v begins %.80q", format, err, b.String())
		}
	}
}

// Calls without a price are in no part of a change: ten of twenty calls cost $10, of which $1 is beyond the prediction, and ten have no
// price, so that a call costs the $1 and the cache the 10 cents that it did. A session that is refused for its calls without a price has
// no excess either.
func TestUnpricedCallsAreInNoPart(t *testing.T) {
	was, now := bills(map[string]float64{"a": 10}), bills(map[string]float64{"b": 10})
	for _, in := range []*Input{was, now} {
		for id, s := range in.Sessions {
			s.Excess = map[string]float64{"lost": 1, rest: 0}
			in.Sessions[id] = s
		}
		in.Price = func(string, func(string) float64) (map[string]float64, bool, error) { return nil, false, nil }
	}
	now.Cells[0].Draws[0].Rows.Edit(0, func(r *results.Row) {
		r.Figures[measures.UnpricedCalls], r.Figures[measures.Calls] = 10, r.Figures[measures.Calls]+10
	})
	f := levels(t, "unpriced: allow\n"+pairedRules)
	c := against(t, f, was, now).Change
	if c == nil || c.Now != 1 || c.Cache != 0 || c.Work != 0 || c.Text != "±0 % per call: work ±0 %, cache ±0 %" {
		t.Errorf("%+v", c)
	}
	if p := levels(t, pairedRules).past(now); p[0].Calls != 0 || p[0].predicted() != 0 {
		t.Errorf("refused: %+v is predicted to cost $%g", p[0], p[0].predicted())
	}
}

// Tasks in the place of calls: the mean of the tries of each, both tasks once.
func TestDividePerTask(t *testing.T) {
	was := bills(map[string]float64{"a1 x": 1, "a2 x": 3, "b1 y": 8})
	now := bills(map[string]float64{"a3 x": 4, "b2 y": 8, "b3 y": 10, "b4 y": 12, "z1 z": 500})
	now.Price = func(string, func(string) float64) (map[string]float64, bool, error) { return nil, false, nil }
	c := against(t, levels(t, pairedRules), was, now).Change
	if c == nil || c.Per != "task" || math.Abs(c.Was-5)+math.Abs(c.Now-7) > 1e-9 || c.Text != "+40 % per task: work +40 %, cache ±0 %" {
		t.Errorf("%+v", c)
	}
}
