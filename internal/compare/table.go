package compare

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/compactsim/compactsim/internal/document"
)

// table writes r for a terminal: a table for each comparison with differences, a
// line for those without, then the footnotes.
func (r *Report) table(w io.Writer, o WriteOptions) error {
	var b bytes.Buffer
	var n notes
	var same []string
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		heading := fmt.Sprintf("%s · %s%s", c.title(), document.Count(c.Sessions, "session"), marks(n.mark(c.Notes)))
		if r.uneventful(c) && !o.All {
			same = append(same, "no difference in "+r.sameIn(c)+": "+heading)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		printLines(&b, heading)
		s := r.sheet(c, r.shown(c, o), &n)
		fit(s, document.Width)
		if err := s.Write(&b, "table"); err != nil {
			return err
		}
	}
	for _, texts := range [][]string{same, slices.Concat(n.lines(), printables(r.Notes), r.legend())} {
		if len(texts) > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		for _, text := range texts {
			printLines(&b, text)
		}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing a comparison: %w", err)
	}
	return nil
}

func printLines(b *bytes.Buffer, text string) {
	for _, line := range document.Wrap(text, document.Width) {
		fmt.Fprintln(b, line)
	}
}

func printables(texts []string) []string {
	var list []string
	for _, text := range texts {
		list = append(list, document.Printable(text))
	}
	return list
}
