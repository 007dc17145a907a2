package jsonscan

import "testing"

// Values that writers escape differently are the same text.
func TestPlain(t *testing.T) {
	for v, want := range map[string]string{
		`{"a":"é"}`:                    `{"a":"é"}`,
		`{"a":"\u00e9 \ud83d\ude00"}`:  `{"a":"é 😀"}`,
		`{"a":"\n \u000a \u0022 \\u"}`: `{"a":"\n \u000a \u0022 \\u"}`,
	} {
		if got := string(Plain([]byte(v))); got != want {
			t.Errorf("%s: %s, want %s", v, got, want)
		}
	}
}

// A copy whose lines end in carriage returns has the same values.
func TestPlainDropsCarriageReturns(t *testing.T) {
	if got := string(Plain([]byte("{\r\n\"a\": \"\\r\\n\"\r\n}"))); got != "{\n\"a\": \"\\r\\n\"\n}" {
		t.Errorf("%q", got)
	}
}
