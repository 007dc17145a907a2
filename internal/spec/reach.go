package spec

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Reach returns the node that a path such as orgs[1].users or orgs.1.users leads to,
// or the last one on the way that the file has.
func Reach(n *yaml.Node, path string) *yaml.Node {
	for key := range strings.SplitSeq(strings.NewReplacer("[", ".", "]", "").Replace(path), ".") {
		next := Child(n, key)
		if i, err := strconv.Atoi(key); err == nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
			next = n.Content[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}
