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

// Numbers returns the first three numbers of a version, and whether it begins with
// one. What is missing or no number counts as 0; what follows the numbers, as in
// 2.1.17-beta, does not count.
func Numbers(version string) (n [3]int, ok bool) {
	if i := strings.IndexFunc(version, func(r rune) bool { return r == '-' || r == '+' || r == ' ' }); i > 0 {
		version = version[:i]
	}
	more := true
	for i := 0; i < len(n) && more; i++ {
		var part string
		part, version, more = strings.Cut(version, ".")
		var number bool
		n[i], number = parse(part)
		ok = ok || i == 0 && number
	}
	return n, ok
}

// parse reads a number, and reports whether the text is one.
func parse(text string) (n int, ok bool) {
	const digits = 9 // that fit into any int
	if len(text) > digits {
		v, err := strconv.ParseUint(text, 10, 31)
		return int(v), err == nil
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = 10*n + int(text[i]-'0')
	}
	return n, text != ""
}
