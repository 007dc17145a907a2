package spec

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

type color uint8

func (c *color) UnmarshalYAML(n *yaml.Node) error {
	if n.Value != "red" {
		return errors.New("want red")
	}
	return nil
}

type values struct {
	Count  int     `yaml:"count"`
	Seed   uint64  `yaml:"seed"`
	Share  float64 `yaml:"share"`
	On     bool    `yaml:"on"`
	Keep   *int    `yaml:"keep"`
	Color  color   `yaml:"color"`
	Ways   []string
	Nested inner `yaml:"nested"`
}

type dated struct {
	At time.Time `yaml:"at"`
}

type sheet struct {
	Fixed string `yaml:"fixed"`
	Swept values `yaml:"swept" sweep:"true"`
	Named map[string]inner
	Free  yaml.Node
}

func checked(t *testing.T, text string) (*Checker, *Tree) {
	t.Helper()
	tree, err := Parse([]byte(text), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := &Checker{Tree: tree}
	c.Check(tree.Root, sheet{}, "")
	return c, tree
}

// What the checker refuses: the text says what is wanted, on its line.
func TestCheckRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"fixd: x":                              `a.yaml:1: unknown key "fixd" (did you mean "fixed"?)`,
		"\nswept:\n  nested:\n    thresold: 3": `a.yaml:4: unknown key "thresold" (did you mean "threshold"?)`,
		"fixed: x\nfixed: y":                   `a.yaml:2: key "fixed" is repeated, first in line 1`,
		"swept:\n  ways:\n    - a\n    -":      "a.yaml:4: swept.ways[1] holds nothing",
		"fixed: [x]":                           "a.yaml:1: fixed takes one value, not a list",
		"swept: 5":                             `a.yaml:1: swept takes keys and values, not "5"`,
		"swept: {count: x}":                    `a.yaml:1: swept.count: want a whole number, not "x"`,
		"swept: {count: 1.5}":                  `a.yaml:1: swept.count: want a whole number, not "1.5"`,
		"swept: {count: 1e3}":                  "",
		"swept: {count: }":                     "a.yaml:1: swept.count: no value",
		"swept: {keep: }":                      "",
		"swept: {seed: -1}":                    `a.yaml:1: swept.seed: want a whole number from 0, not "-1"`,
		"swept: {on: perhaps}":                 `a.yaml:1: swept.on: want true or false, not "perhaps"`,
		"swept: {color: blue}":                 "a.yaml:1: swept.color: want red",
		"swept: {ways: x}":                     `a.yaml:1: swept.ways takes a list, not "x"`,
		"swept: {count: [1, x]}":               `a.yaml:1: swept.count: want a whole number, not "x"`,
		"named: {a: {keep: x}}":                `a.yaml:1: named.a.keep: want a whole number, not "x"`,
		"named: {a: {keep: [1, 2]}}":           "a.yaml:1: named.a.keep takes one value, not a list",
		"free: {what: [ever]}":                 "",
		"named: {~: {keep: 1}}":                "a.yaml:1: named: a key is a word, not nothing",
		"named: {? [a] : {keep: 1}}":           "a.yaml:1: named: a key is a word, not a list",
		"named: {!!binary aGk=: {keep: 1}}":    `a.yaml:1: named: key "aGk=" has a tag: write the word alone`,
		"named: {<<: {keep: 1}}":               "a.yaml:1: named: keys are not merged with <<: write them out",
		"<<: {fixed: x}":                       "a.yaml:1: the document: keys are not merged with <<: write them out",
		"named: {'<<': {keep: 1}}":             "",
		"swept: {keep: !!null x}":              "a.yaml:1: swept.keep: cannot decode !!str `x` as a !!null",
		"swept: {keep: !!null ~}":              "",
		"named: !!null x":                      "a.yaml:1: named: cannot decode !!str `x` as a !!null",
		"fixed: !!binary '!'":                  "a.yaml:1: fixed: !!binary value contains invalid base64 data",
		"swept: {color: {from: 1, to: 2}}":     "a.yaml:1: swept.color takes one value, not a mapping",
	} {
		c, _ := checked(t, text)
		if got := errors.Join(c.Errs...); (got == nil) != (want == "") || got != nil && got.Error() != want {
			t.Errorf("%q: %v, want %q", text, got, want)
		}
	}
}

// Whole numbers that Node.Decode would cut off or turn into others: an int holds
// −2⁶³…2⁶³−1, a uint64 0…2⁶⁴−1.
func TestCheckRefusesWhatIntegersDoNotHold(t *testing.T) {
	for _, text := range []string{"-.inf", ".inf", ".nan", "-1e30", "1e19", "9223372036854775808.0", "9223372036854775808", "-9223372036854777856.0", "!!float 1.5"} {
		c, _ := checked(t, "swept: {count: "+text+"}")
		if err := errors.Join(c.Errs...); err == nil || !strings.Contains(err.Error(), "swept.count: want a whole number, not ") {
			t.Errorf("count %s: error %v", text, err)
		}
	}
	for _, text := range []string{"-1.0", "-.inf", ".inf", "1e20", "18446744073709551616.0", "18446744073709551616"} {
		c, _ := checked(t, "swept: {seed: "+text+"}")
		if err := errors.Join(c.Errs...); err == nil || !strings.Contains(err.Error(), "swept.seed: want a whole number from 0, not ") {
			t.Errorf("seed %s: error %v", text, err)
		}
	}
	c, tree := checked(t, "swept: {count: -9223372036854775808.0, seed: 18446744073709549568.0}")
	var s sheet
	if err := tree.Root.Decode(&s); err != nil || len(c.Errs) > 0 || s.Swept.Count != -1<<63 || s.Swept.Seed != 1<<64-2048 {
		t.Errorf("%v, %v: %+v", c.Errs, err, s.Swept)
	}
}

// A time is one value, though its type is a struct.
func TestCheckTimes(t *testing.T) {
	for text, want := range map[string]string{
		"at: 2026-03-02T09:00:00Z": "",
		"at: 2026-03-02":           "",
		"at: noon":                 `a.yaml:1: at: want a time, not "noon"`,
		"at: {year: 2026}":         "a.yaml:1: at takes one value, not a mapping",
		"at: [2026-03-02]":         "a.yaml:1: at takes one value, not a list",
		"at: ":                     "a.yaml:1: at: no value",
	} {
		tree, err := Parse([]byte(text), "a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		c := Checker{Tree: tree}
		c.Check(tree.Root, dated{}, "")
		if got := errors.Join(c.Errs...); (got == nil) != (want == "") || got != nil && got.Error() != want {
			t.Errorf("%q: %v, want %q", text, got, want)
		}
	}
}

// Ranges that have no end, or whose values cannot be told apart.
func TestRangesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{from: 1, to: 2}":                             "range swept.share: step must be above 0",
		"{from: 1, step: 2}":                           "range swept.share: no to",
		"{from: 1, to: 2, step: 0}":                    "step must be above 0",
		"{from: 1, to: 0, step: 1}":                    "has no values: to is below from",
		"{from: 0, to: 1, step: 1e-4}":                 "has 10001 values, more than 10000",
		"{from: -1e308, to: 1e308, step: 1}":           "range swept.share: want numbers of at most 2^53",
		"{from: .inf, to: .inf, step: 1}":              "range swept.share: want numbers of at most 2^53",
		"{from: -.inf, to: 1, step: 1}":                "range swept.share: want numbers of at most 2^53",
		"{from: 0, to: .inf, step: .inf}":              "range swept.share: want numbers of at most 2^53",
		"{from: 0, to: 1, step: .inf}":                 "range swept.share: want numbers of at most 2^53",
		"{from: 0, to: 1, step: .nan}":                 "range swept.share: want numbers of at most 2^53",
		"{from: 1, to: 1.0000000000001, step: 1e-14}":  "has the value 1 twice: the step is too small",
		"{from: 0, to: 1, step: 1, to: 2}":             `key "to" is repeated, first in line 1`,
		"{from: 0, to: 1, by: 1}":                      `unknown key "by"`,
		"{from: 0, to: 1, step: {from: 1}}":            "swept.share.step takes one value, not a mapping",
		"{from: 0, to: 1, step: 1, ? [a] : 1, from: }": "swept.share: a key is a word, not a list",
	} {
		c, _ := checked(t, "swept: {share: "+text+"}")
		if err := errors.Join(c.Errs...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// Axes: their paths and values in canonical form. A list of one value is none.
func TestAxes(t *testing.T) {
	for text, want := range map[string][]string{
		"swept: {count: [3, 0x10, 1_000]}":                                       {"swept.count 3 16 1000"},
		"swept: {count: [3]}":                                                    nil,
		"swept: {count: {from: 1, to: 9, step: 4}}":                              {"swept.count 1 5 9"},
		"swept: {count: {from: 1, to: 8, step: 4}}":                              {"swept.count 1 5"},
		"swept: {count: {from: 7, to: 7, step: 1}}":                              nil,
		"swept: {share: {from: 0, to: 0.3, step: 0.1}}":                          {"swept.share 0 0.1 0.2 0.3"},
		"swept: {seed: [1, 18446744073709551615]}":                               {"swept.seed 1 18446744073709551615"},
		"swept: {seed: {from: 9007199254740990, to: 9007199254740992, step: 2}}": {"swept.seed 9007199254740990 9007199254740992"},
		"swept: {ways: [a, b]}":                                                  nil,
		"swept: {ways: [[a], [a, b]]}":                                           {"swept.ways [a] [a, b]"},
		"swept: {on: [true, false], nested: {keep: [1,2]}}":                      {"swept.on true false", "swept.nested.keep 1 2"},
	} {
		c, tree := checked(t, text)
		if len(c.Errs) > 0 {
			t.Errorf("%q: %v", text, c.Errs)
		}
		var got []string
		for _, a := range c.Axes {
			got = append(got, a.Path+" "+strings.Join(a.Texts, " "))
			a.Choose(len(a.Values) - 1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: axes %q, want %q", text, got, want)
		}
		var s sheet
		if err := tree.Root.Decode(&s); err != nil {
			t.Errorf("%q: with values chosen: %v", text, err)
		}
	}
}

// Aliases are expanded, so that an axis is chosen in one place only; a few lines with aliases that
// stand for more than memory holds are refused.
func TestAliases(t *testing.T) {
	tree, err := Parse([]byte("a: &x {count: [1, 2]}\nb: *x\n"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := Checker{Tree: tree, Sweep: true}
	c.Check(tree.Root, map[string]values{}, "")
	if len(c.Errs) > 0 || len(c.Axes) != 2 {
		t.Fatalf("axes %v, errors %v", c.Axes, c.Errs)
	}
	c.Axes[0].Choose(1)
	if b := Find(tree.Root, "b", "count"); b.Kind != yaml.SequenceNode {
		t.Error("choosing a value of one changed the other")
	}
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		laughs.WriteString("a" + to + ": &a" + to + " [" + strings.TrimSuffix(strings.Repeat("*a"+from+", ", 10), ", ") + "]\n")
	}
	if _, err := Parse([]byte(laughs.String()), "b.yaml"); err == nil || !strings.Contains(err.Error(), "aliases are expanded") {
		t.Errorf("error %v", err)
	}
	for _, text := range []string{"&a [*a]", "x: &b\n  y:\n  - *b\n"} {
		if _, err := Parse([]byte(text), "c.yaml"); err == nil || !strings.Contains(err.Error(), "if an anchor contains its own") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestPut(t *testing.T) {
	tree, err := Parse([]byte("a: {b: 1}\nc:\n"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	value := Text("new")
	tree.Mark(value, "--set a.b")
	for _, path := range []string{"a.b", "c.d.e", "f"} {
		if err := tree.Put(tree.Root, Clone(value), strings.Split(path, ".")...); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := Flow(tree.Root), "a: {b: new}"; !strings.Contains(got, want) || !strings.Contains(got, "d: {e: new}") {
		t.Errorf("%s, want %s in it", got, want)
	}
	if err := tree.Put(tree.Root, value, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if got := tree.At(Find(tree.Root, "a", "b")); got != "--set a.b" {
		t.Errorf("the new value is said to be at %s", got)
	}
	if err := tree.Put(tree.Root, value, "f", "x"); err == nil {
		t.Error("a key was put below a text")
	}
}

func TestPaths(t *testing.T) {
	got := Paths(sheet{})
	want := []string{"fixed", "swept", "swept.count", "swept.seed", "swept.share", "swept.on", "swept.keep", "swept.color",
		"swept.ways", "swept.nested", "swept.nested.threshold", "swept.nested.keep", "named", "free"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := CheckPath(sheet{}, "swept", "nested", "keeep"); err == nil || !strings.Contains(err.Error(), `did you mean "swept.nested.keep"?`) {
		t.Errorf("error %v", err)
	}
	if err := CheckPath(sheet{}, "named", "any", "keep"); err != nil {
		t.Error(err)
	}
}

// Whatever the text: no panic, and what is passed decodes with every value of
// its axes.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		"swept: {count: [1, 2]}", "fixed: &a x\nfree: *a", "swept: {share: {from: 0, to: 1, step: .1}}", "a: [", "- 1",
		"named: {<<: {keep: 1}, ~: {keep: 1}}", "swept: {seed: {from: 1, to: 18446744073709551615, step: 9e18}, count: -1e30}",
		"swept: {keep: !!null x, on: [true, false], ways: [[a], [b, c]]}", "free: &a [*a]", "swept: {color: !!binary cmVk}",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, sweep bool) {
		tree, err := Parse([]byte(text), "f.yaml")
		if err != nil {
			return
		}
		c := Checker{Tree: tree, Sweep: sweep}
		c.Check(tree.Root, sheet{}, "")
		if len(c.Errs) > 0 {
			return
		}
		for i := range c.Axes {
			for j := range c.Axes[i].Values {
				for k := range c.Axes {
					c.Axes[k].Choose(min(j, len(c.Axes[k].Values)-1))
				}
				s := reflect.New(reflect.TypeFor[sheet]())
				if err := tree.Root.Decode(s.Interface()); err != nil {
					t.Fatalf("%q passes and does not decode: %v", text, err)
				}
			}
		}
		s := reflect.New(reflect.TypeFor[sheet]())
		if err := tree.Root.Decode(s.Interface()); err != nil {
			t.Errorf("%q passes and does not decode: %v", text, err)
		}
	})
}

// A file that is not what it should be is not quoted: somebody else may have named it.
func TestForeignDocuments(t *testing.T) {
	type prices struct {
		Models map[string]int `yaml:"models" doc:"x"`
		AsOf   string         `yaml:"as_of" doc:"x"`
	}
	for text, want := range map[string]string{
		"TOKEN=hunter2\nPASSWORD=hunter2\n":                  "a.env:1: the document is text, and no keys and values",
		"token: hunter2\npassword: hunter2\nmodels: hunter2": "a.env:1: the document is of another kind: 1 of its 3 keys are known",
		"modles: {}\n": `a.env:1: unknown key "modles" (did you mean "models"?)`,
		"as_of: [" + strings.Repeat("x", 100) + "]": "a.env:1: as_of takes one value, not a list",
		"models: " + strings.Repeat("x", 100):       `a.env:1: models takes keys and values, not "` + strings.Repeat("x", 60) + `…"`,
	} {
		var p prices
		if err := Decode([]byte(text), "a.env", &p); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}
