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
