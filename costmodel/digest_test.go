package costmodel_test

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
)

// Price files of one name are told apart by what sha256sum prints for them; a table
// that one was merged into is known by it, with aliases too.
func TestDigest(t *testing.T) {
	const cheap, dear = "schema: 1\nmodels:\n  m: {prices: [{input: 3, output: 15}]}\n", "schema: 1\nmodels:\n  m: {prices: [{input: 4, output: 15}]}\n"
	load := func(text string) *costmodel.Table {
		table, err := costmodel.Load(strings.NewReader(text), "prices.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	builtin, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	merged := builtin.Merge(load(dear))
	aliased, err := merged.WithAliases(map[string]string{"n": "m"})
	if err != nil {
		t.Fatal(err)
	}
	const ofCheap, ofDear = "1366dc25300b2e155d15449589680b7837d513c59f7d5632c2f296f6f61ed1ae", "a3766d4b620fd2cfcfe752840c73ad36bb316bd1d5c5076427935621ef52d854"
	for name, tc := range map[string]struct {
		table *costmodel.Table
		want  string
	}{
		"a file":             {load(cheap), ofCheap},
		"another price":      {load(dear), ofDear},
		"merged":             {merged, ofDear},
		"merged twice":       {merged.Merge(load(cheap)), ofCheap},
		"with aliases":       {aliased, ofDear},
		"nothing merged":     {builtin.Merge(&costmodel.Table{}), builtin.Digest()},
		"no file, no digest": {&costmodel.Table{}, ""},
	} {
		if got := tc.table.Digest(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if builtin.Digest() == "" || builtin.Digest() == ofDear {
		t.Errorf("the built-in table changed to %q", builtin.Digest())
	}
}

// Whatever changes what a call costs changes the key, and nothing else does.
func TestKey(t *testing.T) {
	const base = "schema: 1\nas_of: 2026-11-01\nmodels:\n  m: {window: 9000, aliases: [n], prices: [{input: 3, output: 15}, {from: 2026-03-01, input: 2, output: 9}]}\n"
	load := func(text string) *costmodel.Table {
		table, err := costmodel.Load(strings.NewReader(text), "prices.yaml")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return table
	}
	key := load(base).Key()
	if again := load("# a note\n" + base).Key(); again != key {
		t.Errorf("the key is %s, and %s when read again", key, again)
	}
	seen := map[string]string{key: base}
	for _, change := range [][2]string{
		{"input: 3", "input: 4"}, {"output: 9", "output: 8"}, {"2026-03-01", "2026-03-02"}, {"[n]", "[o]"}, {"9000", "8000"},
		{"as_of: 2026-11-01", "as_of: 2026-11-02"}, {"  m:", "  k:"}, {"output: 15", "output: 15, read: 0.1"},
	} {
		text := strings.Replace(base, change[0], change[1], 1)
		if text == base {
			t.Fatalf("%q is not in the file", change[0])
		}
		key := load(text).Key()
		if seen[key] != "" {
			t.Errorf("one key for\n%sand\n%s", seen[key], text)
		}
		seen[key] = text
	}
	aliased, err := load(base).WithAliases(map[string]string{"x": "m"})
	if err != nil {
		t.Fatal(err)
	}
	if seen[aliased.Key()] != "" {
		t.Error("an alias does not change the key")
	}
}
