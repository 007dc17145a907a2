package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"regexp"
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
)

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

// texPoint is a point of 1/72 inch in those of TeX, of which 72.27 make an inch (Knuth, The TeXbook, chapter 10).
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
	s.drawOn(canvas)
	var image bytes.Buffer
	if _, err := canvas.WriteTo(&image); err != nil {
		return err
	}
	// Arial has the widths of Liberation Sans, which few readers of an SVG have.
	_, err := w.Write(bytes.ReplaceAll(image.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")))
	return err
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

// What a text becomes where it is commands, and where characters are those of Windows-1252.
var (
	inTeX = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "%", `\%`, "_", `\_`,
		"^", `\textasciicircum{}`, "~", `\textasciitilde{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
		"−", "$-$", "≥", `$\geq$`, "≤", `$\leq$`, "·", `$\cdot$`, "±", `$\pm$`, "→", `$\to$`, "×", `$\times$`)
	inPDF = strings.NewReplacer("−", "–", "≥", ">=", "≤", "<=", "→", "->")
)
