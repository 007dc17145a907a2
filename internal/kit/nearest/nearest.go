// Package nearest finds the known name closest to an unknown one.
package nearest

import (
	"cmp"
	"path"
	"strconv"
	"strings"
)

// Name returns the candidate closest to name by edit distance and whether it is
// close enough to be meant: at most a third of the longer name differs.
// Candidates of a very different length are skipped, so that a file in place of
// a name is not compared letter by letter.
func Name(name string, candidates []string) (string, bool) {
	best, at := "", -1
	for _, c := range candidates {
		if max(len(name), len(c))-min(len(name), len(c)) > limit(name, c) {
			continue
		}
		if d := Distance(name, c); at < 0 || d < at {
			best, at = c, d
		}
	}
	return best, at >= 0 && at <= limit(name, best)
}

// limit returns the number of changes that make a different name.
func limit(a, b string) int { return max(len(a), len(b))/3 + 1 }

// Hint returns ` (did you mean "x"?)`, or "" when nothing is close.
func Hint(name string, candidates []string) string {
	if n, ok := Name(name, candidates); ok {
		return ` (did you mean "` + n + `"?)`
	}
	return ""
}

// Among returns what to say after an unknown name: Hint, or all known names if
// nothing is close.
func Among(name string, known []string) string {
	return cmp.Or(Hint(name, known), "; known: "+strings.Join(known, ", "))
}

// minPart is the shortest name that is looked for in longer ones.
const minPart = 3

// Like names the first three candidates that contain name, unless one differs from it by a single change or none contains it: then it
// returns Hint.
func Like(name string, candidates []string) string {
	var holding []string
	for _, c := range candidates {
		if Distance(name, c) <= 1 {
			return Hint(name, candidates)
		}
		if len(name) >= minPart && strings.Contains(c, strings.ToLower(name)) && len(holding) < 3 {
			holding = append(holding, strconv.Quote(c))
		}
	}
	if len(holding) > 0 {
		return " (did you mean " + strings.Join(holding, " or ") + "?)"
	}
	return Hint(name, candidates)
}

// Distance is the number of bytes to insert, delete or replace, and of neighbours to swap, that
// turns one text into the other (optimal string alignment).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Match reports whether a pattern matches the name of a cell or a strategy.
// Patterns are path.Match's patterns, but *, ? and classes also match slashes,
// which names of strategies have. A name matches itself; a malformed pattern
// matches nothing else.
func Match(pattern, name string) bool {
	if pattern == name {
		return true
	}
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}
