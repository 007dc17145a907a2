package compare

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/reports/stats"
	"github.com/compactsim/compactsim/sim/results"
)

func compared(t testing.TB, o Options, inputs ...Input) *Report {
	t.Helper()
	r, err := Run(context.Background(), inputs, o)
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
		effect              float64
	}{
		{"cost_usd", 360, 340, -20, 6, 1, 1, -25.0 / 28},
		{"cache_hit_ratio", 0.9, 0.875, -0.025, 2, 6, 0, -1},
		{"peak_context_tokens", 150_000, 149_000, -1000, 8, 0, 0, -1},
		{"calls", 80, 80, 0, 0, 8, 0, 0},
	} {
		f := figure(t, before(), after(), tc.metric)
		if !near(f.Base.Value, tc.base) || !near(f.Other.Value, tc.other) || !near(f.Difference, tc.diff) || !near(f.Relative.Value, tc.diff/tc.base) {
			t.Errorf("%s: %v → %v, %v, want %v → %v", tc.metric, f.Base, f.Other, f.Difference, tc.base, tc.other)
		}
		if f.Lower != tc.lower || f.Ties != tc.same || f.Higher != tc.higher {
			t.Errorf("%s: %d/%d/%d sessions", tc.metric, f.Lower, f.Ties, f.Higher)
		}
		if !near(f.Test.RankBiserial(), tc.effect) {
			t.Errorf("%s: effect %v, want %v", tc.metric, f.Test.RankBiserial(), tc.effect)
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
// the maximum. The intervals are the quantiles of that distribution.
func TestIntervalsAreFullEnumeration(t *testing.T) {
	x, y := run(cell("x", eight(nil, 0, 150_000)[2:]...)), run(cell("x", eight([]float64{-1, -2, -3, -4, -5, -6, 0, 1}, 4, 149_000)[2:]...))
	const n = 6
	const all = 46656
	draws := map[string][]float64{}
	for code := range all {
		var usd, read, input, peak [2]float64
		for k, c := 0, code; k < n; k, c = k+1, c/n {
			for s, row := range []*results.Row{&x.Cells[0].Rows[c%n], &y.Cells[0].Rows[c%n]} {
				usd[s] += row.CostByClass[results.ClassRead]
				read[s] += float64(row.Usage.Read)
				input[s] += float64(row.Usage.Read + row.Usage.Uncached)
				peak[s] = max(peak[s], float64(row.PeakContext))
			}
		}
		draws["cost_usd"] = append(draws["cost_usd"], usd[1]-usd[0])
		draws["cache_hit_ratio"] = append(draws["cache_hit_ratio"], read[1]/input[1]-read[0]/input[0])
		draws["peak_context_tokens"] = append(draws["peak_context_tokens"], peak[1]-peak[0])
	}
	r := compared(t, Options{Resamples: 50_000}, Input{"x", x}, Input{"y", y})
	for name, values := range draws {
		f := r.Comparisons[0].Figure(name)
		slices.Sort(values)
		share := func(v float64) float64 { // of resamples up to v
			i, _ := slices.BinarySearch(values, v+1e-9*max(1, math.Abs(v)))
			return float64(i) / all
		}
		below := func(v float64) float64 {
			i, _ := slices.BinarySearch(values, v-1e-9*max(1, math.Abs(v)))
			return float64(i) / all
		}
		// Five standard errors of a share of 2.5 %.
		const off = 0.0035
		if share(f.Interval.Low) < 0.025-off || below(f.Interval.Low) > 0.025+off {
			t.Errorf("%s: low end %v leaves %v to %v below", name, f.Interval.Low, below(f.Interval.Low), share(f.Interval.Low))
		}
		if share(f.Interval.High) < 0.975-off || below(f.Interval.High) > 0.975+off {
			t.Errorf("%s: high end %v has %v to %v below", name, f.Interval.High, below(f.Interval.High), share(f.Interval.High))
		}
	}
}

// A side against itself: nothing differs, nothing is tested.
func TestSame(t *testing.T) {
	r := compared(t, Options{}, Input{"x", before()}, Input{"y", before()})
	for _, f := range r.Comparisons[0].Figures {
		if f.Verdict != Same || f.Tested || f.Interval != nil || f.Difference != 0 {
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
	for i := range y.Cells[0].Rows {
		y.Cells[0].Rows[i].CostByClass[results.ClassRead] *= 1 + 1e-15
	}
	if f := figure(t, before(), y, "cost_usd"); f.Verdict != Same || f.Difference != 0 {
		t.Errorf("%+v", f)
	}
}

// Verdicts: six of eight sessions cheaper are not enough for the tests, eight of
// eight are.
func TestVerdicts(t *testing.T) {
	if f := figure(t, before(), after(), "cost_usd"); f.Verdict != Better && f.Verdict != Unknown {
		t.Errorf("verdict %v", f.Verdict)
	}
	all := run(cell("x", eight([]float64{-1, -2, -3, -4, -5, -6, -7, -8}, 0, 150_000)...))
	for _, tc := range []struct {
		x, y *results.Run
		want Verdict
	}{
		{before(), all, Better},
		{all, before(), Worse},
		{before(), run(cell("x", eight([]float64{1, -1, 2, -2, 3, -3, 4, -4}, 0, 150_000)...)), Unknown},
	} {
		if f := figure(t, tc.x, tc.y, "cost_usd"); f.Verdict != tc.want {
			t.Errorf("verdict %v (p %v, %+v), want %v", f.Verdict, f.Holm, f.Interval, tc.want)
		}
	}
}

// Nineteen sessions are a little cheaper, one is so much dearer that the total
// of another twenty could go either way: the test of ranks alone does not decide.
func TestVerdictTakesBoth(t *testing.T) {
	var x, y []results.Row
	for i := range 20 {
		change, name := -10-float64(i)/100, string(rune('a'+i))
		if i == 7 {
			change = 175
		}
		x = append(x, session("x", name, 20, 9e4, 1e4, 1e5))
		y = append(y, session("x", name, 20+change, 9e4, 1e4, 1e5))
	}
	f := figure(t, run(cell("x", x...)), run(cell("x", y...)), "cost_usd")
	if f.Holm > 0.01 || f.Difference >= 0 || !f.Interval.Contains(0) || f.Verdict != Unknown {
		t.Errorf("p %v, difference %v, interval %+v: %v", f.Holm, f.Difference, f.Interval, f.Verdict)
	}
}

// Five sessions tell nothing of others at 95 %, six can.
func TestTooFewSessions(t *testing.T) {
	change := []float64{-1, -2, -3, -4, -5, -6, -7, -8}
	for n, want := range map[int]Verdict{5: Unknown, 6: Better} {
		x, y := run(cell("x", eight(nil, 0, 1e5)[:n]...)), run(cell("x", eight(change, 0, 1e5)[:n]...))
		f := figure(t, x, y, "cost_usd")
		if f.Verdict != want || (f.Interval == nil) != (want == Unknown) || (len(f.Notes) > 0) != (want == Unknown) {
			t.Errorf("%d sessions: %v, %+v, %q", n, f.Verdict, f.Interval, f.Notes)
		}
		if f.Difference == 0 {
			t.Error("what happened on these sessions is known however few they are")
		}
	}
}

// A saving below the model error means nothing, however sure.
func TestModelError(t *testing.T) {
	y := run(cell("x", eight([]float64{-1, -2, -3, -4, -5, -6, -7, -8}, 0, 150_000)...)) // −10 %
	for recorded, want := range map[float64]Verdict{105: Better, 111: Unknown, 89: Unknown} {
		x := before()
		x.ModelError = results.ModelError{BilledUSD: 100, RecordedUSD: recorded}
		f := figure(t, x, y, "cost_usd")
		if f.Verdict != want || (len(f.Notes) == 1) != (want == Unknown) {
			t.Errorf("model error of %v %%: %v %q", recorded-100, f.Verdict, f.Notes)
		}
	}
}

// Every metric adds up over sessions as this package takes it to: two rows with
// a figure in every field make the value of their sum.
func TestKinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRow(t, "a"), anyRow(t, "b")
		both := a
		both.Firings, both.Reasons = nil, nil
		both.Add(&b)
		for _, m := range results.Metrics() {
			x, okX := m.Value(&a)
			y, okY := m.Value(&b)
			want, ok := m.Value(&both)
			if !okX || !okY || !ok {
				continue
			}
			var got float64
			switch kindOf(m.Name) {
			case added:
				got = x + y
			case largest:
				got = max(x, y)
			case least:
				got = min(x, y)
			case divided:
				pa, ba := divisionOf(m.Name)(&a)
				pb, bb := divisionOf(m.Name)(&b)
				got = float64(pa+pb) / float64(ba+bb)
				if !near(float64(pa)/float64(ba), x) {
					t.Errorf("%s of a session is %v, its parts say %v", m.Name, x, float64(pa)/float64(ba))
				}
			}
			if !near(got, want) {
				t.Errorf("%s of two sessions is %v, taken for %v: kindOf and divisionOf must know how it adds up", m.Name, want, got)
			}
		}
	})
}

// Swapping the sides turns every sign around.
func TestSwapped(t *testing.T) {
	there := compared(t, Options{}, Input{"x", run(cell("x", many(40, 0)...))}, Input{"y", run(cell("x", many(40, 0.1)...))})
	back := compared(t, Options{}, Input{"y", run(cell("x", many(40, 0.1)...))}, Input{"x", run(cell("x", many(40, 0)...))})
	opposite := map[Verdict]Verdict{Better: Worse, Worse: Better, Below: Above, Above: Below, Unknown: Unknown, Same: Same}
	changed := 0
	for i, f := range there.Comparisons[0].Figures {
		g := back.Comparisons[0].Figures[i]
		if f.Difference != -g.Difference || f.Lower != g.Higher || f.Test.P != g.Test.P || f.Holm != g.Holm || g.Verdict != opposite[f.Verdict] {
			t.Errorf("%s: %+v and %+v", f.Metric.Name, f, g)
		}
		if f.Interval != nil && (!near(f.Interval.Low, -g.Interval.High) || !near(f.Interval.High, -g.Interval.Low)) {
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

// The order of rows and the number of workers do not show in any format.
func TestDeterminism(t *testing.T) {
	want := ""
	for _, workers := range []int{1, 2, 7} {
		x, y := run(cell("x", many(300, 0)...)), run(cell("x", many(300, 0.1)...))
		if workers > 1 {
			slices.Reverse(y.Cells[0].Rows)
		}
		if workers > 2 {
			slices.Reverse(x.Cells[0].Rows)
		}
		r := compared(t, Options{Workers: workers}, Input{"x", x}, Input{"y", y})
		var b strings.Builder
		for _, format := range Formats() {
			if err := Write(&b, format, r, WriteOptions{All: true}); err != nil {
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

// Above the limit of the bootstrap its replacement gives the intervals the
// bootstrap would give.
func TestNormalAgreesWithBootstrap(t *testing.T) {
	const n = 3000
	p, _, err := pair(
		side{label: "x", cells: []*results.Cell{{Cell: "x", Strategy: "x", Rows: many(n, 0)}}},
		side{label: "y", cells: []*results.Cell{{Cell: "x", Strategy: "x", Rows: many(n, 0.1)}}})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Resamples: 4000, Level: 0.95}
	boot, err := measure(p, results.Metrics(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := resample(context.Background(), boot, n, o); err != nil {
		t.Fatal(err)
	}
	normal, err := measure(p, results.Metrics(), 0)
	if err != nil {
		t.Fatal(err)
	}
	approximate(normal, o)
	intervals, relatives := 0, 0
	for i, m := range normal {
		if m.Interval == nil {
			continue
		}
		intervals++
		agree(t, m.Metric.Name, boot[i].Interval, m.Interval)
		if m.RelativeInterval != nil {
			relatives++
			agree(t, m.Metric.Name+" (relative)", boot[i].RelativeInterval, m.RelativeInterval)
		}
	}
	if intervals < 20 || relatives < 3 {
		t.Errorf("only %d intervals, %d relative ones", intervals, relatives)
	}
}

// agree allows for a tenth of the width: three standard errors of a quantile at
// 4,000 resamples are 4 % of it, the rest is skewness.
func agree(t *testing.T, what string, a, b *stats.Interval) {
	t.Helper()
	if a == nil {
		t.Errorf("%s: no bootstrap interval", what)
		return
	}
	off := (b.High - b.Low) / 10
	if math.Abs(a.Low-b.Low) > off || math.Abs(a.High-b.High) > off {
		t.Errorf("%s: bootstrap %+v, normal %+v", what, *a, *b)
	}
}

// When differences are chance alone, a verdict comes out no more often than the level
// allows: at most 5 % of 1,000 comparisons, and the bound below is three
// standard errors above that.
func TestFalseAlarms(t *testing.T) {
	const trials, n = 1000, 20
	alarms := 0
	chance := rand.New(rand.NewPCG(1, 2))
	for trial := range trials {
		var x, y []results.Row
		for i := range n {
			size := 2*chance.Float64() - 1
			name := string(rune('a' + i))
			x = append(x, session("x", name, 10, 9e4, 1e4, 1e5))
			y = append(y, session("x", name, 10+size, 9e4, 1e4, 1e5))
		}
		r := compared(t, Options{Metrics: []string{"cost_usd"}, Resamples: 200, Workers: 1, Seed: uint64(trial)},
			Input{"x", run(cell("x", x...))}, Input{"y", run(cell("x", y...))})
		if r.Comparisons[0].Figures[0].Verdict != Unknown {
			alarms++
		}
	}
	if limit := 0.05*trials + 3*math.Sqrt(0.05*0.95*trials); float64(alarms) > limit || alarms < trials/100 {
		t.Errorf("%d of %d comparisons without a difference came out", alarms, trials)
	}
}
