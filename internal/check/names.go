package check

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/document"
)

// shortenNames takes up to so many characters from the names in a column. Names that
// differ still do.
func shortenNames(s *document.Table, c shortening, over int) {
	i := columnOf(s, c.column)
	if i < 0 || over <= 0 {
		return
	}
	limit := max(c.least, columnWidth(s, i)-over)
	var names []string
	for _, row := range s.Rows {
		names = append(names, fmt.Sprint(row[i]))
	}
	short := shortened(names, limit)
	for _, row := range s.Rows {
		row[i] = short[fmt.Sprint(row[i])]
	}
}

// shortened returns what names are called in at most size characters: those that
// are longer lose their middle. What is kept ahead of it is the third or, where
// names would become the same, as much as tells them apart. Names that cannot be
// told apart so are numbered.
func shortened(names []string, size int) map[string]string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	heads := []int{size / 3}
	for head := 1; head < size-1; head++ {
		heads = append(heads, head)
	}
	for _, head := range heads {
		if short, distinct := cutNames(names, size, head); distinct {
			return short
		}
	}
	short := map[string]string{}
	for i, name := range names {
		short[name] = middle(name, size, size/3, fmt.Sprintf("…%d…", i+1))
	}
	return short
}

// cutNames cuts names so that the same number of characters stands ahead of what
// is left out, and reports whether all differ.
func cutNames(names []string, size, head int) (short map[string]string, distinct bool) {
	short = map[string]string{}
	taken := map[string]bool{}
	for _, name := range names {
		text := middle(name, size, head, "…")
		if taken[text] {
			return nil, false
		}
		taken[text], short[name] = true, text
	}
	return short, true
}

// middle puts a mark in the place of the middle of a text that is longer than size
// characters, of which head stand ahead of it.
func middle(text string, size, head int, mark string) string {
	r := []rune(text)
	if len(r) <= size {
		return text
	}
	tail := max(0, size-head-len([]rune(mark)))
	return string(r[:head]) + mark + string(r[len(r)-tail:])
}
