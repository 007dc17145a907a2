package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

func paired(t testing.TB, e Estimator, pairs ...Pair) []Estimate {
	t.Helper()
	list, err := e.Paired(context.Background(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// changed is the pair of a sum over sessions that differ by some values.
func changed(by ...float64) Pair {
	base, other := make([]float64, len(by)), make([]float64, len(by))
	for i, d := range by {
		base[i], other[i] = 100, 100+d
	}
	return Pair{Base: Figure{Part: base}, Other: Figure{Part: other}, Relative: true}
}

// fewer resamples than usual reach the level as well.
const fewer = 400

// Sessions are generated: costs whose logarithms spread by 1.3, as in recordings, of
// which a setting saves a share that spreads by 0.15 about a tenth. The relative interval at 95 %
// holds the true saving in 90 to 97 % of samples, and where the true saving is none a verdict comes
// out in at most 5 %, up to three standard errors.
func TestCoverageOfGeneratedSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const samples = 400
	sampling := 3 * math.Sqrt(0.05*0.95/samples)
	for _, n := range []int{8, 20, 60} {
		holds, alarms := 0, 0
		for seed := range uint64(samples) {
			chance := rand.New(rand.NewPCG(seed, uint64(n)))
			saving := func(mean float64) Pair {
				p := Pair{Relative: true}
				for range n {
					usd := math.Exp(1.3 * chance.NormFloat64())
					p.Base.Part = append(p.Base.Part, usd)
					p.Other.Part = append(p.Other.Part, usd*(1-mean-0.15*chance.NormFloat64()))
				}
				return p
			}
			list := paired(t, Estimator{Seed: seed, Workers: 1, Resamples: fewer}, saving(0.1))
			if list[0].RelativeInterval.Contains(-0.1) {
				holds++
			}
			if list = paired(t, Estimator{Seed: seed, Workers: 1, Resamples: fewer}, saving(0)); list[0].Verdict > Chance {
				alarms++
			}
		}
		t.Logf("%d sessions: %d of %d intervals hold the truth, %d verdicts without a difference", n, holds, samples, alarms)
		if share := float64(holds) / samples; share < 0.90-sampling/3 || share > 0.97+sampling/3 {
			t.Errorf("%d sessions: %.3f of intervals hold the truth", n, share)
		}
		if float64(alarms)/samples > 0.05+sampling {
			t.Errorf("%d sessions: %d of %d samples without a difference get a verdict", n, alarms, samples)
		}
	}
}

// A difference as large as the detectable one is found in four of five samples, also where it is
// one of several that are judged together, all but one of which are nothing.
func TestDetectableIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const samples = 400
	for _, tc := range []struct{ n, others int }{{10, 0}, {30, 0}, {30, 4}} {
		draw := func(seed uint64, by float64) Estimate {
			chance := rand.New(rand.NewPCG(seed, 9))
			pairs := make([]Pair, 1+tc.others)
			for k := range pairs {
				d := make([]float64, tc.n)
				for i := range d {
					d[i] = by + chance.NormFloat64()
				}
				pairs[k], by = changed(d...), 0
			}
			return paired(t, Estimator{Seed: seed, Workers: 1, Resamples: fewer}, pairs...)[0]
		}
		var detectable float64 // of the mean difference of a session
		for seed := range uint64(samples) {
			detectable += draw(seed, 0).Detectable / samples / float64(tc.n)
		}
		found := 0
		for seed := range uint64(samples) {
			if draw(seed+samples, detectable).Verdict == Higher {
				found++
			}
		}
		t.Logf("%d sessions, %d other metrics: %.3f found in %d of %d", tc.n, tc.others, detectable, found, samples)
		if share := float64(found) / samples; math.Abs(share-power) > 3*math.Sqrt(power*(1-power)/samples) {
			t.Errorf("%d sessions: a difference of %.3f is found in %.2f of samples", tc.n, detectable, share)
		}
	}
}

// Six of six sessions that go one way do so with a chance of 2/2⁶ where there is no difference,
// whatever the figures; five of five do too often for any verdict at 95 %.
func TestFewSessions(t *testing.T) {
	six := paired(t, Estimator{}, changed(-1, -1, -1, -1, -1, -1, 0, 0))[0]
	if six.P != 2.0/64 || six.Verdict != Lower || six.Pairs != 6 {
		t.Errorf("six: %+v", six)
	}
	if five := paired(t, Estimator{}, changed(-1, -1, -1, -1, -1, 0, 0, 0))[0]; five.Verdict != TooFew || !five.Interval.Known() {
		t.Errorf("five: %+v", five)
	}
	// By hand: −6 in the mean of −4 and −8, with a standard error of 2 and t = 12.706.
	two := paired(t, Estimator{}, changed(-4, -8))[0]
	if two.Verdict != TooFew || math.Abs(two.Interval.Low+12+2*2*12.7062) > 1e-3 {
		t.Errorf("two: %+v", two)
	}
	if one := paired(t, Estimator{}, changed(-4))[0]; one.Verdict != TooFew || one.Interval.Known() || one.Difference != -4 {
		t.Errorf("one: %+v", one)
	}
	if none := paired(t, Estimator{}, changed(0, 1e-15))[0]; none.Verdict != Same {
		t.Errorf("none: %+v", none)
	}
}

// A family of differences is corrected by Holm's method: the published example of Wright 1992,
// P-values 0.0001, 0.0058, 0.0132, 0.0289, 0.0498 and 0.0911, as R's p.adjust corrects them, alone and as the least of eight (n = 8).
func TestFamilies(t *testing.T) {
	for among, wants := range map[int][]float64{
		0: {0.0528, 0.0006, 0.0996, 0.0290, 0.0996, 0.0867}, 8: {0.0792, 0.0008, 0.2733, 0.0406, 0.1992, 0.1445},
	} {
		list, pairs := make([]Estimate, 6), make([]Pair, 6)
		for i, p := range []float64{0.0132, 0.0001, 0.0911, 0.0058, 0.0498, 0.0289} {
			list[i] = Estimate{p: p, Pairs: 20, Difference: 1, Interval: Interval{1, 2}, level: 0.95, freedom: 19, step: 1}
			list[i].least = p
		}
		judge(pairs, list, among)
		for i, want := range wants {
			if e := list[i]; math.Abs(e.P-want) > 1e-12 || (e.Verdict == Higher) != (want < 0.05) {
				t.Errorf("%d of %d: P %v, %v, want %v", i, among, e.P, e.Verdict, want)
			}
		}
	}
}

// An error on top of the sampling error widens both intervals, and can explain a difference.
func TestBlurred(t *testing.T) {
	e := paired(t, Estimator{}, changed(-9, -10, -11, -10, -9, -11, -10, -10))[0]
	if e.Verdict != Lower {
		t.Fatalf("%+v", e)
	}
	if b := e.Blurred(0); b != e {
		t.Errorf("no error changes %+v to %+v", e, b)
	}
	b := e.Blurred(60)
	if b.Verdict != Chance || b.Interval.Low > -80-1.95*60 || math.Abs(b.RelativeInterval.High-b.Interval.High/800) > 1e-3 || b.Detectable < 3*60 {
		t.Errorf("an error of 60: %+v", b)
	}
}

// Ratios of other sessions on both sides: equal ones are told apart in about one of twenty
// samples, and one session says nothing.
func TestApart(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const samples = 400
	alarms, found := 0, 0
	for seed := range uint64(samples) {
		chance := rand.New(rand.NewPCG(seed, 4))
		side := func(n int, ratio float64) (f Figure) {
			for range n {
				base := math.Exp(chance.NormFloat64())
				f.Part, f.Base = append(f.Part, base*(ratio+0.1*chance.NormFloat64())), append(f.Base, base)
			}
			return f
		}
		was := side(30, 0.5)
		for ratio, count := range map[float64]*int{0.5: &alarms, 0.7: &found} {
			e, err := Estimator{Seed: seed, Resamples: fewer}.Apart(context.Background(), was, side(20, ratio), 1)
			if err != nil {
				t.Fatal(err)
			}
			if e.Verdict > Chance {
				*count++
			}
		}
	}
	if alarms > 20+3*5 || found < 380 {
		t.Errorf("of %d samples %d are told apart without a difference, %d with one", samples, alarms, found)
	}
	one := Figure{Part: []float64{1}, Base: []float64{2}}
	if e, err := (Estimator{}).Apart(context.Background(), one, one, 1); err != nil || e.Verdict != TooFew || e.Interval.Known() {
		t.Errorf("one session: %+v, %v", e, err)
	}
}

// Swapping the sides turns signs around, whatever the figure.
func TestSwapped(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	column := func() []float64 {
		list := make([]float64, 20)
		for i := range list {
			list[i] = 10 + chance.NormFloat64()
		}
		return list
	}
	for name, make := range map[string]func() Figure{
		"sum":     func() Figure { return Figure{Part: column()} },
		"ratio":   func() Figure { return Figure{Part: column(), Base: column()} },
		"maximum": func() Figure { part := column(); return Figure{Part: part, Tops: [][]float64{part, column()}} },
		"minimum": func() Figure { part := column(); return Figure{Part: part, Tops: [][]float64{part}, Down: true} },
	} {
		x, y := make(), make()
		there, back := paired(t, Estimator{}, Pair{Base: x, Other: y})[0], paired(t, Estimator{}, Pair{Base: y, Other: x})[0]
		near := func(a, b float64) bool { return math.Abs(a+b) < 1e-9 }
		if !near(there.Difference, back.Difference) || !near(there.Interval.Low, back.Interval.High) || math.Abs(there.P-back.P) > 1e-9 {
			t.Errorf("%s: %+v and %+v", name, there, back)
		}
		if want := y.Value() - x.Value(); want != there.Difference {
			t.Errorf("%s: difference %v, want %v", name, there.Difference, want)
		}
	}
}

// Sessions of a side that happen to be alike are taken to spread as other sessions do: five ones after 12 ones in
// twenty are chance, none in ten after eight in ten is not.
func TestApartOfAlike(t *testing.T) {
	share := func(ones, n int) (f Figure) {
		for i := range n {
			one := 0.0
			if i < ones {
				one = 1
			}
			f.Part, f.Base = append(f.Part, one), append(f.Base, 1)
		}
		return f
	}
	for _, c := range []struct {
		was, now Figure
		want     Verdict
	}{{share(12, 20), share(5, 5), Chance}, {share(5, 5), share(12, 20), Chance}, {share(8, 10), share(0, 10), Lower}, {share(0, 10), share(8, 10), Higher}} {
		if e, err := (Estimator{Seed: 1}).Apart(context.Background(), c.was, c.now, 1); err != nil || e.Verdict != c.want {
			t.Errorf("%v against %v: %v, want %v", c.now.Part, c.was.Part, e.Verdict, c.want)
		}
	}
}

// As many sessions as Enough says have a detectable difference of that size, one fewer have not; what is below the
// spread of the baseline itself no number shows.
func TestEnough(t *testing.T) {
	side := func(n int) (f Figure) {
		for i := range n {
			f.Part, f.Base = append(f.Part, 1+0.1*float64(i%3-1)), append(f.Base, 1)
		}
		return f
	}
	was := side(30)
	n := Estimator{}.Enough(was, Figure{}, 1, 0.08)
	if n < 5 || n > 60 || (Estimator{}).Enough(was, Figure{}, 1, 0.2) >= n {
		t.Errorf("%d sessions would do", n)
	}
	if e, err := (Estimator{}).Apart(context.Background(), was, side(n/3*3+3), 1); err != nil || e.Detectable > 0.09 {
		t.Errorf("with %d sessions %v is detectable, want 0.08", n/3*3+3, e.Detectable)
	}
	if n := (Estimator{}).Enough(was, Figure{}, 1, 0.01); n != 0 {
		t.Errorf("%d sessions show a difference below the spread of the baseline", n)
	}
}

// Verdicts alone are the verdicts of whole estimates, though most of their intervals are never made: of 40 differences,
// 20 to 25 sessions each, by one to 40 times their spread.
func TestVerdictsAlone(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var pairs []Pair
	for i := range 40 {
		p := Pair{Base: Figure{}, Other: Figure{}}
		for range 20 + i%6 {
			base := 10 + draw.NormFloat64()
			p.Base.Part = append(p.Base.Part, base)
			p.Other.Part = append(p.Other.Part, base+draw.NormFloat64()+0.05*float64(i))
		}
		pairs = append(pairs, p)
	}
	whole, alone := Estimator{Student: true}.Judged(pairs), Estimator{Student: true, Verdicts: true}.Judged(pairs)
	seen := map[Verdict]int{}
	for i := range pairs {
		seen[alone[i].Verdict]++
		a, b := whole[i].Blurred(0.1), alone[i].Blurred(0.1)
		if whole[i].Verdict != alone[i].Verdict || a.Verdict != b.Verdict {
			t.Errorf("%d: verdicts %v and %v alone, with an error %v and %v", i, whole[i].Verdict, alone[i].Verdict, a.Verdict, b.Verdict)
		}
	}
	if seen[Higher] < 5 || seen[Chance] < 5 {
		t.Errorf("verdicts %v: want some of each", seen)
	}
}

// Where the difference is far from 0 a verdict needs no interval: the quantile at fewer degrees of freedom gives it. Of 20 sessions that
// rise by 1 with a spread of a tenth, the difference, 20, is 40 standard errors. An error of 0.5 beside these leaves the verdict; an error of 12
// takes it away, since two such errors are more than the difference.
func TestFarVerdictsMakeNoInterval(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	p := Pair{}
	for range 20 {
		base := 10 + draw.NormFloat64()
		p.Base.Part = append(p.Base.Part, base)
		p.Other.Part = append(p.Other.Part, base+1+0.1*draw.NormFloat64())
	}
	e := Estimator{Student: true, Verdicts: true}.One(p)
	if near := e.Blurred(0.5); e.Verdict != Higher || near.Verdict != Higher || e.Interval.Known() || near.Interval.Known() {
		t.Errorf("verdicts %v and %v, intervals %v and %v: want Higher and none", e.Verdict, near.Verdict, e.Interval, near.Interval)
	}
	if far := e.Blurred(12); far.Verdict != Chance {
		t.Errorf("with an error of 12 the verdict is %v", far.Verdict)
	}
}
