package document

import (
	"math"
	"testing"
)

// Both values and their difference stand in one magnitude, with the decimals
// that show the difference.
func TestScale(t *testing.T) {
	for _, tc := range []struct {
		unit         string
		value, diff  float64
		text, signed string
		negative     string
	}{
		{UnitUSD, 273.5, -25.73, "$273.50", "+$25.73", "−$25.73"},
		{UnitUSD, 1234.5, 0.0012, "$1,234.5000", "+$0.0012", "−$0.0012"},
		{UnitTokens, 132_388, 42_904, "132,388", "+42,904", "−42,904"},
		{UnitTokens, 313_700_000, 53_100_000, "313.7M", "+53.1M", "−53.1M"},
		{UnitTokens, 9_046_000, 19_000, "9.046M", "+0.019M", "−0.019M"},
		{UnitTokens, 2_500_000_000, 300_000_000, "2.50B", "+0.30B", "−0.30B"},
		{UnitRatio, 0.9542, 0.0076, "95.42 %", "+0.76 pp", "−0.76 pp"},
		{"", 117, 22, "117", "+22", "−22"},
		{"", 11.5, 0.5, "11.5", "+0.5", "−0.5"},
		{UnitSeconds, 36, 4, "36.0 s", "+4.0 s", "−4.0 s"},
		{UnitSeconds, 2166, 1212, "36.1 min", "+20.2 min", "−20.2 min"},
	} {
		s := ScaleOf(tc.unit, tc.value, tc.diff)
		d := max(tc.diff, -tc.diff)
		got := [3]string{s.Text(tc.value), s.Signed(d), s.Signed(-d)}
		if want := [3]string{tc.text, tc.signed, tc.negative}; got != want {
			t.Errorf("%v %s ± %v: %q, want %q", tc.value, tc.unit, tc.diff, got, want)
		}
	}
}

// A figure alone has three digits, a difference two; large ones have a power of ten. Different figures differ
// as texts.
func TestFigures(t *testing.T) {
	for _, tc := range []struct {
		unit         string
		v            float64
		text, change string
	}{
		{UnitUSD, 1234.5, "$1,234.50", "$1,234.50"},
		{UnitUSD, 0.0365, "$0.0365", "$0.036"},
		{UnitUSD, 1e-30, "$0.00", "$0.00"},
		{UnitUSD, 1e300, "$1e+300", "$1e+300"},
		{UnitUSD, -1.5e20, "−$1.5e+20", "−$1.5e+20"},
		{UnitUSD, math.Inf(1), "$∞", "$∞"},
		{UnitSeconds, math.Inf(-1), "−∞ h", "−∞ h"},
		{UnitRatio, 0.9459, "94.6 %", "94.6 pp"},
		{UnitRatio, -0.05, "−5.00 %", "−5.0 pp"},
		{UnitRatio, 0.00001, "0.0010 %", "0.0010 pp"},
		{UnitRate, 1.0234, "1.02", "1.02"},
		{UnitTokens, 999_999, "1.000M", "1.00M"},
		{"", -423, "−423", "−423"},
	} {
		text, change := ScaleFor(tc.unit, tc.v).Text(tc.v), ScaleOf(tc.unit, math.Abs(tc.v), tc.v).Change(tc.v)
		if text != tc.text || change != tc.change {
			t.Errorf("%v of %s: %q and %q, want %q and %q", tc.v, tc.unit, text, change, tc.text, tc.change)
		}
	}
}

// Figures that differ are told apart, and equal ones are not drawn out.
func TestApart(t *testing.T) {
	for _, tc := range []struct {
		unit string
		a, b float64
		want [2]string
	}{
		{UnitUSD, 153.4501, 153.4502, [2]string{"$153.4501", "$153.4502"}},
		{UnitUSD, 4, 3.5, [2]string{"$4.00", "$3.50"}},
		{UnitUSD, 153.45, 153.45, [2]string{"$153.45", "$153.45"}},
		{UnitRatio, 0.92001, 0.92, [2]string{"92.001 %", "92.000 %"}},
		{UnitSeconds, 1.04, 1.01, [2]string{"1.04 s", "1.01 s"}},
		{UnitTokens, 1000.2, 1000.4, [2]string{"1,000.2", "1,000.4"}},
		{UnitTokens, 1e6, 1e6 + 1, [2]string{"1.000000M", "1.000001M"}},
	} {
		if a, b := Apart(tc.unit, tc.a, tc.b); [2]string{a, b} != tc.want {
			t.Errorf("%v and %v of %s: %q, %q, want %q", tc.a, tc.b, tc.unit, a, b, tc.want)
		}
	}
}
