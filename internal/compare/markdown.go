package compare

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
)

// markdown writes r as a comment on a pull request: a headline, what moved, and
// all else folded.
func (r *Report) markdown(w io.Writer, o WriteOptions) error {
	text, err := r.fitting(o)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing a comparison: %w", err)
	}
	return nil
}

// comment is a comment in the making.
type comment struct {
	*Report
	WriteOptions
	room
	b bytes.Buffer
	n notes
	// folds counts the folded tables met, left names those there was no room for.
	folds int
	left  []string
}

// comment writes r with what there is room for.
func (r *Report) comment(o WriteOptions, room room) (*comment, string, error) {
	c := &comment{Report: r, WriteOptions: o, room: room}
	var err error
	if only := r.only(o); only != nil {
		err = c.single(only)
	} else {
		err = c.several()
	}
	if err != nil {
		return nil, "", err
	}
	if len(c.left) > 0 {
		fmt.Fprintf(&c.b, "\n%s\n", escape(c.leftOut()))
	}
	fmt.Fprint(&c.b, "\n<sub>\n\n")
	for i, text := range slices.Concat(c.n.lines(), printables(r.Notes), r.legend()) {
		if i > 0 {
			c.b.WriteString("<br>\n")
		}
		c.b.WriteString(escape(text))
	}
	fmt.Fprint(&c.b, "\n\n</sub>\n")
	return c, inert(c.b.String()), nil
}

// only returns the comparison to write alone: the only one there is, or the only
// one with anything to show.
func (r *Report) only(o WriteOptions) *Comparison {
	var only *Comparison
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		switch {
		case r.uneventful(c) && !o.All && len(r.Comparisons) > 1:
		case only != nil:
			return nil
		default:
			only = c
		}
	}
	return only
}

// emphasis stands in for the marks of bold text while a text is escaped.
const emphasis = "\x00"

func (r *Report) bold(c *Comparison) string {
	return strings.ReplaceAll(escape(r.headline(c, emphasis)), emphasis, "**")
}

// single writes the only comparison: the metrics that moved, and below the fold
// those that did not move or are parts of others.
func (w *comment) single(c *Comparison) error {
	if c.Cell != "" && len(w.Comparisons) > 1 {
		fmt.Fprintf(&w.b, "%s: ", escape(document.Printable(c.Cell)))
	}
	fmt.Fprintf(&w.b, "%s%s\n", w.bold(c), marks(w.n.mark(c.Notes)))
	var moved, rest []Figure
	for _, f := range w.shown(c, w.WriteOptions) {
		if w.Chosen || f.moved() {
			moved = append(moved, f)
		} else {
			rest = append(rest, f)
		}
	}
	if err := w.grid(c, moved); err != nil {
		return err
	}
	if err := w.folded(document.Count(len(rest), "more metric"), c, rest); err != nil {
		return err
	}
	w.beside(c)
	return nil
}

// maxBeside is how many comparisons without a difference are named.
const maxBeside = 20

// beside names the other comparisons, in which nothing differs.
func (w *comment) beside(c *Comparison) {
	var list []string
	what, more := "", 0
	for i := range w.Comparisons {
		x := &w.Comparisons[i]
		if x == c {
			continue
		}
		if len(list) == maxBeside {
			more++
			continue
		}
		if what == "" || x.lacks() {
			what = w.sameIn(x)
		}
		list = append(list, w.name(x)+marks(w.n.mark(x.Notes)))
	}
	if len(list) == 0 {
		return
	}
	text := strings.Join(list, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	fmt.Fprintf(&w.b, "\n%s\n", escape(fmt.Sprintf("No difference in %s: %s.", what, text)))
}

// moved reports whether a figure belongs above the fold: it differs on these
// sessions and is of the run table, or something can be said of others and it is
// no part of another.
func (f *Figure) moved() bool {
	if !f.Changed() {
		return false
	}
	return f.Summary || f.Verdict > Unknown && f.Metric.Of == "" && f.Metric.Group == ""
}

// several writes the cost of every comparison and below the fold what moved in
// each.
func (w *comment) several() error {
	changed := 0
	for i := range w.Comparisons {
		if w.Comparisons[i].Changed() {
			changed++
		}
	}
	noun := "comparison"
	if len(w.Labels) == 2 {
		noun = "cell"
	}
	lead := fmt.Sprintf("%s → %s: %d of %s differ.", w.Labels[0], listed(w.Labels[1:]), changed, document.Count(len(w.Comparisons), noun))
	fmt.Fprintf(&w.b, "**%s**%s\n\n", escape(document.Printable(lead)), w.dearest())
	if err := w.overview().Write(&w.b, "markdown"); err != nil {
		return err
	}
	if more := len(w.Comparisons) - w.rows; more > 0 {
		fmt.Fprintf(&w.b, "\nand %s more.\n", document.Count(more, noun))
	}
	for i := range w.Comparisons {
		c := &w.Comparisons[i]
		if w.uneventful(c) && !w.All {
			continue
		}
		if err := w.folded(w.name(c), c, w.shown(c, w.WriteOptions)); err != nil {
			return err
		}
	}
	return nil
}

// name tells a comparison from the others: by its cell when there are but two
// sides.
func (r *Report) name(c *Comparison) string {
	if len(r.Labels) == 2 && c.Cell != "" {
		return document.Printable(c.Cell)
	}
	return c.title()
}

// dearest names the comparison whose cost moved most.
func (r *Report) dearest() string {
	var most *Comparison
	var size float64
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		f := c.Figure("cost_usd")
		if f == nil || !f.Relative.OK {
			continue
		}
		if v := max(f.Relative.Value, -f.Relative.Value); v > size {
			most, size = c, v
		}
	}
	if most == nil {
		return ""
	}
	return " Most in cost: " + escape(r.name(most)+", "+relative(most.Figure("cost_usd").Relative.Value)) + "."
}

// overview is a table with the cost of every comparison.
func (w *comment) overview() *document.Table {
	s := &document.Table{}
	before, after := "cost before", "cost after"
	if len(w.Labels) == 2 {
		before, after = "cost "+document.Printable(w.Labels[0]), "cost "+document.Printable(w.Labels[1])
	}
	for i, title := range []string{"cell", "sessions", before, after, "%", "other sessions, %", "verdict"} {
		s.Columns = append(s.Columns, document.Column{Name: title, Title: title, Right: i > 0 && i < 6})
	}
	for i := range min(w.rows, len(w.Comparisons)) {
		c := &w.Comparisons[i]
		row := []any{strings.TrimSpace(w.name(c) + " " + w.n.mark(c.Notes)), c.Sessions, "", "", "", "", ""}
		if f := c.Figure("cost_usd"); f != nil {
			fields := figureRow(f, &w.n)
			row[2], row[3], row[4], row[6] = fields[columnBase], fields[columnOther], fields[columnRelative], fields[columnVerdict]
			if v := f.RelativeInterval; v != nil {
				row[5] = strings.TrimSuffix(relative(v.Low), " %") + " … " + strings.TrimSuffix(relative(v.High), " %")
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// grid writes figures as a table, nothing for none.
func (w *comment) grid(c *Comparison, figures []Figure) error {
	if len(figures) == 0 {
		return nil
	}
	w.b.WriteByte('\n')
	return w.sheet(c, figures, &w.n).Write(&w.b, "markdown")
}

// folded writes figures below a summary that opens them, when there is room.
func (w *comment) folded(title string, c *Comparison, figures []Figure) error {
	if len(figures) == 0 {
		return nil
	}
	w.folds++
	if w.folds > w.tables {
		w.left = append(w.left, title)
		return nil
	}
	fmt.Fprintf(&w.b, "\n<details><summary>%s</summary>\n", escapeHTML(title))
	if err := w.grid(c, figures); err != nil {
		return err
	}
	w.b.WriteString("\n</details>\n")
	return nil
}

func marks(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// live matches what a forge makes a link of in any text: mentions, numbers of
// issues, addresses.
var live = regexp.MustCompile(`(?i)@|#|\bgh-|www\.|:/`)

// inert puts a character without width into these. Names of runs and sessions
// are of the recordings, and a comment must not ping anybody. Nothing this
// package writes itself is of such a form.
func inert(s string) string { return live.ReplaceAllString(s, "${0}\u200b") }

// escape keeps what Markdown and HTML would take for markup.
func escape(s string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "&", "&amp;", "~", `\~`,
	).Replace(s)
}

// escapeHTML is escape inside an element that holds no Markdown.
func escapeHTML(s string) string {
	return strings.NewReplacer("<", "&lt;", "&", "&amp;", ">", "&gt;").Replace(s)
}
