// Package version compares the dotted versions of clients.
package version

import (
	"strconv"
	"strings"
)

// AtLeast compares a dotted version number by number; what is missing or not a
// number counts as 0.
func AtLeast(version string, parts ...int) bool {
	have := strings.Split(version, ".")
	for i, want := range parts {
		n := 0
		if i < len(have) {
			n, _ = strconv.Atoi(have[i])
		}
		if n != want {
			return n > want
		}
	}
	return true
}
