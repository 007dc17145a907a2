package reports

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// fleetWave is the picture of what upgrades make: tokens created beyond those of
// the fleet without them, by hour and scope.
type fleetWave struct {
	*frame
	fleet *results.Fleet
	bin   int
	more  [][results.NumFleetScopes]float64 // tokens an hour, by bin
	panel panel
	ticks []plot.Tick
}

const fleetWaveHeight = 130 * vg.Length(1)

// newFleetWave returns nil for a fleet that was not compared without upgrades.
func newFleetWave(frame *frame, f *results.Fleet, c *results.FleetCell) *fleetWave {
	p := c.Pair(results.WithoutUpgrades)
	if p == nil {
		return nil
	}
	hours := max(len(c.Hours), len(p.Hours))
	l := &fleetWave{frame: frame, fleet: f, bin: fleetBin(hours)}
	l.more = make([][results.NumFleetScopes]float64, (hours+l.bin-1)/l.bin)
	add := func(hours []results.FleetHour, sign float64) {
		for i := range hours {
			for k, v := range hours[i].Created {
				l.more[i/l.bin][k] += sign * float64(v) / float64(l.bin)
			}
		}
	}
	add(c.Hours, 1)
	add(p.Hours, -1)
	low, high := 0.0, 1.0
	for i := range l.more {
		below, above := stacked(l.more[i])
		low, high = min(low, below), max(high, above)
	}
	l.panel.x = scale{high: float64(len(l.more) * l.bin)}
	l.panel.y = scale{low: 1.1 * low, high: 1.1 * high}
	for _, t := range unitTicks(results.UnitTokens, l.panel.y.low, l.panel.y.high, 6) {
		if t.Value == 0 {
			t.Label = "0" // not that of a negative zero
		}
		l.ticks = append(l.ticks, t)
	}
	return l
}

// stacked returns the sums of the values below and above zero.
func stacked(values [results.NumFleetScopes]float64) (below, above float64) {
	for _, v := range values {
		below, above = below+min(v, 0), above+max(v, 0)
	}
	return below, above
}

// part returns the picture with its legend.
func (l *fleetWave) part() fleetPart {
	p := fleetPart{
		name: "wave", title: "What upgrades make the fleet write", paint: l.draw,
		height: l.titleHeight() + fleetWaveHeight + l.xAxisHeight(), keys: upgradeKeys(l.fleet),
	}
	for _, f := range fleetScopeStyles() {
		p.keys = append(p.keys, f.key())
	}
	return p
}

func (l *fleetWave) draw(c draw.Canvas) {
	l.panel.area = vg.Rectangle{
		Min: vg.Point{X: c.Min.X + max(l.yLabelRoom(l.ticks), fleetLabelRoom), Y: c.Min.Y + l.xAxisHeight()},
		Max: vg.Point{X: c.Max.X - 2*lineGap, Y: c.Max.Y - l.titleHeight()},
	}
	drawUpgrades(&c, &l.panel, l.fleet)
	l.panel.drawY(&c, l.pens(), "tokens created beyond those without upgrades, per hour", l.ticks)
	l.panel.drawX(&c, l.pens(), fleetZone(l.bin), fleetTimes(l.fleet.Start, l.panel.x.high))
	for i, values := range l.more {
		x0, x1 := l.panel.toX(float64(i*l.bin)), l.panel.toX(float64((i+1)*l.bin))
		below, above := 0.0, 0.0
		for k, f := range fleetScopeStyles() {
			from := &above
			if values[k] < 0 {
				from = &below
			}
			y0, y1 := l.panel.toY(*from), l.panel.toY(*from+values[k])
			if *from += values[k]; values[k] != 0 {
				c.FillPolygon(f.color, rectangle(x0, min(y0, y1), x1, max(y0, y1)))
			}
		}
	}
	zero := l.panel.toY(0)
	c.StrokeLine2(l.pens().axis, l.panel.area.Min.X, zero, l.panel.area.Max.X, zero)
}

// fleetBand is the ground of an upgrade.
var fleetBand = color.NRGBA{232, 228, 243, 255}

// upgradeKeys returns the entry of a legend for upgrades, none without any.
func upgradeKeys(f *results.Fleet) []legendKey {
	if len(f.Upgrades) == 0 {
		return nil
	}
	return []legendKey{{"upgrade under way", legendBox, func(c *draw.Canvas, x, y vg.Length) {
		c.FillPolygon(fleetBand, rectangle(x, y, x+legendBox, y+legendBox))
	}}}
}

// band returns where an upgrade stands on an axis of hours, false when nobody
// worked any more.
func (p *panel) band(u *results.FleetUpgrade) (x0, x1 vg.Length, ok bool) {
	from, to := u.At/3600, (u.At+u.Over)/3600
	if from >= p.x.high {
		return 0, 0, false
	}
	x0, x1 = p.toX(from), p.toX(min(to, p.x.high))
	return x0, max(x1, x0+2), true
}

// drawUpgrades grounds the hours in which upgrades reach people.
func drawUpgrades(c *draw.Canvas, p *panel, f *results.Fleet) {
	for i := range f.Upgrades {
		if x0, x1, ok := p.band(&f.Upgrades[i]); ok {
			c.FillPolygon(fleetBand, rectangle(x0, p.area.Min.Y, x1, p.area.Max.Y))
		}
	}
}

// nameUpgrades writes what upgrades change beside their bands, on the side with
// room.
func nameUpgrades(c *draw.Canvas, p *panel, f *results.Fleet, s draw.TextStyle) {
	for i := range f.Upgrades {
		u := &f.Upgrades[i]
		x0, x1, ok := p.band(u)
		if !ok {
			continue
		}
		text := "upgrade, prompt " + signedCount(int64(u.Static)) + " tokens"
		half := s.Width(text)/2 + 2*lineGap
		at := vg.Point{X: x1 + half, Y: p.area.Max.Y - 2*lineGap}
		if at.X+half > p.area.Max.X {
			at.X = x0 - half
		}
		boxed(c, s, at, text)
	}
}
