package strategies

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
)

// readName returns the index of a node's value among names; another value is an
// error with its line that lists them.
func readName(n *yaml.Node, what string, names []string) (int, error) {
	for i, name := range names {
		if n.Value == name {
			return i, nil
		}
	}
	return 0, &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: unknown %s %q%s: want %s",
		n.Line, what, n.Value, nearest.Hint(n.Value, names), strings.Join(names, " or "))}}
}

// nameOf returns the name at index i, the last one for what is out of range.
func nameOf(names []string, i int) string { return names[min(max(i, 0), len(names)-1)] }
