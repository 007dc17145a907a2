package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/users"
	"github.com/compactsim/compactsim/traces/synthetic"
)

//go:embed builtin/*.yaml
var builtin embed.FS

//go:embed manual.txt
var manual string

// Samples returns the recordings that come with the program, which
// agents.ReadFS reads: a folder for each workload they show, laid out as a
// project's folder of Claude Code.
func Samples() fs.FS { return synthetic.Samples() }

// Reference returns the manual of the format: every key with its default.
func Reference() ([]byte, error) {
	chapters := spec.Chapters(manual)
	var o users.Organisation
	o.SetDefaults()
	o.Users = 20
	keys, err := spec.Manual(o, nil)
	if err != nil {
		return nil, err
	}
	const at = "users.organisations"
	chapters[at] += "\n\n  acme:\n"
	for line := range strings.Lines(strings.TrimSpace(string(keys))) {
		if strings.TrimSpace(line) != "" && line != "#\n" {
			chapters[at] += "    " + line
		}
	}
	return spec.Manual(Default(), chapters)
}

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
		text, err := fs.ReadFile(builtin, file)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		tree, err := spec.Parse(text, file)
		if err != nil {
			return nil, err
		}
		b := Builtin{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Text: text}
		if doc := spec.Child(tree.Root, "doc"); doc != nil {
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
	return nil, fmt.Errorf("unknown scenario %q%s", name, nearest.Among(name, names))
}

// oneOf returns an error for a value that is not among those known.
func oneOf(key, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s: unknown value %q%s; want %s", key, value, nearest.Hint(value, known), strings.Join(known, ", "))
}
