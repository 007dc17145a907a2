// Package builtin has the scenarios that come with the program. It has no promise to importers.
package builtin

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
)

//go:embed *.yaml
var embedded embed.FS

// Scenario is a scenario that comes with the program.
type Scenario struct {
	Name string
	Doc  string
	Text []byte // the file
}

// All returns the embedded scenarios by name.
func All() ([]Scenario, error) {
	files, err := fs.Glob(embedded, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	var all []Scenario
	for _, file := range files {
		text, err := fs.ReadFile(embedded, file)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		tree, err := spec.Parse(text, file)
		if err != nil {
			return nil, err
		}
		b := Scenario{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Text: text}
		if doc := spec.Child(tree.Root, "doc"); doc != nil {
			b.Doc = strings.TrimSpace(doc.Value)
		}
		all = append(all, b)
	}
	return all, nil
}

// Lookup returns the embedded scenario with a name; an unknown one is an
// error that names the nearest.
func Lookup(name string) (*Scenario, error) {
	all, err := All()
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
	return nil, fmt.Errorf("unknown scenario %q%s", name, nearest.Among(name, names))
}
