package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	known := []string{"recorded", "none", "truncate-oldest", "auto-compact/167k", "auto-compact/155k"}
	for _, tc := range []struct {
		name, want string
		ok         bool
	}{
		{"recored", "recorded", true},
		{"auto-compact/165k", "auto-compact/167k", true},
		{"nnoe", "none", true},
		{"noen", "none", true},
		{"banana split", "", false},
		{strings.Repeat("recorded ", 1<<17), "", false}, // nothing is as long
	} {
		got, ok := Name(tc.name, known)
		if ok != tc.ok || ok && got != tc.want {
			t.Errorf("Name(%q) = %q, %v; want %q, %v", tc.name, got, ok, tc.want, tc.ok)
		}
	}
	if _, ok := Name("x", nil); ok {
		t.Error("a name is near to nothing")
	}
}

// Distances by definition: kitten → sitting takes three edits, swapped neighbours one; rnu is a swap from run and two
// edits from rank.
func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "", 3}, {"same", "same", 0}, {"flaw", "lawn", 2}, {"rnu", "run", 1}, {"rnu", "rank", 2}, {"ca", "abc", 3}} {
		if got := Distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
