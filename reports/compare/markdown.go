package compare

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/reports"
)

// markdown writes r as a comment on a pull request: a headline, what moved, and
// all else folded.
func (r *Report) markdown(w io.Writer, o WriteOptions) error {
	var b bytes.Buffer
	var n notes
	var err error
	if only := r.only(o); only != nil {
		err = r.single(&b, only, &n, o)
	} else {
		err = r.several(&b, &n, o)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(&b, "\n<sub>\n\n")
	for i, text := range slices.Concat(n.lines(), printables(r.Notes), r.legend()) {
		if i > 0 {
			b.WriteString("<br>\n")
		}
		b.WriteString(escape(text))
	}
	fmt.Fprint(&b, "\n\n</sub>\n")
	if _, err := io.WriteString(w, inert(b.String())); err != nil {
		return fmt.Errorf("writing a comparison: %w", err)
	}
	return nil
}

// only returns the comparison to write alone: the only one there is, or the only
// one in which anything differs.
func (r *Report) only(o WriteOptions) *Comparison {
	var only *Comparison
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		switch {
		case !c.Changed() && !o.All && len(r.Comparisons) > 1:
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
func (r *Report) single(b *bytes.Buffer, c *Comparison, n *notes, o WriteOptions) error {
	if c.Cell != "" && len(r.Comparisons) > 1 {
		fmt.Fprintf(b, "%s: ", escape(reports.Printable(c.Cell)))
	}
	fmt.Fprintf(b, "%s%s\n", r.bold(c), marks(n.mark(c.Notes)))
	var moved, rest []Figure
	for _, f := range r.shown(c, o) {
		if r.Chosen || f.moved() {
			moved = append(moved, f)
		} else {
			rest = append(rest, f)
		}
	}
	if err := r.grid(b, c, moved, n); err != nil {
		return err
	}
	if err := r.folded(b, reports.CountOf(len(rest), "more metric"), c, rest, n); err != nil {
		return err
	}
	if same := r.beside(c, n); same != "" {
		fmt.Fprintf(b, "\nNo difference in any metric: %s.\n", escape(same))
	}
	return nil
}

// beside names the other comparisons.
func (r *Report) beside(c *Comparison, n *notes) string {
	var list []string
	for i := range r.Comparisons {
		if x := &r.Comparisons[i]; x != c {
			list = append(list, r.name(x)+marks(n.mark(x.Notes)))
		}
	}
	return strings.Join(list, ", ")
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
func (r *Report) several(b *bytes.Buffer, n *notes, o WriteOptions) error {
	changed := 0
	for i := range r.Comparisons {
		if r.Comparisons[i].Changed() {
			changed++
		}
	}
	noun := "comparison"
	if len(r.Labels) == 2 {
		noun = "cell"
	}
	lead := fmt.Sprintf("%s → %s: %d of %s differ.", r.Labels[0], strings.Join(r.Labels[1:], ", "), changed, reports.CountOf(len(r.Comparisons), noun))
	fmt.Fprintf(b, "**%s**%s\n\n", escape(reports.Printable(lead)), r.dearest())
	if err := r.overview(n).Write(b, "markdown"); err != nil {
		return err
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if !c.Changed() && !o.All {
			continue
		}
		if err := r.folded(b, r.name(c), c, r.shown(c, o), n); err != nil {
			return err
		}
	}
	return nil
}

// name tells a comparison from the others: by its cell when there are but two
// sides.
func (r *Report) name(c *Comparison) string {
	if len(r.Labels) == 2 && c.Cell != "" {
		return reports.Printable(c.Cell)
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
func (r *Report) overview(n *notes) *reports.Sheet {
	s := &reports.Sheet{}
	before, after := "cost before", "cost after"
	if len(r.Labels) == 2 {
		before, after = "cost "+reports.Printable(r.Labels[0]), "cost "+reports.Printable(r.Labels[1])
	}
	for i, title := range []string{"cell", "sessions", before, after, "%", "other sessions", "verdict"} {
		s.Columns = append(s.Columns, reports.SheetColumn{Name: title, Title: title, Right: i > 0 && i < 6})
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		row := []any{strings.TrimSpace(r.name(c) + " " + n.mark(c.Notes)), c.Sessions, "", "", "", "", ""}
		if f := c.Figure("cost_usd"); f != nil {
			fields := figureRow(f, n)
			row[2], row[3], row[4], row[6] = fields[1], fields[2], fields[4], fields[9]
			if f.RelativeInterval != nil {
				row[5] = relative(f.RelativeInterval.Low) + " … " + relative(f.RelativeInterval.High)
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// grid writes figures as a table, nothing for none.
func (r *Report) grid(b *bytes.Buffer, c *Comparison, figures []Figure, n *notes) error {
	if len(figures) == 0 {
		return nil
	}
	b.WriteByte('\n')
	return r.sheet(c, figures, n).Write(b, "markdown")
}

// folded writes figures below a summary that opens them.
func (r *Report) folded(b *bytes.Buffer, title string, c *Comparison, figures []Figure, n *notes) error {
	if len(figures) == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n", escapeHTML(title))
	if err := r.grid(b, c, figures, n); err != nil {
		return err
	}
	b.WriteString("\n</details>\n")
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
