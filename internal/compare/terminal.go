package compare

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/document"
)

const (
	leastTitle = 8  // characters that stay of the label of a side
	leastName  = 12 // characters of the lines that names of metrics are broken into
	wideName   = 24 // the same where the table is parted
	gap        = 2  // characters between columns
)

// fit lays a table of figures out within a width, in characters: the labels of the
// sides, which stand above the table in full, lose their middle, and the names of
// metrics are broken into lines. What is too wide all the same comes in several
// tables, that of the verdicts first.
func fit(s *document.Table, width int) {
	values, titles := valueWidths(s), titleWidths(s)
	over := -gap - width
	for i := range values {
		over += gap + max(values[i], titles[i])
	}
	for ; over > 0; over-- {
		widest := -1 // of the labels that are wider than what stands below them
		for _, i := range []int{columnBase, columnOther} {
			if titles[i] > max(values[i], leastTitle) && (widest < 0 || titles[i] > titles[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		titles[widest]--
	}
	shortenLabels(s, titles[columnBase], titles[columnOther])
	switch room := values[columnMetric] - over; {
	case over <= 0:
	case room >= leastName:
		breakNames(s, room)
	default:
		breakNames(s, wideName)
		verdictFirst(s)
		s.Fitted = true
	}
}

// shortenLabels takes the middle out of the labels of the sides that are longer than
// so many characters, both alike where both are. Where they look the same then,
// the heading tells which is which.
func shortenLabels(s *document.Table, base, other int) {
	a, b := &s.Columns[columnBase], &s.Columns[columnOther]
	if utf8.RuneCountInString(a.Title) > base && utf8.RuneCountInString(b.Title) > other {
		base, other = min(base, other), min(base, other)
	}
	a.Title, b.Title = middle(a.Title, base), middle(b.Title, other)
	if a.Title == b.Title {
		a.Title, b.Title = "(first)", "(second)"
	}
}

// verdictFirst moves the verdict ahead of what speaks of the test.
func verdictFirst(s *document.Table) {
	s.Columns = moved(s.Columns, columnVerdict, columnP)
	for i := range s.Rows {
		s.Rows[i] = moved(s.Rows[i], columnVerdict, columnP)
	}
}

// moved returns a list with an item at another place, to its left.
func moved[T any](list []T, from, to int) []T {
	item := list[from]
	return slices.Insert(slices.Delete(slices.Clone(list), from, from+1), to, item)
}

// valueWidths returns the width of each column without its title.
func valueWidths(s *document.Table) [numColumns]int {
	var widths [numColumns]int
	for _, row := range s.Rows {
		for i, x := range row {
			if text, ok := x.(string); ok {
				widths[i] = max(widths[i], utf8.RuneCountInString(text))
			}
		}
	}
	return widths
}

func titleWidths(s *document.Table) [numColumns]int {
	var widths [numColumns]int
	for i, c := range s.Columns {
		widths[i] = utf8.RuneCountInString(c.Title)
	}
	return widths
}

// middle takes out the middle of a text that is longer than size characters.
func middle(text string, size int) string {
	r := []rune(text)
	if len(r) <= size {
		return text
	}
	return string(r[:size/2]) + "…" + string(r[len(r)-(size-1)/2:])
}

// breakNames breaks the names of metrics into lines of at most size characters,
// the further ones indented.
func breakNames(s *document.Table, size int) {
	var rows [][]any
	for _, row := range s.Rows {
		name, ok := row[columnMetric].(string)
		if !ok {
			name = ""
		}
		for k, line := range nameLines(name, size) {
			if k == 0 {
				row[columnMetric] = line
				rows = append(rows, row)
				continue
			}
			more := make([]any, numColumns)
			for i := range more {
				more[i] = ""
			}
			more[columnMetric] = " " + line
			rows = append(rows, more)
		}
	}
	s.Rows = rows
}

// nameLines breaks a name behind its underscores, lines behind the first one
// character earlier.
func nameLines(name string, size int) []string {
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(name, "_") {
		room := size
		if len(lines) > 0 {
			room--
		}
		if line != "" && utf8.RuneCountInString(line+part) > room {
			lines, line = append(lines, line), ""
		}
		line += part
	}
	return append(lines, line)
}
