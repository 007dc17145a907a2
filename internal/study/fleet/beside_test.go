package fleet

import (
	"slices"
	"testing"
)

// The order of profiles is that of their files' names, and of the folders that two
// files of one name are in, from wherever the fleet is run.
func TestProfilesInOrderOfFiles(t *testing.T) {
	for _, list := range [][]string{
		{"chat", "../d1/a.yaml", "../../fleets/d2/a.yaml", "b.yaml"},
		{"chat", "fleets/d1/a.yaml", "fleets/d2/a.yaml", "fleets/mine/b.yaml"},
		{"chat", "/home/me/fleets/d1/a.yaml", "/home/me/fleets/d2/a.yaml", "b.yaml"},
	} {
		got := slices.Clone(list)
		slices.Reverse(got)
		slices.SortFunc(got, byFile)
		want := []string{list[1], list[2], list[3], list[0]}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
