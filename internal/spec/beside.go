package spec

import (
	"path/filepath"

	"gopkg.in/yaml.v3"
)

// Beside makes the name of a file that stands in a node one that opens from the
// working folder: a file names others from its own folder. Where there is none, the
// name is from the working folder, if there is one there. Exists reports whether a
// name is that of a file. Absolute names stay, and so does what is no text; a nil
// node is passed over.
func (t *Tree) Beside(n *yaml.Node, exists func(name string) bool) {
	if n == nil || n.Kind != yaml.ScalarNode || isNull(n) || n.Value == "" || filepath.IsAbs(n.Value) {
		return
	}
	beside := filepath.ToSlash(filepath.Join(filepath.Dir(t.Name), n.Value))
	if filepath.Dir(t.Name) == "." || !exists(beside) && exists(n.Value) {
		return // a name such as ./mine stays as it is written
	}
	n.Value = beside
}
