package charts

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// ChartFormats returns the formats of charts: for the web and for papers, of pixels, and PGF for TeX.
func ChartFormats() []string { return []string{"svg", "png", "pdf", "tex"} }

// ChartFormat returns the format for the extension of a file name.
func ChartFormat(name string) (string, error) {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	if !slices.Contains(ChartFormats(), format) {
		return "", fmt.Errorf("chart file %q: extension must be one of .%s", name, strings.Join(ChartFormats(), ", ."))
	}
	return format, nil
}

// Figures returns drawings for a page.
func Figures(drawings []Drawing) (list []document.Block) {
	for _, d := range drawings {
		list = append(list, &document.Figure{Name: d.Name, Draw: d.picture})
	}
	return list
}

// picture draws the chart as SVG, with its data.
func (d Drawing) picture() (*document.Picture, error) {
	c, err := d.chart()
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return nil, err
	}
	c.Facts, c.Notes, c.Source = nil, nil, "" // the page has them
	s, err := Form{Millimetres: phoneWidth}.paper(c, phone)
	if err != nil {
		return nil, err
	}
	// Put the title above the panels of a chart that has none.
	s.heading = wrapText(s.title, s.width-2*s.margin, s.chart.Title)
	s.height += lineHeight(s.title)*vg.Length(len(s.heading)) + lineGap
	broad, err := newSketch(c, screen).picture()
	if err == nil {
		broad.Narrow, err = s.picture()
	}
	return broad, err
}

// phoneWidth is the width of charts for a phone, mm: 330 pixels of a page.
const phoneWidth = 330 * 25.4 / 96

// picture draws a chart for a page.
func (s *sketch) picture() (*document.Picture, error) {
	var image bytes.Buffer
	if err := s.svg(&image); err != nil {
		return nil, err
	}
	return &document.Picture{Title: s.chart.Title, SVG: image.Bytes(), Width: s.width.Points(), Height: s.height.Points(), Data: s.chart.Data()}, nil
}

// Measures of a chart.
const (
	lineGap   = 4 * vg.Length(1)
	legendGap = 14 * vg.Length(1) // between entries
)

// look is what differs between a picture for a screen and one for a paper, points.
type look struct {
	head, label, small, inside vg.Length // sizes of texts
	margin                     vg.Length
	names                      vg.Length // that names of rows may take before they go on in a second line, 0 for all they need
	bare                       bool      // title, facts and footnotes stand elsewhere
	noted                      bool      // what an axis does stands with the title of its panel; in a paper the caption says it
}

// The looks.
var (
	screen = look{head: 14, label: 10, small: 9, inside: 8.5, margin: 14, noted: true}
	paper  = look{head: 8, label: 8, small: 8, inside: 8, margin: 2, bare: true}
	phone  = look{head: 8, label: 8, small: 8, inside: 8, margin: 2, bare: true, noted: true}
)

// sketch is a chart that is laid out.
type sketch struct {
	look
	scale             float64 // of all that is drawn
	chart             *document.Chart
	title, text, fine draw.TextStyle
	heading           []string        // lines, none on paper
	facts, foot       []string        // lines
	legend            [][]plot.Legend // lines
	panels            []panel
	left              vg.Length // of the data
	width, height     vg.Length
}

// panel is a panel with the room around its data.
type panel struct {
	*document.Panel
	plot                             *plot.Plot
	left, right, below, over, height vg.Length
	row                              vg.Length // height with the titles
	title                            []string  // lines
}

// newSketch lays out a chart.
func newSketch(c *document.Chart, how look) *sketch {
	s := &sketch{chart: c, look: how, scale: 1}
	s.title, s.text, s.fine = textStyle(s.head, document.Black), textStyle(s.label, document.Black), textStyle(s.small, document.Grey)
	for i := range c.Panels {
		s.panels = append(s.panels, s.panel(&c.Panels[i]))
	}
	right := vg.Length(0)
	for _, p := range s.panels {
		s.left, right = max(s.left, p.left), max(right, p.right)
	}
	for i := range s.panels {
		p := &s.panels[i]
		p.plot.Add(room{right}) // the data of all panels end at the same place
		s.axis(&p.plot.X, &p.X, vg.Length(c.Width)-right, true)
	}
	width := s.left + vg.Length(c.Width)
	for i := range s.panels {
		p := &s.panels[i]
		p.title = s.titleOf(p.Panel, width)
		p.row = p.height + 3*lineGap + vg.Length(len(p.title))*lineHeight(s.text)
		if p.X.Title != "" {
			p.row += lineHeight(s.text)
		}
	}
	s.legend = s.entries(width)
	s.width = width + 2*s.margin
	s.height = 2*s.margin + lineHeight(s.text)*vg.Length(len(s.legend)) + lineGap
	if !s.bare {
		s.heading = []string{c.Title}
		s.facts = wrapText(s.fine, width, c.Facts...)
		s.foot = footnotesOf(c, s.fine, width)
		s.height += lineHeight(s.title) + lineHeight(s.fine)*vg.Length(len(s.facts)+len(s.foot)) + 2*lineGap
	}
	for _, p := range s.panels {
		s.height += p.row
	}
	if s.bare {
		s.height -= 2 * lineGap // nothing follows
	}
	return s
}

// titleOf returns the title of a panel in lines no wider than width.
func (s *sketch) titleOf(p *document.Panel, width vg.Length) []string {
	if p.Title == "" {
		return nil
	}
	title := p.Title
	if p.Note != "" && s.noted {
		title += ", " + p.Note
	}
	return wrapText(s.text, width, title)
}

// panel makes the plot of a panel and measures the room around its data.
func (s *sketch) panel(of *document.Panel) panel {
	p := panel{Panel: of, plot: plot.New()}
	p.plot.BackgroundColor = nil
	s.axis(&p.plot.X, &of.X, vg.Length(s.chart.Width), true)
	s.axis(&p.plot.Y, &of.Y, vg.Length(of.Height), false)
	s.addSeries(p.plot, of)
	p.plot.X.Min, p.plot.X.Max, p.plot.Y.Min, p.plot.Y.Max = of.X.Low, of.X.High, of.Y.Low, of.Y.High
	size := vg.Point{X: vg.Length(s.chart.Width) + 100, Y: vg.Length(of.Height) + 50}
	data := p.plot.DataCanvas(draw.Canvas{Rectangle: vg.Rectangle{Max: size}})
	p.left = data.Min.X
	size.X = p.left + vg.Length(s.chart.Width) // what stands out at the right depends on the width
	data = p.plot.DataCanvas(draw.Canvas{Rectangle: vg.Rectangle{Max: size}})
	p.right = size.X - data.Max.X
	p.below, p.over = data.Min.Y, size.Y-data.Max.Y
	p.height = p.over + vg.Length(of.Height) + p.below
	return p
}

// axis sets a scale of a length and its labels.
func (s *sketch) axis(a *plot.Axis, of *document.Axis, length vg.Length, horizontal bool) {
	a.Padding, a.Tick.Length = 0, 3
	a.LineStyle = draw.LineStyle{Color: rgb(document.Grey), Width: vg.Points(0.8)}
	a.Tick.LineStyle = a.LineStyle
	if !horizontal {
		a.Tick.Length = 0
	}
	if of.Bare {
		a.Width = 0
		if of.Names {
			a.Padding = 2 * lineGap
		}
	}
	if of.Log {
		a.Scale = plot.LogScale{}
	}
	style := s.fine
	if of.Names && !horizontal {
		style = s.text
	}
	a.Tick.Label.Font, a.Tick.Label.Color = style.Font, style.Color
	if !horizontal {
		// gonum/plot raises these labels by their descent, and few reach below the line.
		a.Tick.Label.YAlign = draw.YCenter - draw.YAlignment((style.FontExtents().Descent-1)/style.Height("Ág"))
	}
	marker := make(plot.ConstantTicks, len(of.Ticks))
	for i, t := range of.Ticks {
		marker[i] = plot.Tick{Value: t.Value, Label: drawable(style, t.Label)}
		if !horizontal && of.Names && s.names > 0 {
			marker[i].Label = strings.Join(s.nameLines(t.Label), "\n")
		}
		if horizontal && of.Names {
			marker[i].Label = fitText(style, marker[i].Label, length/vg.Length(of.High-of.Low)-8)
		}
	}
	slices.SortFunc(marker, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	thin(marker, func(t plot.Tick) (from, to vg.Length) {
		at, half := length*vg.Length(of.At(t.Value)), style.Height("0")/2
		if horizontal {
			half = style.Width(t.Label)/2 + 4
		}
		return at - half, at + half
	})
	a.Tick.Marker = marker
}

// thin removes labels that would touch others, from the lower end; the last one
// stays.
func thin(ticks []plot.Tick, span func(plot.Tick) (from, to vg.Length)) {
	if len(ticks) == 0 {
		return
	}
	last, _ := span(ticks[len(ticks)-1])
	end := vg.Length(math.Inf(-1))
	for i := range ticks[:len(ticks)-1] {
		from, to := span(ticks[i])
		if from < end || to > last {
			ticks[i].Label = ""
			continue
		}
		end = to
	}
}

// entries distributes the entries of the legend over lines. Series of one name
// share an entry.
func (s *sketch) entries(width vg.Length) [][]plot.Legend {
	var names []string
	looks := map[string][]*document.Series{}
	for i := range s.chart.Panels {
		for j := range s.chart.Panels[i].Series {
			x := &s.chart.Panels[i].Series[j]
			if x.Name == "" {
				continue
			}
			if looks[x.Name] == nil {
				names = append(names, x.Name)
			}
			looks[x.Name] = append(looks[x.Name], x)
		}
	}
	var lines [][]plot.Legend
	x := width
	for _, name := range names {
		l := s.entry(name, looks[name])
		w := legendWidth(&l)
		if w > width {
			l = s.entry(fitText(s.text, name, width-(w-s.text.Width(name))), looks[name])
			w = legendWidth(&l)
		}
		if x+w > width {
			lines, x = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], l)
		x += w
	}
	return lines
}

func legendWidth(l *plot.Legend) vg.Length {
	r := l.Rectangle(draw.Canvas{})
	return r.Max.X - r.Min.X + legendGap
}

// draw stacks the parts: title, facts, legend, panels, foot.
func (s *sketch) draw(c draw.Canvas) {
	left, y := c.Min.X+s.margin, s.height-s.margin
	text := func(style draw.TextStyle, lines ...string) {
		for _, txt := range lines {
			y -= lineHeight(style)
			c.FillText(style, vg.Point{X: left, Y: y + lineGap}, drawable(style, txt))
		}
	}
	text(s.title, s.heading...)
	text(s.fine, s.facts...)
	if len(s.heading) > 0 {
		y -= lineGap
	}
	for _, entries := range s.legend {
		x := left
		for i := range entries {
			entries[i].Draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
				Min: vg.Point{X: x, Y: y - lineHeight(s.text)}, Max: vg.Point{X: s.width, Y: y},
			}})
			x += legendWidth(&entries[i])
		}
		y -= lineHeight(s.text)
	}
	y -= lineGap
	for _, p := range s.panels {
		top := y
		if text(s.text, p.title...); len(p.title) > 0 {
			y -= lineGap
		}
		area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left + s.left - p.left, Y: y - p.height},
			Max: vg.Point{X: left + s.left + vg.Length(s.chart.Width), Y: y},
		}}
		p.plot.Draw(area)
		data := p.plot.DataCanvas(area)
		title := s.text
		title.XAlign, title.YAlign = draw.XCenter, draw.YTop
		c.FillText(title, vg.Point{X: data.Center().X, Y: area.Min.Y - 1}, drawable(title, p.X.Title))
		y = top - p.row
	}
	y -= lineGap
	text(s.fine, s.foot...)
}
