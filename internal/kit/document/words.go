package document

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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
