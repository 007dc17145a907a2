package scenarios

import (
	"strings"

	"github.com/compactsim/compactsim/internal/spec"
)

// Locate makes the names of files that stand in the scenario's file ones that open
// from the working folder. Profiles and prices are named from the folder of the
// scenario, where exists reports such a file, else from the working folder.
// Recordings are named from the working folder. What is set afterwards stays as it is.
func (f *File) Locate(exists func(name string) bool) {
	if n := spec.Child(f.tree.Root, "profile"); n != nil && n.Value != ProfileDefault && n.Value != ProfileNone {
		f.tree.Beside(n, exists)
	}
	f.tree.Beside(spec.Find(f.tree.Root, "prices", "file"), exists)
	// What is neither a path nor YAML is a profile that comes with the program.
	n := spec.Find(f.tree.Root, "sessions", "generate", "profile")
	if n != nil && (strings.ContainsAny(n.Value, `/\`) || strings.HasSuffix(n.Value, ".yaml") || strings.HasSuffix(n.Value, ".yml")) {
		f.tree.Beside(n, exists)
	}
}
