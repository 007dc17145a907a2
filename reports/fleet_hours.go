package reports

import (
	"errors"
	"fmt"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// fleetHours is the picture of tokens created ahead of messages, by time.
type fleetHours struct {
	*frame
	fleet  *results.Fleet
	bin    int // hours that a value stands for
	series []fleetSeries
	panel  panel
	ticks  []plot.Tick
}

// fleetSeries is the fleet as it is, or without something.
type fleetSeries struct {
	name   string
	stroke stroke
	values []float64 // tokens an hour, by bin
}

// Measures of the picture.
const (
	fleetHoursHeight = 210 * vg.Length(1)
	fleetLabelRoom   = 40 * vg.Length(1) // keeps axes of time below each other
	maxFleetBins     = 336               // a fortnight of hours
)

func newFleetHours(frame *frame, f *results.Fleet, c *results.FleetCell) (*fleetHours, error) {
	if len(c.Hours) == 0 {
		return nil, errors.New("no call was made")
	}
	l := &fleetHours{frame: frame, fleet: f, bin: fleetBin(len(c.Hours))}
	styles := strokes()
	add := func(name string, s stroke, hours []results.FleetHour) {
		s.width = 1.6
		var sum int64
		for i := range hours {
			sum += fleetAhead(&hours[i])
		}
		name += fmt.Sprintf(": %s tokens", tokens(float64(sum)))
		l.series = append(l.series, fleetSeries{name, s, fleetValues(hours, l.bin)})
	}
	scope, upgrades := c.Pair(results.WithoutGlobalScope), c.Pair(results.WithoutUpgrades)
	base := "as it is"
	if scope != nil {
		add("without the global scope", styles[1], scope.Hours)
		base = "with the global scope"
	}
	if upgrades != nil {
		add("without upgrades", styles[4], upgrades.Hours)
		base = "with upgrades"
	}
	if scope != nil && upgrades != nil {
		base = "with both"
	}
	add(base, styles[0], c.Hours)
	bins, highest := 0, 0.0
	for _, s := range l.series {
		bins = max(bins, len(s.values))
		for _, v := range s.values {
			highest = max(highest, v)
		}
	}
	l.panel.x = scale{high: float64(bins * l.bin)}
	l.panel.y = scale{high: 1.1 * max(highest, 1)}
	l.ticks = unitTicks(results.UnitTokens, 0, l.panel.y.high, 5)
	return l, nil
}

// fleetBin returns how many hours a value stands for: one unless the picture
// would have more values than it can show.
func fleetBin(hours int) int {
	for _, bin := range []int{1, 2, 3, 6, 12, 24} {
		if hours <= bin*maxFleetBins {
			return bin
		}
	}
	return 24 * ((hours + 24*maxFleetBins - 1) / (24 * maxFleetBins))
}

// fleetAhead returns the tokens created ahead of messages in an hour.
func fleetAhead(h *results.FleetHour) int64 {
	return h.Created[results.FleetGlobal] + h.Created[results.FleetOrgs]
}

// fleetValues returns the mean tokens an hour for each bin of hours.
func fleetValues(hours []results.FleetHour, bin int) []float64 {
	values := make([]float64, (len(hours)+bin-1)/bin)
	for i := range hours {
		values[i/bin] += float64(fleetAhead(&hours[i])) / float64(bin)
	}
	return values
}

// part returns the picture with its legend.
func (l *fleetHours) part() fleetPart {
	p := fleetPart{
		name: "hours", title: "Tokens created ahead of messages, by hour", paint: l.draw,
		height: l.titleHeight() + fleetHoursHeight + l.xAxisHeight(),
	}
	for i := range l.series {
		s := &l.series[len(l.series)-1-i]
		p.keys = append(p.keys, legendKey{s.name, keyWidth, func(c *draw.Canvas, x, y vg.Length) {
			c.StrokeLine2(s.stroke.line(), x, y+legendBox/2, x+keyWidth, y+legendBox/2)
		}})
	}
	p.keys = append(p.keys, upgradeKeys(l.fleet)...)
	return p
}

func (l *fleetHours) draw(c draw.Canvas) {
	l.panel.area = vg.Rectangle{
		Min: vg.Point{X: c.Min.X + max(l.yLabelRoom(l.ticks), fleetLabelRoom), Y: c.Min.Y + l.xAxisHeight()},
		Max: vg.Point{X: c.Max.X - 2*lineGap, Y: c.Max.Y - l.titleHeight()},
	}
	drawUpgrades(&c, &l.panel, l.fleet)
	l.panel.drawY(&c, l.pens(), "tokens created ahead of messages, per hour", l.ticks)
	l.panel.drawX(&c, l.pens(), fleetZone(l.bin), fleetTimes(l.fleet.Start, l.panel.x.high))
	for i := range l.series {
		c.StrokeLines(l.series[i].stroke.line(), l.steps(l.series[i].values))
	}
	nameUpgrades(&c, &l.panel, l.fleet, l.small)
}

// steps returns the line of a series: level within a bin.
func (l *fleetHours) steps(values []float64) []vg.Point {
	var points []vg.Point
	for i, v := range values {
		y := l.panel.toY(v)
		points = append(points, vg.Point{X: l.panel.toX(float64(i * l.bin)), Y: y},
			vg.Point{X: l.panel.toX(float64((i + 1) * l.bin)), Y: y})
	}
	return points
}

// fleetZone names the axis of time.
func fleetZone(bin int) string {
	if bin > 1 {
		return fmt.Sprintf("time (UTC), means of %d hours", bin)
	}
	return "time (UTC)"
}

// fleetTimes labels hours of the clock, and days at midnight, over a number of
// hours.
func fleetTimes(start time.Time, hours float64) []plot.Tick {
	step := 24 * time.Hour * time.Duration(max(1, int(niceStep(hours/24/12))))
	for _, h := range []int{1, 2, 3, 6, 12} {
		if hours <= float64(14*h) {
			step = time.Duration(h) * time.Hour
			break
		}
	}
	start = start.UTC()
	end := start.Add(time.Duration(hours * float64(time.Hour)))
	var ticks []plot.Tick
	for t := start.Truncate(step); !t.After(end); t = t.Add(step) {
		if t.Before(start) {
			continue
		}
		label := t.Format("15:04")
		if t.Hour() == 0 && t.Minute() == 0 {
			label = t.Format("2 Jan")
		}
		ticks = append(ticks, plot.Tick{Value: t.Sub(start).Hours(), Label: label})
	}
	return ticks
}
