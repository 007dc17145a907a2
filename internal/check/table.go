package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/document"
)

const (
	columnGap  = 2  // characters between two columns of a table
	roomyName  = 20 // characters of a name that are kept as long as columns can be spared
	scantyName = 12 // characters of a name that are kept in any case
	noSessions = "" // the title of the column of groups where no rule has any
)

// shortening takes characters from the names in a column, down to the least.
type shortening struct {
	column string
	least  int
}

// shortenings are what a table may take from names while it keeps its columns:
// projects are paths, which say most at both ends.
var shortenings = []shortening{{"group", roomyName}, {"cell", roomyName}}

// lastShortenings are what it may take when no column is left to spare.
var lastShortenings = []shortening{{"group", scantyName}, {"cell", scantyName}, {"metric", 2 * scantyName}}

// fit lays a table of results out within a width, in characters: a row stays one
// line and names its cell and sessions. What is the same in all rows is returned
// as a line to stand above; long names lose their middle; columns that follow from
// others are left out when that is not enough.
func fit(s *document.Table, width int) (above string) {
	keepColumns(s, func(i int) bool { return s.Columns[i].Title != noSessions })
	if tableWidth(s) <= width {
		return ""
	}
	above = takeSame(s)
	joinRule(s, width)
	spareColumns(s, width)
	for _, list := range [][]shortening{shortenings, lastShortenings} {
		for _, c := range list {
			shortenNames(s, c, tableWidth(s)-width)
		}
	}
	return above
}

// fits reports whether a table has its width once names are shortened to what is
// still easy to read.
func fits(s *document.Table, width int) bool {
	over := tableWidth(s) - width
	for _, c := range shortenings {
		if i := columnOf(s, c.column); i >= 0 {
			over -= max(0, columnWidth(s, i)-c.least)
		}
	}
	return over <= 0
}

// joinRule puts metric and rule into one column where that makes room: long metrics
// seldom have long rules.
func joinRule(s *document.Table, width int) {
	metric, rule := columnOf(s, "metric"), columnOf(s, "rule")
	if rule < 0 || fits(s, width) {
		return
	}
	for _, row := range s.Rows {
		row[metric] = fmt.Sprintf("%s %s", row[metric], row[rule])
	}
	s.Columns[metric].Title = s.Columns[rule].Title
	keepColumns(s, func(i int) bool { return i != rule })
}

// spareColumns leaves out columns until the table fits. The note says which.
func spareColumns(s *document.Table, width int) {
	var spared []string
	for _, name := range []string{"margin", "baseline", "bar"} {
		i := columnOf(s, name)
		if i < 0 || fits(s, width) {
			continue
		}
		spared = append(spared, s.Columns[i].Title)
		keepColumns(s, func(k int) bool { return k != i })
	}
	if len(spared) > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("no room for %s; --format json has all", strings.Join(spared, ", ")))
	}
}

// takeSame takes out the columns behind the first in which all of several rows say
// the same, and returns a line with what they say.
func takeSame(s *document.Table) string {
	if len(s.Rows) < 2 {
		return ""
	}
	var same []string
	var taken []int
	for i := 1; i < len(s.Columns); i++ {
		if !slices.ContainsFunc(s.Rows, func(row []any) bool { return row[i] != s.Rows[0][i] }) {
			taken = append(taken, i)
			same = append(same, fmt.Sprintf("%s %s", s.Columns[i].Title, s.Rows[0][i]))
		}
	}
	if len(same) == 0 {
		return ""
	}
	keepColumns(s, func(i int) bool { return !slices.Contains(taken, i) })
	return "in all rows: " + strings.Join(same, ", ")
}

// keepColumns drops the columns that are not to be kept.
func keepColumns(s *document.Table, keep func(i int) bool) {
	var columns []document.Column
	rows := make([][]any, len(s.Rows))
	for i, c := range s.Columns {
		if !keep(i) {
			continue
		}
		columns = append(columns, c)
		for k, row := range s.Rows {
			rows[k] = append(rows[k], row[i])
		}
	}
	s.Columns, s.Rows = columns, rows
}

// columnOf returns the place of a column by its name for machines, below 0 when it
// is not there.
func columnOf(s *document.Table, name string) int {
	return slices.IndexFunc(s.Columns, func(c document.Column) bool { return c.Name == name })
}

// columnWidth returns how wide a column is, in characters.
func columnWidth(s *document.Table, i int) int {
	width := utf8.RuneCountInString(s.Columns[i].Title)
	for _, row := range s.Rows {
		width = max(width, utf8.RuneCountInString(fmt.Sprint(row[i])))
	}
	return width
}

// tableWidth returns the width of all columns beside each other, in characters.
func tableWidth(s *document.Table) int {
	sum := columnGap * (len(s.Columns) - 1)
	for i := range s.Columns {
		sum += columnWidth(s, i)
	}
	return sum
}
