package fleet

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/strategies"
)

//go:embed fleets/*.yaml
var builtin embed.FS

// Names lists the fleets that come with the program.
func Names() []string {
	entries, err := builtin.ReadDir("fleets")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// Text returns the YAML of a fleet that comes with the program.
func Text(name string) ([]byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("no fleet %q%s; there are %s, and files that end in .yaml or .yml", name, nearest.Hint(name, Names()), strings.Join(Names(), ", "))
	}
	return builtin.ReadFile("fleets/" + name + ".yaml")
}

// Inputs are what a fleet may name.
type Inputs struct {
	// Files are fleets and the times of traces; nil for none.
	Files fs.FS
	// Registry has the strategies; nil leaves their names for the Runner to look
	// at.
	Registry *strategies.Registry
}

// Load returns the fleet of a name in Names, or of a file: what holds a slash or
// ends in .yaml or .yml is a file. Files that it names are found as Locate says.
func Load(name string, in Inputs) (*File, error) {
	if !namesFile(name) {
		text, err := Text(name)
		if err != nil {
			return nil, err
		}
		return Parse(text, name+".yaml", in)
	}
	if in.Files == nil {
		return nil, fmt.Errorf("fleet %s: no files can be read here", name)
	}
	text, err := fs.ReadFile(in.Files, name)
	if err != nil {
		return nil, fmt.Errorf("read fleet: %w", err)
	}
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, fmt.Errorf("reading a fleet: %w", err)
	}
	Locate(tree, in.Files)
	return Read(tree, in)
}

// Parse reads a fleet strictly. The error names every problem at once with file and line:
// unknown keys and names with the nearest known one, values out of range, and
// fleets that could not end. Names of files in it are from the working folder.
func Parse(text []byte, name string, in Inputs) (*File, error) {
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, fmt.Errorf("reading a fleet: %w", err)
	}
	return Read(tree, in)
}

// pricesAt returns the date of prices, zero for that of each call.
func (f *File) pricesAt() (time.Time, error) {
	if f.PricesAt == pricesAtCall {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, f.PricesAt)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q: want call or a date like 2026-03-01", f.PricesAt)
	}
	return at, nil
}

// pricesText words when prices are of.
func (f *File) pricesText() string {
	if f.PricesAt == pricesAtCall {
		return "call date"
	}
	return f.PricesAt
}
