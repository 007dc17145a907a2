package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
)

// Read is Parse of a tree. It writes the dates of upgrades as times from the start into
// the tree, and leaves it as it is else.
func Read(tree *spec.Tree, in Inputs) (*File, error) {
	f := defaultFile()
	f.known = new(known)
	dates(tree.Root, f.Start.Time)
	c := spec.Checker{Tree: tree}
	c.Check(tree.Root, f, "")
	errs := c.Errs
	// What could not be read is as by default: all else is looked at.
	var mixed *yaml.TypeError
	if err := decode(tree.Root, &f); err != nil && (len(errs) == 0 || !errors.As(err, &mixed)) {
		errs = append(errs, fmt.Errorf("%s: %w", tree.Name, err))
		return nil, fmt.Errorf("reading a fleet: %w", errors.Join(errs...))
	}
	flaws := f.flaws(in.Registry)
	flaws = append(flaws, f.readTimes(in.Files)...)
	if len(errs) == 0 && len(flaws) == 0 {
		flaws = f.checkSize()
	}
	lost := places(errs)
	for _, w := range flaws {
		n := spec.Reach(tree.Root, w.path)
		if !slices.ContainsFunc(lost, func(place string) bool { return stands(tree, n, place) }) {
			errs = append(errs, tree.Errorf(n, "%s: %s", w.path, w.text))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading a fleet: %w", errors.Join(errs...))
	}
	return &f, nil
}

// places returns the places, file:line or flag, of errors of a Checker.
func places(errs []error) []string {
	var list []string
	for _, err := range errs {
		place, _, _ := strings.Cut(err.Error(), ": ")
		list = append(list, place)
	}
	return list
}

// stands reports whether a node, or anything in it, stands at a place: what is said of
// values that could not be read is not told.
func stands(tree *spec.Tree, n *yaml.Node, place string) bool {
	return tree.At(n) == place || slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return stands(tree, n, place) })
}

// dates writes the dates at which upgrades begin as times from the start, for which the
// file is asked first.
func dates(root *yaml.Node, start time.Time) {
	upgrades := spec.Child(root, "upgrades")
	if upgrades == nil || upgrades.Kind != yaml.SequenceNode {
		return
	}
	if n := spec.Child(root, "start"); n != nil {
		var given Moment
		if given.UnmarshalYAML(n) != nil {
			return
		}
		start = given.Time
	}
	for _, u := range upgrades.Content {
		var at Moment
		if n := spec.Child(u, "at"); n != nil && at.UnmarshalYAML(n) == nil {
			n.Value, n.Tag = at.Sub(start).String(), "!!str"
		}
	}
}

// decode reads what the checker has looked at over the defaults. After an error of
// yaml.TypeError all that could be read has been.
func decode(root *yaml.Node, f *File) error {
	var mixed *yaml.TypeError
	err := root.Decode(f)
	if err != nil && !errors.As(err, &mixed) {
		return err
	}
	orgs := spec.Child(root, "orgs")
	if orgs == nil || orgs.Kind != yaml.SequenceNode {
		return err
	}
	f.Orgs = f.Orgs[:0]
	for _, node := range orgs.Content {
		o := defaultOrg()
		if spec.Child(node, "kinds") != nil {
			o.Kinds = nil // shares are given whole
		}
		if spec.Find(node, "sessions", "profiles") != nil {
			o.Sessions.Profiles = nil
		}
		if bad := node.Decode(&o); bad != nil {
			err = bad
			if !errors.As(bad, &mixed) {
				return err
			}
		}
		f.Orgs = append(f.Orgs, o)
	}
	return err
}
