package document

import (
	"fmt"
	"slices"
	"strings"
)

// grid is a table for people: texts with the marks of their footnotes.
type grid struct {
	columns []Column
	head    []field
	rows    [][]field
	names   bool // names are broken, but not texts
}

// field is a text with the marks of its footnotes.
type field struct{ text, mark string }

// grid lays out the columns that people see.
func (t *Table) grid(notes *footnotes) grid {
	var g grid
	var shown []int
	for i, c := range t.Columns {
		if c.Title != "" {
			shown = append(shown, i)
			g.columns = append(g.columns, c)
			g.head = append(g.head, field{Printable(c.Title), notes.mark(c.Notes)})
		}
	}
	formats := make([]func(float64) string, len(t.Columns))
	for i, c := range t.Columns {
		var values []float64
		for _, row := range t.Rows {
			if v, ok := number(plain(at(row, i))); ok {
				values = append(values, v)
			}
		}
		formats[i] = Format(c.Unit, values)
	}
	for _, row := range t.Rows {
		fields := make([]field, 0, len(shown))
		for _, i := range shown {
			fields = append(fields, fieldOf(at(row, i), formats[i], notes))
		}
		g.rows = append(g.rows, fields)
	}
	return g
}

// at returns a value of a row, nil beyond its end.
func at(row []any, i int) any {
	if i < len(row) {
		return row[i]
	}
	return nil
}

func fieldOf(x any, format func(float64) string, notes *footnotes) field {
	var f field
	if c, ok := x.(Cell); ok {
		if f.mark = notes.mark(c.Notes); c.Text != "" {
			f.text = Printable(c.Text)
			return f
		}
		x = c.Value
	}
	if v, ok := number(x); ok {
		f.text = format(v)
	} else if x != nil {
		f.text = Printable(fmt.Sprint(x))
	}
	return f
}

// plain returns a value without its text and footnotes.
func plain(x any) any {
	if c, ok := x.(Cell); ok {
		return c.Value
	}
	return x
}

func number(x any) (float64, bool) {
	switch v := x.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// left reports whether a column is left-aligned.
func (g *grid) left(i int) bool { return i == 0 || !g.columns[i].Right }

// lines returns the texts of head and rows with their marks. In a column of
// figures all marks get the width of the widest, so that digits align.
func (g *grid) lines(escape func(string) string) [][]string {
	rows := append([][]field{g.head}, g.rows...)
	texts := make([][]string, len(rows))
	for i := range texts {
		texts[i] = make([]string, len(g.head))
	}
	for col := range g.head {
		width := 0
		for _, row := range rows {
			width = max(width, runes(row[col].mark))
		}
		for i, row := range rows {
			f := row[col]
			s := escape(f.text)
			if f.mark != "" {
				s += " " + f.mark
			}
			if width > 0 && !g.left(col) {
				pad := width - runes(f.mark)
				if f.mark == "" {
					pad++
				}
				s += strings.Repeat(" ", pad)
			}
			texts[i][col] = s
		}
	}
	return texts
}

const (
	columnGap    = 2  // characters between two columns
	leastWrapped = 20 // least width of a wrapped column of text, in characters: below it fewer columns read better
	leastBroken  = 12 // least width of a column of broken names
)

// fit lays out g within a width, in characters. A table that fits stays
// unchanged. Otherwise fit returns what is the same in all rows as a line above
// the table, and the titles of the columns that were dropped: without drop only
// spare ones.
func (g grid) fit(width int, drop bool) (above string, left []string, fitted grid) {
	g = g.clipTitles(width)
	g.names = true
	if named := g.wrapLines(width); named.width() <= width {
		return "", nil, named
	}
	g.names = false
	g, above = g.withoutSame()
	g, left = g.spare(width, drop)
	return above, left, g.clip(width).wrapLines(width)
}

func (g *grid) widths() []int {
	list := make([]int, len(g.head))
	for _, row := range g.lines(func(s string) string { return s }) {
		for i, text := range row {
			list[i] = max(list[i], runes(strings.TrimRight(text, " ")))
		}
	}
	return list
}

func (g *grid) width() int { return sum(g.widths()) }

// sum returns the total width of columns side by side.
func sum(widths []int) int {
	n := columnGap * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// pick returns a grid with some of the columns.
func (g *grid) pick(kept []int) grid {
	out := grid{rows: make([][]field, len(g.rows))}
	for _, i := range kept {
		out.columns = append(out.columns, g.columns[i])
		out.head = append(out.head, g.head[i])
		for k, row := range g.rows {
			out.rows[k] = append(out.rows[k], row[i])
		}
	}
	return out
}

// withoutSame removes columns after the first that are the same in all rows, if
// there are three rows or more, and returns a line with their values.
func (g grid) withoutSame() (grid, string) {
	if len(g.rows) < 3 {
		return g, ""
	}
	var kept []int
	var same []string
	for i := range g.head {
		differs := slices.ContainsFunc(g.rows, func(row []field) bool { return row[i] != g.rows[0][i] })
		if i == 0 || differs {
			kept = append(kept, i)
			continue
		}
		text := strings.TrimSpace(g.rows[0][i].text + " " + g.rows[0][i].mark)
		if text == "" {
			text = Dash
		}
		same = append(same, g.head[i].text+" "+text)
	}
	if len(same) == 0 {
		return g, ""
	}
	return g.pick(kept), "in all rows: " + strings.Join(same, ", ")
}

// spare drops columns and returns their titles: spare ones until the rest fits
// with clipping, then with drop the last ones until the rest fits with
// wrapping. The first column stays.
func (g grid) spare(width int, drop bool) (grid, []string) {
	var left []string
	for {
		worst := 0
		for i, c := range g.columns {
			if i > 0 && c.Spare >= 0 && (worst == 0 || c.Spare >= g.columns[worst].Spare) {
				worst = i
			}
		}
		last := g.columns[worst].Spare == 0
		if worst == 0 || last && !drop || g.least(last) <= width {
			return g, left
		}
		left = append(left, g.head[worst].text)
		g = g.pick(slices.DeleteFunc(indexes(len(g.head)), func(i int) bool { return i == worst }))
	}
}

func indexes(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// least returns the width of g with everything clipped that may be clipped and,
// if wrapped is set, everything wrapped that may be wrapped.
func (g *grid) least(wrapped bool) int {
	widths := g.widths()
	for i, c := range g.columns {
		if at := g.wrapAt(i); wrapped && at > 0 && widths[i] > at {
			widths[i] = g.longest(i, at)
		}
		if c.Clip > 0 {
			widths[i] = max(min(widths[i], c.Clip), runes(g.head[i].text))
		}
	}
	return sum(widths)
}

// clipTitles shortens titles that are wider than their column's texts, the
// widest first.
func (g grid) clipTitles(width int) grid {
	values := grid{columns: g.columns, head: make([]field, len(g.head)), rows: g.rows}
	below := values.widths()
	widths := g.widths()
	over := sum(widths) - width
	for ; over > 0; over-- {
		widest := -1
		for i, c := range g.columns {
			if c.ClipTitle > 0 && widths[i] > max(below[i], c.ClipTitle) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	var titles []string
	size := width
	for i, c := range g.columns {
		if c.ClipTitle > 0 {
			titles = append(titles, g.head[i].text)
			size = min(size, widths[i])
		}
	}
	short := distinct(titles, size)
	g.head = slices.Clone(g.head)
	for i, c := range g.columns {
		if c.ClipTitle > 0 && runes(g.head[i].text) > widths[i] {
			g.head[i].text = short[g.head[i].text]
		}
	}
	return g
}

// clip cuts the middle of long texts where columns allow it. Different texts
// stay different.
func (g grid) clip(width int) grid {
	for i, c := range g.columns {
		over, widths := g.width()-width, g.widths()
		if c.Clip == 0 || over <= 0 {
			continue
		}
		var names []string
		for _, row := range g.rows {
			names = append(names, row[i].text)
		}
		short := distinct(names, max(c.Clip, widths[i]-over))
		rows := make([][]field, len(g.rows))
		for k, row := range g.rows {
			rows[k] = slices.Clone(row)
			rows[k][i].text = short[row[i].text]
		}
		g.rows = rows
	}
	return g
}

// wrapAt returns the width below which a column is not broken into lines, 0 if
// it is not broken at all.
func (g *grid) wrapAt(i int) int {
	switch {
	case g.columns[i].Break:
		return leastBroken
	case g.left(i) && !g.names:
		return leastWrapped
	}
	return 0
}

// wrap breaks a text of a column into lines.
func (g *grid) wrap(i int, text string, size int) []string {
	if g.columns[i].Break {
		return brokenName(text, size)
	}
	return wrapText(text, size)
}

// wrapLines breaks texts over several rows, the widest column first, until the
// table fits.
func (g grid) wrapLines(width int) grid {
	widths := g.widths()
	limits := g.limits(widths, width)
	if slices.Equal(limits, widths) {
		return g
	}
	var rows [][]field
	for _, row := range g.rows {
		lines := [][]field{slices.Clone(row)}
		for i := range row {
			if limits[i] == widths[i] {
				continue
			}
			for k, text := range g.wrap(i, row[i].text, limits[i]) {
				if k == len(lines) {
					lines = append(lines, make([]field, len(row)))
				}
				lines[k][i] = field{text: text}
			}
			lines[0][i].mark = row[i].mark
		}
		rows = append(rows, lines...)
	}
	g.rows = rows
	return g
}

// limits returns the widths at which to wrap columns.
func (g *grid) limits(widths []int, width int) []int {
	limits := slices.Clone(widths)
	last := -1 // the last of the wrapped columns
	for sum(limits) > width {
		widest := -1
		for i := range limits {
			least := g.wrapAt(i)
			if least > 0 && limits[i] > least && (widest < 0 || limits[i] > limits[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		limits[widest]--
		last = max(last, widest)
	}
	for i := range limits {
		if limits[i] < widths[i] && i != last {
			limits[i] = g.longest(i, limits[i])
		}
	}
	if last >= 0 { // gets what all other columns leave
		limits[last] = min(widths[last], limits[last]+max(0, width-sum(limits)))
	}
	return limits
}

// longest returns the width of a column that is wrapped at a limit.
func (g *grid) longest(column, limit int) int {
	size := runes(g.head[column].text)
	for _, row := range g.rows {
		for _, line := range g.wrap(column, row[column].text, limit) {
			size = max(size, runes(line))
		}
	}
	return size
}
