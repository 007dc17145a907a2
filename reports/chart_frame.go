package reports

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/compactsim/compactsim/sim/results"
)

// Measures of a chart.
const (
	chartMargin = 14 * vg.Length(1)
	legendBox   = 11 * vg.Length(1)
	legendGap   = 14 * vg.Length(1) // between entries
	lineGap     = 4 * vg.Length(1)
)

// frame places the parts of a chart below each other: title, facts, legend,
// the drawing itself, source.
type frame struct {
	width, height      vg.Length
	title              string
	facts              []string      // lines, wrapped
	legend             [][]legendKey // lines
	source             []string      // lines, wrapped
	paint              func(c draw.Canvas)
	marks              bool // costs that the model error covers are marked ~
	head, small, label draw.TextStyle
}

// legendKey is an entry of a legend: a sample and its name.
type legendKey struct {
	name  string
	width vg.Length                            // of the sample
	draw  func(c *draw.Canvas, x, y vg.Length) // the sample, from its lower left corner, legendBox high
}

// newFrame returns a frame without a size.
func newFrame(title string) *frame {
	dark, grey := color.NRGBA{38, 38, 38, 255}, color.NRGBA{96, 96, 96, 255}
	return &frame{title: title, head: textStyle(14, dark), small: textStyle(9, grey), label: textStyle(10, dark)}
}

// lay sets what stands around a drawing of a width and a height, and the size
// of the whole. The footnotes, the source and the trust line of run stand below.
func (f *frame) lay(width, height vg.Length, run *results.Run, facts []string, keys []legendKey, notes ...string) {
	f.width = width + 2*chartMargin
	f.facts = wrapped(f.small, width, facts)
	trust := errorLine(run)
	if f.marks {
		trust = trustLine(run)
	}
	f.source = wrapped(f.small, width, slices.Concat(notes, []string{sourceLine(run), trust}))
	f.legend = f.legendLines(width, keys)
	f.height = 2*chartMargin + f.line(f.head) + f.line(f.small)*vg.Length(len(f.facts)+len(f.source)) +
		f.line(f.label)*vg.Length(len(f.legend)) + 3*lineGap + height
}

// line returns the distance between two lines of a style.
func (f *frame) line(s draw.TextStyle) vg.Length { return s.Height("Ág") + lineGap }

// legendLines distributes the entries of a legend over lines.
func (f *frame) legendLines(width vg.Length, keys []legendKey) [][]legendKey {
	var lines [][]legendKey
	x := width
	for _, k := range keys {
		k.name = drawable(f.label, k.name)
		w := f.legendWidth(k)
		if x+w > width {
			lines = append(lines, nil)
			x = 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], k)
		x += w
	}
	return lines
}

func (f *frame) legendWidth(k legendKey) vg.Length {
	return k.width + lineGap + f.label.Width(k.name) + legendGap
}

func (f *frame) draw(c draw.Canvas) {
	c.FillPolygon(color.White, rectangle(c.Min.X, c.Min.Y, c.Max.X, c.Max.Y))
	left := c.Min.X + chartMargin
	y := c.Max.Y - chartMargin
	text := func(s draw.TextStyle, txt string) {
		y -= f.line(s)
		c.FillText(s, vg.Point{X: left, Y: y + lineGap}, txt)
	}
	text(f.head, f.title)
	for _, fact := range f.facts {
		text(f.small, fact)
	}
	y -= lineGap
	for _, line := range f.legend {
		y -= f.line(f.label)
		f.drawLegend(c, left, y+lineGap, line)
	}
	bottom := c.Min.Y + chartMargin + lineGap + f.line(f.small)*vg.Length(len(f.source))
	f.paint(draw.Crop(c, chartMargin, -chartMargin, bottom-c.Min.Y, y-lineGap-c.Max.Y))
	y = bottom - lineGap
	for _, s := range f.source {
		text(f.small, s)
	}
}

func (f *frame) drawLegend(c draw.Canvas, x, y vg.Length, keys []legendKey) {
	for _, k := range keys {
		k.draw(&c, x, y)
		c.FillText(f.label, vg.Point{X: x + k.width + lineGap, Y: y + 1}, k.name)
		x += f.legendWidth(k)
	}
}

// render writes a frame in a format of ChartFormats.
func (f *frame) render(w io.Writer, format string) error {
	var image bytes.Buffer
	var err error
	switch format {
	case "svg":
		c := vgsvg.New(f.width, f.height)
		f.draw(draw.New(c))
		_, err = c.WriteTo(&image)
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(pngDPI))
		f.draw(draw.New(c))
		// Plain areas of few colours: the best compression takes twice the time
		// for a few kilobytes.
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&image, c.Image())
	default:
		err = fmt.Errorf("unknown format %q (known: %s)", format, strings.Join(ChartFormats(), ", "))
	}
	if err != nil {
		return fmt.Errorf("drawing a chart: %w", err)
	}
	// Arial has the widths of Liberation Sans, which few readers of an SVG have.
	b := bytes.ReplaceAll(image.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("writing a chart: %w", err)
	}
	return nil
}

// pngDPI is the resolution of PNG charts, dots an inch.
const pngDPI = 144

// sourceLine says where the figures come from.
func sourceLine(run *results.Run) string {
	p := &run.Provenance
	s := "source: " + CountOf(run.Workload.Sessions, "session") + " replayed by sim"
	if p.Version != "" {
		s += " " + p.Version
	}
	s += fmt.Sprintf(", seed %d", p.Seed)
	if p.Prices != "" {
		s += ", price table of " + p.Prices
	}
	return Printable(s)
}

// maxNotes is the number of notes that a chart has room for.
const maxNotes = 6

// noteLines writes the footnotes of a run with the names of their cells: a
// chart has no place for marks. A cell that is not drawn has no note.
func noteLines(run *results.Run, drawn func(cell string) bool) []string {
	var lines []string
	notes := slices.DeleteFunc(run.Footnotes(), func(n results.Note) bool { return n.Cell != "" && !drawn(n.Cell) })
	for i, n := range notes {
		if i == maxNotes {
			lines = append(lines, "… "+CountOf(len(notes)-i, "more note"))
			break
		}
		text := n.Text
		if n.Cell != "" {
			text = shortened(n.Cell, maxNameRunes) + ": " + text
		}
		lines = append(lines, Printable(text))
	}
	return lines
}

// wrapped breaks texts at spaces into lines of at most width.
func wrapped(s draw.TextStyle, width vg.Length, texts []string) []string {
	var lines []string
	for _, text := range texts {
		line := ""
		for word := range strings.FieldsSeq(drawable(s, text)) {
			if line != "" && s.Width(line+" "+word) > width {
				lines = append(lines, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return lines
}
