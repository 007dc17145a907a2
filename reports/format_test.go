package reports

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

func TestFormat(t *testing.T) {
	for _, test := range []struct {
		unit  string
		value float64
		want  string
	}{
		{results.UnitUSD, 1234.56, "$1,234.56"},
		{results.UnitUSD, 1234567.891, "$1,234,567.89"},
		{results.UnitUSD, 0.00031, "$0.0003"}, // hundredths of a cent when all are below $1
		{results.UnitUSD, 0, "$0.0000"},
		{results.UnitUSD, -5, "−$5.00"},
		{results.UnitUSD, -0.00001, "$0.0000"},
		{results.UnitRatio, 0.98749, "98.7 %"},
		{results.UnitRatio, 1, "100.0 %"},
		{results.UnitTokens, 0, "0"},
		{results.UnitTokens, 999, "999"},
		{results.UnitTokens, 1000, "1.0k"},
		{results.UnitTokens, 9_949, "9.9k"},
		{results.UnitTokens, 9_951, "10k"},
		{results.UnitTokens, 166_999, "167k"},
		{results.UnitTokens, 999_499, "999k"},
		{results.UnitTokens, 999_500, "1.00M"},
		{results.UnitTokens, 12_340_000, "12.3M"},
		{results.UnitTokens, 1_500_000_000, "1.50B"},
		{results.UnitCalls, 3447, "3,447"},
		{results.UnitCount, 12, "12"},
		{results.UnitSeconds, 0, "0 s"},
		{results.UnitSeconds, 4.23, "4.2 s"},
		{results.UnitSeconds, 9.96, "10 s"},
		{results.UnitSeconds, 59.4, "59 s"},
		{results.UnitSeconds, 59.6, "1 m 00 s"},
		{results.UnitSeconds, 185, "3 m 05 s"},
		{results.UnitSeconds, 3599.6, "1 h 00 m"},
		{results.UnitSeconds, 3725, "1 h 02 m"},
		{results.UnitSeconds, 3.6e6, "1,000 h 00 m"},
	} {
		if got := formatter(test.unit, []float64{test.value})(test.value); got != test.want {
			t.Errorf("%v %s = %q, want %q", test.value, test.unit, got, test.want)
		}
	}
}

func TestSignedPercent(t *testing.T) {
	for v, want := range map[float64]string{0: "+0.0 %", -0.0001: "−0.0 %", 0.0312: "+3.1 %", -0.5: "−50.0 %"} {
		if got := signedPercent(v); got != want {
			t.Errorf("signedPercent(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestSuperscript(t *testing.T) {
	for n, want := range map[int]string{1: "¹", 9: "⁹", 10: "¹⁰", 245: "²⁴⁵"} {
		if got := Superscript(n); got != want {
			t.Errorf("Superscript(%d) = %q, want %q", n, got, want)
		}
	}
}
