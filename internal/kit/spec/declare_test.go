package spec

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

type pick uint8

func (pick) Names() []string { return []string{"first", "second"} }

type side bool

func (side) Names() []string { return []string{"left", "right"} }

type part struct {
	Low  int `yaml:"low" doc:"least" min:"0"`
	High int `yaml:"high" doc:"most" unit:"tokens" max:"9"`
}

func (p *part) Rules() []error {
	if p.Low > p.High {
		return []error{Problem{Paths: []string{"low", "high"}, Text: "low lies above high"}}
	}
	return nil
}

type declared struct {
	part  `yaml:",inline"`
	Share float64         `yaml:"share" doc:"a share" min:"0" max:"1"`
	Scale float64         `yaml:"scale" doc:"a factor" above:"0"`
	Every time.Duration   `yaml:"every" doc:"a time" above:"0s" max:"1h"`
	Pick  pick            `yaml:"pick" doc:"first or second"`
	Side  side            `yaml:"side" doc:"left or right"`
	Fill  string          `yaml:"fill" doc:"none or last" enum:"none,last"`
	Picks []pick          `yaml:"picks" doc:"some"`
	Parts []part          `yaml:"parts" doc:"parts"`
	Rates map[string]side `yaml:"rates" doc:"by name"`
	Keep  *int            `yaml:"keep" doc:"perhaps" min:"1"`
}

func sample() declared {
	return declared{part: part{1, 5}, Scale: 1, Every: 90 * time.Second, Fill: "none", Rates: map[string]side{"a": true}}
}

func TestDecodeRoundTrip(t *testing.T) {
	d := sample()
	text := "low: 2\nevery: 5m\npick: second\nside: right\nfill: last\npicks: [second, first]\nparts: [{low: 1, high: 2}]\nrates: {b: left}\nkeep: 3\n"
	if err := Decode([]byte(text), "a.yaml", &d); err != nil {
		t.Fatal(err)
	}
	written, err := marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	again := sample()
	if err := Decode(written, "b.yaml", &again); err != nil {
		t.Fatal(err)
	}
	if diff := Diff(d, again); len(diff) > 0 || len(again.Rates) != 2 || !bool(again.Rates["a"]) || Line(again.Picks) != "[second, first]" {
		t.Errorf("%v\n%s", diff, written)
	}
	if len(sample().Rates) != 1 || Line(d.Every) != "5m" || Name(d.Pick) != "second" {
		t.Errorf("%s, %s", Line(d.Every), Name(d.Pick))
	}
}

func TestDecodeChecks(t *testing.T) {
	for text, want := range map[string]string{
		"low: -1":                 "a.yaml:1: low -1 must not be negative",
		"\nhigh: 10":              "a.yaml:2: high 10 must be at most 9",
		"low: 6":                  "a.yaml:1: low lies above high (high by default)",
		"low: 6\nhigh: 4":         "a.yaml:1: low lies above high (high at a.yaml:2)",
		"low: 6\nhigh: many":      `a.yaml:2: high: want a whole number, not "many"`,
		"share: .nan":             "a.yaml:1: share .nan must lie in 0…1",
		"scale: 0":                "a.yaml:1: scale 0 must be above 0",
		"scale: .inf":             "a.yaml:1: scale .inf must be above 0",
		"every: 2h":               "a.yaml:1: every 2h must lie above 0s and be at most 1h",
		"every: 300":              `a.yaml:1: every: want a duration such as 90s, 5m or 1h, not "300"`,
		"pick: frist":             `a.yaml:1: pick: unknown value "frist" (did you mean "first"?); want first or second`,
		"fill: fist":              `a.yaml:1: fill: unknown value "fist" (did you mean "last"?); want none or last`,
		"picks: [first, left]":    `a.yaml:1: picks[1]: unknown value "left"`,
		"parts: [{low: 3}]":       "a.yaml:1: parts[0]: low lies above high (parts[0].high by default)",
		"parts:\n- {high: 10}":    "a.yaml:2: parts[0].high 10 must be at most 9",
		"keep: 0":                 "a.yaml:1: keep 0 must be at least 1",
		"rates: {a: up}":          `a.yaml:1: rates.a: unknown value "up"; want left or right`,
		"pick: [first, second]":   "a.yaml:1: pick takes one value, not a list",
		"every: [1m, 2m]\nlo: 3":  `a.yaml:2: unknown key "lo" (did you mean "low"?)`,
		"share: 2\nshare: 0.5":    `a.yaml:2: key "share" is repeated, first in line 1`,
		"share: {from: 0, to: 1}": "a.yaml:1: share takes one value, not a mapping",
	} {
		d := sample()
		err := Decode([]byte(text), "a.yaml", &d)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if err != nil && strings.HasPrefix(text, "low: 6\nhigh: m") && strings.Contains(err.Error(), "above") {
			t.Errorf("%q: %v: a rule speaks of a value that could not be read", text, err)
		}
	}
}

// Values of an axis are checked like values of their own.
func TestAxesAreChecked(t *testing.T) {
	tree, err := Parse([]byte("share: [0, 2]\npick: [first, second]\nhigh: {from: 1, to: 12, step: 1}\nside: [left, right]\n"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := Checker{Tree: tree, Sweep: true}
	c.Check(tree.Root, declared{}, "")
	want := "a.yaml:1: share 2 must lie in 0…1\na.yaml:3: high.to 12 must be at most 9"
	if err := errors.Join(c.Errs...); err == nil || err.Error() != want || len(c.Axes) != 2 {
		t.Errorf("%v, %d axes", err, len(c.Axes))
	}
}

func TestValidate(t *testing.T) {
	d := sample()
	d.Share, d.Low, d.Picks, d.Parts = -1, 7, []pick{0}, []part{{Low: -2}}
	want := "[share -1 must lie in 0…1 parts[0].low -2 must not be negative low lies above high]"
	if got := fmt.Sprint(Validate(&d)); got != want {
		t.Error(got)
	}
	if problems := Validate(sample()); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestDescribe(t *testing.T) {
	n, err := Describe(struct {
		A part     `yaml:"a" doc:"both"`
		B []string `yaml:"b,omitempty" doc:"none"`
	}{B: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := yaml.Marshal(n)
	if want := "# both\na:\n    # least\n    low: 0\n    # most, tokens\n    high: 0\n# none\nb: []\n"; string(text) != want {
		t.Errorf("%s", text)
	}
}

// Keys of maps that are no texts are encoded like values.
func TestMapKeys(t *testing.T) {
	for _, tc := range []struct {
		v    any
		want string
	}{
		{map[pick]int{1: 5, 0: 3}, "first: 3\nsecond: 5\n"},
		{map[int]pick{7: 1}, "7: second\n"},
		{map[string]pick{"a": 1}, "a: second\n"},
	} {
		text, err := marshal(tc.v)
		if err != nil || string(text) != tc.want {
			t.Errorf("%v: %q, %v", tc.v, text, err)
		}
	}
	if text, err := marshal(map[[2]int]pick{{1, 2}: 1}); err == nil {
		t.Errorf("a list as a key: %q", text)
	}
}

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		v    any
		want string
	}{
		{map[string]int{"a": 1, "b": 2}, "{a: 1, b: 2}"},
		{"a\nb", `"a\nb"`},
		{[]string{"a\nb"}, `["a\nb"]`},
		{7, "7"},
	} {
		if got := Line(tc.v); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.v, got, tc.want)
		}
	}
}

// marshal returns a Go value as YAML, with the names of its Enums.
func marshal(v any) ([]byte, error) {
	n, err := Encode(v)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(n)
}
