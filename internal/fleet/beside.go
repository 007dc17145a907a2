package fleet

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
)

// Locate makes the names of files that stand in a fleet's text ones that open from
// the working folder. A fleet names profiles, prices and times from its own folder,
// where there is such a file, else from the working folder. Text is only changed
// there: Load does the same.
func Locate(tree *spec.Tree, files fs.FS) {
	exists := func(name string) bool {
		info, err := fs.Stat(files, name)
		return err == nil && !info.IsDir()
	}
	tree.Beside(spec.Find(tree.Root, "prices", "file"), exists)
	orgs := spec.Child(tree.Root, "orgs")
	if orgs == nil || orgs.Kind != yaml.SequenceNode {
		return
	}
	for _, org := range orgs.Content {
		tree.Beside(spec.Find(org, "arrivals", "file"), exists)
		profiles := spec.Find(org, "sessions", "profiles")
		if profiles == nil || profiles.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i < len(profiles.Content); i += 2 {
			if key := profiles.Content[i]; namesFile(key.Value) {
				tree.Beside(key, exists)
			}
		}
	}
}

// namesFile reports whether a fleet or a profile is that of a file, not one that
// comes with the program.
func namesFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name))
}

// byFile orders names of profiles by that of the file, then by those of the folders
// it is in, the innermost first: what is drawn does not depend on where a fleet is
// run from, unless two files are told apart by nothing but "..".
func byFile(a, b string) int {
	return slices.Compare(fromFile(a), fromFile(b))
}

// fromFile returns the elements of a path, the last first.
func fromFile(name string) []string {
	list := strings.Split(filepath.ToSlash(filepath.Clean(name)), "/")
	slices.Reverse(list)
	return list
}
