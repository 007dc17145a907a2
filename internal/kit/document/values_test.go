package document

import (
	"testing"
)

func TestFormat(t *testing.T) {
	for _, test := range []struct {
		unit  string
		value float64
		want  string
	}{
		{UnitUSD, 1234.56, "$1,234.56"},
		{UnitUSD, 1234567.891, "$1,234,567.89"},
		{UnitUSD, 0.00031, "$0.0003"}, // hundredths of a cent when all are below $1
		{UnitUSD, 0, "$0.0000"},
		{UnitUSD, -5, "−$5.00"},
		{UnitUSD, -0.00001, "$0.0000"},
		{UnitRatio, 0.98749, "98.7 %"},
		{UnitRatio, 1, "100.0 %"},
		{UnitRatio, -0.0001, "0.0 %"},
		{UnitRatio, -0.5, "−50.0 %"},
		{UnitTokens, 0, "0"},
		{UnitTokens, 999, "999"},
		{UnitTokens, 1000, "1.0k"},
		{UnitTokens, 9_949, "9.9k"},
		{UnitTokens, 9_951, "10k"},
		{UnitTokens, 166_999, "167k"},
		{UnitTokens, 999_499, "999k"},
		{UnitTokens, 999_500, "1.00M"},
		{UnitTokens, 12_340_000, "12.3M"},
		{UnitTokens, 1_500_000_000, "1.50B"},
		{"calls", 3447, "3,447"},
		{"count", 12, "12"},
		{UnitSeconds, 0, "0 s"},
		{UnitSeconds, 4.23, "4.2 s"},
		{UnitSeconds, 9.96, "10 s"},
		{UnitSeconds, 59.4, "59 s"},
		{UnitSeconds, 59.6, "1 m 00 s"},
		{UnitSeconds, 185, "3 m 05 s"},
		{UnitSeconds, 3599.6, "1 h 00 m"},
		{UnitSeconds, 3725, "1 h 02 m"},
		{UnitSeconds, 3.6e6, "1,000 h 00 m"},
	} {
		if got := Format(test.unit, []float64{test.value})(test.value); got != test.want {
			t.Errorf("%v %s = %q, want %q", test.value, test.unit, got, test.want)
		}
	}
}

func TestSignedPercent(t *testing.T) {
	for v, want := range map[float64]string{0: "+0.0 %", -0.0001: "−0.0 %", 0.0312: "+3.1 %", -0.5: "−50.0 %"} {
		if got := SignedPercent(v); got != want {
			t.Errorf("SignedPercent(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestSuperscript(t *testing.T) {
	for n, want := range map[int]string{1: "¹", 9: "⁹", 10: "¹⁰", 245: "²⁴⁵"} {
		if got := superscript(n); got != want {
			t.Errorf("superscript(%d) = %q, want %q", n, got, want)
		}
	}
}

// A name from a recording is one argument of a command that a person copies.
func TestQuoted(t *testing.T) {
	for arg, want := range map[string]string{
		"gpt-5=MODEL": "gpt-5=MODEL", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "x; touch /tmp/y #`id`": "'x; touch /tmp/y #`id`'",
	} {
		if got := Quoted(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
	if got := Quoted("a", "b c"); got != "a 'b c'" {
		t.Errorf("two: %s", got)
	}
}

// The smallest change that a sample shows is no figure where it is more than ten times the figure.
func TestWords(t *testing.T) {
	if c := Detects("+1,000.0 %", 10, 1); c.Value != "+1,000.0 %" || c.Notes != nil {
		t.Errorf("%+v", c)
	}
	if c := Detects("+10,000,000,000,000.0 %", 1e11, 1); c.Value != "nothing" || len(c.Notes) != 1 {
		t.Errorf("%+v", c)
	}
}
