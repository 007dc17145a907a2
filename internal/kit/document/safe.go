package document

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Text of recordings may contain anything. Here it is made harmless for its
// readers: a terminal, the runner of a CI job, Markdown, a spreadsheet.

// Printable makes text of recordings safe for one line of a terminal: white
// space becomes a space, other control and invalid characters become U+FFFD.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Runners of CI jobs execute lines of a job's output that begin with "::" or
// contain "##[" or "##word[".
var (
	beginsCommand = regexp.MustCompile(`(?m)^(\s*)::`)
	beginsFormula = regexp.MustCompile(`^\s*([=+@-]|::)`)
	holdsCommand  = regexp.MustCompile(`##(\w*)\[`)
)

// Inert makes lines of printable text safe for the runner of a CI job.
func Inert(b []byte) []byte {
	if !bytes.Contains(b, []byte("::")) && !bytes.Contains(b, []byte("##")) {
		return b
	}
	return holdsCommand.ReplaceAll(beginsCommand.ReplaceAll(b, []byte("$1·::")), []byte("# #$1["))
}

// inertJSON makes JSON safe for a terminal and the runner of a CI job: it escapes what these would
// act on with \u. Such characters occur only in strings, so values stay the same.
func inertJSON(b []byte) []byte {
	harmless := func(r rune) bool { return r == '\n' || unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if bytes.IndexFunc(b, func(r rune) bool { return !harmless(r) }) < 0 && !bytes.Contains(b, []byte("##")) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case harmless(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return holdsCommand.ReplaceAll(out.Bytes(), []byte(`#\u0023$1[`))
}

// Field makes text safe for a field of CSV: printable, no formula of a
// spreadsheet (= + - and @ begin one), and no command of a CI job. A text that
// would be one gets a ' in front, which spreadsheets take as the mark of text.
func Field(s string) string {
	s = holdsCommand.ReplaceAllString(Printable(s), "# #$1[")
	if _, err := strconv.ParseFloat(s, 64); err == nil || !beginsFormula.MatchString(s) {
		return s
	}
	return "'" + s
}

// markup escapes what Markdown and HTML would take for markup.
var markup = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "<", "&lt;", "&", "&amp;", "~", `\~`,
)

// escapeLine makes text safe for one line of Markdown.
func escapeLine(s string) string { return markup.Replace(Printable(s)) }
