package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/results"
)

// minus is the sign of negative numbers in text for people.
const minus = "−"

// formatter returns how values of a unit are written for people. The values
// are those of one column, which share their number of decimals.
func formatter(unit string, values []float64) func(float64) string {
	switch unit {
	case results.UnitUSD:
		decimals := usdDecimals(values)
		return func(v float64) string { return usd(v, decimals) }
	case results.UnitTokens:
		return tokens
	case results.UnitRatio:
		return percent
	case results.UnitSeconds:
		return duration
	}
	return func(v float64) string { return Grouped(v, 0) }
}

// usdDecimals returns the decimals that tell amounts apart: cents, or
// hundredths of a cent when all are below a dollar.
func usdDecimals(values []float64) int {
	for _, v := range values {
		if math.Abs(v) >= 1 {
			return 2
		}
	}
	return 4
}

// usd formats an amount like $1,234.56.
func usd(v float64, decimals int) string {
	s := Grouped(math.Abs(v), decimals)
	if v < 0 && strings.ContainsAny(s, "123456789") {
		return minus + "$" + s
	}
	return "$" + s
}

// Grouped formats v with decimals and a comma between thousands.
func Grouped(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	var b strings.Builder
	if v < 0 {
		b.WriteString(minus)
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

// percent formats a ratio like 98.7 %.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

// points formats the difference of two shares in percentage points, like 0.4 pp.
func points(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " pp" }

// signedPercent formats a relative difference like +3.1 % or −0.0 %.
func signedPercent(v float64) string {
	sign := "+"
	if v < 0 {
		sign = minus
	}
	return sign + percent(math.Abs(v))
}

// tokens formats a number of tokens with up to three digits: 812, 9.9k, 167k,
// 1.24M, 18.0B.
func tokens(v float64) string {
	if math.Abs(v) < 999.5 {
		return Grouped(v, 0)
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
	return Grouped(v, decimals) + suffix
}

// duration formats seconds with the two largest units: 4.2 s, 42 s, 3 m 05 s,
// 1 h 02 m.
func duration(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = minus, -v
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
	return fmt.Sprintf("%s%s h %02d m", sign, Grouped(math.Floor(m/60), 0), int64(math.Mod(m, 60)))
}

// Printable makes text of recordings safe for a terminal and for one line:
// white space becomes a space, other control and invalid characters U+FFFD.
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

// CountOf writes a number of things: "1 session", "1,200 sessions".
func CountOf(n int, noun string) string { return document.Count(n, noun) }

// Superscript writes a positive number in raised digits.
func Superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var b strings.Builder
	for _, d := range strconv.Itoa(n) {
		b.WriteRune(digits[d-'0'])
	}
	return b.String()
}

// Formats returns the formats of reports.
func Formats() []string { return document.Formats() }
