package nearest

import (
	"path"
	"strings"
)

// Match reports whether a pattern takes the name of a cell or a strategy. The
// pattern is that of path.Match, in which *, ? and classes here stand for slashes
// too: names of strategies have them. A name takes itself; a malformed pattern
// takes nothing else.
func Match(pattern, name string) bool {
	if pattern == name {
		return true
	}
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}
