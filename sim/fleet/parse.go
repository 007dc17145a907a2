package fleet

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/yamlx"
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
		return nil, fmt.Errorf("no fleet %q%s; there are %s, and files that end in .yaml", name, nearest.Hint(name, Names()), strings.Join(Names(), ", "))
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
// ends in .yaml is a file.
func Load(name string, in Inputs) (*File, error) {
	if !strings.Contains(name, "/") && path.Ext(name) != ".yaml" {
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
	return Parse(text, name, in)
}

// Parse reads a fleet strictly. The error names every problem at once with file and line:
// unknown keys and names with the nearest known one, values out of range, and
// fleets that could not end.
func Parse(text []byte, name string, in Inputs) (*File, error) {
	tree, err := yamlx.Parse(text, name)
	if err != nil {
		return nil, fmt.Errorf("reading a fleet: %w", err)
	}
	f := defaultFile()
	c := yamlx.Checker{Tree: tree}
	c.Check(tree.Root, f, "")
	if len(c.Errs) > 0 {
		return nil, fmt.Errorf("reading a fleet: %w", errors.Join(c.Errs...))
	}
	if err := decode(tree.Root, &f); err != nil {
		return nil, fmt.Errorf("reading a fleet: %s: %w", name, err)
	}
	flaws := f.flaws(in.Registry)
	flaws = append(flaws, f.readTimes(in.Files)...)
	var errs []error
	for _, w := range flaws {
		errs = append(errs, tree.Errorf(nodeAt(tree.Root, w.path), "%s: %s", w.path, w.text))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading a fleet: %w", errors.Join(errs...))
	}
	return &f, nil
}

// decode reads what the checker has passed over the defaults.
func decode(root *yaml.Node, f *File) error {
	if err := root.Decode(f); err != nil {
		return err
	}
	orgs := yamlx.Child(root, "orgs")
	if orgs == nil {
		return nil
	}
	f.Orgs = f.Orgs[:0]
	for _, node := range orgs.Content {
		o := defaultOrg()
		if yamlx.Child(node, "kinds") != nil {
			o.Kinds = nil // shares are given whole
		}
		if yamlx.Find(node, "sessions", "profiles") != nil {
			o.Sessions.Profiles = nil
		}
		if err := node.Decode(&o); err != nil {
			return err
		}
		f.Orgs = append(f.Orgs, o)
	}
	return nil
}

// nodeAt returns the node that a path leads to, or the last one on the way that
// the file has.
func nodeAt(n *yaml.Node, path string) *yaml.Node {
	for key := range strings.SplitSeq(strings.NewReplacer("[", ".", "]", "").Replace(path), ".") {
		next := yamlx.Child(n, key)
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
