package compare

import (
	"math"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/results"
)

// scale is how the figures of one metric are written: all in one magnitude, with
// the decimals that show their difference.
type scale struct {
	divide         float64
	prefix, suffix string
	change         string // suffix of a difference, where it is another one
	decimals       int
}

func (f *Figure) scale() scale {
	return scaleOf(f.Metric.Unit, max(math.Abs(f.Base.Value), math.Abs(f.Other.Value)), f.Difference)
}

// scaleOf returns the scale of a unit for values up to largest that differ by
// diff.
func scaleOf(unit string, largest, diff float64) scale {
	s := scale{divide: 1}
	least, most := 0, 4
	switch unit {
	case results.UnitUSD:
		s.prefix, least, most = "$", 2, 6
	case results.UnitRatio:
		s.divide, s.suffix, s.change, least = 0.01, " %", " pp", 1
	case results.UnitSeconds:
		s.suffix, least, most = " s", 1, 2
		switch {
		case largest >= 6000:
			s.divide, s.suffix = 3600, " h"
		case largest >= 600:
			s.divide, s.suffix = 60, " min"
		}
	case results.UnitTokens:
		for i, suffix := range []string{"M", "B", "T"} {
			if divide := 1e6 * math.Pow(1000, float64(i)); largest >= 0.9995*divide {
				s.divide, s.suffix, least = divide, suffix, 1
			}
		}
	default:
		most = 1
	}
	if s.change == "" {
		s.change = s.suffix
	}
	s.decimals = decimals(diff/s.divide, least, most)
	if s.divide == 1 && unit == results.UnitTokens {
		s.decimals = 0
	}
	if unit == results.UnitCount || unit == results.UnitCalls {
		s.decimals = 0
		if diff != math.Trunc(diff) || largest != math.Trunc(largest) {
			s.decimals = 1
		}
	}
	return s
}

// decimals returns how many show two digits of v, within bounds.
func decimals(v float64, least, most int) int {
	if v == 0 {
		return least
	}
	return min(max(1-int(math.Floor(math.Log10(math.Abs(v)))), least), most)
}

func (s scale) text(v float64) string { return s.write(v, "", s.suffix) }

// signed writes a difference.
func (s scale) signed(v float64) string { return s.write(v, plus(v), s.change) }

// bare writes a difference without its unit, for beside one that has it.
func (s scale) bare(v float64) string {
	s.prefix = ""
	return s.write(v, plus(v), "")
}

func plus(v float64) string {
	if v == 0 {
		return ""
	}
	return "+"
}

func (s scale) write(v float64, sign, suffix string) string {
	number := document.Grouped(math.Abs(v)/s.divide, s.decimals)
	if v < 0 && strings.ContainsAny(number, "123456789") {
		sign = document.Minus
	}
	return sign + s.prefix + number + suffix
}

// relative writes a relative difference with two digits at least, like +3.1 %
// or −0.042 %.
func relative(v float64) string {
	sign := "+"
	if v < 0 {
		sign = document.Minus
	}
	return sign + percentage(v)
}

// percentage writes the size of a fraction in per cent.
func percentage(v float64) string {
	return document.Grouped(100*math.Abs(v), decimals(100*v, 1, 4)) + " %"
}

// pText writes a p-value.
func pText(p float64) string {
	switch {
	case p < 0.001:
		return "<0.001"
	case p > 0.999:
		return "1"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// effectText writes an effect size in [−1, 1].
func effectText(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	if v < 0 {
		return document.Minus + text
	}
	return "+" + text
}
