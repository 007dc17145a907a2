package document

import (
	"math"
	"strconv"
)

// Scale is the format of the values of one unit: in one magnitude, with enough decimals to show a
// difference between them.
type Scale struct {
	divide         float64
	prefix, suffix string
	change         string // suffix of a difference
	decimals       int
}

// ScaleOf returns the scale of a unit for values up to largest that differ by difference. Units that are
// not among Unit… are counts.
func ScaleOf(unit string, largest, difference float64) Scale {
	s := Scale{divide: 1}
	least, most := 0, 4
	switch unit {
	case UnitUSD:
		s.prefix, least, most = "$", 2, 6
	case UnitRatio:
		s.divide, s.suffix, least = 0.01, " %", 1
	case UnitSeconds:
		s.suffix, least, most = " s", 1, 2
		switch {
		case largest >= 6000:
			s.divide, s.suffix = 3600, " h"
		case largest >= 600:
			s.divide, s.suffix = 60, " min"
		}
	case UnitTokens:
		for i, suffix := range []string{"M", "B", "T"} {
			if divide := 1e6 * math.Pow(1000, float64(i)); largest >= 0.9995*divide {
				s.divide, s.suffix, least = divide, suffix, 1
			}
		}
		if s.divide == 1 {
			most = 0
		}
	case UnitRate:
		least = 2
	default:
		if most = 0; difference != math.Trunc(difference) || largest != math.Trunc(largest) {
			least, most = 1, 1
		}
	}
	if s.change = s.suffix; unit == UnitRatio {
		s.change = " pp"
	}
	s.decimals = TwoDigits(difference/s.divide, least, most)
	return s
}

// ScaleFor returns the scale of one value, with three digits.
func ScaleFor(unit string, v float64) Scale {
	tenth := v / 10
	if v == math.Trunc(v) { // whole numbers stay whole
		tenth = math.Trunc(tenth)
	}
	return ScaleOf(unit, math.Abs(v), tenth)
}

// TwoDigits returns how many decimals show two digits of v, within bounds; the least if no number of them does.
func TwoDigits(v float64, least, most int) int {
	if v = math.Abs(v); v < math.Pow10(-most)/2 {
		return least
	}
	return min(max(1-int(math.Floor(math.Log10(v))), least), most)
}

// Text formats a value.
func (s Scale) Text(v float64) string { return s.write(v, "", s.suffix) }

// maxDecimals is the largest number of decimals added to distinguish two values. Values that differ by less
// than the rounding of different machines are not distinguished.
const maxDecimals = 12

// Apart formats two values of a unit, with so many decimals that different ones differ.
func Apart(unit string, a, b float64) (string, string) {
	s := ScaleOf(unit, max(math.Abs(a), math.Abs(b)), 11*(a-b)) // one digit of the difference, whatever rounding took of it
	for s.Text(a) == s.Text(b) && a != b && s.decimals < maxDecimals {
		s.decimals++
	}
	return s.Text(a), s.Text(b)
}

// Change formats a difference without a plus sign.
func (s Scale) Change(v float64) string { return s.write(v, "", s.change) }

// Signed formats a difference.
func (s Scale) Signed(v float64) string { return s.write(v, plus(v), s.change) }

// Bare formats a difference without its unit, for use beside one with it.
func (s Scale) Bare(v float64) string {
	s.prefix = ""
	return s.write(v, plus(v), "")
}

func plus(v float64) string {
	if v == 0 {
		return ""
	}
	return "+"
}

// huge is the least number that is written with a power of ten.
const huge = 1e15

func (s Scale) write(v float64, sign, suffix string) string {
	size := math.Abs(v) / s.divide
	number := Grouped(size, s.decimals)
	switch {
	case math.IsInf(size, 0):
		number = "∞"
	case size >= huge:
		number = strconv.FormatFloat(size, 'g', 3, 64)
	}
	if v < 0 && !zero(number) {
		sign = Minus
	}
	return sign + s.prefix + number + suffix
}
