package reports

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// columnGap is what stands between two columns of a table for a terminal.
const columnGap = 2

// leastWrapped is the width below which no column of text is wrapped, in
// characters: narrower ones read worse than a wide table.
const leastWrapped = 20

// fitTable lays g out within a width, in characters: columns that say the same in
// all rows become a line above, columns of text are wrapped, and what is still
// too wide goes into further tables that repeat the first column. A table that
// fits stays as it is.
func fitTable(g grid, width int) (above string, tables []grid) {
	if g.width() <= width {
		return "", []grid{g}
	}
	g, above = g.withoutSame()
	g = g.wrapped(width)
	return above, g.split(width)
}

// widths returns the width of each column.
func (g *grid) widths() []int {
	list := make([]int, len(g.head))
	for _, row := range aligned(*g, func(s string) string { return s }) {
		for i, text := range row {
			list[i] = max(list[i], utf8.RuneCountInString(strings.TrimRight(text, " ")))
		}
	}
	return list
}

func (g *grid) width() int { return tableWidth(g.widths()) }

// tableWidth returns the width of columns beside each other.
func tableWidth(widths []int) int {
	sum := columnGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// withoutSame takes out the columns behind the first in which all of several rows
// say the same, and returns a line with what they say.
func (g grid) withoutSame() (grid, string) {
	if len(g.rows) < 2 {
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
			text = "–"
		}
		same = append(same, g.head[i].text+" "+text)
	}
	if len(same) == 0 {
		return g, ""
	}
	return g.columns(kept), "in all rows: " + strings.Join(same, ", ")
}

// columns returns the table of some columns.
func (g *grid) columns(kept []int) grid {
	pick := func(row []field) []field {
		var list []field
		for _, i := range kept {
			list = append(list, row[i])
		}
		return list
	}
	out := grid{title: g.title, head: pick(g.head)}
	for _, i := range kept {
		out.left = append(out.left, i < len(g.left) && g.left[i])
	}
	for _, row := range g.rows {
		out.rows = append(out.rows, pick(row))
	}
	return out
}

// wrapped breaks the texts of columns to the left, but for the first, over several
// rows: the widest column first, as far as it takes to fit.
func (g grid) wrapped(width int) grid {
	widths := g.widths()
	limits := g.limits(widths, width)
	if slices.Equal(limits, widths) {
		return g
	}
	var rows [][]field
	for _, row := range g.rows {
		rows = append(rows, brokenRow(row, limits, widths)...)
	}
	g.rows = rows
	return g
}

// limits returns the widths to wrap columns at.
func (g *grid) limits(widths []int, width int) []int {
	limits := slices.Clone(widths)
	last := -1 // of those that are wrapped
	for tableWidth(limits) > width {
		widest := -1
		for i := 1; i < len(limits); i++ {
			if i < len(g.left) && g.left[i] && limits[i] > leastWrapped && (widest < 0 || limits[i] > limits[widest]) {
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
	if last >= 0 { // gets what the others leave
		limits[last] = min(widths[last], limits[last]+max(0, width-tableWidth(limits)))
	}
	return limits
}

// longest returns the width that a column takes when it is wrapped at a limit.
func (g *grid) longest(column, limit int) int {
	size := utf8.RuneCountInString(g.head[column].text)
	for _, row := range g.rows {
		for _, line := range Wrap(row[column].text, limit) {
			size = max(size, utf8.RuneCountInString(line))
		}
	}
	return size
}

// brokenRow returns a row whose texts are within limits as several.
func brokenRow(row []field, limits, widths []int) [][]field {
	rows := [][]field{slices.Clone(row)}
	for i := range row {
		if limits[i] == widths[i] {
			continue
		}
		for k, line := range Wrap(row[i].text, limits[i]) {
			if k == len(rows) {
				rows = append(rows, make([]field, len(row)))
			}
			rows[k][i] = field{text: line}
		}
		rows[0][i].mark = row[i].mark
	}
	return rows
}

// split returns the columns in as many tables as it takes, each beginning with the
// first column.
func (g *grid) split(width int) []grid {
	widths := g.widths()
	var tables []grid
	for next := 1; next < len(widths); {
		kept, room := []int{0}, width-widths[0]
		for next < len(widths) && (len(kept) == 1 || room >= columnGap+widths[next]) {
			kept = append(kept, next)
			room -= columnGap + widths[next]
			next++
		}
		tables = append(tables, g.columns(kept))
	}
	if len(tables) == 0 {
		return []grid{*g}
	}
	return tables
}
