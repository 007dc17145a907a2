package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/draws"
)

// arrival is one session's beginning.
type arrival struct {
	at   int64 // ns from the fleet's start
	user int32 // index in the organisation; -1 if the trace names none
}

// dayCells is the number of steps over which the rate of a day is constant.
const dayCells = 24 * 12

// calendar is the expected number of a user's sessions since the fleet's start,
// tabulated: arrivals at a varying rate are those of a steady process on
// another clock.
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

// shape returns the rate over the local day, and its mean over the cells of one:
// a von Mises distribution around the peak, even for a focus of 0.
func (a *Arrivals) shape() (func(time.Time) float64, float64) {
	if a.Process != ProcessDiurnal {
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

// at returns the time by which so many sessions are expected, ns from the
// start; false if there are fewer.
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

// times appends the times at which a user's sessions begin to dst, ns from the
// start: gaps of the steady process are exponential.
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

// expected returns the sessions that an organisation is expected to begin.
func (f *File) expected(o *Org) float64 {
	if o.Arrivals.Process == ProcessTrace {
		return float64(len(o.Arrivals.Times))
	}
	c := newCalendar(&o.Arrivals, o.Sessions.PerDay, f.Start.Time, min(max(f.Days, 1), maxDays))
	return float64(o.Users) * c.total()
}

// readTimes reads the times of traces, and records what is wrong with them.
func (f *File) readTimes(bad *flaws, files fs.FS) {
	f.times = map[int][]arrival{}
	for i := range f.Orgs {
		a, path := &f.Orgs[i].Arrivals, fmt.Sprintf("orgs[%d].arrivals", i)
		if a.Process != ProcessTrace {
			continue
		}
		for k, line := range a.Times {
			f.take(bad, i, line, fmt.Sprintf("%s.times[%d]", path, k), "")
		}
		if a.File != "" {
			f.readFile(bad, files, i, path+".file")
		}
	}
}

// maxTimesBytes is how much of a file of times is read: 50 bytes for each of
// the largest number of sessions.
const maxTimesBytes = 50 * maxSessions

// maxTimesFlaws is the largest number of lines of a file of times that are reported.
const maxTimesFlaws = 20

func (f *File) readFile(bad *flaws, files fs.FS, org int, path string) {
	name := f.Orgs[org].Arrivals.File
	if files == nil {
		bad.add(path, "%s: no files can be read here", name)
		return
	}
	file, err := files.Open(name)
	if err != nil {
		bad.add(path, "%v", err)
		return
	}
	defer file.Close()
	in := &io.LimitedReader{R: file, N: maxTimesBytes}
	lines := bufio.NewScanner(in)
	before := len(*bad)
	for n := 1; len(*bad) < before+maxTimesFlaws && len(f.times[org]) <= maxSessions && lines.Scan(); n++ {
		if line, _, _ := strings.Cut(lines.Text(), "#"); strings.TrimSpace(line) != "" {
			f.take(bad, org, line, path, fmt.Sprintf("%s:%d: ", name, n))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		bad.add(path, "%s: a line of more than %d bytes is no time", name, bufio.MaxScanTokenSize)
	case err != nil:
		bad.add(path, "%s: %v", name, err)
	case in.N == 0:
		bad.add(path, "%s: more than %d bytes", name, maxTimesBytes)
	case len(f.times[org]) > maxSessions:
		bad.add(path, "%s: more than %d times", name, maxSessions)
	case len(f.times[org]) == 0 && len(*bad) == before:
		bad.add(path, "%s holds no times", name)
	}
}

// take reads one line of a trace: a time, and the index of the user if it says.
func (f *File) take(bad *flaws, org int, line, path, where string) {
	words := strings.Fields(line)
	if len(words) == 0 || len(words) > 2 {
		bad.add(path, "%swant TIME or TIME USER, not %q", where, line)
		return
	}
	v := arrival{user: -1}
	if d, err := time.ParseDuration(words[0]); err == nil {
		v.at = int64(d)
	} else if t, err := time.Parse(time.RFC3339, words[0]); err == nil {
		v.at = int64(t.Sub(f.Start.Time))
	} else {
		bad.add(path, "%s%q is no time: want one such as 90m, or 2026-03-02T09:00:00Z", where, words[0])
		return
	}
	if v.at < 0 || v.at > int64(f.Days)*day {
		bad.add(path, "%s%s lies outside the fleet's %s", where, words[0], document.Count(f.Days, "day"))
		return
	}
	if len(words) > 1 {
		n, err := strconv.Atoi(words[1])
		if users := f.Orgs[org].Users; err != nil || n < 0 || n >= users {
			bad.add(path, "%suser %q: want 0 to %d", where, words[1], users-1)
			return
		}
		v.user = int32(n)
	}
	f.times[org] = append(f.times[org], v)
}
