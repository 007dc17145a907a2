package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/compactsim/compactsim/internal/kit/numbers"
)

// The units of values for people.
const (
	UnitUSD     = "USD"
	UnitTokens  = "tokens"
	UnitRatio   = "ratio" // in [0, 1]
	UnitSeconds = "s"
	UnitRate    = "rate" // so many for each of a thing
)

// Dash stands for a missing value in a table.
const Dash = "–"

// Format returns the format of the values of one column for people: all with
// the same number of decimals.
func Format(unit string, values []float64) func(float64) string {
	switch unit {
	case UnitUSD:
		return Amounts(values...)
	case UnitTokens:
		return Tokens[float64]
	case UnitRatio:
		return Percent
	case UnitSeconds:
		return Seconds
	case UnitRate:
		return func(v float64) string { return numbers.Grouped(v, 2) }
	}
	return func(v float64) string { return numbers.Grouped(v, 0) }
}

// Amounts returns the format of amounts in USD: in cents, or in hundredths of a
// cent if all values are below a dollar.
func Amounts(values ...float64) func(float64) string {
	decimals := 4
	for _, v := range values {
		if math.Abs(v) >= 1 {
			decimals = 2
		}
	}
	return func(v float64) string { return USD(v, decimals) }
}

// USD formats an amount like $1,234.56.
func USD(v float64, decimals int) string {
	s := numbers.Grouped(math.Abs(v), decimals)
	if v < 0 && !zero(s) {
		return numbers.Minus + "$" + s
	}
	return "$" + s
}

// zero reports whether the text of a number has no digit but 0.
func zero(text string) bool { return !strings.ContainsAny(text, "123456789∞") }

// Number is a type that is formatted as a figure.
type Number interface{ int | int64 | float64 }

// Whole formats a number without decimals.
func Whole[T Number](v T) string { return numbers.Grouped(float64(v), 0) }

// Count formats a number of things: "1 session", "1,200 sessions".
func Count(n int, noun string) string { return numbers.Counted(n, noun, noun+"s") }

// blind is how many times a figure the smallest change that a sample shows may be: above it the sample shows nothing.
const blind = 10

// Detects shows as a text, or in words where it says nothing, the smallest change of a figure that a sample shows.
func Detects(text string, least, figure float64) Cell {
	if least > blind*figure {
		return Cell{Value: "nothing", Notes: []string{fmt.Sprintf("so few sessions, or so unlike, show no change below %d times the figure", blind)}}
	}
	return Cell{Value: text}
}

// And joins names as a sentence does: "a", "a and b", "a, b and c".
func And(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Sentence returns a text with a capital and a full stop.
func Sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// Percent formats a ratio like 98.7 %.
func Percent(v float64) string { return tenths(100*v) + " %" }

// Points formats the difference of two shares in percentage points, like 0.4 pp.
func Points(v float64) string { return tenths(100*v) + " pp" }

// tenths formats v with one decimal; zero has no sign.
func tenths(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', 1, 64)
	if v < 0 && s != "0.0" {
		return numbers.Minus + s
	}
	return s
}

// SignedPercent formats a relative difference like +3.1 % or −0.0 %.
func SignedPercent(v float64) string {
	if v < 0 {
		return numbers.Minus + Percent(-v)
	}
	return "+" + Percent(math.Abs(v))
}

// Signed formats a difference with its sign; "" for zero.
func Signed[T Number](v T, format func(T) string) string {
	switch {
	case v == 0:
		return ""
	case v > 0:
		return "+" + format(v)
	}
	return numbers.Minus + format(-v)
}

// Share formats a part of a whole in per cent, a dash if there is no whole.
func Share(part, whole float64) string {
	if whole == 0 {
		return Dash
	}
	return Percent(part / whole)
}

// Tokens formats a number of tokens with up to three digits: 812, 9.9k, 167k,
// 1.24M, 18.0B.
func Tokens[T Number](n T) string {
	v := float64(n)
	if math.Abs(v) < 999.5 {
		return numbers.Grouped(v, 0)
	}
	suffix := ""
	for _, s := range []string{"k", "M", "B", "T"} {
		v /= 1000
		suffix = s
		if math.Abs(v) < 999.5 {
			break
		}
	}
	decimals := 0
	switch a := math.Abs(v); {
	case a < 9.995 && suffix != "k":
		decimals = 2
	case a < 99.95 && suffix != "k", a < 9.95:
		decimals = 1
	}
	return numbers.Grouped(v, decimals) + suffix
}

// Seconds formats a time with its two largest units: 4.2 s, 42 s, 3 m 05 s, 1 h
// 02 m.
func Seconds(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = numbers.Minus, -v
	}
	switch {
	case v == 0:
		return "0 s"
	case v < 9.95:
		return sign + strconv.FormatFloat(v, 'f', 1, 64) + " s"
	case v < 59.5:
		return sign + strconv.FormatFloat(v, 'f', 0, 64) + " s"
	case v < 3599.5:
		s := int64(math.Round(v))
		return fmt.Sprintf("%s%d m %02d s", sign, s/60, s%60)
	}
	m := math.Round(v / 60)
	return fmt.Sprintf("%s%s h %02d m", sign, numbers.Grouped(math.Floor(m/60), 0), int64(math.Mod(m, 60)))
}

// Plain formats a number for machines, in full and without an exponent.
func Plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// superscript formats a positive number in raised digits.
func superscript(n int) string {
	return strings.Map(func(r rune) rune { return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[r-'0'] }, strconv.Itoa(n))
}

// leastID is the least number of characters of an id in a list: the first group
// of a UUID.
const leastID = 8

// Beginnings returns the shortest beginning of each id that is unique, but at
// least leastID characters. An id that is the beginning of another stays whole.
func Beginnings(ids []string) []string {
	order := slices.Sorted(slices.Values(ids))
	out := make([]string, len(ids))
	for i, id := range ids {
		at, _ := slices.BinarySearch(order, id)
		n := leastID
		if at > 0 {
			n = max(n, 1+common(order[at-1], id))
		}
		if at+1 < len(order) {
			n = max(n, 1+common(order[at+1], id))
		}
		out[i] = string([]rune(id)[:min(n, len([]rune(id)))])
	}
	return out
}

// ByBeginning returns the beginnings of ids by id.
func ByBeginning(ids []string) map[string]string {
	short := make(map[string]string, len(ids))
	for i, b := range Beginnings(ids) {
		short[ids[i]] = b
	}
	return short
}

// common returns the length of the common prefix of two texts, in characters.
func common(a, b string) int {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}

// Quoted quotes arguments for a shell.
func Quoted(args ...string) string {
	list := slices.Clone(args)
	for i, arg := range list {
		if arg == "" || strings.ContainsFunc(arg, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("'\"\\$&|;<>()*?[]{}`#~!^%", r)
		}) {
			list[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}

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

// TwoDigits returns how many decimals show two digits of v, within bounds; the least if no number of decimals does.
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
	s := ScaleOf(unit, max(math.Abs(a), math.Abs(b)), 11*(a-b)) // one digit of the difference, whatever rounding took away
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
	number := numbers.Grouped(size, s.decimals)
	switch {
	case math.IsInf(size, 0):
		number = "∞"
	case size >= huge:
		number = strconv.FormatFloat(size, 'g', 3, 64)
	}
	if v < 0 && !zero(number) {
		sign = numbers.Minus
	}
	return sign + s.prefix + number + suffix
}
