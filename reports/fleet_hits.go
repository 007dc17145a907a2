package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// fleetHits is the picture of hit ratios: a dot for each scope, in lines for each
// organisation and the fleet. They lie near each other and near 1, so that the axis
// begins where the values do.
type fleetHits struct {
	*frame
	rows  []*results.FleetGroup
	names []string
	more  int // organisations left out
}

// Measures of the picture.
const (
	hitLine      = 10 * vg.Length(1)
	hitPitch     = results.NumFleetScopes*hitLine + 10
	maxFleetRows = 14 // organisations that a picture has room for
)

// fleetScopeStyles are the names and fills of scopes; they differ in luminance.
func fleetScopeStyles() [results.NumFleetScopes]fill {
	dark, white := color.NRGBA{38, 38, 38, 255}, color.NRGBA{255, 255, 255, 255}
	return [...]fill{
		results.FleetGlobal: {"shared by every organisation", color.NRGBA{8, 48, 107, 255}, white, hatchNone},
		results.FleetOrgs:   {"shared within the organisation", color.NRGBA{66, 146, 198, 255}, white, hatchNone},
		results.FleetOwn:    {"the session's own", color.NRGBA{244, 165, 82, 255}, dark, hatchNone},
	}
}

func newFleetHits(frame *frame, c *results.FleetCell) *fleetHits {
	l := &fleetHits{frame: frame}
	groups := fleetGroups(c)
	kept := slices.Clone(groups[:len(groups)-1])
	slices.SortStableFunc(kept, func(a, b *results.FleetGroup) int { return int(min(1, max(-1, fleetInput(b)-fleetInput(a)))) })
	kept = kept[:min(len(kept), maxFleetRows)]
	for _, g := range groups {
		if fleetInput(g) > 0 && (g == &c.Total || slices.Contains(kept, g)) {
			l.rows = append(l.rows, g)
			l.names = append(l.names, drawable(l.label, shortened(Printable(g.Name), maxNameRunes)))
		}
	}
	l.more = len(groups) - 1 - len(kept)
	return l
}

// fleetInput returns the input tokens of a group.
func fleetInput(g *results.FleetGroup) int64 {
	var n int64
	for scope := range results.FleetScope(results.NumFleetScopes) {
		n += g.Scope(scope).Input()
	}
	return n
}

func (l *fleetHits) part() fleetPart {
	p := fleetPart{
		name: "hits", title: "Input read from the cache, by organisation and scope", paint: l.draw,
		height: l.titleHeight() + hitPitch*vg.Length(len(l.rows)) + l.xAxisHeight(),
	}
	for _, f := range fleetScopeStyles() {
		p.keys = append(p.keys, f.key())
	}
	return p
}

func (l *fleetHits) draw(c draw.Canvas) {
	room := vg.Length(0)
	for _, name := range l.names {
		room = max(room, l.label.Width(name))
	}
	low := l.low()
	p := panel{x: scale{low: low, high: 1 + 0.08*(1-low)}, y: scale{high: float64(len(l.rows))}, area: vg.Rectangle{
		Min: vg.Point{X: c.Min.X + room + 2*tickGap, Y: c.Min.Y + l.xAxisHeight()},
		Max: vg.Point{X: c.Max.X, Y: c.Max.Y - l.titleHeight()},
	}}
	s := l.pens()
	title := "share of the input read from the cache"
	if l.more > 0 {
		title += fmt.Sprintf("; of %d organisations the %d with the most input", len(l.rows)-1+l.more, len(l.rows)-1)
	}
	p.drawY(&c, s, title, nil)
	ticks := hitTicks(low)
	for _, t := range ticks {
		c.StrokeLine2(s.grid, p.toX(t.Value), p.area.Min.Y, p.toX(t.Value), p.area.Max.Y)
	}
	p.drawX(&c, s, "", ticks)
	name := l.label
	name.XAlign, name.YAlign = draw.XRight, draw.YCenter
	for i, g := range l.rows {
		middle := p.toY(float64(len(l.rows)-1-i) + 0.5)
		c.FillText(name, vg.Point{X: p.area.Min.X - tickGap, Y: middle + halfDescent}, l.names[i])
		l.drawScopes(&c, &p, middle, g)
	}
}

// low returns where the axis begins: a multiple of 5 % below all values.
func (l *fleetHits) low() float64 {
	low := 0.95
	for _, g := range l.rows {
		for scope := range results.FleetScope(results.NumFleetScopes) {
			if ratio, ok := g.Scope(scope).HitRatio(); ok {
				low = min(low, math.Floor(20*(ratio-0.005))/20)
			}
		}
	}
	return max(0, low)
}

// hitTicks labels shares from low to 1.
func hitTicks(low float64) []plot.Tick {
	step := 0.01
	for _, s := range []float64{0.02, 0.05, 0.1, 0.2} {
		if (1-low)/step > 10 {
			step = s
		}
	}
	var ticks []plot.Tick
	for i := math.Round(1 / step); i*step > low-1e-9; i-- {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: fmt.Sprintf("%.0f %%", 100*i*step)})
	}
	slices.Reverse(ticks)
	return ticks
}

// drawScopes draws the dots of a group, the widest scope first.
func (l *fleetHits) drawScopes(c *draw.Canvas, p *panel, middle vg.Length, g *results.FleetGroup) {
	value := l.small
	value.Font.Size = 8
	value.YAlign = draw.YCenter
	for k, f := range fleetScopeStyles() {
		y := middle + hitLine*(results.NumFleetScopes/2.0-vg.Length(k)-0.5)
		ratio, ok := g.Scope(results.FleetScope(k)).HitRatio()
		if !ok {
			c.FillText(value, vg.Point{X: p.area.Min.X + lineGap, Y: y + halfDescent}, "no such part")
			continue
		}
		x := p.toX(ratio)
		c.StrokeLine2(draw.LineStyle{Color: f.color, Width: vg.Points(0.7), Dashes: []vg.Length{1, 2}}, p.area.Min.X, y, x, y)
		c.DrawGlyph(draw.GlyphStyle{Color: f.color, Radius: 3.6, Shape: draw.CircleGlyph{}}, vg.Point{X: x, Y: y})
		c.FillText(value, vg.Point{X: x + 2*lineGap, Y: y + halfDescent}, percent(ratio))
	}
}
