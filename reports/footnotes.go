package reports

import (
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// footnotes numbers the notes of a run in the order in which a reader meets
// their marks. Equal texts share a number.
type footnotes struct {
	notes []results.Note
	used  []string // texts by number − 1
}

// mark returns the marks of the notes that want selects, "" when there are none.
func (f *footnotes) mark(want func(results.Note) bool) string {
	var marks []string
	for _, n := range f.notes {
		if want(n) {
			marks = append(marks, Superscript(f.number(n.Text)))
		}
	}
	return strings.Join(slices.Compact(marks), " ")
}

func (f *footnotes) number(text string) int {
	if i := slices.Index(f.used, text); i >= 0 {
		return i + 1
	}
	f.used = append(f.used, text)
	return len(f.used)
}

// lines returns the numbered notes and, without a number, those that nothing
// on the page points at.
func (f *footnotes) lines() []string {
	var lines []string
	for i, text := range f.used {
		lines = append(lines, Superscript(i+1)+" "+Printable(text))
	}
	for _, n := range f.notes {
		if !slices.Contains(f.used, n.Text) {
			lines = append(lines, Printable(n.Text))
		}
	}
	return lines
}

// Superscript writes a positive number in raised digits.
func Superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var b strings.Builder
	for _, d := range strconv.Itoa(n) {
		b.WriteRune(digits[d-'0'])
	}
	return b.String()
}
