package compare

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// Both values and their difference stand in one magnitude, with the decimals
// that show the difference.
func TestScale(t *testing.T) {
	for _, tc := range []struct {
		unit            string
		value, diff     float64
		text, signed    string
		negative, ratio string
	}{
		{results.UnitUSD, 273.5, -25.73, "$273.50", "+$25.73", "−$25.73", "+9.4 %"},
		{results.UnitUSD, 1234.5, 0.0012, "$1,234.5000", "+$0.0012", "−$0.0012", "+0.0001 %"},
		{results.UnitTokens, 132_388, 42_904, "132,388", "+42,904", "−42,904", "+32.4 %"},
		{results.UnitTokens, 313_700_000, 53_100_000, "313.7M", "+53.1M", "−53.1M", "+16.9 %"},
		{results.UnitTokens, 9_046_000, 19_000, "9.046M", "+0.019M", "−0.019M", "+0.21 %"},
		{results.UnitTokens, 2_500_000_000, 300_000_000, "2.50B", "+0.30B", "−0.30B", "+12.0 %"},
		{results.UnitRatio, 0.9542, 0.0076, "95.42 %", "+0.76 pp", "−0.76 pp", "+0.80 %"},
		{results.UnitCount, 117, 22, "117", "+22", "−22", "+18.8 %"},
		{results.UnitCount, 11.5, 0.5, "11.5", "+0.5", "−0.5", "+4.3 %"},
		{results.UnitSeconds, 36, 4, "36.0 s", "+4.0 s", "−4.0 s", "+11.1 %"},
		{results.UnitSeconds, 2166, 1212, "36.1 min", "+20.2 min", "−20.2 min", "+56.0 %"},
	} {
		s := scaleOf(tc.unit, tc.value, tc.diff)
		d := max(tc.diff, -tc.diff)
		got := [4]string{s.text(tc.value), s.signed(d), s.signed(-d), relative(d / tc.value)}
		if want := [4]string{tc.text, tc.signed, tc.negative, tc.ratio}; got != want {
			t.Errorf("%v %s ± %v: %q, want %q", tc.value, tc.unit, tc.diff, got, want)
		}
	}
}

func TestPText(t *testing.T) {
	for p, want := range map[float64]string{0: "<0.001", 0.00099: "<0.001", 0.0123: "0.012", 0.9995: "1", 1: "1"} {
		if got := pText(p); got != want {
			t.Errorf("%v: %s, want %s", p, got, want)
		}
	}
}
