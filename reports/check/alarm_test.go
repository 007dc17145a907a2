package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// summaries is a run of sessions whose cost is the cost of five summaries, drawn as the stub draws
// them: median 3,070 tokens, σ 0.29, $25 a million.
func summaries(r *rand.Rand, seeds int, factor float64) *Input {
	const median, sigma, price = 3070, 0.29, 25e-6
	usd := make([]float64, seeds)
	for i := range usd {
		for range 5 {
			usd[i] += factor * price * median * math.Exp(sigma*r.NormFloat64())
		}
	}
	return input(drawnUSD("s", usd...))
}

// meanUSD is the expected cost of a run of summaries, session b's included.
const meanUSD = 1 + 5*25e-6*3070*1.0429471 // exp(0.29²/2)

// alarms counts for each of some checks how many of n runs fail it, with draws of their own in
// baseline and run. Summaries of the run are larger by a factor.
func alarms(t *testing.T, checks map[string]string, n int, factor float64) map[string]int {
	t.Helper()
	files, all := map[string]*File{}, new(File)
	for name, rules := range checks {
		files[name] = parsed(t, rules)
		all.Rules = append(all.Rules, files[name].Rules...)
	}
	counts := map[string]int{}
	for i := range n {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		was, now := summaries(r, defaultSeeds, 1), summaries(r, defaultSeeds, factor)
		b, err := all.NewBaseline(was)
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range files {
			report := f.Judge(now, Loaded{Baseline: b})
			for _, s := range report.Results {
				if s.Status == Unjudged {
					t.Fatal(s.Message)
				}
			}
			if !report.OK {
				counts[name]++
			}
		}
	}
	return counts
}

// Where nothing has changed a check raises an alarm in at most the stated share
// of its runs, 5 %: even when every bar stands where the true figure is, and
// the seeds of the baseline draw otherwise.
func TestFalseAlarms(t *testing.T) {
	const runs = 500
	margins := "  - {metric: cost_usd, max_increase: 0}\n  - {metric: cost_usd, max_decrease: 0}\n"
	ends := fmt.Sprintf("  - {metric: cost_usd, max: %[1]v}\n  - {metric: cost_usd, min: %[1]v}\n", meanUSD)
	checks := map[string]string{
		"increase":   "  - {metric: cost_usd, max_increase: 0}\n",
		"decrease":   "  - {metric: cost_usd, max_decrease: 0}\n",
		"max":        fmt.Sprintf("  - {metric: cost_usd, max: %v}\n", meanUSD),
		"min":        fmt.Sprintf("  - {metric: cost_usd, min: %v}\n", meanUSD),
		"four rules": margins + ends,
		"sessions":   "  - {metric: cost_usd, group: project, max_increase: 0}\n",
		"as written": "  - {metric: cost_usd, max_increase: 1%}\n",
	}
	counts := alarms(t, checks, runs, 1)
	t.Logf("of %d runs: %v", runs, counts)
	for name := range checks {
		if counts[name] > runs*5/100 {
			t.Errorf("%s: %d of %d runs without a change raise an alarm, more than 5 %%", name, counts[name], runs)
		}
	}
	if counts["increase"] == 0 {
		t.Error("no false alarm at all: the interval is far wider than it says")
	}
}

// A change beyond bar and interval is found. Five summaries cost $0.40 ± 0.053, so
// that the difference of two means of 20 has an interval of 2.09·0.053·√(2/20) = $0.035
// to either side: half as much again, $0.20, is far outside.
func TestChangesAreFound(t *testing.T) {
	const runs = 200
	counts := alarms(t, map[string]string{"": "  - {metric: cost_usd, max_increase: 1%}\n"}, runs, 1.5)
	if counts[""] < runs*95/100 {
		t.Errorf("summaries half as large again are found in %d of %d runs", counts[""], runs)
	}
}
