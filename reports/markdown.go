package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/compactsim/compactsim/sim/results"
)

// Markdown writes run as GitHub-flavoured Markdown with the content of Table.
func Markdown(w io.Writer, run *results.Run, o Options) error {
	p := newPage(run, o)
	var b bytes.Buffer
	for i, line := range p.head {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintln(&b, escapeMarkdown(line))
	}
	for _, g := range p.grids {
		fmt.Fprintln(&b)
		if g.title != "" {
			fmt.Fprintf(&b, "**%s**\n\n", g.title)
		}
		padding := tw.Padding{Left: " ", Right: " ", Overwrite: true}
		if err := render(&b, renderer.NewMarkdown(), padding, g, escapeMarkdown); err != nil {
			return fmt.Errorf("laying out a Markdown table: %w", err)
		}
	}
	for _, note := range p.notes {
		fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(note))
	}
	fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(p.trust))
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing Markdown: %w", err)
	}
	return nil
}

// escapeMarkdown keeps what Markdown and HTML would take for markup: names come
// from recordings and configurations.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "&", "&amp;", "~", `\~`,
	).Replace(s)
}
