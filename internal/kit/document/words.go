package document

import (
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
func Shortened(text string, size int) string {
	r := []rune(text)
	if len(r) <= size {
		return text
	}
	return string(r[:size/2]) + "…" + string(r[len(r)-max(0, size-size/2-1):])
}

// broken breaks a text of a table into lines of at most size characters: at spaces, after the underscores of a name and,
// in a word of more than wholeWord characters, anywhere. What continues a word is indented.
func broken(text string, size int) []string {
	lines := []string{""}
	for i, word := range strings.Split(text, " ") {
		gap := " "[:min(i, 1)]
		for _, part := range strings.SplitAfter(word, "_") {
			for chunk := range slices.Chunk([]rune(part), max(size-1, wholeWord)) {
				last := len(lines) - 1
				if longer := lines[last] + gap + string(chunk); lines[last] == "" || runes(longer) <= size {
					lines[last] = longer
				} else {
					lines = append(lines, " "[len(gap):]+string(chunk))
				}
				gap = ""
			}
		}
	}
	return lines
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
