package compare

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/compactsim/compactsim/internal/nearest"
)

// Cells returns the names of cells and strategies that inputs have, with those
// that a pattern matches in its place: every group of cells whose name or
// strategy it takes, in the order of the runs, and where it takes neither the
// cells one by one. A text that is the name of something is no pattern. Names
// that nothing has are errors with the nearest one there is.
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

// namesLike returns what a name or a pattern stands for.
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

// like returns the name of g when a pattern takes it or that of its strategy,
// else those of its cells that it takes.
func (g *group) like(pattern string) []string {
	if nearest.Match(pattern, g.name) || nearest.Match(pattern, g.strategy) {
		return []string{g.name}
	}
	var list []string
	for _, c := range g.cells {
		if nearest.Match(pattern, c.Cell) {
			list = append(list, c.Cell)
		}
	}
	return list
}
