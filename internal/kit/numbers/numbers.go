// Package numbers writes numbers as all texts for people have them: with a comma between thousands, and with the word for one thing or
// for more.
package numbers

import (
	"math"
	"strconv"
	"strings"
)

// Minus is the sign of negative numbers in text for people.
const Minus = "−"

// Grouped formats v with decimals and a comma between thousands.
func Grouped(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	var b strings.Builder
	if v < 0 {
		b.WriteString(Minus)
	}
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// Counted says how many things there are: with the words for one, or with a number before the words for more.
func Counted[N int | int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(float64(n), 0) + " " + more
}
