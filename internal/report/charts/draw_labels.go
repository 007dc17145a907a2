package reports

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// apart draws the texts of dots where they touch neither dots, intervals nor other texts: at the left of their dot, else at
// its right, above it, below it or at a corner. Where that is nowhere, they may touch intervals; a text without room even so is
// left out.
type apart struct {
	s      *sketch
	dotted []*document.Series
}

// Plot implements plot.Plotter.
func (a *apart) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	var taken, bars []vg.Rectangle
	free := func(r vg.Rectangle, taken []vg.Rectangle) bool {
		return r.Min.X >= c.Min.X && r.Max.X < a.s.width && !slices.ContainsFunc(taken, func(t vg.Rectangle) bool {
			return r.Min.X < t.Max.X && t.Min.X < r.Max.X && r.Min.Y < t.Max.Y && t.Min.Y < r.Max.Y
		})
	}
	around := func(at vg.Point, x, y vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: at.X - x, Y: at.Y - y}, Max: vg.Point{X: at.X + x, Y: at.Y + y}}
	}
	for _, x := range a.dotted {
		for i := range x.X {
			r, at := vg.Length(x.Style.Size), vg.Point{X: toX(x.X[i]), Y: toY(x.Y[i])}
			taken = append(taken, around(at, r, r))
			if len(x.XSpans) > 0 && !x.Unspanned {
				bars = append(bars, vg.Rectangle{Min: vg.Point{X: toX(x.XSpans[i].Low), Y: at.Y - 1}, Max: vg.Point{X: toX(x.XSpans[i].High), Y: at.Y + 1}})
			}
			if len(x.YSpans) > 0 && !x.Unspanned {
				bars = append(bars, vg.Rectangle{Min: vg.Point{X: at.X - 1, Y: toY(x.YSpans[i].Low)}, Max: vg.Point{X: at.X + 1, Y: toY(x.YSpans[i].High)}})
			}
		}
	}
	for _, x := range a.dotted {
		if !x.Apart {
			continue
		}
		labels := a.s.beside(x, vg.Length(x.Style.Size))
		for i, text := range labels.Labels {
			style := labels.TextStyle[i]
			style.XAlign = draw.XCenter
			half, away, high := style.Width(text)/2, labels.Offset.X, style.Height("x")/2+1
			var boxes []vg.Rectangle
			for _, side := range []vg.Point{{X: -1}, {X: 1}, {Y: 1}, {Y: -1}, {X: -1, Y: 1}, {X: 1, Y: 1}, {X: -1, Y: -1}, {X: 1, Y: -1}} {
				at := vg.Point{X: toX(x.X[i]) + side.X*(away+half), Y: toY(x.Y[i]) + side.Y*(high+away)}
				boxes = append(boxes, around(at, half, high))
			}
			n := slices.IndexFunc(boxes, func(r vg.Rectangle) bool { return free(r, taken) && free(r, bars) })
			if n < 0 {
				n = slices.IndexFunc(boxes, func(r vg.Rectangle) bool { return free(r, taken) })
			}
			if n >= 0 {
				taken = append(taken, boxes[n])
				c.FillText(style, vg.Point{X: (boxes[n].Min.X + boxes[n].Max.X) / 2, Y: boxes[n].Min.Y + high + 1}, text)
			}
		}
	}
}

// inside draws the texts that fit in their boxes.
type inside struct {
	*plotter.Labels
	widths []float64 // of boxes
}

// Plot implements plot.Plotter.
func (l inside) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	shown := *l.Labels
	shown.Labels = slices.Clone(shown.Labels)
	for i, text := range shown.Labels {
		room := toX(l.XYs[i].X+l.widths[i]/2) - toX(l.XYs[i].X-l.widths[i]/2)
		if shown.TextStyle[i].Width(text)+4 > room {
			shown.Labels[i] = ""
		}
	}
	shown.Plot(c, p)
}

// GlyphBoxes returns none: the texts need no extra room.
func (inside) GlyphBoxes(*plot.Plot) []plot.GlyphBox { return nil }

// beside returns the texts of a series beside its points.
func (s *sketch) beside(x *document.Series, distance vg.Length) *plotter.Labels {
	l := &plotter.Labels{XYs: xys(x), Labels: make([]string, len(x.X)), Offset: vg.Point{X: distance + 2*lineGap, Y: 1}}
	style := s.text
	style.YAlign = draw.YCenter
	if x.Mark == document.MarkDot {
		style.Font.Size, style.Color = 8, s.fine.Color
		l.Offset.X = distance + lineGap
	}
	if x.Left {
		style.XAlign = draw.XRight
		l.Offset.X = -l.Offset.X
	}
	for i := range x.X {
		l.TextStyle = append(l.TextStyle, style)
		if len(x.Texts) > 0 {
			l.Labels[i] = drawable(style, x.Texts[i])
		}
	}
	return l
}

// room reserves a width at the right of the data.
type room struct{ width vg.Length }

// Plot implements plot.Plotter.
func (room) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (r room) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: r.width}}}}
}
