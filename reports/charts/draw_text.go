package charts

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// lineHeight returns the distance between two lines of a style.
func lineHeight(s draw.TextStyle) vg.Length { return s.Height("Ág") + lineGap }

func textStyle(size vg.Length, c document.Color) draw.TextStyle {
	s := plot.New().Title.TextStyle
	s.Font.Variant, s.Font.Size = "Sans", size
	s.Color = rgb(c)
	s.XAlign, s.YAlign = draw.XLeft, draw.YBottom
	return s
}

// wrapText breaks texts at spaces into lines no wider than width. A line is as wide as its words, each measured once.
func wrapText(s draw.TextStyle, width vg.Length, texts ...string) []string {
	var lines []string
	space := s.Width(" ")
	for _, text := range texts {
		line, end := "", vg.Length(0)
		for word := range strings.FieldsSeq(drawable(s, text)) {
			wide := s.Width(word)
			if line != "" && end+space+wide > width && word != "·" { // which ends a line and begins none
				lines, line = append(lines, line), ""
			}
			if line == "" {
				line, end = word, wide
			} else {
				line, end = line+" "+word, end+space+wide
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// maxFootnotes is the largest number of lines below a chart.
const maxFootnotes = 2

// footnotesOf returns the notes and the source of a chart in lines. If there are too many, the source comes first, all
// share the lines, and the end is cut.
func footnotesOf(c *document.Chart, s draw.TextStyle, width vg.Length) []string {
	lines := wrapText(s, width, append(slices.Clone(c.Notes), c.Source)...)
	if len(lines) <= maxFootnotes {
		return lines
	}
	lines = wrapText(s, width-s.Width(" …"), strings.Join(append([]string{c.Source}, c.Notes...), " · "))
	if len(lines) > maxFootnotes {
		lines = lines[:maxFootnotes]
		lines[maxFootnotes-1] += " …"
	}
	return lines
}

// fitText shortens a text to a width, but not below three characters.
func fitText(s draw.TextStyle, text string, width vg.Length) string {
	short := text
	for n := len([]rune(text)) - 1; n >= 3 && s.Width(short) > width; n-- {
		short = document.Shortened(text, n)
	}
	return short
}

// breaks are the characters behind which a name may go on in the next line.
const breaks = "/-="

// nameLines returns the name of a row in lines, which break at spaces, else behind one of breaks. A word without any is
// shortened.
func (s *sketch) nameLines(name string) []string {
	if s.names == 0 || s.text.Width(drawable(s.text, name)) <= s.names {
		return []string{drawable(s.text, name)}
	}
	var lines []string
	for _, line := range wrapText(s.text, s.names, name) {
		for s.text.Width(line) > s.names {
			at := strings.LastIndexAny(line[:len(line)-1], breaks)
			for at > 0 && s.text.Width(line[:at+1]) > s.names {
				at = strings.LastIndexAny(line[:at], breaks)
			}
			if at <= 0 {
				line = fitText(s.text, line, s.names)
				break
			}
			lines, line = append(lines, line[:at+1]), line[at+1:]
		}
		lines = append(lines, line)
	}
	return lines
}

// drawable writes characters that the font of a style lacks as \u escapes,
// because they would vanish.
func drawable(s draw.TextStyle, text string) string {
	face := s.Handler.Cache().Lookup(s.Font, s.Font.Size).Face
	var buf sfnt.Buffer
	var b strings.Builder
	for _, r := range text {
		if i, err := face.GlyphIndex(&buf, r); err != nil || i == 0 {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func rgb(c document.Color) color.NRGBA {
	return color.NRGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255}
}

// apart draws the texts of dots where they touch neither dots nor other texts: at the left of their dot, else at
// its right, above it, below it or at a corner. A text without room is left out.
type apart struct {
	s      *sketch
	dotted []*document.Series
}

// Plot implements plot.Plotter.
func (a *apart) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	var taken []vg.Rectangle
	free := func(r vg.Rectangle) bool {
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
			for _, side := range []vg.Point{{X: -1}, {X: 1}, {Y: 1}, {Y: -1}, {X: -1, Y: 1}, {X: 1, Y: 1}, {X: -1, Y: -1}, {X: 1, Y: -1}} {
				at := vg.Point{X: toX(x.X[i]) + side.X*(away+half), Y: toY(x.Y[i]) + side.Y*(high+away)}
				if r := around(at, half, high); free(r) {
					taken = append(taken, r)
					c.FillText(style, vg.Point{X: at.X, Y: at.Y + 1}, text)
					break
				}
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
