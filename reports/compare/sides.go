package compare

import (
	"errors"
	"fmt"
	"maps"
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
	seed  string // of the run, for cells without a seed of their own
	cells []*results.Cell
	// modelError is that of the run.
	modelError results.ModelError
}

// sideOf returns an empty side of a run.
func sideOf(label string, run *results.Run) side {
	return side{label: label, seed: strconv.FormatUint(run.Provenance.Seed, 10), modelError: run.ModelError}
}

// of returns the side with cells.
func (s side) of(cells []*results.Cell) side {
	s.cells = cells
	return s
}

// param returns a parameter of a cell of the side.
func (s *side) param(c *results.Cell, name string) (string, bool) {
	if value, ok := c.Params[name]; ok || name != seedParam {
		return value, ok
	}
	return s.seed, true
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
	var errs []error
	for i, name := range o.Cells {
		s := sideOf(name, in.Run)
		for _, g := range groups(in.Run) {
			s.cells = append(s.cells, g.named(name)...)
		}
		switch {
		case len(s.cells) == 0:
			errs = append(errs, unknownCell(name, names(in.Run)))
		case slices.Contains(o.Cells[:i], name):
			errs = append(errs, fmt.Errorf("%q is named twice", name))
		}
		m.sides = append(m.sides, s)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	m.sides, err = baselineFirst(m.sides, o.Baseline, func(s side) string { return s.label })
	return []match{m}, err
}

// across matches the cells of several runs by name. When each run has one alone,
// beside what was billed and recorded, they are compared whatever their names.
func across(inputs []Input, wanted []string) ([]match, []string, error) {
	perRun := make([][]group, len(inputs))
	for i, in := range inputs {
		perRun[i] = groups(in.Run)
	}
	if err := narrow(perRun, wanted); err != nil {
		return nil, nil, err
	}
	if m, ok := alone(inputs, perRun); ok {
		return []match{m}, differentCells(inputs, perRun, m.name), nil
	}
	own, references := split(perRun)
	m, ok := alone(inputs, own)
	if !ok || m.name != "" {
		return inCommon(inputs, perRun)
	}
	both, notes := common(inputs, references)
	return append([]match{m}, both...), append(differentCells(inputs, own, m.name), notes...), nil
}

// inCommon is common, and fails when the runs share nothing.
func inCommon(inputs []Input, perRun [][]group) ([]match, []string, error) {
	matches, notes := common(inputs, perRun)
	if len(matches) > 0 {
		return matches, notes, nil
	}
	var has []string
	for i, in := range inputs {
		has = append(has, in.Label+" has "+listed(groupNames(perRun[i])))
	}
	return nil, nil, fmt.Errorf("no cell in common: %s", strings.Join(has, "; "))
}

// alone matches the only group of every run, false when some run has none or
// several. The match has a name when they all have the same.
func alone(inputs []Input, perRun [][]group) (match, bool) {
	var m match
	for i, groups := range perRun {
		if len(groups) != 1 {
			return match{}, false
		}
		m.sides = append(m.sides, sideOf(inputs[i].Label, inputs[i].Run).of(groups[0].cells))
		if i == 0 {
			m.name = groups[0].name
		} else if groups[0].name != m.name {
			m.name = ""
		}
	}
	return m, true
}

// split tells the strategies of runs from what was billed and recorded.
func split(perRun [][]group) (own, references [][]group) {
	own, references = make([][]group, len(perRun)), make([][]group, len(perRun))
	for i, groups := range perRun {
		for _, g := range groups {
			if g.strategy == results.StrategyBilled || g.strategy == results.StrategyRecorded {
				references[i] = append(references[i], g)
			} else {
				own[i] = append(own[i], g)
			}
		}
	}
	return own, references
}

// differentCells says which cells are compared when their names differ.
func differentCells(inputs []Input, perRun [][]group, name string) []string {
	if name != "" {
		return nil
	}
	var parts []string
	for i, in := range inputs {
		parts = append(parts, in.Label+" "+perRun[i][0].name)
	}
	return []string{"the cells compared: " + strings.Join(parts, ", ")}
}

// common matches the groups that every run has, and says what only some have.
func common(inputs []Input, perRun [][]group) ([]match, []string) {
	var matches []match
	missing := map[string][]string{} // names of cells by the runs that have them
	for i, groups := range perRun {
		for _, g := range groups {
			m := match{name: g.name}
			var have []string
			for j := range perRun {
				if k := slices.IndexFunc(perRun[j], func(x group) bool { return x.name == g.name }); k >= 0 {
					m.sides = append(m.sides, sideOf(inputs[j].Label, inputs[j].Run).of(perRun[j][k].cells))
					have = append(have, inputs[j].Label)
				}
			}
			switch {
			case len(have) < len(inputs) && have[0] == inputs[i].Label:
				where := strings.Join(have, ", ")
				missing[where] = append(missing[where], g.name)
			case len(have) == len(inputs) && i == 0:
				matches = append(matches, m)
			}
		}
	}
	var notes []string
	for _, where := range slices.Sorted(maps.Keys(missing)) {
		notes = append(notes, fmt.Sprintf("only in %s: cell %s", where, listed(missing[where])))
	}
	return matches, notes
}

// narrow leaves the groups with wanted names in each run, all for none.
func narrow(perRun [][]group, wanted []string) error {
	if len(wanted) == 0 {
		return nil
	}
	found := map[string]bool{}
	var known []string
	for i, groups := range perRun {
		known = append(known, groupNames(groups)...)
		var left []group
		for _, g := range groups {
			var cells []*results.Cell
			for _, name := range wanted {
				named := g.named(name)
				found[name] = found[name] || len(named) > 0
				for _, c := range named {
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
	var errs []error
	for _, name := range wanted {
		if !found[name] {
			errs = append(errs, unknownCell(name, known))
		}
	}
	return errors.Join(errs...)
}

func unknownCell(name string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	return fmt.Errorf("no cell or strategy %q%s; there are: %s", name, nearest.Hint(name, known), strings.Join(known, ", "))
}
