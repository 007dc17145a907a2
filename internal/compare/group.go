package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
)

// group is the cells of a run that differ in their seed alone.
type group struct {
	name     string // that of the cell, without the seed
	strategy string
	cells    []*results.Cell
}

// groups returns the cells that have rows, in the order of the run.
func groups(run *results.Run) []group {
	var list []group
	for i := range run.Cells {
		c := &run.Cells[i]
		if len(c.Rows) == 0 {
			continue
		}
		name := c.Cell
		if seed, ok := c.Params[seedParam]; ok {
			name = strings.Replace(name, " "+seedParam+"="+seed, "", 1)
		}
		k := slices.IndexFunc(list, func(g group) bool { return g.name == name && g.strategy == c.Strategy })
		if k < 0 {
			list = append(list, group{name: name, strategy: c.Strategy})
			k = len(list) - 1
		}
		list[k].cells = append(list[k].cells, c)
	}
	return list
}

// named returns the cells of g that a name means: the group's or its strategy's
// all of them, a cell's that one.
func (g *group) named(name string) []*results.Cell {
	if name == g.name || name == g.strategy {
		return g.cells
	}
	var cells []*results.Cell
	for _, c := range g.cells {
		if c.Cell == name {
			cells = append(cells, c)
		}
	}
	return cells
}

func groupNames(groups []group) []string {
	var list []string
	for _, g := range groups {
		list = append(list, g.name)
	}
	return list
}

// names returns what the cells of a run can be called: by group and by strategy.
func names(run *results.Run) []string {
	set := map[string]bool{}
	for _, g := range groups(run) {
		set[g.name], set[g.strategy] = true, true
	}
	return slices.Sorted(maps.Keys(set))
}
