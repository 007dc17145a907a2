package reports

import (
	"errors"
	"fmt"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// hitChart draws the share of input tokens read from the cache over time, by
// hours or days since the start of each session, under at most four cells.
// All calls count, as in cache_hit_ratio; all sessions share one clock that begins at their start.
func hitChart(run *results.Run, calls []results.CellCalls) (*document.Chart, error) {
	if err := checkCalls(calls); err != nil {
		return nil, err
	}
	width := bucketWidth(calls)
	unit, _ := spanUnit(width)
	per := float64(width / unit)
	sessions := map[string]bool{}
	p := document.Panel{Title: "Read from the cache (% of input)", Height: 240}
	styles := looksOf(len(calls))
	var values []float64
	longest := 0
	for i := range calls {
		buckets := bucketed(calls[i].Calls, width)
		longest = max(longest, len(buckets))
		for j := range calls[i].Calls {
			sessions[calls[i].Calls[j].Session] = true
		}
		line := document.Series{Name: calledName(run, calls[i].Cell), Style: styles[i]}
		for j := range buckets {
			if in := buckets[j].Input(); in > 0 { // the line goes on where nothing was called
				ratio := float64(buckets[j].Read) / float64(in)
				values = append(values, ratio)
				line.Point((float64(j)+0.5)*per, ratio, "")
			}
		}
		p.Series = append(p.Series, line.Dotted()...)
	}
	if len(values) == 0 {
		return nil, errors.New("no call has input tokens")
	}
	p.X, p.Y = timeAxis(width, longest), valueAxis(results.UnitRatio, values, 6)
	p.Note, p.Y.Grid = axisNote(&p.Y), true
	of := document.Count(len(sessions), "session")
	for id := range sessions {
		if len(sessions) == 1 {
			of = "session " + document.Shortened(document.Printable(id), 13)
		}
	}
	c := runChart(run, "Cache hit ratio over time, "+of, errorLine(run), callsWidth, []document.Panel{p}, undrawn(run, calls))
	c.Facts = []string{fmt.Sprintf("%s · weighted by tokens, in steps of %s since the start of each session",
		document.Count(len(sessions), "session"), spanName(width))}
	return c, nil
}

const day = 24 * time.Hour

// maxBuckets is the largest number of spans of time.
const maxBuckets = 60

// bucketWidth returns the smallest span of time that divides all calls into few
// enough buckets.
func bucketWidth(calls []results.CellCalls) time.Duration {
	last := int64(0)
	for i := range calls {
		for j := range calls[i].Calls {
			last = max(last, calls[i].Calls[j].Start)
		}
	}
	const minute, hour = time.Minute, time.Hour
	for _, w := range []time.Duration{5 * minute, 15 * minute, hour, 6 * hour, day, 7 * day, 30 * day} {
		if last/int64(w) < maxBuckets {
			return w
		}
	}
	return time.Duration(last/maxBuckets/int64(day)+1) * day
}

// spanUnit returns the unit for the width of a bucket.
func spanUnit(w time.Duration) (time.Duration, string) {
	switch {
	case w >= day:
		return day, "day"
	case w >= time.Hour:
		return time.Hour, "hour"
	}
	return time.Minute, "minute"
}

// spanName formats the width of a bucket: "15 minutes", "1 day".
func spanName(w time.Duration) string {
	unit, name := spanUnit(w)
	return document.Count(int(w/unit), name)
}

// timeAxis returns the axis of n buckets in units of time.
func timeAxis(width time.Duration, n int) document.Axis {
	unit, name := spanUnit(width)
	a := unitAxis(results.UnitCount, 0, float64(n)*float64(width/unit), 12)
	a.Title = name + "s since the start of the session"
	return a
}

// bucketed returns the usage of calls in each span of time.
func bucketed(calls []results.CallRecord, width time.Duration) (buckets []prompt.Usage) {
	for i := range calls {
		at := int(calls[i].Start / int64(width))
		for len(buckets) <= at {
			buckets = append(buckets, prompt.Usage{})
		}
		buckets[at].Add(&calls[i].Usage)
	}
	return buckets
}
