package reports

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/internal/validate"
	"github.com/compactsim/compactsim/sim/results"
)

// ValidationDrawings returns the charts of a validation: predicted against
// recorded reads, and the error by the gap since the last response.
func ValidationDrawings(r *validate.Report) []Drawing {
	return []Drawing{
		{"scatter", func(w io.Writer, format string) error { return scatterChart(w, format, r) }},
		{"error-by-gap", func(w io.Writer, format string) error { return gapChart(w, format, r) }},
	}
}

// Measures of the charts of a validation.
const (
	validationWidth  = 560 * vg.Length(1)
	validationHeight = 420 * vg.Length(1)
	dotRadius        = 1.8 * vg.Length(1)
)

// dot is a call in a chart.
type dot struct {
	x, y      float64
	collapsed bool
}

var (
	dotColor      = color.NRGBA{0, 114, 178, 110}
	collapseColor = color.NRGBA{213, 94, 0, 200}
)

func scatterChart(w io.Writer, format string, r *validate.Report) error {
	var dots []dot
	top := 1.0
	calls := r.Calls()
	for i := range calls {
		c := &calls[i]
		if c.Class == validate.ClassFirst {
			continue
		}
		d := dot{float64(c.Actual.Read), float64(c.Predicted.Read), c.Collapsed()}
		top = max(top, d.x, d.y)
		dots = append(dots, d)
	}
	top *= 1.05
	p := panel{x: scale{high: top}, y: scale{high: top}}
	ticks := unitTicks(results.UnitTokens, 0, top, 6)
	title := fmt.Sprintf("Read by %s: predicted against recorded", CountOf(len(dots), "call"))
	return validationChart(w, format, r, title, dots, &p, axisOf{"recorded read, tokens", ticks}, axisOf{"predicted read, tokens", ticks}, true)
}

// minGap is the shortest gap the logarithmic axis shows, s.
const minGap = 0.1

func gapChart(w io.Writer, format string, r *validate.Report) error {
	var dots []dot
	longest := 10.0
	calls := r.Calls()
	for i := range calls {
		c := &calls[i]
		if c.Class == validate.ClassFirst || c.Context == 0 {
			continue
		}
		d := dot{max(float64(c.Gap)/1e9, minGap), float64(c.Error()) / float64(c.Context), c.Collapsed()}
		longest = max(longest, d.x)
		dots = append(dots, d)
	}
	p := panel{x: scale{low: minGap, high: longest * 1.1, log: true}, y: scale{low: -1.05, high: 1.05}}
	var xs, ys []plot.Tick
	for _, s := range []float64{0.1, 1, 10, 60, 300, 3600, 86400} {
		if s <= longest {
			xs = append(xs, plot.Tick{Value: s, Label: duration(s)})
		}
	}
	for v := -1.0; v <= 1; v += 0.5 {
		ys = append(ys, plot.Tick{Value: v, Label: fmt.Sprintf("%+.0f %%", 100*v)})
	}
	return validationChart(w, format, r, "Error of the predicted read by gap", dots, &p,
		axisOf{"gap since the last response, logarithmic", xs}, axisOf{"predicted − recorded read, of the context", ys}, false)
}

// axisOf is a title and labels.
type axisOf struct {
	title string
	ticks []plot.Tick
}

func validationChart(w io.Writer, format string, r *validate.Report, title string, dots []dot, p *panel, x, y axisOf, diagonal bool) error {
	if len(dots) == 0 {
		return fmt.Errorf("drawing a validation: no calls but first ones")
	}
	f := newFrame(title)
	f.width = validationWidth + 2*chartMargin
	f.facts = wrapped(f.small, validationWidth, []string{fmt.Sprintf(
		"exact %s, within 1 %% of the context %s, token-weighted error %s; orange: collapsed for no visible reason",
		errorShare(r.Exact, false), errorShare(r.Within1, false), errorShare(r.TokenErr, false))})
	f.source = wrapped(f.small, validationWidth, []string{"sim validate; model: " + r.Model + "; profile: " + r.Profile})
	f.height = 2*chartMargin + f.line(f.head) + f.line(f.small)*vg.Length(len(f.facts)+len(f.source)) + 3*lineGap + validationHeight
	f.paint = func(c draw.Canvas) {
		s := f.pens()
		p.area = c.Rectangle
		p.area.Min.X += f.yLabelRoom(y.ticks)
		p.area.Min.Y += f.xAxisHeight()
		p.area.Max.Y -= f.titleHeight()
		p.drawY(&c, s, y.title, y.ticks)
		p.drawX(&c, s, x.title, x.ticks)
		if diagonal {
			c.StrokeLine2(s.axis, p.area.Min.X, p.area.Min.Y, p.area.Max.X, p.area.Max.Y)
		}
		drawDots(&c, p, dots)
	}
	return f.render(w, format)
}

// drawDots draws each pixel's dot once: thousands of exact calls lie on one
// line.
func drawDots(c *draw.Canvas, p *panel, dots []dot) {
	seen := map[[3]int]bool{}
	for _, d := range dots {
		x, y, kind := p.toX(d.x), p.toY(d.y), 0
		style := draw.GlyphStyle{Color: dotColor, Radius: dotRadius, Shape: draw.CircleGlyph{}}
		if d.collapsed {
			style.Color, kind = collapseColor, 1
		}
		at := [3]int{int(math.Round(2 * float64(x))), int(math.Round(2 * float64(y))), kind}
		if !seen[at] {
			seen[at] = true
			c.DrawGlyph(style, vg.Point{X: x, Y: y})
		}
	}
}
