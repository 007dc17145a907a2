package check

import (
	"math"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
)

// one is a cell without draws.
func one(name string, rows ...tally) Cell { return cell(name, rows) }

// Session a costs 3, b costs 1; 180 of 200 tokens are read.
func plainRun() *Input {
	return input(one("s", tally{session: "a", usd: 3, read: 90, written: 10}, tally{session: "b", usd: 1, read: 90, written: 10}))
}

// Levels: the bar itself holds.
func TestLevels(t *testing.T) {
	for rule, want := range map[string]string{
		"{metric: cost_usd, max: 4}":                         "",
		"{metric: cost_usd, max: 3.99}":                      "cost_usd of s is $4.00, above $3.99",
		"{metric: cost_usd, min: 4}":                         "",
		"{metric: cost_usd, min: 4.01}":                      "cost_usd of s is $4.00, below $4.01",
		"{metric: cache_hit_ratio, min: 90%}":                "",
		"{metric: cache_hit_ratio, min: 0.91}":               "cache_hit_ratio of s is 90.0 %, below 91.0 %",
		"{metric: cost_usd, strategy: s, max: 3}":            "above $3.00",
		"{metric: cost_usd, strategy: '[r-t]', max: 3}":      "above $3.00",
		"{metric: cost_usd, strategy: '?', max: 3}":          "above $3.00",
		"{metric: cost_usd, group: project, max: 3}":         "",
		"{metric: cost_usd, group: project, max: 2}":         "cost_usd of s of project api is $3.00",
		"{metric: cost_usd, group: agent, max: 2}":           "of agent claude-code is $3.00",
		"{metric: cost_usd, group: model, max: 3}":           "of model opus is $4.00",
		"{metric: call_hit_ratio, group: project, min: 0.5}": "call_hit_ratio of s of project api is 0.0 %",
		"{metric: cost_usd, strategy: other, max: 1}":        "no cell has a session that the rule is about",
		"{metric: percent_left, min: 0.5}":                   "percent_left has no sample here",
		"{metric: cache_hit_ratio, min: 0}":                  "cannot fail: cache_hit_ratio is never below 0",
		"{metric: cache_hit_ratio, max: 1}":                  "cannot fail: cache_hit_ratio is never above 100 %",
		"{metric: misses, min: 0}":                           "cannot fail",
		"{metric: cost_usd, min: -1}":                        "cannot fail",
		"{metric: blocking_seconds, min: 0}":                 "cannot fail: blocking_seconds is never below 0",
		"{metric: added_latency_seconds, min: -1}":           "",
		"{metric: cost_usd, max: 3.9999}":                    "is $4.0000, above $3.9999",
		"{metric: cost_usd, max_increase: 1%}":               "cannot fail: max_increase needs a baseline",
	} {
		r := levels(t, "rules:\n  - "+rule+"\n").Judge(plainRun(), Loaded{})
		if want == "" {
			says(t, r)
		} else {
			says(t, r, want)
		}
	}
}

// A rule without strategy is on all cells but the bill, and fails where there are none.
func TestBillHasToBeNamed(t *testing.T) {
	in := input(one("billed", tally{session: "a", usd: 9}, tally{session: "b"}), one("s", tally{session: "a", usd: 1}, tally{session: "b"}))
	says(t, levels(t, "rules:\n  - {metric: cost_usd, max: 2}\n").Judge(in, Loaded{}))
	says(t, levels(t, "rules:\n  - {metric: cost_usd, strategy: billed, max: 2}\n").Judge(in, Loaded{}), "cost_usd of billed is $9.00")
	in.Cells = in.Cells[:1]
	says(t, levels(t, "rules:\n  - {metric: cost_usd, max: 20}\n").Judge(in, Loaded{}), "no cell has a session that the rule is about")
}

// Margins are on the difference: from $4.00, 10 % allow 4.40, and 1 allows 5.
func TestMargins(t *testing.T) {
	now := func(usd float64) *Input {
		return input(one("s", tally{session: "a", usd: usd - 1, read: 90, written: 10}, tally{session: "b", usd: 1, read: 90, written: 10}))
	}
	for _, tc := range []struct {
		rule string
		usd  float64
		want string
	}{
		{"max_increase: 10%", 4.40, ""},
		{"max_increase: 10%", 4.41, "is $4.41, above $4.40 (max_increase 10% from $4.00)"},
		{"max_increase: 1", 5, ""},
		{"max_increase: 1", 5.01, "above $5.00"},
		{"max_increase: 0", 4, ""},
		{"max_increase: 0", 4.01, "above $4.00"},
		{"max_increase: 0", 3, ""},
		{"max_decrease: 25%", 3, ""},
		{"max_decrease: 25%", 2.99, "below $3.00"},
		{"max_decrease: 100%", 4, "cannot fail: cost_usd is never below 0"},
		{"max_decrease: 4", 4, "cannot fail"},
	} {
		f := parsed(t, "  - {metric: cost_usd, "+tc.rule+"}\n")
		r := against(t, f, plainRun(), now(tc.usd))
		if tc.want == "" {
			says(t, r)
		} else {
			says(t, r, tc.want)
		}
	}
	// A ratio of 0.9 cannot grow by more than 0.1.
	f := parsed(t, "  - {metric: cache_hit_ratio, max_increase: 0.1}\n")
	says(t, against(t, f, plainRun(), plainRun()), "cannot fail: cache_hit_ratio is never above 100 %")
}

// Sums differ in the last digits between machines; that is no increase.
func TestRoundingIsNoIncrease(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 0}\n")
	now := plainRun()
	now.Cells[0].Draws[0].Total.CostByClass()[0] = 4e-12
	says(t, against(t, f, plainRun(), now))
	now.Cells[0].Draws[0].Total.CostByClass()[0] = 4e-6
	says(t, against(t, f, plainRun(), now), "above")
}

// A rule on what no rule compared when the baseline was made has no seeds to be
// paired with, and the mean of other draws is no constant.
func TestRuleWithoutSeeds(t *testing.T) {
	was := input(drawnUSD("s", 10, 11, 12, 13, 14))
	b, err := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n").NewBaseline(was)
	if err != nil {
		t.Fatal(err)
	}
	later := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n  - {metric: cost_usd_output, max_increase: 1%}\n")
	r := later.Judge(was, Loaded{Baseline: b})
	says(t, r, "base.json has not 5 seeds of cost_usd_output of this cell: sim check --update")
	if r.Results[0].Status != OK {
		t.Errorf("the rule that has seeds: %+v", r.Results[0])
	}
	// A figure of a cell that drew nothing is a constant, whatever is drawn now.
	was = input(drawnUSD("s", 12))
	if b, err = later.NewBaseline(was); err != nil {
		t.Fatal(err)
	}
	says(t, later.Judge(input(drawnUSD("s", 10, 11, 12, 13, 14)), Loaded{Baseline: b}))
}

// Sessions without a project are no project, whatever projects are called.
func TestSessionsWithoutAProject(t *testing.T) {
	in := plainRun()
	in.Sessions["a"], in.Sessions["b"] = Session{}, Session{Project: "(none)"}
	r := levels(t, "rules:\n  - {metric: cost_usd, group: project, max: 2}\n").Judge(in, Loaded{})
	if len(r.Results) != 2 || r.Results[0].Group != "no project" || *r.Results[0].Observed != 3 ||
		r.Results[1].Group != "project (none)" || *r.Results[1].Observed != 1 {
		t.Errorf("%+v", r.Results)
	}
}

// A baseline keeps values by seed of what rules compare; another number of seeds
// cannot be paired.
func TestSeedsArePaired(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	was, now := input(drawnUSD("s", 10, 11, 12, 13, 14)), input(drawnUSD("s", 10, 11, 12, 13, 14, 15))
	says(t, against(t, f, was, now), "base.json has not 6 seeds of cost_usd of this cell: sim check --update")

	// Every seed is dearer by 2 % of the mean 13: the spread of the seeds, which is
	// larger, does not hide it.
	now = input(drawnUSD("s", 10.26, 11.26, 12.26, 13.26, 14.26))
	says(t, against(t, f, was, now), "cost_usd of s is $13.26, above $13.13")

	// The same values under other seeds say nothing: the interval has every value.
	now = input(drawnUSD("s", 14.26, 10.26, 13.26, 11.26, 12.26))
	r := against(t, f, was, now)
	says(t, r)
	if r.Results[0].Seeds != 5 || r.Results[0].Low == nil || *r.Results[0].Low >= 13.26 || *r.Results[0].High <= 13.26 {
		t.Errorf("no interval around the mean 13.26: %+v", r.Results[0])
	}
}

// Student's interval of 1…5 at 95 %: mean 3, deviation √2.5, t(4) = 2.7764.
func TestInterval(t *testing.T) {
	got := overSeeds([]float64{1, 2, 3, 4, 5}, 0.05)
	half := 2.7764 * math.Sqrt(2.5) / math.Sqrt(5)
	if math.Abs(got.Interval.Low-(3-half)) > 1e-4 || math.Abs(got.Interval.High-(3+half)) > 1e-4 || got.Difference != 3 {
		t.Errorf("got %+v, want 3 ± %.4f", got, half)
	}
	if got := overSeeds([]float64{0.1, 0.1, 0.1}, 0.05); got.Difference != 0.1 || got.Interval.Low != 0.1 || got.Interval.High != 0.1 {
		t.Errorf("equal values give %+v", got)
	}
}

// A figure beyond its bar that fails nothing says why; suspect: fail makes it fail.
func TestBeyondTheBarAndOK(t *testing.T) {
	was, now := input(drawnUSD("s", 10, 11, 12, 13, 14)), input(drawnUSD("s", 10.01, 11.01, 12.01, 13.01, 14.01))
	for rule, want := range map[string]string{
		"{metric: cost_usd, max_increase: 0}": "cost_usd of s is $13.01, above $13.00 (max_increase 0 from $13.00): by less than 0.1% of what it is held against, which rounding makes",
		"{metric: cost_usd, max: 13}":         "cost_usd of s is $13.01, above $13.00, which chance may explain",
		"{metric: cost_usd, max: 13.2}":       "",
	} {
		r := against(t, parsed(t, "  - "+rule+"\n"), was, now)
		says(t, r)
		if got := r.Results[0].Message; got != want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
	var b strings.Builder
	r := against(t, parsed(t, "  - {metric: cost_usd, max: 13}\n  - {metric: calls, max: 50}\n  - {metric: cost_usd, max_increase: 0}\n"), was, now)
	if err := r.Write(&b, "text"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ok\n", "suspect\n", "SUSPECT check.yaml:4: cost_usd of s is $13.01", "2 of 3 comparisons ok, 1 suspect"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	strict := levels(t, "suspect: fail\nbaseline: base.json\nrules:\n  - {metric: cost_usd, max: 13}\n")
	says(t, against(t, strict, was, now), "lead:FAIL line:5 title:cost_usd message:cost_usd of s is $13.01")
}

// What to look at is the class of misses that grew most, not the largest one.
func TestLookAtMisses(t *testing.T) {
	run := func(expiry, head int, written int64) *Input {
		return input(one("s",
			tally{session: "a", usd: 1, read: 1000, written: written, misses: map[exchange.MissClass]int{exchange.MissExpiry: expiry, exchange.MissHead: head}},
			tally{session: "b", usd: 1}))
	}
	f := parsed(t, "  - {metric: cache_hit_ratio, min: 0.9}\n")
	const cause = "something before the conversation changes between requests"
	says(t, against(t, f, run(150, 0, 10), run(151, 141, 1000)), "misses_head rose from 0 to 141: "+cause)
	says(t, f.Judge(run(7, 9, 1000), Loaded{}), "misses_head is the largest part: 9: "+cause)
	// A level is broken beside an equal baseline too, and no misses are none that grew.
	says(t, against(t, f, run(7, 9, 1000), run(7, 9, 1000)), "misses_head is the largest part: 9: "+cause)
	says(t, against(t, f, run(0, 0, 1000), run(0, 0, 1000)), "no class of misses grew: first calls of conversations")
	margin := parsed(t, "  - {metric: cache_hit_ratio, max_decrease: 1%}\n")
	says(t, against(t, margin, run(7, 9, 10), run(7, 9, 1000)), "no class of misses grew: first calls of conversations")
	for _, class := range []exchange.MissClass{exchange.MissExpiry, exchange.MissMinimum} {
		if missCauses[class.String()] == "" {
			t.Errorf("no cause for misses of class %s", class)
		}
	}
	if len(missCauses) != exchange.NumMissClasses-1 {
		t.Errorf("%d causes for %d classes", len(missCauses), exchange.NumMissClasses-1)
	}
}

// A rule on one class is told of that class, whatever else grew more.
func TestLookAtTheClassOfTheRule(t *testing.T) {
	run := func(head, expiry int, usd float64) *Input {
		return input(one("s",
			tally{session: "a", usd: usd, read: 1000, misses: map[exchange.MissClass]int{exchange.MissExpiry: expiry, exchange.MissHead: head}},
			tally{session: "b", usd: 1}))
	}
	for rule, want := range map[string]string{
		"misses_head":     "misses_head rose from 0 to 20: something before the conversation changes",
		"cost_usd_output": "cost_usd_output rose from $2.00 to $5.00",
		"cost_usd_main":   "cost_usd_main rose from $2.00 to $5.00",
	} {
		f := parsed(t, "  - {metric: "+rule+", max_increase: 0}\n")
		if r := against(t, f, run(0, 10, 1), run(20, 54, 4)); !strings.HasPrefix(r.Results[0].Look, want) {
			t.Errorf("%s: %q, want %q", rule, r.Results[0].Look, want)
		}
	}
}

// What a level holds may be in the baseline just so.
func TestLookAtWhatDidNotGrow(t *testing.T) {
	in := input(one("s",
		tally{session: "a", usd: 2, read: 1000, misses: map[exchange.MissClass]int{exchange.MissExpiry: 3, exchange.MissHead: 2}},
		tally{session: "b", usd: 1}))
	for rule, want := range map[string]string{
		"{metric: misses_head, max: 1}": "misses_head is 2, as in the baseline: something before the conversation changes",
		"{metric: misses, max: 1}":      "misses_expiry is the largest part: 3: pauses are longer",
		"{metric: cost_usd, max: 1}": "cost_usd_output is the largest part: $3.00; " +
			"cost_usd_main is the largest part: $3.00",
	} {
		if r := against(t, parsed(t, "  - "+rule+"\n"), in, in); !strings.HasPrefix(r.Results[0].Look, want) {
			t.Errorf("%s: %q, want %q", rule, r.Results[0].Look, want)
		}
	}
}

// Money leads to the token class and the source that grew.
func TestLookAtCost(t *testing.T) {
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%}\n")
	now := input(one("s", tally{session: "a", usd: 5}, tally{session: "b", usd: 1}))
	says(t, against(t, f, plainRun(), now), "cost_usd_output rose from $4.00 to $6.00; cost_usd_main rose from $4.00 to $6.00")
}

// Every metric has a line that says what to look at.
func TestLookIsNeverEmpty(t *testing.T) {
	in := plainRun()
	s := newSums(new(File)).of(&in.Cells[0], in.groups("")[0])
	for _, name := range metricNames() {
		r := parsed(t, "  - {metric: "+name+", max: 0.5}\n").Rules[0]
		if (looker{s, "", nil, results.Metrics(), false, false}).look(r.Metric) == "" {
			t.Errorf("nothing to look at for %s", name)
		}
	}
}

// A part of the bill over its prediction says what is likely for how many of its calls; a part of less than a tenth of the dearest is left out.
func TestWhyNamesLikelyCauses(t *testing.T) {
	in := Input{Paths: " logs", Causes: []Cause{
		{Text: "calls did not read", Calls: 82, USD: 11.25, Likely: "likely because the effort changed", Suspected: 8, Call: "a:417"},
		{Text: "pauses", Calls: 5, USD: 1.42}, {Text: "tails", Calls: 1, USD: 0.1},
	}}
	const want = "calls did not read ($11.25, 82 calls; 8 likely because the effort changed): sim explain a:417 logs; pauses ($1.42, 5 calls)" +
		". The prompt is in no log: causes are inferred from counts"
	if got := in.why(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
