package main

import (
	"math"
	"unicode/utf8"
)

// pieces splits a text as tokenizers of subwords do, without their dictionaries: a short word with the space before it is
// one piece, a long one more, so are a capital amid a word, three digits, and runs of one sign. It calls yield with the end
// of each piece, a byte offset.
func pieces(text string, yield func(end int)) {
	for i := 0; i < len(text); {
		start := i
		if text[i] == ' ' && i+1 < len(text) && isLetter(text[i+1]) {
			i++
		}
		switch c := text[i]; {
		case isLetter(c):
			i++
			for i < len(text) && text[i] >= 'a' && text[i] <= 'z' && i-start < 7 {
				i++
			}
		case c >= '0' && c <= '9':
			for i < len(text) && text[i] >= '0' && text[i] <= '9' && i-start < 3 {
				i++
			}
		case c >= utf8.RuneSelf:
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
		default:
			for i < len(text) && text[i] == c && i-start < 8 {
				i++
			}
		}
		yield(i)
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// tokens returns the tokens of a text at a density (tokens for each piece).
func tokens(text string, density float64) int {
	n := 0
	pieces(text, func(int) { n++ })
	return int(math.Round(float64(n) * density))
}
