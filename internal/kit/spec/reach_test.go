package spec

import "testing"

// A path leads as far as the file goes.
func TestReach(t *testing.T) {
	tree, err := Parse([]byte("orgs:\n- {name: a}\n- name: b\n  users: 7\n"), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for path, line := range map[string]int{"orgs[1].users": 4, "orgs.1.users": 4, "orgs[1].age": 3, "orgs[5].name": 2, "seed": 1} {
		if n := Reach(tree.Root, path); n.Line != line {
			t.Errorf("%s: line %d, want %d", path, n.Line, line)
		}
	}
}

func TestReachNegative(t *testing.T) {
	tree, err := Parse([]byte("l: [a]"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := Reach(tree.Root, "l.-1"); n != Child(tree.Root, "l") {
		t.Errorf("%+v", n)
	}
}

// Copies have the places of the original, and marks of their own.
func TestCopy(t *testing.T) {
	tree, err := Parse([]byte("l: [a]"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tree.Mark(tree.Root, "--set")
	before := len(tree.from)
	c := tree.Copy()
	if c.At(c.Root) != "--set" || len(tree.from) != before {
		t.Errorf("%s, %d of %d marks", c.At(c.Root), len(tree.from), before)
	}
}
