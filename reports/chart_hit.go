package reports

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// HitChart draws the share of input tokens read from the cache over time, by
// hours or days since the start of each session, under at most four cells, and
// below it what misses cost: their missed tokens at what the call paid for its
// other input, less the price of a read. All calls count, as in
// cache_hit_ratio; so many sessions as there are share one clock that begins at
// their start. It fails when there are no calls, no input tokens, or figures
// that cannot be drawn.
func HitChart(w io.Writer, format string, run *results.Run, calls []results.CellCalls) error {
	h, err := newHitChart(run, calls)
	if err != nil {
		return fmt.Errorf("drawing the hit ratio over time: %w", err)
	}
	return h.render(w, format)
}

// Measures of the chart of hits.
const (
	hitHeight  = 210 * vg.Length(1)
	costHeight = 90 * vg.Length(1)
	maxBuckets = 60
	minBarWide = 2 * vg.Length(1)
)

// hitChart is the hit ratio by time.
type hitChart struct {
	*frame
	strokes     []stroke
	width       time.Duration // of a bucket
	buckets     [][]hitBucket // by cell
	ratio, cost panel
	ratioTicks  []plot.Tick
	costTicks   []plot.Tick // nil: no misses, or too many bars
}

// hitBucket is what happened in a span of time.
type hitBucket struct {
	usage  prompt.Usage
	missed float64 // USD that misses cost
}

func newHitChart(run *results.Run, calls []results.CellCalls) (*hitChart, error) {
	if err := checkCalls(calls); err != nil {
		return nil, err
	}
	h := &hitChart{frame: newFrame("Cache hit ratio over time"), width: bucketWidth(calls)}
	sessions := map[string]bool{}
	n := 0
	for i := range calls {
		h.buckets = append(h.buckets, bucketed(calls[i].Calls, h.width))
		n = max(n, len(h.buckets[i]))
		for j := range calls[i].Calls {
			sessions[calls[i].Calls[j].Session] = true
		}
	}
	if err := h.place(n); err != nil {
		return nil, err
	}
	facts := fmt.Sprintf("%s · weighted by tokens, in steps of %s since the start of each session", CountOf(len(sessions), "session"), spanName(h.width))
	height := h.titleHeight() + hitHeight + h.xAxisHeight()
	if h.costTicks != nil {
		height += 2*panelGap + h.titleHeight() + costHeight
	}
	h.strokes = strokesOf(len(calls))
	h.lay(callsWidth, height, run, []string{facts}, h.keys(calls), undrawn(run, calls)...)
	h.paint = h.drawPanels
	return h, nil
}

// keys names the cells with their calls and what their misses cost.
func (h *hitChart) keys(calls []results.CellCalls) []legendKey {
	var keys []legendKey
	for i := range calls {
		missed := 0.0
		for _, b := range h.buckets[i] {
			missed += b.missed
		}
		name := shortened(Printable(calls[i].Cell), maxNameRunes) + ", " + CountOf(len(calls[i].Calls), "call") +
			", misses " + usd(missed, usdDecimals([]float64{missed}))
		keys = append(keys, h.strokes[i].key(name))
	}
	return keys
}

// bucketWidth returns the smallest span of time that cuts all calls into few
// enough buckets.
func bucketWidth(calls []results.CellCalls) time.Duration {
	last := int64(0)
	for i := range calls {
		for j := range calls[i].Calls {
			last = max(last, calls[i].Calls[j].Start)
		}
	}
	const hour, day = time.Hour, 24 * time.Hour
	widths := []time.Duration{5 * time.Minute, 15 * time.Minute, hour, 6 * hour, day, 7 * day, 30 * day}
	for _, w := range widths {
		if last/int64(w) < maxBuckets {
			return w
		}
	}
	return time.Duration(last/maxBuckets/int64(day)+1) * day
}

// spanName writes the width of a bucket: "15 minutes", "1 day".
func spanName(w time.Duration) string {
	switch {
	case w >= 24*time.Hour:
		return CountOf(int(w/(24*time.Hour)), "day")
	case w >= time.Hour:
		return CountOf(int(w/time.Hour), "hour")
	}
	return CountOf(int(w/time.Minute), "minute")
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
		buckets[at].usage.Add(c.Usage)
		if isMiss(c) {
			buckets[at].missed += missCost(c, reads[c.Model])
		}
	}
	return buckets
}

// readPrices returns what a token read cost on average, USD, by model.
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

// place sets the scales for n buckets.
func (h *hitChart) place(n int) error {
	var ratios []float64
	highest := 0.0
	for _, bs := range h.buckets {
		for _, b := range bs {
			if in := b.usage.Input(); in > 0 {
				ratios = append(ratios, float64(b.usage.Read)/float64(in))
			}
			highest = max(highest, b.missed)
		}
	}
	if len(ratios) == 0 {
		return errors.New("no call has input tokens")
	}
	low, high := dataRange(results.UnitRatio, ratios)
	h.ratio.y = scale{low: low, high: min(high, 1.02)}
	h.ratio.x = scale{low: 0, high: float64(n)}
	h.ratioTicks = unitTicks(results.UnitRatio, low, h.ratio.y.high, 6)
	bar := (callsWidth - 60) / vg.Length(n*len(h.buckets))
	if highest > 0 && bar >= minBarWide {
		h.cost.x = h.ratio.x
		h.cost.y = scale{low: 0, high: 1.1 * highest}
		h.costTicks = unitTicks(results.UnitUSD, 0, h.cost.y.high, 5)
	}
	return nil
}

func (h *hitChart) drawPanels(c draw.Canvas) {
	left := h.yLabelRoom(h.ratioTicks, h.costTicks)
	x0, x1 := c.Min.X+left, c.Max.X-8
	top := c.Max.Y - h.titleHeight()
	h.ratio.area = vg.Rectangle{Min: vg.Point{X: x0, Y: top - hitHeight}, Max: vg.Point{X: x1, Y: top}}
	title := "Read from the cache (% of input)"
	if h.ratio.y.low != 0 {
		title += ", axis does not begin at 0"
	}
	h.ratio.drawY(&c, h.pens(), title, h.ratioTicks)
	last := &h.ratio
	if h.costTicks != nil {
		low := c.Min.Y + h.xAxisHeight()
		h.cost.area = vg.Rectangle{Min: vg.Point{X: x0, Y: low}, Max: vg.Point{X: x1, Y: low + costHeight}}
		h.cost.drawY(&c, h.pens(), "Cost of misses (USD)", h.costTicks)
		c.StrokeLine2(h.pens().axis, x0, h.ratio.area.Min.Y, x1, h.ratio.area.Min.Y)
		last = &h.cost
	}
	last.drawX(&c, h.pens(), h.xTitle(), h.timeTicks())
	for i := range h.buckets {
		h.drawRatios(&c, i)
		if h.costTicks != nil {
			h.drawCosts(&c, i)
		}
	}
}

func (h *hitChart) xTitle() string {
	unit := "minutes"
	switch {
	case h.width >= 24*time.Hour:
		unit = "days"
	case h.width >= time.Hour:
		unit = "hours"
	}
	return unit + " since the start of the session"
}

// timeTicks labels the edges of buckets at round times.
func (h *hitChart) timeTicks() []plot.Tick {
	unit := time.Minute
	switch {
	case h.width >= 24*time.Hour:
		unit = 24 * time.Hour
	case h.width >= time.Hour:
		unit = time.Hour
	}
	per := float64(h.width / unit)
	step := max(math.Ceil(h.ratio.x.high/12), 1)
	if nice := niceStep(step); per == 1 {
		step = nice
	}
	var ticks []plot.Tick
	for at := 0.0; at <= h.ratio.x.high; at += step {
		ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(at*per, 'f', -1, 64)})
	}
	return ticks
}

// drawRatios draws the line of a cell, broken where nothing was called.
func (h *hitChart) drawRatios(c *draw.Canvas, i int) {
	s := h.strokes[i]
	var line []vg.Point
	flush := func() {
		if len(line) > 1 {
			c.StrokeLines(s.line(), line)
		}
		for _, at := range line {
			s.mark(c, at)
		}
		line = nil
	}
	for j, b := range h.buckets[i] {
		in := b.usage.Input()
		if in == 0 {
			flush()
			continue
		}
		line = append(line, vg.Point{X: h.ratio.toX(float64(j) + 0.5), Y: h.ratio.toY(float64(b.usage.Read) / float64(in))})
	}
	flush()
}

// drawCosts draws the bars of a cell beside those of the others.
func (h *hitChart) drawCosts(c *draw.Canvas, i int) {
	fill := barFill(i)
	width := 0.84 / float64(len(h.buckets))
	for j, b := range h.buckets[i] {
		if b.missed > 0 {
			x := float64(j) + 0.08 + width*float64(i)
			fill.draw(c, h.cost.toX(x), h.cost.toY(0), h.cost.toX(x+width), h.cost.toY(b.missed))
		}
	}
}

// barFill is the fill of bars that go with a stroke.
func barFill(i int) fill {
	s := strokes()[i]
	return fill{color: s.color, ink: color.NRGBA{255, 255, 255, 255}, hatch: []hatch{hatchNone, hatchUp, hatchLevel, hatchDown}[i]}
}
