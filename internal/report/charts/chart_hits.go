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
// hours or days since the start of each session, under at most four cells, and
// below it what misses cost: missed tokens at the price that the call paid for
// its other input, less the price of a read. All calls count, as in
// cache_hit_ratio; all sessions share one clock that begins at their start.
func hitChart(run *results.Run, calls []results.CellCalls) (*document.Chart, error) {
	if err := checkCalls(calls); err != nil {
		return nil, err
	}
	width := bucketWidth(calls)
	unit, _ := spanUnit(width)
	per := float64(width / unit)
	sessions := map[string]bool{}
	ratios := document.Panel{Title: "Read from the cache (% of input)", Height: 210}
	costs := document.Panel{Title: "Cost of misses (USD)", Height: 90}
	styles := looksOf(len(calls))
	var values []float64
	highest, longest := 0.0, 0
	for i := range calls {
		buckets := bucketed(calls[i].Calls, width)
		longest = max(longest, len(buckets))
		for j := range calls[i].Calls {
			sessions[calls[i].Calls[j].Session] = true
		}
		line, missed := document.Series{Style: styles[i]}, 0.0
		bars := document.Series{Mark: document.MarkBox, Style: styles[i]}
		wide := 0.84 / float64(len(calls))
		for j, b := range buckets {
			missed, highest = missed+b.missed, max(highest, b.missed)
			if b.missed > 0 {
				x := float64(j) + 0.08 + wide*float64(i)
				bars.Box(x*per, 0, (x+wide)*per, b.missed, "")
			}
			if in := b.usage.Input(); in > 0 { // the line goes on where nothing was called
				ratio := float64(b.usage.Read) / float64(in)
				values = append(values, ratio)
				line.Point((float64(j)+0.5)*per, ratio, "")
			}
		}
		line.Name = calledName(run, calls[i].Cell) + ", misses " + document.Amounts(missed)(missed)
		ratios.Series = append(ratios.Series, line.Dotted()...)
		costs.Series = append(costs.Series, bars)
	}
	if len(values) == 0 {
		return nil, errors.New("no call has input tokens")
	}
	ratios.Y = valueAxis(results.UnitRatio, values, 6)
	ratios.Note = axisNote(&ratios.Y)
	panels := []document.Panel{ratios}
	if highest > 0 && callsWidth/(longest*len(calls)) >= 2 { // points per bar
		costs.Y = unitAxis(results.UnitUSD, 0, 1.1*highest, 5)
		panels = append(panels, costs)
	}
	for i := range panels {
		panels[i].Y.Grid, panels[i].X.High = true, float64(longest)*per
	}
	panels[len(panels)-1].X = timeAxis(width, longest)
	of := document.Count(len(sessions), "session")
	for id := range sessions {
		if len(sessions) == 1 {
			of = "session " + document.Shortened(document.Printable(id), 13)
		}
	}
	c := runChart(run, "Cache hit ratio over time, "+of, errorLine(run), callsWidth, panels, undrawn(run, calls))
	c.Facts = []string{fmt.Sprintf("%s · weighted by tokens, in steps of %s since the start of each session",
		document.Count(len(sessions), "session"), spanName(width))}
	return c, nil
}

// hitBucket has the sums of a span of time.
type hitBucket struct {
	usage  prompt.Usage
	missed float64 // cost of misses, USD
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

func bucketed(calls []results.CallRecord, width time.Duration) []hitBucket {
	var buckets []hitBucket
	reads := readPrices(calls)
	for i := range calls {
		c := &calls[i]
		at := int(c.Start / int64(width))
		for len(buckets) <= at {
			buckets = append(buckets, hitBucket{})
		}
		buckets[at].usage.Add(&c.Usage)
		if isMiss(c) {
			buckets[at].missed += missCost(c, reads[c.Model])
		}
	}
	return buckets
}

// readPrices returns the average price of a token read, USD, by model.
func readPrices(calls []results.CallRecord) map[string]float64 {
	tokens, usd := map[string]int64{}, map[string]float64{}
	for i := range calls {
		tokens[calls[i].Model] += calls[i].Usage.Read
		usd[calls[i].Model] += calls[i].Cost[results.ClassRead]
	}
	for m, n := range tokens {
		usd[m] /= float64(max(n, 1))
	}
	return usd
}

// missCost returns what a call would have saved by reading what it missed, USD.
func missCost(c *results.CallRecord, read float64) float64 {
	u := c.Usage
	other := u.Input() - u.Read
	if other <= 0 {
		return 0
	}
	paid := c.Cost.Total() - c.Cost[results.ClassRead] - c.Cost[results.ClassOutput]
	missed := min(max(c.Expected-u.Read, 0), other)
	return max(float64(missed)*(paid/float64(other)-read), 0)
}
