package scenarios

import (
	"embed"
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// builtinFolder is where the scenarios for sim run stand.
const builtinFolder = "builtin"

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
func Builtins() ([]Builtin, error) { return embedded(builtin, builtinFolder) }

// LookupBuiltin returns the embedded scenario with a name, those of claims under
// claims/NAME; an unknown one is an error that names the nearest.
func LookupBuiltin(name string) (*Builtin, error) {
	list := Builtins
	if strings.HasPrefix(name, claimFolder+"/") {
		list = ClaimScenarios
	}
	all, err := list()
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
