package reports

import "strings"

// TextWidth is where text for a terminal is wrapped, in characters.
const TextWidth = 110

// Wrap breaks text at spaces into lines of at most width characters, except
// for words that are longer.
func Wrap(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for _, word := range strings.Split(text, " ") {
		size := len([]rune(word))
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
