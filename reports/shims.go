package reports

import (
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/studies"
)

func differenceText(d *studies.Difference, decimals int) string {
	return differenceIn(d, func(v float64) string { return document.USD(v, decimals) })
}

func signed(v float64, format func(float64) string) string { return document.Signed(v, format) }

// errorShare writes a share; an empty set has none.
func errorShare(x *float64, signed bool) string {
	if x == nil {
		return document.Dash
	}
	text := strconv.FormatFloat(100**x, 'f', 2, 64) + " %"
	if signed && *x >= 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", document.Minus, 1)
}
