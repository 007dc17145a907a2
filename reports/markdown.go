package reports

import "strings"

// escapeMarkdown keeps what Markdown and HTML would take for markup: names come
// from recordings and configurations.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "&", "&amp;", "~", `\~`,
	).Replace(s)
}
