package users

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/traces"
)

// begins returns the times of all users of the organisation acme, ns from the start.
func begins(t *testing.T, s *Settings, users int) (all []int64, counts []int) {
	t.Helper()
	o := s.Organisations["acme"]
	times, err := o.schedule(s, s.source("acme"))
	if err != nil {
		t.Fatal(err)
	}
	for u := range users {
		list := times(u)
		all, counts = append(all, list...), append(counts, len(list))
	}
	return all, counts
}

// Poisson arrivals: over 20,000 users at 3 a day the mean lies within four
// standard errors of 3, the variance of 3 (its standard error is
// √((μ + 2μ²)/n)), and a share of e⁻³ has none.
func TestPoisson(t *testing.T) {
	const users, rate = 20_000, 3.0
	for name, keys := range map[string]string{"poisson": "process: poisson", "diurnal": "process: diurnal"} {
		f := parse(t, "organisations: {acme: {users: 1, sessions: {per_user_day: 3}, arrivals: {"+keys+"}}}")
		_, counts := begins(t, f, users)
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
	f := parse(t, "{days: 5, organisations: {acme: {users: 1, sessions: {per_user_day: 24}, arrivals: {process: poisson, weekend: 1}}}}")
	o := f.Organisations["acme"]
	c := newCalendar(&o.Arrivals, o.Sessions.PerDay, f.Start.Time, f.Days)
	longer, gaps := 0.0, 0.0
	for u := range 200 {
		times := c.times(nil, f.source("acme"), u)
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
// over its mean, of local time. The clock begins on a Sunday evening there.
func TestDiurnal(t *testing.T) {
	f := parse(t, "organisations: {acme: {users: 1, sessions: {per_user_day: 4}, arrivals: {peak_hour: 14, focus: 2, offset: -5h, weekend: 1}}}")
	const users = 50_000
	all, _ := begins(t, f, users)
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
	f := parse(t, "{start: 2026-03-06, days: 3, organisations: {acme: {users: 1, arrivals: {weekend: 0.25}}}}")
	const users = 20_000
	all, _ := begins(t, f, users)
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
	s := parse(t, "organisations: {acme: {users: 2, arrivals: {process: trace, times: [2h 1, 30m, 2026-03-02T01:00:00Z, 20m 0]}}}")
	o := s.Organisations["acme"]
	got, err := o.schedule(s, s.source("acme"))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int64{{20 * 60e9, 30 * 60e9}, {3600e9, 7200e9}}
	for u := range want {
		if !slices.Equal(got(u), want[u]) {
			t.Errorf("user %d begins at %v, want %v", u, got(u), want[u])
		}
	}
}

// parse returns the users that a text describes.
func parse(t testing.TB, text string) *Settings {
	t.Helper()
	s := Default()
	if err := spec.Decode([]byte(text), "users.yaml", &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// drawn returns the sessions of users.
func drawn(t testing.TB, s *Settings) []*traces.Session {
	t.Helper()
	return drawnBy(t, s, 0)
}
