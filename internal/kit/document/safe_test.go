package document

import (
	"encoding/json"
	"testing"
)

// Spreadsheets take cells that begin with = + - @ for formulas; numbers are none.
func TestField(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+x": "'+x", "-home-me": "'-home-me", "@SUM(1)": "'@SUM(1)", "\t=1": "' =1", "-3.5": "-3.5", "+7": "+7",
		"a=b": "a=b", "": "", "a\x1bb": "a\uFFFDb", "a\nb": "a b", "::error::x": "'::error::x", "a ##[x": "a # #[x",
	} {
		if got := Field(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Escaped JSON has the same values and nothing that a terminal or the runner of a CI job acts on.
func TestInertJSON(t *testing.T) {
	for in, want := range map[string]string{
		"c1 \u009b, \u007f, \u202e": `c1 \u009b, \u007f, \u202e`, "##[error]x": `#\u0023[error]x`, "\U000e0041x": `\udb40\udc41x`,
		"plain é 漢 \uFFFD": "plain é 漢 \uFFFD",
	} {
		got := string(inertJSON([]byte(`"` + in + `"`)))
		if got != `"`+want+`"` {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != in {
			t.Errorf("%s reads back as %q, %v", got, back, err)
		}
	}
}

// Runners carry out lines that begin with :: and what has ##[ or ##word[ in it.
func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"a\n  ::set-output name=x::y": "a\n  ·::set-output name=x::y", "a::b ##": "a::b ##", "## [x]": "## [x]",
		"##vso[task]": "# #vso[task]", "::x": "·::x",
	} {
		if got := string(Inert([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
