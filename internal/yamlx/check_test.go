package yamlx

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

type color uint8

func (c *color) UnmarshalYAML(n *yaml.Node) error {
	if n.Value != "red" {
		return errors.New("want red")
	}
	return nil
}

type leaves struct {
	Count  int     `yaml:"count"`
	Seed   uint64  `yaml:"seed"`
	Share  float64 `yaml:"share"`
	On     bool    `yaml:"on"`
	Keep   *int    `yaml:"keep"`
	Color  color   `yaml:"color"`
	Ways   []string
	Nested inner `yaml:"nested"`
}

type sheet struct {
	Fixed string `yaml:"fixed"`
	Swept leaves `yaml:"swept" sweep:"true"`
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
		"fixed: x\nfixed: y":                   `a.yaml:2: key "fixed" stands here a second time, first in line 1`,
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
		"swept: {color: {from: 1, to: 2}}":     "a.yaml:1: swept.color takes one value, not a mapping",
	} {
		c, _ := checked(t, text)
		if got := errors.Join(c.Errs...); (got == nil) != (want == "") || got != nil && got.Error() != want {
			t.Errorf("%q: %v, want %q", text, got, want)
		}
	}
}

// Axes: their paths and values in canonical form. A list of one value is none.
func TestAxes(t *testing.T) {
	for text, want := range map[string][]string{
		"swept: {count: [3, 0x10, 1_000]}":                  {"swept.count 3 16 1000"},
		"swept: {count: [3]}":                               nil,
		"swept: {count: {from: 1, to: 9, step: 4}}":         {"swept.count 1 5 9"},
		"swept: {count: {from: 1, to: 8, step: 4}}":         {"swept.count 1 5"},
		"swept: {count: {from: 7, to: 7, step: 1}}":         nil,
		"swept: {share: {from: 0, to: 0.3, step: 0.1}}":     {"swept.share 0 0.1 0.2 0.3"},
		"swept: {seed: [1, 18446744073709551615]}":          {"swept.seed 1 18446744073709551615"},
		"swept: {ways: [a, b]}":                             nil,
		"swept: {ways: [[a], [a, b]]}":                      {"swept.ways [a] [a, b]"},
		"swept: {on: [true, false], nested: {keep: [1,2]}}": {"swept.on true false", "swept.nested.keep 1 2"},
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

// Aliases are expanded, so that an axis is chosen in one place only; a few lines
// of them that stand for more than memory holds are refused.
func TestAliases(t *testing.T) {
	tree, err := Parse([]byte("a: &x {count: [1, 2]}\nb: *x\n"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := Checker{Tree: tree, Sweep: true}
	c.Check(tree.Root, map[string]leaves{}, "")
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

// Whatever the text: no panic, and what is passed decodes.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"swept: {count: [1, 2]}", "fixed: &a x\nfree: *a", "swept: {share: {from: 0, to: 1, step: .1}}", "a: [", "- 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := Parse([]byte(text), "f.yaml")
		if err != nil {
			return
		}
		c := Checker{Tree: tree}
		c.Check(tree.Root, sheet{}, "")
		if len(c.Errs) > 0 {
			return
		}
		for i := range c.Axes {
			c.Axes[i].Choose(0)
		}
		s := reflect.New(reflect.TypeFor[sheet]())
		if err := tree.Root.Decode(s.Interface()); err != nil {
			t.Errorf("%q passes and does not decode: %v", text, err)
		}
	})
}
