package fleet

import (
	"math"
	"testing"
	"time"
)

// begins returns the times of all users of one organisation, ns from the start.
func begins(f *File, users int) (all []int64, counts []int) {
	o := &f.Orgs[0]
	c := newCalendar(&o.Arrivals, o.Sessions.PerDay, f.Start.Time, f.Days)
	src := f.source(o)
	for u := range users {
		before := len(all)
		all = c.times(all, src, u)
		counts = append(counts, len(all)-before)
	}
	return all, counts
}

// Poisson arrivals: over 20,000 users at 3 a day the mean lies within four
// standard errors of 3, the variance of 3 (its standard error is
// √((μ + 2μ²)/n)), and a share of e⁻³ has none.
func TestPoisson(t *testing.T) {
	const users, rate = 20_000, 3.0
	for name, keys := range map[string]string{"poisson": "process: poisson", "diurnal": "process: diurnal"} {
		f := parse(t, "schema: 1\norgs:\n  - {name: acme, users: 1, sessions: {per_user_day: 3}, arrivals: {"+keys+"}}\n")
		_, counts := begins(f, users)
		var sum, squares, none float64
		for _, n := range counts {
			sum += float64(n)
			squares += float64(n * n)
			if n == 0 {
				none++
			}
		}
		mean := sum / users
		variance := squares/users - mean*mean
		if d := math.Abs(mean - rate); d > 4*math.Sqrt(rate/users) {
			t.Errorf("%s: %.3f sessions a user, want %.0f", name, mean, rate)
		}
		if d := math.Abs(variance - rate); d > 4*math.Sqrt((rate+2*rate*rate)/users) {
			t.Errorf("%s: variance %.3f, want %.0f", name, variance, rate)
		}
		p := math.Exp(-rate)
		if d := math.Abs(none/users - p); d > 4*math.Sqrt(p*(1-p)/users) {
			t.Errorf("%s: a share of %.4f begins no session, want %.4f", name, none/users, p)
		}
	}
}

// Gaps of a steady process are exponential: a share of e⁻¹ is longer than the
// mean.
func TestGapsAreExponential(t *testing.T) {
	f := parse(t, "schema: 1\ndays: 5\norgs:\n  - {name: acme, users: 1, sessions: {per_user_day: 24}, arrivals: {process: poisson, weekend: 1}}\n")
	o := &f.Orgs[0]
	c := newCalendar(&o.Arrivals, o.Sessions.PerDay, f.Start.Time, f.Days)
	longer, gaps := 0.0, 0.0
	for u := range 200 {
		times := c.times(nil, f.source(o), u)
		for i := 1; i < len(times); i++ {
			gaps++
			if times[i]-times[i-1] > hour {
				longer++
			}
		}
	}
	p := math.Exp(-1)
	if d := math.Abs(longer/gaps - p); d > 4*math.Sqrt(p*(1-p)/gaps) {
		t.Errorf("a share of %.4f of %.0f gaps is longer than the mean, want %.4f", longer/gaps, gaps, p)
	}
}

// The day of a diurnal process: the rate at an hour is exp(2·cos(2π(h − 14)/24))
// over its mean, of local time. The fleet begins on a Sunday evening there.
func TestDiurnal(t *testing.T) {
	f := parse(t, "schema: 1\norgs:\n  - {name: acme, users: 1, sessions: {per_user_day: 4}, arrivals: {peak_hour: 14, focus: 2, offset: -5h, weekend: 1}}\n")
	const users = 50_000
	all, _ := begins(f, users)
	var hours [24]float64
	for _, at := range all {
		local := f.Start.Add(time.Duration(at) - 5*time.Hour)
		hours[local.Hour()]++
	}
	// I₀(2) = 2.2796, the mean of exp(2·cos x) (Abramowitz and Stegun, table 9.8).
	for h, n := range hours {
		want := 0.0
		for i := range 60 { // the mean of the hour by its minutes
			want += math.Exp(2*math.Cos(2*math.Pi*(float64(h)+(float64(i)+0.5)/60-14)/24)) / 60
		}
		want *= float64(len(all)) / 24 / 2.2796
		if math.Abs(n-want) > 5*math.Sqrt(want)+0.002*want {
			t.Errorf("%.0f sessions begin in hour %d, want %.0f", n, h, want)
		}
	}
}

// At the weekend a share of a weekday's sessions begins: 2026-03-07 is a
// Saturday.
func TestWeekend(t *testing.T) {
	f := parse(t, "schema: 1\nstart: 2026-03-06\ndays: 3\norgs:\n  - {name: acme, users: 1, arrivals: {weekend: 0.25}}\n")
	const users = 20_000
	all, _ := begins(f, users)
	var days [3]float64
	for _, at := range all {
		days[at/day]++
	}
	for i, want := range []float64{3, 0.75, 0.75} {
		if got := days[i] / users; math.Abs(got-want) > 4*math.Sqrt(want/users) {
			t.Errorf("day %d: %.3f sessions a user, want %g", i, got, want)
		}
	}
}

// Times of a trace: with a user, without one dealt in turn, as dates; all in the
// order of the clock.
func TestTrace(t *testing.T) {
	f := parse(t, `schema: 1
orgs:
  - name: acme
    users: 2
    arrivals: {process: trace, times: [2h 1, 30m, 2026-03-02T01:00:00Z, 20m 0]}
`)
	got := f.byUser(0)
	want := [][]int64{{20 * 60e9, 30 * 60e9}, {3600e9, 7200e9}}
	for u := range want {
		if len(got[u]) != 2 || got[u][0] != want[u][0] || got[u][1] != want[u][1] {
			t.Errorf("user %d begins at %v, want %v", u, got[u], want[u])
		}
	}
}
