package users

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/draws"
)

// Processes of arrivals.
const (
	processPoisson = "poisson" // evenly over the day
	processDiurnal = "diurnal" // most at the peak hour
	processTrace   = "trace"   // at given times
)

// Arrivals says when sessions begin.
type Arrivals struct {
	Process string        `yaml:"process" enum:"poisson,diurnal,trace" doc:"poisson: evenly over the day; diurnal: most at the peak hour; trace: at times."`
	Peak    float64       `yaml:"peak_hour" min:"0" max:"24" doc:"Of diurnal arrivals: the local hour with most arrivals."`
	Focus   float64       `yaml:"focus" min:"0" max:"50" doc:"How far the day gathers around it: the rate goes with exp(focus · cos(2π(hour − peak)/24)), at 2 it is 55 times the rate of the quietest hour."`
	Offset  time.Duration `yaml:"offset" min:"-24h" max:"24h" doc:"Local time less UTC: -5h in New York."`
	Weekend float64       `yaml:"weekend" min:"0" max:"1000" doc:"Rate of Saturdays and Sundays, as a share of a weekday's."`
	Times   []string      `yaml:"times" doc:"Of a trace: times from the start or dates, with the index of the user or without (90m, 90m 17, 2026-03-02T09:00:00Z). Those without go to each user in turn."`
}

const (
	day  = int64(24 * time.Hour) // ns
	hour = int64(time.Hour)      // ns
)

// dayCells is the number of steps over which the rate of a day is constant.
const dayCells = 24 * 12

// calendar is the expected number of a user's sessions since the start, tabulated: arrivals at a
// varying rate are arrivals of a steady process on another clock.
type calendar struct {
	sum  []float64 // through the end of each cell
	cell int64     // ns
}

// newCalendar tabulates the rate of arrivals over so many days from a start.
func newCalendar(a *Arrivals, perDay float64, start time.Time, days int) calendar {
	c := calendar{cell: day / dayCells}
	local := start.Add(a.Offset).UTC()
	shape, mean := a.shape()
	sum := 0.0
	for range days * dayCells {
		rate := perDay / dayCells * shape(local) / mean
		if w := local.Weekday(); w == time.Saturday || w == time.Sunday {
			rate *= a.Weekend
		}
		sum += rate
		c.sum = append(c.sum, sum)
		local = local.Add(time.Duration(c.cell))
	}
	return c
}

// shape returns the rate over the local day, and its mean over the cells of one: a von Mises
// distribution around the peak, even for a focus of 0.
func (a *Arrivals) shape() (func(time.Time) float64, float64) {
	if a.Process != processDiurnal {
		return func(time.Time) float64 { return 1 }, 1
	}
	at := func(hours float64) float64 {
		return math.Exp(a.Focus * (math.Cos(2*math.Pi*(hours-a.Peak)/24) - 1))
	}
	mean := 0.0
	for i := range dayCells {
		mean += at(24*(float64(i)+0.5)/dayCells) / dayCells
	}
	half := 12.0 / dayCells // hours to the middle of a cell
	return func(t time.Time) float64 {
		return at(float64(t.Hour()) + float64(t.Minute())/60 + float64(t.Second())/3600 + half)
	}, mean
}

// total returns the expected number of a user's sessions.
func (c *calendar) total() float64 {
	if len(c.sum) == 0 {
		return 0
	}
	return c.sum[len(c.sum)-1]
}

// at returns the time by which so many sessions are expected, ns from the start; false if there
// are fewer.
func (c *calendar) at(n float64) (int64, bool) {
	i := sort.SearchFloat64s(c.sum, n)
	if i == len(c.sum) {
		return 0, false
	}
	from := 0.0
	if i > 0 {
		from = c.sum[i-1]
	}
	share := 0.0
	if c.sum[i] > from {
		share = (n - from) / (c.sum[i] - from)
	}
	return int64((float64(i) + share) * float64(c.cell)), true
}

// times appends the times at which a user's sessions begin to dst, ns from the start: gaps of the
// steady process are exponential.
func (c *calendar) times(dst []int64, src draws.Source, user int) []int64 {
	n := 0.0
	for k := 0; ; k++ {
		u := draws.Unit(src.Uint64(drawArrival, place(user, k)))
		n -= math.Log1p(-u)
		at, ok := c.at(n)
		if !ok {
			return dst
		}
		dst = append(dst, at)
	}
}

// expected returns the sessions that an organisation is expected to begin, given the number of
// times of its trace.
func (o *Organisation) expected(s *Settings, times int) float64 {
	if o.Arrivals.Process == processTrace {
		return float64(times)
	}
	c := newCalendar(&o.Arrivals, o.Sessions.PerDay, s.Start.Time, min(max(s.Days, 1), 366))
	return float64(o.Users) * c.total()
}

// arrival is one session's beginning.
type arrival struct {
	at   int64 // ns from the start
	user int   // -1 if the trace names none
}

// times reads the times of a trace.
func (a *Arrivals) times(s *Settings, users int) ([]arrival, error) {
	var list []arrival
	for _, line := range a.Times {
		v, err := readArrival(line, s, users)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// readArrival reads one line of a trace: a time, and the index of the user if it says.
func readArrival(line string, s *Settings, users int) (arrival, error) {
	v := arrival{user: -1}
	words := strings.Fields(line)
	if len(words) == 0 || len(words) > 2 {
		return v, fmt.Errorf("want TIME or TIME USER, not %q", line)
	}
	if d, err := time.ParseDuration(words[0]); err == nil {
		v.at = int64(d)
	} else if t, err := time.Parse(time.RFC3339, words[0]); err == nil {
		v.at = int64(t.Sub(s.Start.Time))
	} else {
		return v, fmt.Errorf("%q is no time: want one such as 90m, or 2026-03-02T09:00:00Z", words[0])
	}
	if v.at < 0 || v.at > int64(s.Days)*day {
		return v, fmt.Errorf("%s lies outside the %s of the scenario", words[0], document.Count(s.Days, "day"))
	}
	if len(words) > 1 {
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 0 || n >= users {
			return v, fmt.Errorf("user %q: want 0 to %d", words[1], users-1)
		}
		v.user = n
	}
	return v, nil
}

// schedule returns a function that gives the times at which the sessions of a user begin, in
// order, ns from the start. They are valid until the next call.
func (o *Organisation) schedule(s *Settings, src draws.Source) (func(user int) []int64, error) {
	if o.Arrivals.Process != processTrace {
		c := newCalendar(&o.Arrivals, o.Sessions.PerDay, s.Start.Time, s.Days)
		var begins []int64
		return func(user int) []int64 {
			begins = c.times(begins[:0], src, user)
			return begins
		}, nil
	}
	list, err := o.Arrivals.times(s, o.Users)
	if err != nil {
		return nil, err
	}
	by, turn := make([][]int64, o.Users), 0
	for _, v := range list {
		if v.user < 0 {
			v.user = turn % o.Users
			turn++
		}
		by[v.user] = append(by[v.user], v.at)
	}
	for _, times := range by {
		slices.Sort(times)
	}
	return func(user int) []int64 { return by[user] }, nil
}
