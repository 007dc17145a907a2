package synthetic

import (
	"strconv"
	"strings"
)

// parseVersion reads "2.1.42"; ok is false for anything else.
func parseVersion(s string) (v [3]int, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// atLeast compares numerically: 2.1.9 is before 2.1.25.
func atLeast(version string, major, minor, patch int) bool {
	v, _ := parseVersion(version)
	want := [3]int{major, minor, patch}
	for i := range v {
		if v[i] != want[i] {
			return v[i] > want[i]
		}
	}
	return true
}
