package reports

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/internal/kit/document"
)

// lineHeight returns the distance between two lines of a style.
func lineHeight(s draw.TextStyle) vg.Length { return s.Height("Ág") + lineGap }

// textStyle returns a style of texts.
func textStyle(size vg.Length, c document.Color) draw.TextStyle {
	s := plot.New().Title.TextStyle
	s.Font.Variant, s.Font.Size = "Sans", size
	s.Color = rgb(c)
	s.XAlign, s.YAlign = draw.XLeft, draw.YBottom
	return s
}

// wrapped breaks texts at spaces into lines no wider than width. A line is as wide as its words, each measured once.
func wrapped(s draw.TextStyle, width vg.Length, texts ...string) []string {
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
	lines := wrapped(s, width, append(slices.Clone(c.Notes), c.Source)...)
	if len(lines) <= maxFootnotes {
		return lines
	}
	lines = wrapped(s, width-s.Width(" …"), strings.Join(append([]string{c.Source}, c.Notes...), " · "))
	if len(lines) > maxFootnotes {
		lines = lines[:maxFootnotes]
		lines[maxFootnotes-1] += " …"
	}
	return lines
}

// fitted shortens a text to a width, but not below three characters.
func fitted(s draw.TextStyle, text string, width vg.Length) string {
	short := text
	for n := len([]rune(text)) - 1; n >= 3 && s.Width(short) > width; n-- {
		short = document.Shortened(text, n)
	}
	return short
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
