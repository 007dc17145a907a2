package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/fleet"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/reports"
)

// anyFile opens files by any path, not only by those below a folder.
type anyFile struct{}

// Open implements fs.FS.
func (anyFile) Open(name string) (fs.File, error) { return os.Open(name) }

// file returns a fleet with the flags in it. The file is read first as it is, so
// that what is wrong with it is told by its own lines.
func (f *fleetFlags) file(cmd *cobra.Command, name string, in fleet.Inputs) (*fleet.File, error) {
	file, err := fleet.Load(name, in)
	if err != nil {
		return nil, err
	}
	text, label, err := fleetText(name)
	if err != nil {
		return nil, err
	}
	tree, err := spec.Parse(text, label)
	if err != nil {
		return nil, err
	}
	fleet.Locate(tree, in.Files) // ahead of the flags: what they name is from the working folder
	changes, errs := f.changes(cmd)
	if len(changes)+len(errs) == 0 {
		return file, nil
	}
	for _, c := range changes {
		errs = append(errs, c.apply(tree))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return fleet.Read(tree, in)
}

// fleetText returns the YAML of what fleet.Load reads, and what to call it.
func fleetText(name string) (text []byte, label string, err error) {
	if !strings.ContainsAny(name, `/\`) && !isYAML(name) {
		text, err = fleet.Text(name)
		return text, name + ".yaml", err
	}
	if text, err = os.ReadFile(name); err != nil {
		return nil, "", fmt.Errorf("read fleet: %w", err)
	}
	return text, name, nil
}

// fleetChange is a value of a flag that goes into the file.
type fleetChange struct {
	origin string // the flag, for messages
	keys   []string
	value  *yaml.Node
}

// changes returns what the flags that were given change.
func (f *fleetFlags) changes(cmd *cobra.Command) ([]fleetChange, []error) {
	var list []fleetChange
	var errs []error
	flag := func(name string, value any, keys ...string) {
		if !cmd.Flags().Changed(name) {
			return
		}
		n, err := spec.Encode(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", name, err))
			return
		}
		list = append(list, fleetChange{origin: "--" + name, keys: keys, value: n})
	}
	flag("strategy", f.strategies, "strategies")
	flag("seed", f.seed, "seed")
	flag("days", f.days, "days")
	flag("prices", f.prices, "prices", "file")
	for _, text := range f.set {
		c, err := assigned(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, other := range list {
			if slices.Equal(other.keys, c.keys) {
				errs = append(errs, fmt.Errorf("%s: %s sets it too; give one of them", c.origin, other.origin))
			}
		}
		list = append(list, c)
	}
	return list, errs
}

// assigned reads PATH=VALUE.
func assigned(text string) (fleetChange, error) {
	c := fleetChange{origin: "--set " + text}
	path, value, ok := strings.Cut(text, "=")
	if path = strings.TrimSpace(path); !ok || path == "" {
		return c, fmt.Errorf("%s: want PATH=VALUE", c.origin)
	}
	if strings.TrimSpace(value) == "" {
		return c, fmt.Errorf("%s: no value", c.origin)
	}
	tree, err := spec.Parse([]byte(value), c.origin)
	if err != nil {
		return c, err
	}
	c.keys, c.value = strings.Split(path, "."), tree.Root
	return c, nil
}

// everyOrg stands for all organisations in a path.
const everyOrg = "*"

// apply puts the value where its path leads to. What is wrong with it is told of the
// flag.
func (c *fleetChange) apply(tree *spec.Tree) error {
	tree.Mark(c.value, c.origin)
	if len(c.keys) == 2 && c.keys[0] == "orgs" {
		return fmt.Errorf("%s: %s is an organisation: want orgs.%[2]s.KEY, such as orgs.%[2]s.users", c.origin, c.keys[1])
	}
	if len(c.keys) < 3 || c.keys[0] != "orgs" {
		if err := spec.CheckPath(fleet.File{}, c.keys...); err != nil {
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
		return fmt.Errorf("%s: no organisation %q%s; there are %s", c.origin, who, nearest.Hint(who, names), strings.Join(names, ", "))
	}
	if err := spec.CheckPath(fleet.Org{}, keys...); err != nil {
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

// splitOrg tells the organisation at the head of a path from what follows. A
// name may itself have dots: the longest that is one of names is taken.
func splitOrg(path, names []string) (who string, keys []string) {
	for n := len(path) - 1; n > 1; n-- {
		if who = strings.Join(path[:n], "."); slices.Contains(names, who) {
			return who, path[n:]
		}
	}
	return path[0], path[1:]
}

// holdsFleet reports whether a folder holds the figures of a fleet.
func holdsFleet(dir string) bool { return isThere(filepath.Join(dir, fleetFile)) }

// saveFleet writes the files of a fleet, if a folder is asked for.
func (o *outFolder) saveFleet(file *fleet.File, f *studies.Fleet) error {
	if o == nil {
		return nil
	}
	resolved, err := yaml.Marshal(fleetFrom(file, o.dir))
	if err != nil {
		return fmt.Errorf("writing the resolved fleet: %w", err)
	}
	o.addReport(fleetFile, reports.Fleet(f), "json")
	o.addText(fleetYAMLFile, resolved)
	o.addReport(reportFile, reports.Fleet(f), "table")
	o.addReport(orgsFile, reports.Fleet(f), "csv")
	o.addReport(hoursFile, reports.FleetHours(f), "csv")
	o.addCharts(reports.FleetDrawings(f))
	return o.save()
}

// fleetFrom returns a fleet that names its files from a folder: what is written there
// means the same from wherever it is run.
func fleetFrom(f *fleet.File, dir string) *fleet.File {
	moved := *f
	moved.Prices.File = nameFrom(dir, f.Prices.File)
	moved.Orgs = slices.Clone(f.Orgs)
	for i := range moved.Orgs {
		o := &moved.Orgs[i]
		o.Arrivals.File = nameFrom(dir, o.Arrivals.File)
		profiles := map[string]float64{}
		for name, weight := range o.Sessions.Profiles {
			if isFilePath(name) || isYAML(name) {
				name = nameFrom(dir, name)
			}
			profiles[name] += weight
		}
		o.Sessions.Profiles = profiles
	}
	return &moved
}

// nameFrom returns the name, from a folder, of a file that is named from the working
// folder. Absolute names stay.
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

// isFilePath reports whether a name leads through folders.
func isFilePath(name string) bool { return strings.ContainsAny(name, `/\\`) }
