package document

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart draws figures: panels one below another, with one title and one legend. All lengths are in points.
type Chart struct {
	Title  string
	Facts  []string // paragraphs under the title
	Notes  []string // at the bottom, each cut after a few lines
	Source string   // below the notes, cut after a few lines
	Width  float64  // of a panel, without the labels at its left
	Panels []Panel
}

// Caption returns what stands around the panels as a text for a place beside the picture.
func (c *Chart) Caption() string {
	parts := append([]string{c.Title + "."}, c.Facts...)
	for i := range c.Panels {
		if p := &c.Panels[i]; p.Note != "" {
			parts = append(parts, p.Title+": "+p.Note)
		}
	}
	parts = append(append(parts, c.Notes...), c.Source)
	return strings.Join(slices.DeleteFunc(parts, func(t string) bool { return t == "" }), "\n") + "\n"
}

// Panel is one area of a chart.
type Panel struct {
	Title  string  // above the panel: what its vertical axis shows
	Note   string  // behind the title, on paper in the caption
	Height float64 // of the data
	X, Y   Axis
	Series []Series // drawn in this order, bands beneath the grid
}

// Axis is a scale with its labels.
type Axis struct {
	Title     string // only of a horizontal axis
	Low, High float64
	Log       bool
	Grid      bool                     // a line across the panel at each tick
	Bare      bool                     // no line along the axis
	Names     bool                     // ticks name things: one without room is shortened, not omitted
	Says      func(v float64) string   // what a place of a scale of our own stands for; nil otherwise
	Real      func(at float64) float64 // the value at a place of a scale of our own; nil otherwise
	Ticks     []Tick
}

// Tick is a labelled value of an axis.
type Tick struct {
	Value float64
	Label string
}

// Mark is how a series is drawn.
type Mark uint8

// The marks of a series.
const (
	MarkLine Mark = iota // from point to point, broken where Y is NaN
	MarkDot              // a marker at each point, its text at the right
	MarkBox              // rectangles from (X, Y) to (X2, Y2), with their texts inside if they fit
	MarkBand             // rectangles beneath the grid
	MarkText             // texts alone, at the right of their points
)

// Series is a set of figures with one look.
type Series struct {
	Name   string // in the legend, where series with the same name share an entry; "" has none
	Mark   Mark
	Style  Style
	X, Y   []float64
	X2, Y2 []float64 // boxes and bands: the opposite corners
	Shade  []float64 // boxes: 0…1, from light to dark, instead of the colour of the style
	Texts  []string
	Left   bool // texts: at the left of their points
	Apart  bool // texts of dots: on the side with room, left out where both sides touch others

	XSpans, YSpans []Span    // intervals of points, drawn as bars with caps, of lengths of boxes for the data alone; nil for none
	Unspanned      bool      // too many intervals to draw: only the data have them
	Sessions       []int     // behind each point; nil where a point is no sample of sessions
	Values         []float64 // what boxes with shades show
	Data           string    // the name among the data, where the legend has another or none
	Aid            bool      // leads the eye, and shows no data of its own
}

// Span is an interval of a figure. One without length is not drawn.
type Span struct{ Low, High float64 }

// Color is 0xRRGGBB.
type Color uint32

// Colors that people with any colour vision can distinguish.
const (
	Black  Color = 0x262626
	Grey   Color = 0x606060
	Navy   Color = 0x08306b
	Blue   Color = 0x3888be
	Sky    Color = 0x80bee6
	Orange Color = 0xe6781e
	Brown  Color = 0x824b28
	Green  Color = 0x3c8c5a
	Purple Color = 0x7850a0
)

// Style is the look of a series.
type Style struct {
	Color  Color
	Width  float64   // of lines
	Dashes []float64 // of lines: on, off, …
	Marker Marker
	Size   float64 // radius of markers
	Hollow bool    // boxes: an outline only
}

// Marker is the shape of a dot.
type Marker uint8

// The markers.
const (
	Circle Marker = iota
	Square
	Pyramid
	Cross
	Ring
	Plus
	OpenSquare
	Triangle
	Arrow // points down at its place
)

// Box adds a rectangle to a series of boxes or bands.
func (s *Series) Box(x, y, x2, y2 float64, text string) {
	s.Point(x, y, text)
	s.X2, s.Y2 = append(s.X2, x2), append(s.Y2, y2)
}

// Point adds a point to a series.
func (s *Series) Point(x, y float64, text string) {
	s.X, s.Y, s.Texts = append(s.X, x), append(s.Y, y), append(s.Texts, text)
}

// Dotted returns a line and the markers of its points, without gaps.
func (s *Series) Dotted() []Series {
	dots := Series{Name: s.Name, Mark: MarkDot, Style: s.Style, Aid: true}
	for i := range s.X {
		if !math.IsNaN(s.Y[i]) {
			dots.Point(s.X[i], s.Y[i], "")
		}
	}
	return []Series{*s, dots}
}

// Check returns an error for a chart that cannot be drawn.
func (c *Chart) Check() error {
	if len(c.Panels) == 0 {
		return errors.New("a chart without panels")
	}
	for i := range c.Panels {
		p := &c.Panels[i]
		for _, a := range []*Axis{&p.X, &p.Y} {
			if !finite(a.Low, a.High) || a.Low >= a.High || a.Log && a.Low <= 0 {
				return fmt.Errorf("panel %q: an axis from %v to %v", p.Title, a.Low, a.High)
			}
		}
		for j := range p.Series {
			if err := p.Series[j].check(); err != nil {
				return fmt.Errorf("panel %q, series %q: %w", p.Title, p.Series[j].Name, err)
			}
		}
	}
	return nil
}

func (s *Series) check() error {
	boxes := s.Mark == MarkBox || s.Mark == MarkBand
	if len(s.X) != len(s.Y) || boxes && (len(s.X) != len(s.X2) || len(s.X) != len(s.Y2)) ||
		len(s.Texts) > 0 && len(s.Texts) != len(s.X) || len(s.Shade) > 0 && len(s.Shade) != len(s.X) {
		return errors.New("lengths differ")
	}
	for i := range s.X {
		gap := s.Mark == MarkLine && math.IsNaN(s.Y[i])
		for _, spans := range [][]Span{s.XSpans, s.YSpans} {
			if len(spans) > 0 && (len(spans) != len(s.X) || !finite(spans[i].Low, spans[i].High)) {
				return fmt.Errorf("the interval of point %d cannot be drawn", i)
			}
		}
		if !gap && !finite(s.X[i], s.Y[i]) || boxes && !finite(s.X2[i], s.Y2[i]) {
			return fmt.Errorf("point %d is not finite", i)
		}
	}
	return nil
}

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Place names the i-th of n things along an axis, the first at its upper end,
// and returns its position.
func (a *Axis) Place(i, n int, name string) float64 {
	a.Low, a.High, a.Names = -0.5, float64(n)-0.5, true
	at := float64(n - 1 - i)
	a.Ticks = append(a.Ticks, Tick{Value: at, Label: name})
	return at
}

// At returns the position of a value on an axis: 0 at its lower end, 1 at its upper.
func (a *Axis) At(v float64) float64 {
	if a.Log {
		return math.Log(v/a.Low) / math.Log(a.High/a.Low)
	}
	return (v - a.Low) / (a.High - a.Low)
}

// Data returns what the chart draws: a line for each point, with the number or the name at which it stands, its value
// and their intervals. A bar has its name as x and its length as value, a tile its column, its row and its value.
func (c *Chart) Data() *Table {
	t := &Table{Columns: Columns("panel", "series", "label", "x", "x_low", "x_high", "y", "value", "low", "high", "sessions")}
	for i := range c.Panels {
		p := &c.Panels[i]
		for j := range p.Series {
			if s := &p.Series[j]; !s.Aid && s.Mark != MarkBand {
				t.Rows = append(t.Rows, p.data(s)...)
			}
		}
	}
	return t
}

func (p *Panel) data(s *Series) (rows [][]any) {
	ends := func(spans []Span, i int, a *Axis) (low, high any) {
		if i >= len(spans) || spans[i].Low == spans[i].High {
			return nil, nil
		}
		return a.real(spans[i].Low), a.real(spans[i].High)
	}
	for i := range s.X {
		if math.IsNaN(s.Y[i]) {
			continue
		}
		row := make([]any, 11)
		row[0], row[1] = p.Title, cmp.Or(s.Data, s.Name)
		if len(s.Texts) > 0 {
			row[2] = s.Texts[i]
		}
		switch {
		case len(s.Values) > 0:
			row[3], row[6], row[7] = p.X.named((s.X[i]+s.X2[i])/2), p.Y.named((s.Y[i]+s.Y2[i])/2), exact(s.Values[i])
		case p.Y.Names && len(s.X2) > 0:
			row[3], row[7] = p.Y.named((s.Y[i]+s.Y2[i])/2), exact(s.X2[i]-s.X[i])
			row[8], row[9] = ends(s.XSpans, i, &p.X)
		case len(s.X2) > 0:
			row[3], row[7] = p.X.named((s.X[i]+s.X2[i])/2), exact(s.Y2[i]-s.Y[i])
		case p.Y.Names:
			row[3], row[7] = p.Y.named(s.Y[i]), p.X.real(s.X[i])
			row[8], row[9] = ends(s.XSpans, i, &p.X)
		default:
			row[3], row[7] = p.X.named(s.X[i]), p.Y.real(s.Y[i])
			row[4], row[5] = ends(s.XSpans, i, &p.X)
			row[8], row[9] = ends(s.YSpans, i, &p.Y)
		}
		if i < len(s.Sessions) {
			row[10] = s.Sessions[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// named returns the name at a place of an axis, or its value.
func (a *Axis) named(v float64) any {
	if a.Names {
		for _, t := range a.Ticks {
			if math.Abs(t.Value-v) < 0.5 {
				return t.Label
			}
		}
	}
	if a.Says != nil && a.Real == nil {
		return a.Says(v)
	}
	return a.real(v)
}

// real returns the value at a place of an axis.
func (a *Axis) real(v float64) float64 {
	if a.Real != nil {
		v = a.Real(v)
	}
	return exact(v)
}

// exact rounds away the error of a sum of floating-point numbers.
func exact(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}
