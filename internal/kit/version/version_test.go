package version

import "testing"

func TestAtLeast(t *testing.T) {
	for _, tc := range []struct {
		version string
		parts   []int
		want    bool
	}{
		{"2.1.25", []int{2, 1, 25}, true},
		{"2.1.9", []int{2, 1, 25}, false},
		{"2.1.100", []int{2, 1, 25}, true},
		{"2.2", []int{2, 1, 25}, true},
		{"2", []int{2, 1}, false},
		{"", []int{1}, false},
		{"dev", []int{0}, true},
	} {
		if got := AtLeast(tc.version, tc.parts...); got != tc.want {
			t.Errorf("AtLeast(%q, %v) = %v", tc.version, tc.parts, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for version, want := range map[string][3]int{
		"2.1.17": {2, 1, 17}, "2": {2}, "1.0.62-beta.3": {1, 0, 62}, "2.1.17 (Claude Code)": {2, 1, 17}, "0.142.0.7": {0, 142, 0},
	} {
		if got, ok := Numbers(version); got != want || !ok {
			t.Errorf("Numbers(%q) = %v, %v", version, got, ok)
		}
	}
	for _, none := range []string{"", "dev", "-1"} {
		if _, ok := Numbers(none); ok {
			t.Errorf("%q is a version", none)
		}
	}
}
