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
