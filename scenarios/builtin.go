package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/yamlx"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Reference is the manual of the format: every key with its default.
//
//go:embed reference.yaml
var Reference []byte

// Builtin is a scenario that comes with the program.
type Builtin struct {
	Name string
	Doc  string
	Text []byte // the file
}

// Builtins returns the embedded scenarios by name.
func Builtins() ([]Builtin, error) {
	files, err := fs.Glob(builtin, "builtin/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	var all []Builtin
	for _, file := range files {
		text, err := builtin.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		tree, err := yamlx.Parse(text, file)
		if err != nil {
			return nil, err
		}
		b := Builtin{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Text: text}
		if doc := yamlx.Child(tree.Root, "doc"); doc != nil {
			b.Doc = strings.TrimSpace(doc.Value)
		}
		all = append(all, b)
	}
	return all, nil
}

// LookupBuiltin returns the embedded scenario with a name; an unknown one is an
// error that names the nearest.
func LookupBuiltin(name string) (*Builtin, error) {
	all, err := Builtins()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	return nil, fmt.Errorf("unknown scenario %q%s; known: %s", name, nearest.Hint(name, names), strings.Join(names, ", "))
}
