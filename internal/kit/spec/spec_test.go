package spec

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
)

type inner struct {
	Threshold int `yaml:"threshold"`
	Keep      int `yaml:"keep"`
}

type outer struct {
	Name  string  `yaml:"name"`
	Inner []inner `yaml:"inner"`
}

func TestDecodeReportsEverythingAtOnce(t *testing.T) {
	var o outer
	err := Decode([]byte("nmae: x\ninner:\n  - threshhold: 3\n    keep: many\n"), "a.yaml", &o)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`a.yaml:1: unknown key "nmae" (did you mean "name"?)`,
		`a.yaml:3: unknown key "threshhold" (did you mean "threshold"?)`,
		`a.yaml:4: inner[0].keep: want a whole number, not "many"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "empty document",
		"\x80\x81\x00binary":      "no text: a file of settings is YAML",
		"name: a\n---\nname: b\n": "more than one document",
		"name: a\nname: b\n":      `key "name" is repeated`,
		"name: [a\n":              "b.yaml:",
	} {
		var o outer
		if err := Decode([]byte(text), "b.yaml", &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A tab that indents is named with its line, also where yaml.v3 names the line before; a tab elsewhere is none.
func TestTab(t *testing.T) {
	for text, want := range map[string]string{
		"a: x\nb:\n\t- 1\n":               "f.yaml:3: a tab indents this line, and YAML takes spaces alone",
		"b:\n  - 1\n\t- 2\n":              "f.yaml:3: a tab indents this line, and YAML takes spaces alone", // yaml.v3: line 2
		"b:\n  -\t1\n":                    "f.yaml:2: a tab indents this line, and YAML takes spaces alone",
		"doc: |\n  a\n  \tb\nb: @\n":      "f.yaml:4: found character that cannot start any token",
		"doc: |\n  a\n  \tb\na:\tx\nb: 1": "",
	} {
		if _, err := Parse([]byte(text), "f.yaml"); fmt.Sprint(err) != cmp.Or(want, "<nil>") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
