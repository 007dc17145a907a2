package check

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
)

// Annotate writes a workflow command of GitHub for everything that fails, which
// shows it at its line. file is the check file as the repository has it.
func (r *Report) Annotate(w io.Writer, file string) error {
	var b bytes.Buffer
	for _, f := range r.harmless().failures() {
		text := f.message
		if f.look != "" {
			text += "\n" + f.look
		}
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", property(file), max(1, f.line), property(f.title), data(text))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing annotations: %w", err)
	}
	return nil
}

// data escapes the text of a workflow command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property escapes a property of a workflow command.
func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// Summary writes the report as Markdown, for the page of a workflow run.
func (r *Report) Summary(w io.Writer) error {
	r = r.harmless()
	var b bytes.Buffer
	mark := "✅"
	if !r.OK {
		mark = "❌"
	}
	fmt.Fprintf(&b, "### %s sim check: %s\n\n`%s`, %s, %s\n\n", mark, r.Verdict(), r.File, document.Count(r.Sessions, "session"), document.Count(r.Calls, "call"))
	if len(r.Results) > 0 {
		if err := r.sheet().Write(&b, "markdown"); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	for _, f := range r.failures() {
		fmt.Fprintf(&b, "- **%s** %s\n", markdown(strings.TrimSpace(r.at(f.line))), markdown(f.message))
		if f.look != "" {
			fmt.Fprintf(&b, "  - look: %s\n", markdown(f.look))
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", markdown(n))
	}
	b.WriteByte('\n')
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the summary of a check: %w", err)
	}
	return nil
}

// markdown keeps text from being read as markup.
func markdown(s string) string {
	return strings.NewReplacer("\\", "\\\\", "<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "\r", " ", "\n", " ").Replace(s)
}
