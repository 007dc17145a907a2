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

// wrapped breaks texts at spaces into lines no wider than width.
func wrapped(s draw.TextStyle, width vg.Length, texts ...string) []string {
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
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// footnotesOf returns the notes and the source of a chart in at most so many lines, 0 for
// all. If there are more, the notes share all lines except the last.
func footnotesOf(c *document.Chart, s draw.TextStyle, width vg.Length, most int) []string {
	lines := wrapped(s, width, append(slices.Clone(c.Notes), c.Source)...)
	if most == 0 || len(lines) <= most {
		return lines
	}
	first := func(n int, text string) []string {
		lines := wrapped(s, width-s.Width(" …"), text)
		for part := text; len(lines) > n; { // whole statements, if one fits
			at := max(strings.LastIndex(part, " · "), strings.LastIndex(part, ", "))
			if at < 0 {
				break
			}
			part = part[:at]
			if lines = wrapped(s, width-s.Width(" …"), part); len(lines) <= n && text != c.Source {
				lines[len(lines)-1] += " …"
			}
		}
		if len(lines) > n {
			lines = lines[:n]
			lines[n-1] += " …"
		}
		return lines
	}
	if len(c.Notes) == 0 || most == 1 {
		return first(most, c.Source)
	}
	notes := first(most-1, strings.Join(c.Notes, " · "))
	return append(notes, first(most-len(notes), c.Source)...)
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
