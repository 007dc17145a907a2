package synthetic

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// WorkloadNames lists the workloads that come with the program.
func WorkloadNames() []string {
	entries, err := profiles.ReadDir("profiles")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// LoadWorkload returns the workload of a name in WorkloadNames, or of a file:
// what holds a slash or ends in .yaml is a file.
func LoadWorkload(name string) (*Workload, error) {
	text, err := WorkloadText(name)
	if err != nil {
		return nil, err
	}
	file := name
	if !isFile(name) {
		file += ".yaml"
	}
	return ParseWorkload(text, file)
}

// WorkloadText returns the YAML that LoadWorkload reads.
func WorkloadText(name string) ([]byte, error) {
	if isFile(name) {
		return readProfile(name)
	}
	if !slices.Contains(WorkloadNames(), name) {
		return nil, fmt.Errorf("no profile %q%s; there are %s, and files that end in .yaml", name, nearest.Hint(name, WorkloadNames()), strings.Join(WorkloadNames(), ", "))
	}
	return profiles.ReadFile("profiles/" + name + ".yaml")
}

// maxProfileBytes bounds the file of a profile. One that lists every quantile has
// some ten thousand.
const maxProfileBytes = 4 << 20

// readProfile reads a file that may turn out to be a device without an end.
func readProfile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProfileBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read profile: %w", err)
	case len(text) > maxProfileBytes:
		return nil, fmt.Errorf("read profile: %s is larger than %d MB: no profile", name, maxProfileBytes>>20)
	}
	return text, nil
}

func isFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// fittedKey is a key that every profile of sim/profile has and no workload.
const fittedKey = "tokens_per_byte"

// ParseWorkload reads a workload strictly. The error names every problem with
// file and line: unknown keys, values of the wrong kind, and values that no
// session can be drawn from.
func ParseWorkload(text []byte, file string) (*Workload, error) {
	tree, err := spec.Parse(text, file)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	if n := spec.Child(tree.Root, fittedKey); n != nil {
		return nil, fmt.Errorf("reading a profile: %w", tree.Errorf(n, "this is the other kind of profile: %s and its like are numbers for the simulation, as sim calibrate fits them; sim traces fit writes what sessions are generated from", fittedKey))
	}
	var w Workload
	c := spec.Checker{Tree: tree}
	c.Check(tree.Root, w, "")
	errs := c.Errs
	root, sift := tree.Root, sifter{tree: tree}
	if len(errs) > 0 {
		root = sift.sift(tree.Root, "", func(n *yaml.Node) *yaml.Node { return n })
	}
	if root != nil {
		if err := root.Decode(&w); err != nil {
			return nil, fmt.Errorf("reading a profile: %w", errors.Join(append(errs, fmt.Errorf("%s: %s", file, spec.Reason(err)))...))
		}
	}
	w.Name = strings.TrimSuffix(file[strings.LastIndexAny(file, `/\`)+1:], ".yaml")
	for _, f := range w.flaws(sift.lost) {
		errs = append(errs, tree.Errorf(spec.Reach(tree.Root, f.path), "%s: %s", f.path, f.text))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading a profile: %w", errors.Join(errs...))
	}
	return &w, nil
}

// Write writes the workload as YAML.
func (w *Workload) Write(to io.Writer) error {
	text, err := yaml.Marshal(w)
	if err != nil {
		return fmt.Errorf("encode profile %s: %w", w.Name, err)
	}
	if _, err := to.Write(text); err != nil {
		return fmt.Errorf("write profile %s: %w", w.Name, err)
	}
	return nil
}
