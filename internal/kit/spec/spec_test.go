package spec

import (
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
