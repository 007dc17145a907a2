package charts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
	"gonum.org/v1/plot/vg/vgtex"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// Form says how a chart is drawn. A zero value means the default.
type Form struct {
	Width, Height int     // pixels at DPI; as large as the figures require
	Millimetres   float64 // width for a paper, without title, facts and footnotes; 0 for a screen
	DPI           int     // dots an inch of a PNG: 144, on paper 600
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

// writeChart draws a chart in a format of ChartFormats. Bytes depend on the chart and its form
// alone; PNG bytes can differ between architectures.
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

// leastScale is how far the texts of a picture shrink to fit a size in pixels: texts of 9 points to 5.
const leastScale = 0.55

// sketch lays out a chart in the requested size. Texts on paper keep their size, and the areas of the panels take what
// is left; a picture of fewer pixels than its texts need has smaller ones.
func (f Form) sketch(c *document.Chart) (*sketch, error) {
	if f.Millimetres > 0 {
		return f.paper(c, paper)
	}
	natural := newSketch(c, screen)
	if f.Width == 0 || f.Height == 0 {
		return natural, nil
	}
	point := vg.Inch / vg.Length(cmp.Or(f.DPI, defaultDPI))
	for scale := vg.Length(1); scale >= leastScale; scale -= 0.05 {
		width, height := vg.Length(f.Width)*point/scale, vg.Length(f.Height)*point/scale
		s := laid(c, screen, width, func(panels []document.Panel, _ float64, now vg.Length) {
			stretch(panels, float64(height-now))
		})
		if s != nil && !slices.ContainsFunc(s.chart.Panels, crowded) {
			s.height, s.scale = height, float64(scale)
			return s, nil
		}
	}
	return nil, fmt.Errorf("%dx%d %w; try %dx%d", f.Width, f.Height, ErrTooSmall,
		int(math.Ceil(float64(natural.width/point*leastScale))), int(math.Ceil(float64(natural.height/point*leastScale))))
}

// laid lays out a chart of a width, nil if its texts have no room there. resize sets the heights of the panels, given
// their width and the height that the chart has now.
func laid(c *document.Chart, how look, width vg.Length, resize func(panels []document.Panel, width float64, now vg.Length)) *sketch {
	fitted, s := *c, newSketch(c, how)
	for range 4 { // texts wrap differently as the width changes
		fitted.Panels = slices.Clone(fitted.Panels)
		if fitted.Width += float64(width - s.width); !(fitted.Width >= leastPanel) { // NaN where a text is wider than all
			return nil
		}
		resize(fitted.Panels, fitted.Width, s.height)
		s = newSketch(&fitted, how)
	}
	s.width = width
	return s
}

// Measures of panels on paper, points.
const (
	paperRow    = 15  // from bar to bar
	paperTile   = 24  // height of a tile of a map
	paperHeight = 58  // the least of a panel among others
	paperShape  = 0.6 // height of a panel alone, of its width
)

// paper lays out a chart for a paper or a phone: its width is what was asked for, its height follows.
func (f Form) paper(c *document.Chart, how look) (*sketch, error) {
	width := vg.Length(f.Millimetres) * vg.Millimeter
	how.names = 0.4 * width
	draft, lines := newSketch(c, how), 1 // of the longest name
	for i := range c.Panels {
		for _, tick := range c.Panels[i].Y.Ticks {
			if c.Panels[i].Y.Names {
				lines = max(lines, len(draft.nameLines(tick.Label)))
			}
		}
	}
	row := paperRow + float64(vg.Length(lines-1)*lineHeight(draft.text))
	s := laid(c, how, width, func(panels []document.Panel, width float64, _ vg.Length) {
		for i := range panels {
			p := &panels[i]
			switch {
			case p.Y.Names:
				p.Height = row * (p.Y.High - p.Y.Low)
			case len(p.Series[0].Values) > 0: // a map
				p.Height = min(paperTile*(p.Y.High-p.Y.Low), paperShape*width)
			case len(panels) == 1:
				p.Height = paperShape * width
			default:
				p.Height = max(c.Panels[i].Height*width/c.Width, paperHeight)
			}
		}
	})
	if s == nil {
		return nil, fmt.Errorf("%g mm %w; try %d", f.Millimetres, ErrTooSmall, ColumnWidth)
	}
	return s, nil
}

// Least sizes of a readable panel, points.
const (
	leastPanel = 40
	leastRow   = 14 // of a row with a name
)

// stretch makes panels higher by so much in total.
func stretch(panels []document.Panel, by float64) {
	sum := 0.0
	for i := range panels {
		sum += panels[i].Height
	}
	for i := range panels {
		panels[i].Height *= 1 + by/sum
	}
}

// crowded reports whether a panel is too low for its content.
func crowded(p document.Panel) bool {
	return p.Height < leastPanel || p.Y.Names && p.Height < leastRow*float64(len(p.Y.Ticks))
}

// write draws the chart in a format of ChartFormats.
func (s *sketch) write(w io.Writer, format string, form Form) error {
	width, height := s.width*vg.Length(s.scale), s.height*vg.Length(s.scale)
	switch format {
	case "svg":
		return s.svg(w)
	case "png":
		dpi := defaultDPI
		if s.bare {
			dpi = paperDPI
		}
		canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(cmp.Or(form.DPI, dpi)))
		s.drawOn(canvas)
		// Plain areas of few colours: the best compression takes twice the time
		// for a few kilobytes.
		return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, canvas.Image())
	case "pdf":
		return s.pdf(w)
	case "tex":
		canvas := vgtex.New(width, height)
		canvas.Scale(texPoint, texPoint)
		s.drawOn(rewriting{canvas, inTeX.Replace})
		_, err := canvas.WriteTo(w)
		return err
	}
	return fmt.Errorf("unknown format %q (known: %s)", format, strings.Join(ChartFormats(), ", "))
}

// texPoint is a point of 1/72 inch in TeX's points, of which 72.27 make an inch (Knuth, The TeXbook, chapter 10).
const texPoint = 72.27 / 72

// drawOn draws the chart on a white page.
func (s *sketch) drawOn(canvas vg.Canvas) {
	if s.scale != 1 {
		canvas.Scale(s.scale, s.scale)
	}
	page := draw.NewCanvas(canvas, s.width, s.height)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	s.draw(page)
}

// svg draws the chart as SVG.
func (s *sketch) svg(w io.Writer) error {
	canvas := vgsvg.New(s.width*vg.Length(s.scale), s.height*vg.Length(s.scale))
	texts := measuring{Canvas: canvas}
	s.drawOn(&texts)
	var image bytes.Buffer
	if _, err := canvas.WriteTo(&image); err != nil {
		return err
	}
	// Arial has the widths of Liberation Sans, which few readers of an SVG have.
	drawn := bytes.ReplaceAll(image.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	for i, part := range bytes.Split(drawn, []byte("<text ")) {
		if i > 0 {
			part = fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %s`, texts.widths[i-1].Points(), part)
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// measuring is a canvas that keeps how wide the texts on it are, in order: a reader of the image that has another font
// fits each text into its width, so that none is cut and none runs into others.
type measuring struct {
	vg.Canvas
	widths []vg.Length
}

// FillString implements vg.Canvas.
func (m *measuring) FillString(f font.Face, at vg.Point, text string) {
	m.widths = append(m.widths, f.Width(text))
	m.Canvas.FillString(f, at, text)
}

// dates are the times of a PDF, which would make equal charts differ.
var dates = regexp.MustCompile(`\(D:\d{14}\)`)

// pdf draws the chart as PDF.
func (s *sketch) pdf(w io.Writer) (err error) {
	defer func() { // gonum/plot panics if it has no folder for the temporary files of a font
		if r := recover(); r != nil {
			err = fmt.Errorf("embedding fonts: %v", r)
		}
	}()
	canvas := vgpdf.New(s.width*vg.Length(s.scale), s.height*vg.Length(s.scale))
	s.drawOn(rewriting{canvas, func(text string) string {
		coded, err := encoding.ReplaceUnsupported(charmap.Windows1252.NewEncoder()).String(inPDF.Replace(text))
		if err != nil {
			return text
		}
		return coded
	}})
	var page bytes.Buffer
	if _, err := canvas.WriteTo(&page); err != nil {
		return err
	}
	_, err = w.Write(dates.ReplaceAll(page.Bytes(), []byte("(D:20000101000000)")))
	return err
}

// rewriting is a canvas that writes texts otherwise.
type rewriting struct {
	vg.Canvas
	rewrite func(string) string
}

// FillString implements vg.Canvas.
func (r rewriting) FillString(f font.Face, at vg.Point, text string) {
	r.Canvas.FillString(f, at, r.rewrite(text))
}

// What a text becomes where it is commands, and where characters are encoded as Windows-1252.
var (
	inTeX = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "%", `\%`, "_", `\_`,
		"^", `\textasciicircum{}`, "~", `\textasciitilde{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
		"−", "$-$", "≥", `$\geq$`, "≤", `$\leq$`, "·", `$\cdot$`, "±", `$\pm$`, "→", `$\to$`, "×", `$\times$`)
	inPDF = strings.NewReplacer("−", "–", "≥", ">=", "≤", "<=", "→", "->")
)
