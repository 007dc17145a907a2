package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/sim/results"
)

// side is one side of a comparison: cells of a run whose figures are averaged
// session by session.
type side struct {
	label          string
	run            *results.Run
	name, strategy string // of its cells, without their seed
	cells          []*results.Cell
}

// sides returns the cells of a run that have rows, in the order of the run, those that differ only in their
// seed as one side: the cells with a wanted name or strategy, all without any.
func (in Input) sides(wanted ...string) []side {
	var list []side
	for _, g := range in.Run.Replications() {
		s := side{in.Label, in.Run, g.Cell, g.Strategy, nil}
		for _, c := range g.Cells {
			named := len(wanted) == 0 || slices.ContainsFunc(wanted, func(name string) bool {
				return name == g.Cell || name == g.Strategy || name == c.Cell
			})
			if named && len(c.Rows) > 0 {
				s.cells = append(s.cells, c)
			}
		}
		if len(s.cells) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func sideNames(list []side) []string {
	var names []string
	for i := range list {
		names = append(names, list[i].name)
	}
	return names
}

// anySeed reports whether the cells draw nothing and are compared with every seed: they have no seed in a run
// that sweeps it.
func (s *side) anySeed() bool {
	return !slices.ContainsFunc(s.cells, hasSeed) && slices.ContainsFunc(s.run.Cells, func(c results.Cell) bool { return hasSeed(&c) })
}

func hasSeed(c *results.Cell) bool { return c.Params[results.SeedParam] != "" }

// seed returns the seed of a cell of the side, as a text.
func (s *side) seed(c *results.Cell) string {
	return cmp.Or(c.Params[results.SeedParam], strconv.FormatUint(s.run.Provenance.Seed, 10))
}

// setting returns the value of a setting around the strategy of a cell; false
// when it is the default.
func (s *side) setting(c *results.Cell, path string) (string, bool) {
	if value, ok := c.Params[path]; ok {
		return value, true
	}
	value, ok := s.run.Provenance.Switches[path]
	return value, ok
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
		if len(in.sides()) == 0 {
			errs = append(errs, fmt.Errorf("%s: an empty run, without a single session", in.Label))
		}
	}
	if len(inputs) == 0 {
		errs = append(errs, errors.New("nothing to compare"))
	}
	return errors.Join(errs...)
}

// known returns the names of cells and strategies of runs.
func known(inputs ...Input) []string {
	var names []string
	for _, in := range inputs {
		for _, s := range in.sides() {
			names = append(names, s.name, s.strategy)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Cells returns names of cells and strategies of inputs, with each pattern
// replaced by what it matches: every side whose name or strategy matches, in
// the order of the runs, and of other sides the single cells. A text that is
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
func namesLike(inputs []Input, pattern string) (list []string, err error) {
	for _, in := range inputs {
		if found := in.sides(pattern); len(found) == 1 {
			return []string{pattern}, nil
		}
		for _, s := range in.sides() {
			if nearest.Match(pattern, s.name) || nearest.Match(pattern, s.strategy) {
				list = append(list, s.name)
				continue
			}
			for _, c := range s.cells {
				if nearest.Match(pattern, c.Cell) {
					list = append(list, c.Cell)
				}
			}
		}
	}
	if len(list) == 0 {
		names := known(inputs...)
		return nil, fmt.Errorf("no cell or strategy %q%s; there are: %s", pattern, nearest.Hint(pattern, names), strings.Join(names, ", "))
	}
	return list, nil
}
