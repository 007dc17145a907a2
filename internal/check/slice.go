package check

import (
	"maps"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/sim/results"
)

// grouping takes sessions apart into groups.
type grouping struct {
	groups []group
	// place returns the group of a session, below 0 for none.
	place func(session string) int
}

// group is a choice of sessions.
type group struct {
	name string // "" for all sessions, else such as "project web" or "no project"
	of   *grouping
}

// groups returns the groups that a rule speaks of.
func (in *Input) groups(by string) []group {
	var of func(Session) string
	switch by {
	case "":
		return newGrouping([]string{""}, func(string) int { return 0 })
	case ByProject:
		of = func(s Session) string { return s.Project }
	case ByModel:
		of = func(s Session) string { return s.Model }
	case ByAgent:
		of = func(s Session) string { return s.Agent }
	default:
		return newGrouping([]string{"sessions " + by}, func(id string) int {
			if ok, _ := path.Match(by, id); ok {
				return 0
			}
			return -1
		})
	}
	places := map[string]int{}
	for _, s := range in.Sessions {
		places[of(s)] = -1
	}
	var names []string
	for i, name := range slices.Sorted(maps.Keys(places)) {
		places[name] = i
		names = append(names, groupName(by, name))
	}
	return newGrouping(names, func(id string) int {
		if i, ok := places[of(in.Sessions[id])]; ok {
			return i
		}
		return -1
	})
}

func newGrouping(names []string, place func(string) int) []group {
	g := &grouping{place: place}
	for _, name := range names {
		g.groups = append(g.groups, group{name, g})
	}
	return g.groups
}

// groupName names the group of the sessions with a project, model or agent, or
// without: two groups never have the same name.
func groupName(by, name string) string {
	if name == "" {
		return "no " + by
	}
	return by + " " + name
}

// slice is one cell over one group: its total under each seed.
type slice struct {
	cell   *Cell
	group  group
	totals []results.Row // by seed
}

// sums adds up the rows of each cell and group once, for all rules. It holds what
// else all rules share.
type sums struct {
	slices  map[sliceKey]*slice
	groups  map[string][]group // by Rule.Group
	metrics []results.Metric
}

type sliceKey struct {
	cell  *Cell
	group string
}

func newSums() *sums {
	return &sums{slices: map[sliceKey]*slice{}, groups: map[string][]group{}, metrics: results.Metrics()}
}

// groupsOf is Input.groups, found once.
func (m *sums) groupsOf(in *Input, by string) []group {
	if m.groups[by] == nil {
		m.groups[by] = in.groups(by)
	}
	return m.groups[by]
}

// of returns a cell over a group. All groups that were made with it are added up
// in one pass over the rows.
func (m *sums) of(c *Cell, g group) *slice {
	key := sliceKey{c, g.name}
	if m.slices[key] == nil {
		for _, s := range c.over(g.of) {
			m.slices[sliceKey{c, s.group.name}] = s
		}
	}
	return m.slices[key]
}

// over returns the cell over each group of a grouping. The rows of a group are
// added in their order, so that rounding does not depend on what is done beside.
func (c *Cell) over(g *grouping) []*slice {
	list := make([]*slice, len(g.groups))
	for k := range list {
		list[k] = &slice{cell: c, group: g.groups[k], totals: make([]results.Row, len(c.Draws))}
	}
	if len(list) == 1 && list[0].group.name == "" {
		for i, d := range c.Draws {
			list[0].totals[i] = d.Total
		}
		return list
	}
	first := c.Draws[0].Rows
	places := make([]int, len(first))
	for j := range first {
		places[j] = g.place(first[j].Session)
	}
	inParallel(len(c.Draws), func(i int) {
		rows := c.Draws[i].Rows
		for j := range rows {
			var at int
			if j < len(first) && rows[j].Session == first[j].Session {
				at = places[j]
			} else {
				at = g.place(rows[j].Session)
			}
			if at >= 0 {
				list[at].totals[i].Add(&rows[j])
			}
		}
	})
	return list
}

// inParallel calls f for 0…n−1 on all processors.
func inParallel(n int, f func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}
