package document

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Flowed breaks the paragraphs of text, separated by empty lines, into lines of
// at most width characters. Lines that begin with a space stay unchanged.
func Flowed(text string, width int) string {
	var lines []string
	open := false // the last line continues
	for _, line := range strings.Split(text, "\n") {
		whole := line == "" || line[0] == ' '
		if open && !whole {
			last := len(lines) - 1
			lines = append(lines[:last], wrapText(lines[last]+" "+line, width)...)
		} else if whole {
			lines = append(lines, line)
		} else {
			lines = append(lines, wrapText(line, width)...)
		}
		open = !whole
	}
	return strings.Join(lines, "\n")
}

// wrapText breaks text at spaces into lines of at most width characters, except for
// words that are longer.
func wrapText(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for _, word := range strings.Split(text, " ") {
		size := runes(word)
		if n > 0 && n+1+size > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+size
	}
	return append(lines, line)
}

// Shortened cuts the middle of a text longer than size characters.
func Shortened(text string, size int) string { return cut(text, size, size/2, "…") }

// cut replaces the middle of a text longer than size characters by a mark; head
// characters precede it.
func cut(text string, size, head int, mark string) string {
	r := []rune(text)
	if len(r) <= size {
		return text
	}
	tail := max(0, size-head-runes(mark))
	return string(r[:head]) + mark + string(r[len(r)-tail:])
}

// distinct returns names of at most size characters: longer ones lose their
// middle. They keep a third of the room before it or, where names would become
// equal, as much as distinguishes them. Names that still do not differ are
// numbered.
func distinct(names []string, size int) map[string]string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	heads := []int{size / 3}
	for head := 1; head < size-1; head++ {
		heads = append(heads, head)
	}
	for _, head := range heads {
		short, taken := map[string]string{}, map[string]bool{}
		for _, name := range names {
			short[name] = cut(name, size, head, "…")
			taken[short[name]] = true
		}
		if len(taken) == len(names) {
			return short
		}
	}
	short := map[string]string{}
	for i, name := range names {
		short[name] = cut(name, size, size/3, fmt.Sprintf("…%d…", i+1))
	}
	return short
}

// brokenName breaks a name after its underscores into lines of at most size
// characters, with all but the first indented.
func brokenName(name string, size int) []string {
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(name, "_") {
		if strings.TrimSpace(line) != "" && runes(line+part) > size {
			lines, line = append(lines, line), " "
		}
		line += part
	}
	return append(lines, line)
}

func runes(s string) int { return len([]rune(s)) }

// Parts of a text that only a terminal can follow: a phrase around a command in backticks, a clause that begins with a flag or a
// command, a parenthesis with a flag; and a last sentence that is a command.
var (
	asides = regexp.MustCompile("(?:, )?[A-Za-z ]*`[^`]*`(?: shows \\S+)?" + `|[;:] (?:--?[a-z][a-z-]*|sim [a-z]+)\b[^;.]*| ?\(--?[a-z][^)]*\)`)
	advice = regexp.MustCompile(`(^|\. )[A-Z][a-z ]*: sim [a-z]+ .*$`)
)

// offTerminal returns a text without them.
func offTerminal(text string) string {
	return strings.TrimSpace(asides.ReplaceAllString(advice.ReplaceAllString(text, "$1"), ""))
}

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

// Argument returns text as one argument of a printed command, quoted for a shell where that is needed: names and paths come from
// recordings. One that would be read as a flag begins with ./, as the path that it is.
func Argument(s string) string {
	if strings.HasPrefix(s, "-") && s != "-" {
		s = "./" + s
	}
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+:@,~", r)
	}
	if s != "" && s[0] != '~' && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
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

// escapeLine makes text safe for one line of Markdown, in which nothing is a link or a mention.
func escapeLine(s string) string { return unlink(markup.Replace(Printable(s))) }
