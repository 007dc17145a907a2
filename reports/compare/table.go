package compare

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table writes r for a terminal: a table for each comparison with differences, a
// line for those without, then the footnotes.
func (r *Report) table(w io.Writer, o WriteOptions) error {
	var b bytes.Buffer
	var n notes
	var same []string
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		heading := fmt.Sprintf("%s · %s%s", c.title(), countOf(c.Sessions, "session"), marks(n.mark(c.Notes)))
		if !c.Changed() && !o.All {
			same = append(same, "no difference in any metric: "+heading)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(&b, heading)
		if err := r.sheet(c, r.shown(c, o), &n).Write(&b, "table"); err != nil {
			return err
		}
	}
	for _, texts := range [][]string{same, slices.Concat(n.lines(), printables(r.Notes), r.legend())} {
		if len(texts) > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		for _, text := range texts {
			wrap(&b, text)
		}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing a comparison: %w", err)
	}
	return nil
}

func printables(texts []string) []string {
	var list []string
	for _, text := range texts {
		list = append(list, printable(text))
	}
	return list
}

// width is where notes are wrapped, in characters.
const width = 110

// wrap writes text in lines of at most width characters.
func wrap(b *bytes.Buffer, text string) {
	used := 0
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && used+1+n > width:
			b.WriteByte('\n')
			used = 0
		case i > 0:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	b.WriteByte('\n')
}
