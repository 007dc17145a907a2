package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
)

// Change is a value that replaces one of a fleet.
type Change struct {
	origin string // for messages
	keys   []string
	value  *yaml.Node
	err    error // what is wrong with the change itself
}

// Set returns the change of a key; messages name origin.
func Set(origin string, value any, keys ...string) Change {
	n, err := spec.Encode(value)
	if err != nil {
		err = fmt.Errorf("%s: %w", origin, err)
	}
	return Change{origin, keys, n, err}
}

// Assign reads a change in the form PATH=VALUE. The path orgs.NAME.KEY is a key
// of one organisation, orgs.*.KEY that of all.
func Assign(text string) Change {
	c := Change{origin: "--set " + text}
	var path string
	path, c.value, c.err = spec.Assignment(c.origin, text)
	c.keys = strings.Split(path, ".")
	return c
}

// Load returns a fleet in Names, or in a file, with changes; a name with a slash or
// ending in .yaml or .yml is a file. Files that a fleet names are relative to its own
// folder if they exist there, else to the working folder; those in changes are relative
// to the working folder. Errors in the fleet itself are reported before those in changes.
func Load(name string, in Inputs, changes ...Change) (*File, error) {
	tree, err := open(name, in.Files)
	if err != nil {
		return nil, err
	}
	f, err := read(tree, in)
	if err != nil || len(changes) == 0 {
		return f, err
	}
	if tree, err = open(name, in.Files); err != nil {
		return nil, err
	}
	var errs []error
	for i := range changes {
		c := &changes[i]
		for _, other := range changes[:i] {
			if c.err == nil && slices.Equal(other.keys, c.keys) {
				errs = append(errs, fmt.Errorf("%s: %s sets it too; give one of them", c.origin, other.origin))
			}
		}
		errs = append(errs, c.apply(tree))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return read(tree, in)
}

// open returns the tree of a fleet, with its files relative to the working folder.
func open(name string, files fs.FS) (*spec.Tree, error) {
	builtin := !namesFile(name)
	var text []byte
	var err error
	switch {
	case builtin:
		if text, err = Text(name); err != nil {
			return nil, err
		}
		name += ".yaml"
	case files == nil:
		return nil, fmt.Errorf("fleet %s: no files can be read here", name)
	default:
		if text, err = fs.ReadFile(files, name); err != nil {
			return nil, fmt.Errorf("read fleet: %w", err)
		}
	}
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, fmt.Errorf("reading a fleet: %w", err)
	}
	if !builtin {
		locate(tree, files)
	}
	return tree, nil
}

// everyOrg stands for all organisations in a path.
const everyOrg = "*"

// apply puts the value at its path. Errors name the origin.
func (c *Change) apply(tree *spec.Tree) error {
	if c.err != nil {
		return c.err
	}
	tree.Mark(c.value, c.origin)
	if len(c.keys) == 2 && c.keys[0] == "orgs" {
		return fmt.Errorf("%s: %s is an organisation: want orgs.%[2]s.KEY, such as orgs.%[2]s.users", c.origin, c.keys[1])
	}
	if len(c.keys) < 3 || c.keys[0] != "orgs" {
		if err := spec.CheckPath(File{}, c.keys...); err != nil {
			return fmt.Errorf("%s: %w", c.origin, err)
		}
		return tree.Put(tree.Root, c.value, c.keys...)
	}
	orgs := spec.Child(tree.Root, "orgs").Content
	names := make([]string, len(orgs))
	for i, org := range orgs {
		if n := spec.Child(org, "name"); n != nil {
			names[i] = n.Value
		}
	}
	who, keys := splitOrg(c.keys[1:], names)
	if who != everyOrg && !slices.Contains(names, who) {
		return fmt.Errorf("%s: no organisation %q%s; there are %s",
			c.origin, who, nearest.Hint(who, names), strings.Join(names, ", "))
	}
	if err := spec.CheckPath(Org{}, keys...); err != nil {
		return fmt.Errorf("%s: %w", c.origin, err)
	}
	for i, org := range orgs {
		if who != everyOrg && who != names[i] {
			continue
		}
		value := spec.Clone(c.value)
		tree.Mark(value, c.origin)
		if err := tree.Put(org, value, keys...); err != nil {
			return err
		}
	}
	return nil
}

// splitOrg splits a path into the organisation it begins with and the keys
// after it. As names may have dots, the longest that is one of names is taken.
func splitOrg(path, names []string) (who string, keys []string) {
	for n := len(path) - 1; n > 1; n-- {
		if who = strings.Join(path[:n], "."); slices.Contains(names, who) {
			return who, path[n:]
		}
	}
	return path[0], path[1:]
}

// From returns the fleet with its files relative to dir: written there, it
// means the same wherever it is run.
func (f *File) From(dir string) *File {
	moved := *f
	moved.Prices.File = nameFrom(dir, f.Prices.File)
	moved.Orgs = slices.Clone(f.Orgs)
	for i := range moved.Orgs {
		o := &moved.Orgs[i]
		o.Arrivals.File = nameFrom(dir, o.Arrivals.File)
		profiles := map[string]float64{}
		for name, weight := range o.Sessions.Profiles {
			if namesFile(name) {
				name = nameFrom(dir, name)
			}
			profiles[name] += weight
		}
		o.Sessions.Profiles = profiles
	}
	return &moved
}

// nameFrom converts a file name from relative to the working folder to relative
// to dir. Absolute names stay.
func nameFrom(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return name
	}
	to, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return filepath.ToSlash(to) // another drive
	}
	return filepath.ToSlash(rel)
}
