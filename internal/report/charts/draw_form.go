package reports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// Form says how a chart is drawn. A zero value means the default.
type Form struct {
	Width, Height int     // pixels at DPI; as large as the figures require
	Millimetres   float64 // width for a paper, without title, facts and footnotes; 0 for a screen
	DPI           int     // dots an inch of a PNG: 144, on paper 600
	Footnotes     int     // largest number of lines below the chart: 2; below 0 for all
}

// Widths of figures of a paper in two columns, mm.
const (
	ColumnWidth = 84
	PageWidth   = 174
)

// Dots an inch: on a screen a point is two pixels.
const (
	defaultDPI = 144
	paperDPI   = 600
)

// writeChart draws a chart in a format of ChartFormats. Bytes depend on the chart and its form alone; those of PNG can
// differ between architectures.
func writeChart(w io.Writer, format string, c *document.Chart, form Form) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("drawing a chart: %w", err)
	}
	s, err := form.sketch(c)
	var image bytes.Buffer
	if err == nil {
		err = s.write(&image, format, form)
	}
	if err != nil {
		return fmt.Errorf("drawing a chart: %w", err)
	}
	if _, err := w.Write(image.Bytes()); err != nil {
		return fmt.Errorf("writing a chart: %w", err)
	}
	return nil
}

// ErrTooSmall is the error of a chart whose texts do not fit the requested size.
var ErrTooSmall = errors.New("is too small for its texts")

// leastScale is how far the texts of a picture shrink to fit a size in pixels: those of 9 points to 5.
const leastScale = 0.55

// sketch lays out a chart in the requested size. Texts on paper keep their size, and the areas of the panels take what
// is left; a picture of fewer pixels than its texts need has smaller ones.
func (f Form) sketch(c *document.Chart) (*sketch, error) {
	if f.Millimetres > 0 {
		return f.paper(c)
	}
	lines := max(cmp.Or(f.Footnotes, 2), 0)
	s := newSketch(c, screen, lines)
	if f.Width == 0 || f.Height == 0 {
		return s, nil
	}
	point := vg.Inch / vg.Length(cmp.Or(f.DPI, defaultDPI))
	width, height := vg.Length(f.Width)*point, vg.Length(f.Height)*point
	natural := s
	for scale := vg.Length(1); scale >= leastScale; scale -= 0.05 {
		if s = fit(c, width/scale, height/scale, lines); s != nil {
			s.scale = float64(scale)
			return s, nil
		}
	}
	return nil, fmt.Errorf("%dx%d %w; try %dx%d", f.Width, f.Height, ErrTooSmall,
		int(math.Ceil(float64(natural.width/point*leastScale))), int(math.Ceil(float64(natural.height/point*leastScale))))
}

// fit lays out a chart on an area, nil if its texts have no room there.
func fit(c *document.Chart, width, height vg.Length, lines int) *sketch {
	fitted, s := *c, newSketch(c, screen, lines)
	for range 4 { // texts wrap differently as the width changes
		fitted.Panels = slices.Clone(fitted.Panels)
		fitted.Width += float64(width - s.width)
		if !stretched(fitted.Panels, float64(height-s.height)) || fitted.Width < leastPanel {
			return nil
		}
		s = newSketch(&fitted, screen, lines)
	}
	s.width, s.height = width, height
	return s
}

// Measures of panels on paper, points.
const (
	paperRow    = 15  // from bar to bar
	paperTile   = 24  // height of a tile of a map
	paperHeight = 58  // the least of a panel among others
	paperShape  = 0.6 // height of a panel alone, of its width
)

// paper lays out a chart for a paper: its width is what was asked for, its height follows.
func (f Form) paper(c *document.Chart) (*sketch, error) {
	width := vg.Length(f.Millimetres) * vg.Millimeter
	fitted := *c
	fitted.Panels = slices.Clone(c.Panels)
	how := paper
	how.names = 0.4 * width
	s := newSketch(&fitted, how, 0)
	for range 4 {
		if fitted.Width += float64(width - s.width); fitted.Width < leastPanel {
			return nil, fmt.Errorf("%g mm %w; try %d", f.Millimetres, ErrTooSmall, ColumnWidth)
		}
		for i := range fitted.Panels {
			p := &fitted.Panels[i]
			switch {
			case p.Y.Names:
				p.Height = paperRow * (p.Y.High - p.Y.Low)
			case len(p.Series[0].Values) > 0: // a map
				p.Height = min(paperTile*(p.Y.High-p.Y.Low), paperShape*fitted.Width)
			case len(c.Panels) == 1:
				p.Height = paperShape * fitted.Width
			default:
				p.Height = max(c.Panels[i].Height*fitted.Width/c.Width, paperHeight)
			}
		}
		s = newSketch(&fitted, how, 0)
	}
	s.width = width
	return s, nil
}

// titled puts the title above the panels of a chart that has none.
func (s *sketch) titled() {
	s.heading = wrapped(s.title, s.width-2*s.margin, s.chart.Title)
	s.height += lineHeight(s.title)*vg.Length(len(s.heading)) + lineGap
}

// Least sizes of a readable panel, points.
const (
	leastPanel = 40
	leastRow   = 14 // of a row with a name
)

// stretched makes panels higher by so much in total, and reports whether each has room for its
// content. Panels of named rows change only when there are no others.
func stretched(panels []document.Panel, by float64) bool {
	named := func(p document.Panel) bool { return p.Y.Names }
	rigid := slices.ContainsFunc(panels, func(p document.Panel) bool { return !named(p) })
	sum := 0.0
	for _, p := range panels {
		if !rigid || !named(p) {
			sum += p.Height
		}
	}
	fits := true
	for i := range panels {
		p := &panels[i]
		least := float64(leastPanel)
		if named(*p) {
			least = leastRow * float64(len(p.Y.Ticks))
		}
		if !rigid || !named(*p) {
			p.Height *= 1 + by/sum
		}
		fits = fits && p.Height >= least
	}
	return fits
}
