package compare

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/sim/results"
)

// side is one side of a comparison: cells of a run whose figures are averaged
// session by session.
type side struct {
	label string
	name  string // of the group of its cells
	seed  string // of the run, for cells without their own seed
	cells []*results.Cell
	// sweepsSeed says that the run has cells under several seeds; anySeed that the side's
	// cells draw nothing and ran once, so that they are compared with every seed.
	sweepsSeed, anySeed bool
	// switches are the settings of the run, for cells without their own values.
	switches map[string]string
	// modelError is that of the run.
	modelError results.ModelError
}

// sideOf returns an empty side of a run.
func sideOf(label string, run *results.Run) side {
	p := &run.Provenance
	sweeps := slices.ContainsFunc(run.Cells, func(c results.Cell) bool { return hasSeed(&c) })
	return side{label: label, sweepsSeed: sweeps, seed: strconv.FormatUint(p.Seed, 10), switches: p.Switches, modelError: run.ModelError}
}

// of returns the side with the cells of a group.
func (s side) of(g group) side {
	s.name, s.cells = g.Cell, g.Cells
	s.fix()
	return s
}

// fix sets whether the cells are the same under all seeds: they are if they
// have no seed in a run that sweeps it.
func (s *side) fix() {
	s.anySeed = s.sweepsSeed && !slices.ContainsFunc(s.cells, hasSeed)
}

func hasSeed(c *results.Cell) bool { return c.Params[results.SeedParam] != "" }

// param returns a parameter of a cell of the side.
func (s *side) param(c *results.Cell, name string) (string, bool) {
	if value, ok := c.Params[name]; ok || name != results.SeedParam {
		return value, ok
	}
	return s.seed, true
}

// setting returns the value of a setting around the strategy of a cell; false
// when it is the default.
func (s *side) setting(c *results.Cell, path string) (string, bool) {
	if value, ok := c.Params[path]; ok {
		return value, true
	}
	value, ok := s.switches[path]
	return value, ok
}

// settings formats the parameters of a cell with the given names, or the cell's
// name if there are none.
func (s *side) settings(c *results.Cell, names []string) string {
	if len(names) == 0 {
		return c.Cell
	}
	var parts []string
	for _, name := range names {
		value, _ := s.param(c, name)
		parts = append(parts, name+" "+value)
	}
	return strings.Join(parts, ", ")
}

// match is a group of sides, the baseline first.
type match struct {
	name  string // of the cell in all runs; "" when sides are themselves cells
	sides []side
}

// checkInputs returns an error for labels and runs that cannot be compared.
func checkInputs(inputs []Input) error {
	var errs []error
	for i, in := range inputs {
		if in.Label == "" {
			errs = append(errs, fmt.Errorf("run %d has no label", i+1))
		}
		if slices.ContainsFunc(inputs[:i], func(x Input) bool { return x.Label == in.Label }) {
			errs = append(errs, fmt.Errorf("label %q is there twice: name each run with LABEL=PATH", in.Label))
		}
		if !slices.ContainsFunc(in.Run.Cells, func(c results.Cell) bool { return len(c.Rows) > 0 }) {
			errs = append(errs, fmt.Errorf("%s: an empty run, without a single session", in.Label))
		}
	}
	if len(inputs) == 0 {
		errs = append(errs, errors.New("nothing to compare"))
	}
	return errors.Join(errs...)
}

// matched returns the inputs with the baseline first, and the matches to
// compare.
func matched(inputs []Input, o Options) ([]Input, []match, []string, error) {
	cells, err := Cells(inputs, o.Cells)
	if err != nil {
		return nil, nil, nil, err
	}
	o.Cells = cells
	if len(inputs) == 1 {
		m, err := within(inputs[0], o)
		return inputs, m, nil, err
	}
	ordered, err := baselineFirst(inputs, o.Baseline, func(in Input) string { return in.Label })
	if err != nil {
		return nil, nil, nil, err
	}
	m, notes, err := across(ordered, o.Cells)
	return ordered, m, notes, err
}

// baselineFirst moves the item labelled name to the front.
func baselineFirst[T any](items []T, name string, label func(T) string) ([]T, error) {
	if name == "" {
		return items, nil
	}
	var labels []string
	for i, item := range items {
		if label(item) == name {
			rest := slices.Delete(slices.Clone(items), i, i+1)
			return slices.Insert(rest, 0, item), nil
		}
		labels = append(labels, label(item))
	}
	return nil, fmt.Errorf("unknown baseline %q%s; there are: %s", name, nearest.Hint(name, labels),
		strings.Join(labels, ", "))
}

// within makes a side for each name of a cell or strategy of one run.
func within(in Input, o Options) ([]match, error) {
	if len(o.Cells) < 2 {
		return nil,
			fmt.Errorf("%s is one run: name two or more of its cells or strategies to compare, or give another run; "+
				"it has: %s",
				in.Label, strings.Join(names(in.Run), ", "))
	}
	var m match
	for _, name := range o.Cells {
		s := sideOf(name, in.Run)
		for _, g := range groups(in.Run) {
			s.cells = append(s.cells, g.named(name)...)
		}
		s.fix()
		m.sides = append(m.sides, s)
	}
	var err error
	m.sides, err = baselineFirst(m.sides, o.Baseline, func(s side) string { return s.label })
	return []match{m}, err
}

// narrowed returns the groups with wanted names; all for no names.
func narrowed(list []group, wanted []string) []group {
	if len(wanted) == 0 {
		return list
	}
	var left []group
	for _, g := range list {
		var cells []*results.Cell
		for _, name := range wanted {
			for _, c := range g.named(name) {
				if !slices.Contains(cells, c) {
					cells = append(cells, c)
				}
			}
		}
		if len(cells) > 0 {
			left = append(left, group{results.Replications{Cell: g.Cell, Strategy: g.Strategy, Cells: cells}})
		}
	}
	return left
}

func unknownCell(name string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	return fmt.Errorf("no cell or strategy %q%s; there are: %s", name, nearest.Hint(name, known),
		strings.Join(known, ", "))
}

// group is the cells of a run that differ only in their seed.
type group struct{ results.Replications }

// groups returns the cells that have rows, in the order of the run.
func groups(run *results.Run) []group {
	var list []group
	for _, g := range run.Replications() {
		if g.Cells = slices.DeleteFunc(g.Cells, func(c *results.Cell) bool { return len(c.Rows) == 0 }); len(g.Cells) > 0 {
			list = append(list, group{g})
		}
	}
	return list
}

// named returns the cells of g with a name: all for the name of the group or
// its strategy, one for the name of a cell.
func (g *group) named(name string) []*results.Cell {
	if name == g.Cell || name == g.Strategy {
		return g.Cells
	}
	var cells []*results.Cell
	for _, c := range g.Cells {
		if c.Cell == name {
			cells = append(cells, c)
		}
	}
	return cells
}

func groupNames(groups []group) []string {
	var list []string
	for _, g := range groups {
		list = append(list, g.Cell)
	}
	return list
}

// names returns the names of the cells of a run: by group and by strategy.
func names(run *results.Run) []string {
	set := map[string]bool{}
	for _, g := range groups(run) {
		set[g.Cell], set[g.Strategy] = true, true
	}
	return slices.Sorted(maps.Keys(set))
}

// Cells returns names of cells and strategies of inputs, with each pattern
// replaced by what it matches: every group whose name or strategy matches, in
// the order of the runs, and in other groups the single cells. A text that is
// an existing name is no pattern. An unknown name is an error with the nearest
// known one.
func Cells(inputs []Input, wanted []string) ([]string, error) {
	var list []string
	var errs []error
	for i, name := range wanted {
		found, err := namesLike(inputs, name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(inputs) == 1 && slices.Contains(wanted[:i], name) && slices.Equal(found, []string{name}):
			errs = append(errs, fmt.Errorf("%q is named twice", name))
		}
		for _, n := range found {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list, errors.Join(errs...)
}

// namesLike returns the names that a name or a pattern stands for.
func namesLike(inputs []Input, pattern string) ([]string, error) {
	var known, list []string
	for _, in := range inputs {
		known = append(known, names(in.Run)...)
		for _, g := range groups(in.Run) {
			if len(g.named(pattern)) > 0 {
				return []string{pattern}, nil
			}
			list = append(list, g.like(pattern)...)
		}
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%q names no cell or strategy and is no pattern: %w", pattern, err)
	}
	if len(list) == 0 {
		return nil, unknownCell(pattern, known)
	}
	return list, nil
}

// like returns the name of g when a pattern matches it or its strategy's name,
// else the names of its cells that match.
func (g *group) like(pattern string) []string {
	if nearest.Match(pattern, g.Cell) || nearest.Match(pattern, g.Strategy) {
		return []string{g.Cell}
	}
	var list []string
	for _, c := range g.Cells {
		if nearest.Match(pattern, c.Cell) {
			list = append(list, c.Cell)
		}
	}
	return list
}
