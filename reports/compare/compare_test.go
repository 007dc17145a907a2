package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

func compared(t testing.TB, o Options, inputs ...Input) *Report {
	t.Helper()
	return estimatedBy(t, o, sampling, inputs...)
}

// estimatedBy is a comparison with another estimator.
func estimatedBy(t testing.TB, o Options, e stats.Estimator, inputs ...Input) *Report {
	t.Helper()
	r, err := runWith(context.Background(), inputs, o, e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// figure returns a figure of the only comparison of x and y.
func figure(t testing.TB, x, y *results.Run, metric string) Figure {
	t.Helper()
	r := compared(t, Options{}, Input{"x", x}, Input{"y", y})
	if len(r.Comparisons) != 1 || r.Comparisons[0].Figure(metric) == nil {
		t.Fatalf("no figure of %s", metric)
	}
	return *r.Comparisons[0].Figure(metric)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// The figures of the comment on before and after.
func TestFigures(t *testing.T) {
	for _, tc := range []struct {
		metric              string
		base, other, diff   float64
		lower, same, higher int
	}{
		{"cost_usd", 360, 340, -20, 6, 1, 1},
		{"cache_hit_ratio", 0.9, 0.875, -0.025, 2, 6, 0},
		{"peak_context_tokens", 150_000, 149_000, -1000, 8, 0, 0},
		{"calls", 80, 80, 0, 0, 8, 0},
	} {
		f := figure(t, before(), after(), tc.metric)
		if !near(f.Base, tc.base) || !near(f.Other, tc.other) || !near(f.Difference, tc.diff) || !near(f.Relative, tc.diff/tc.base) {
			t.Errorf("%s: %v → %v, %v, want %v → %v", tc.metric, f.Base, f.Other, f.Difference, tc.base, tc.other)
		}
		if f.Lower != tc.lower || f.Ties != tc.same || f.Higher != tc.higher {
			t.Errorf("%s: %d/%d/%d sessions", tc.metric, f.Lower, f.Ties, f.Higher)
		}
	}
}

// Wins go by what is better: less cost, more hits, and no side of reads.
func TestWins(t *testing.T) {
	for metric, want := range map[string][2]int{"cost_usd": {6, 1}, "cache_hit_ratio": {0, 2}} {
		f := figure(t, before(), after(), metric)
		if wins, losses, ok := f.Wins(); !ok || [2]int{wins, losses} != want {
			t.Errorf("%s: %d wins, %d losses, %v", metric, wins, losses, ok)
		}
	}
	f := figure(t, before(), after(), "cache_read_tokens")
	if _, _, ok := f.Wins(); ok {
		t.Error("reading tokens is no win")
	}
}

// With six sessions all 6⁶ resamples can be counted out: sums, a ratio of sums,
// the maximum. The intervals of maxima are the quantiles of that distribution,
// the intervals of all other metrics its quantiles as BCa (Efron 1987) takes them, with the influence of a
// session found by leaving it out, of six pairs (Student's point with five degrees of freedom, times √(6/5)).
func TestIntervalsAreFullEnumeration(t *testing.T) {
	x, y := run(cell("x", eight(nil, 0, 150_000)[2:]...)), run(cell("x", eight([]float64{-1, -2, -3, -4, -5, -6, 0, 1}, 4, 149_000)[2:]...))
	const n = 6
	const all = 46656
	names := []string{"cost_usd", "cache_hit_ratio", "peak_context_tokens"}
	accelerated := []stats.Interval{{Low: -31, High: 2}, {Low: -0.1, High: 0}}
	figures := func(sessions []int) [3]float64 {
		var usd, read, input, peak [2]float64
		for _, i := range sessions {
			for s, row := range []*results.Row{x.Cells[0].Rows.At(i), y.Cells[0].Rows.At(i)} {
				usd[s] += row.CostByClass()[measures.ClassRead]
				read[s] += float64(row.Usage().Read)
				input[s] += float64(row.Usage().Read + row.Usage().Uncached)
				peak[s] = max(peak[s], float64(row.N(measures.PeakContext)))
			}
		}
		return [3]float64{usd[1] - usd[0], read[1]/input[1] - read[0]/input[0], peak[1] - peak[0]}
	}
	draws := [3][]float64{}
	for code := range all {
		sessions := make([]int, n)
		for k, c := 0, code; k < n; k, c = k+1, c/n {
			sessions[k] = c % n
		}
		for m, v := range figures(sessions) {
			draws[m] = append(draws[m], v)
		}
	}
	r := estimatedBy(t, Options{}, stats.Estimator{Level: 0.95, Resamples: 50_000}, Input{"x", x}, Input{"y", y})
	for m, name := range names {
		got, want := r.Comparisons[0].Figure(name).Interval, stats.Percentile(draws[m], 0.95)
		if m < len(accelerated) {
			want = accelerated[m]
		}
		slices.Sort(draws[m])
		share := func(v, side float64) float64 { // of resamples below v, or up to it
			i, _ := slices.BinarySearch(draws[m], v+side*1e-9*max(1, math.Abs(v)))
			return float64(i) / all
		}
		for _, end := range [][2]float64{{got.Low, want.Low}, {got.High, want.High}} {
			// Five standard errors of a share of 2.5 %.
			const off = 0.0035
			if share(end[0], 1) < share(end[1], -1)-off || share(end[0], -1) > share(end[1], 1)+off {
				t.Errorf("%s: an end at %v leaves %v to %v below, want %v with %v to %v", name,
					end[0], share(end[0], -1), share(end[0], 1), end[1], share(end[1], -1), share(end[1], 1))
			}
		}
	}
}

// A side against itself: nothing differs, nothing is tested.
func TestSame(t *testing.T) {
	r := compared(t, Options{}, Input{"x", before()}, Input{"y", before()})
	for _, f := range r.Comparisons[0].Figures {
		if f.Verdict != Same || f.Interval.Known() || f.Difference != 0 {
			t.Errorf("%s: %+v", f.Metric.Name, f)
		}
	}
	if r.Comparisons[0].Changed() {
		t.Error("a run differs from itself")
	}
}

// Costs that were added up in another order are the same.
func TestRoundingIsNoDifference(t *testing.T) {
	y := before()
	for i := range y.Cells[0].Rows.Len() {
		y.Cells[0].Rows.Edit(i, func(r *results.Row) { r.CostByClass()[measures.ClassRead] *= 1 + 1e-15 })
	}
	if f := figure(t, before(), y, "cost_usd"); f.Verdict != Same || f.Difference != 0 {
		t.Errorf("%+v", f)
	}
}

// Verdicts: six of eight sessions cheaper are not enough for the tests, eight of
// eight are.
func TestVerdicts(t *testing.T) {
	if f := figure(t, before(), after(), "cost_usd"); f.Verdict != Better && f.Verdict != Chance {
		t.Errorf("verdict %v", f.Verdict)
	}
	all := run(cell("x", eight([]float64{-1, -2, -3, -4, -5, -6, -7, -8}, 0, 150_000)...))
	for _, tc := range []struct {
		x, y *results.Run
		want Verdict
	}{
		{before(), all, Better},
		{all, before(), Worse},
		{before(), run(cell("x", eight([]float64{1, -1, 2, -2, 3, -3, 4, -4}, 0, 150_000)...)), Chance},
	} {
		if f := figure(t, tc.x, tc.y, "cost_usd"); f.Verdict != tc.want {
			t.Errorf("verdict %v (p %v, %+v), want %v", f.Verdict, f.P, f.Interval, tc.want)
		}
	}
}

// Nineteen sessions are a little cheaper, one is so much dearer that the total of another twenty
// could go either way.
func TestVerdictIsOfTheTotal(t *testing.T) {
	var x, y []*results.Row
	for i := range 20 {
		change, name := -10-float64(i)/100, string(rune('a'+i))
		if i == 7 {
			change = 175
		}
		x = append(x, session("x", name, 20, 9e4, 1e4, 1e5))
		y = append(y, session("x", name, 20+change, 9e4, 1e4, 1e5))
	}
	f := figure(t, run(cell("x", x...)), run(cell("x", y...)), "cost_usd")
	if f.Difference >= 0 || !f.Interval.Contains(0) || f.Verdict != Chance {
		t.Errorf("p %v, difference %v, interval %+v: %v", f.P, f.Difference, f.Interval, f.Verdict)
	}
}

// Five sessions tell nothing of others at 95 %, six can.
func TestTooFewSessions(t *testing.T) {
	change := []float64{-1, -2, -3, -4, -5, -6, -7, -8}
	for n, want := range map[int]Verdict{5: Unknown, 6: Better} {
		x, y := run(cell("x", eight(nil, 0, 1e5)[:n]...)), run(cell("x", eight(change, 0, 1e5)[:n]...))
		f := figure(t, x, y, "cost_usd")
		if f.Verdict != want || !f.Interval.Known() != (want == Unknown) || (len(f.Notes) > 0) != (want == Unknown) {
			t.Errorf("%d sessions: %v, %+v, %q", n, f.Verdict, f.Interval, f.Notes)
		}
		if f.Difference == 0 {
			t.Error("what happened on these sessions is known however few they are")
		}
	}
}

// Of eight sessions five differ: nothing can be said of others, and the note says
// why.
func TestTooFewDiffer(t *testing.T) {
	y := run(cell("x", eight([]float64{-1, -2, -3, -4, -5, 0, 0, 0}, 0, 150_000)...))
	want := []string{"too few sessions differ: at 95 % it takes 6 or more to say anything about others"}
	if f := figure(t, before(), y, "cost_usd"); f.Verdict != Unknown || !slices.Equal(f.Notes, want) || f.Pairs != 5 {
		t.Errorf("%v, %q", f.Verdict, f.Notes)
	}
}

// Equal savings, up to rounding: 0.3 USD less in each of eight sessions that cost 10 to 80 USD, all
// one way with a chance of 2/2⁸.
func TestEqualSavings(t *testing.T) {
	f := figure(t, before(), run(cell("x", eight(slices.Repeat([]float64{-0.3}, 8), 0, 150_000)...)), "cost_usd")
	if f.P != 2.0/256 || f.Verdict != Better {
		t.Errorf("%v with p = %v", f.Verdict, f.P)
	}
}

// The model's error on the sessions can make a saving of a tenth when it is half of
// a session's cost, not when it is a twentieth.
func TestModelError(t *testing.T) {
	y := run(cell("x", eight([]float64{-1, -2, -3, -4, -5, -6, -7, -8}, 0, 150_000)...)) // −10 %
	for spread, want := range map[float64]Verdict{0: Better, 0.05: Better, 0.5: Chance} {
		x := before()
		x.ModelError = results.ModelError{BilledUSD: 100, RecordedUSD: 100, Spread: spread}
		f := figure(t, x, y, "cost_usd")
		if f.Verdict != want || (len(f.Notes) == 1) != (want == Chance) {
			t.Errorf("an error of %v of a session: %v %q", spread, f.Verdict, f.Notes)
		}
		// The error of a run is no matter of two others.
		c := compared(t, Options{}, Input{"b", before()}, Input{"a", x}, Input{"c", y}).Comparisons
		if against, f := c[1].Other, c[1].Figure("cost_usd"); against != "c" || f.Verdict != Better || len(f.Notes) > 0 {
			t.Errorf("%s against b: %v %q", against, f.Verdict, f.Notes)
		}
	}
}

// Swapping the sides turns every sign around.
func TestSwapped(t *testing.T) {
	there := compared(t, Options{}, Input{"x", run(cell("x", many(40, 0)...))}, Input{"y", run(cell("x", many(40, 0.1)...))})
	back := compared(t, Options{}, Input{"y", run(cell("x", many(40, 0.1)...))}, Input{"x", run(cell("x", many(40, 0)...))})
	opposite := map[Verdict]Verdict{Better: Worse, Worse: Better, Below: Above, Above: Below, Unknown: Unknown, Chance: Chance, Same: Same}
	changed := 0
	for i, f := range there.Comparisons[0].Figures {
		g := back.Comparisons[0].Figures[i]
		if f.Difference != -g.Difference || f.Lower != g.Higher || f.P != g.P || g.Verdict != opposite[f.Verdict] {
			t.Errorf("%s: %+v and %+v", f.Metric.Name, f, g)
		}
		if f.Interval.Known() && (!near(f.Interval.Low, -g.Interval.High) || !near(f.Interval.High, -g.Interval.Low)) {
			t.Errorf("%s: %+v and %+v", f.Metric.Name, f.Interval, g.Interval)
		}
		if f.Changed() {
			changed++
		}
	}
	if changed < 20 {
		t.Errorf("only %d metrics differ", changed)
	}
}

// reverse reverses rows.
func reverse(rs *results.Rows) {
	rows := rs.List()
	slices.Reverse(rows)
	*rs = results.Rows{}.With(rows...)
}

// The order of rows and the number of workers do not show in any format.
func TestDeterminism(t *testing.T) {
	want := ""
	for _, workers := range []int{1, 2, 7} {
		x, y := run(cell("x", many(300, 0)...)), run(cell("x", many(300, 0.1)...))
		if workers > 1 {
			reverse(&y.Cells[0].Rows)
		}
		if workers > 2 {
			reverse(&x.Cells[0].Rows)
		}
		r := estimatedBy(t, Options{}, stats.Estimator{Level: 0.95, Resamples: 1000, Workers: workers}, Input{"x", x}, Input{"y", y})
		var b strings.Builder
		for _, format := range Formats() {
			if err := Write(&b, format, r); err != nil {
				t.Fatal(err)
			}
		}
		if want == "" {
			want = b.String()
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}

// When differences are chance alone, a verdict comes out no more often than the level allows: in at
// most 5 % of 500 comparisons, and the bound below is three standard errors above that. Of lognormal
// differences that are 0 in the mean it is 6 % with 45 sessions, as the documentation says.
func TestFalseAlarms(t *testing.T) {
	const trials = 500
	for _, tc := range []struct {
		n      int
		change func(*rand.Rand) float64
		share  float64
	}{
		{20, func(r *rand.Rand) float64 { return 2*r.Float64() - 1 }, 0.05},
		{45, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Exp(0.5) }, 0.06},
	} {
		alarms := 0
		chance := rand.New(rand.NewPCG(1, 2))
		for trial := range trials {
			var x, y []*results.Row
			for i := range tc.n {
				name := fmt.Sprintf("s%02d", i)
				x = append(x, session("x", name, 100, 9e4, 1e4, 1e5))
				y = append(y, session("x", name, 100+tc.change(chance), 9e4, 1e4, 1e5))
			}
			r := estimatedBy(t, Options{Metrics: []string{"cost_usd"}}, stats.Estimator{Level: 0.95, Resamples: 200, Workers: 1, Seed: uint64(trial)},
				Input{"x", run(cell("x", x...))}, Input{"y", run(cell("x", y...))})
			if r.Comparisons[0].Figures[0].Verdict > Chance {
				alarms++
			}
		}
		if limit := tc.share*trials + 3*math.Sqrt(tc.share*(1-tc.share)*trials); float64(alarms) > limit || alarms < trials/100 {
			t.Errorf("%d of %d comparisons of %d sessions without a difference came out, at most %.0f", alarms, trials, tc.n, limit)
		}
	}
}
