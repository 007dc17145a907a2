package compare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/sim/results"
)

// seedParam is the parameter of cells that are repetitions of each other.
const seedParam = "seed"

// side is what stands on one side of a comparison: cells of a run whose figures
// are averaged session by session.
type side struct {
	label string
	name  string // of the group of its cells
	seed  string // of the run, for cells without a seed of their own
	cells []*results.Cell
	// switches are the settings of the run, for cells without values of their own.
	switches map[string]string
	// modelError is that of the run.
	modelError results.ModelError
}

// sideOf returns an empty side of a run.
func sideOf(label string, run *results.Run) side {
	p := &run.Provenance
	return side{label: label, seed: strconv.FormatUint(p.Seed, 10), switches: p.Switches, modelError: run.ModelError}
}

// of returns the side with the cells of a group.
func (s side) of(g group) side {
	s.name, s.cells = g.name, g.cells
	return s
}

// param returns a parameter of a cell of the side.
func (s *side) param(c *results.Cell, name string) (string, bool) {
	if value, ok := c.Params[name]; ok || name != seedParam {
		return value, ok
	}
	return s.seed, true
}

// setting returns what a setting around the strategy of a cell is, when it is not
// the default.
func (s *side) setting(c *results.Cell, path string) (string, bool) {
	if value, ok := c.Params[path]; ok {
		return value, true
	}
	value, ok := s.switches[path]
	return value, ok
}

// settings writes the parameters of a cell with the given names, its own name
// when there are none.
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

// checkInputs refuses labels and runs that cannot be compared.
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

// matched returns the inputs with the baseline first, and what is held against
// what.
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
	return nil, fmt.Errorf("unknown baseline %q%s; there are: %s", name, nearest.Hint(name, labels), strings.Join(labels, ", "))
}

// within makes a side of each name of a cell or strategy of one run.
func within(in Input, o Options) ([]match, error) {
	if len(o.Cells) < 2 {
		return nil, fmt.Errorf("%s is one run: name two or more of its cells or strategies to compare, or give another run; it has: %s",
			in.Label, strings.Join(names(in.Run), ", "))
	}
	var m match
	for _, name := range o.Cells {
		s := sideOf(name, in.Run)
		for _, g := range groups(in.Run) {
			s.cells = append(s.cells, g.named(name)...)
		}
		m.sides = append(m.sides, s)
	}
	var err error
	m.sides, err = baselineFirst(m.sides, o.Baseline, func(s side) string { return s.label })
	return []match{m}, err
}

// narrow leaves the groups with wanted names in each run, all for none.
func narrow(perRun [][]group, wanted []string) {
	if len(wanted) == 0 {
		return
	}
	for i, groups := range perRun {
		var left []group
		for _, g := range groups {
			var cells []*results.Cell
			for _, name := range wanted {
				for _, c := range g.named(name) {
					if !slices.Contains(cells, c) {
						cells = append(cells, c)
					}
				}
			}
			if len(cells) > 0 {
				left = append(left, group{g.name, g.strategy, cells})
			}
		}
		perRun[i] = left
	}
}

func unknownCell(name string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	return fmt.Errorf("no cell or strategy %q%s; there are: %s", name, nearest.Hint(name, known), strings.Join(known, ", "))
}
