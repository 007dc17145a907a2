package check

import (
	"maps"
	"path"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
)

// Input is a run as a check looks at it.
type Input struct {
	Version        string // of the tool
	SessionsDigest string // of the sessions that were replayed
	ScenarioDigest string // of the cells and all that surrounds them
	PricesDigest   string // of the prices of the models in use
	Prices         string // date of the table of prices, ISO 8601
	Calls          int    // recorded calls of all sessions
	Sessions       map[string]Session
	Cells          []Cell
	// Lost says of lines, files and sessions that could not be read what was wrong,
	// each with its place. NumLost counts them all, of which Lost may be the first.
	Lost    []string
	NumLost int
}

// Session is what groups are made from.
type Session struct{ Project, Model, Agent string }

// Cell is one cell of the scenario under one or more seeds.
type Cell struct {
	Name     string
	Strategy string
	// Draws are the cell under each seed, at least one; a cell without draws has
	// one. All have rows of the same sessions.
	Draws []*results.Cell
}

// Unpriced returns the most calls of a cell that are of models without a price.
func (in *Input) Unpriced() int {
	most := 0
	for i := range in.Cells {
		most = max(most, in.Cells[i].Draws[0].Total.Unpriced)
	}
	return most
}

// group is a choice of sessions.
type group struct {
	name string // "" for all sessions, else such as "project web" or "no project"
	has  func(session string) bool
}

// groups returns the groups that a rule speaks of.
func (in *Input) groups(by string) []group {
	var of func(Session) string
	switch by {
	case "":
		return []group{{"", func(string) bool { return true }}}
	case ByProject:
		of = func(s Session) string { return s.Project }
	case ByModel:
		of = func(s Session) string { return s.Model }
	case ByAgent:
		of = func(s Session) string { return s.Agent }
	default:
		return []group{{"sessions " + by, func(id string) bool { ok, _ := path.Match(by, id); return ok }}}
	}
	names := map[string]bool{}
	for _, s := range in.Sessions {
		names[of(s)] = true
	}
	var all []group
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, group{groupName(by, name), func(id string) bool { return of(in.Sessions[id]) == name }})
	}
	return all
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

// sums adds up the rows of each cell and group once, for all rules.
type sums map[sliceKey]*slice

type sliceKey struct {
	cell  *Cell
	group string
}

// of returns a cell over a group.
func (m sums) of(c *Cell, g group) *slice {
	key := sliceKey{c, g.name}
	if m[key] == nil {
		m[key] = c.slice(g)
	}
	return m[key]
}

func (c *Cell) slice(g group) *slice {
	s := &slice{cell: c, group: g, totals: make([]results.Row, len(c.Draws))}
	for i, d := range c.Draws {
		if g.name == "" {
			s.totals[i] = d.Total
			continue
		}
		for j := range d.Rows {
			if g.has(d.Rows[j].Session) {
				s.totals[i].Add(&d.Rows[j])
			}
		}
	}
	return s
}

// sessions returns how many sessions the slice covers.
func (s *slice) sessions() int { return s.totals[0].Sessions }

// values returns a metric under each seed, false when one of them has no sample.
func (s *slice) values(m results.Metric) ([]float64, bool) {
	values := make([]float64, len(s.totals))
	for i := range s.totals {
		v, ok := s.cell.Draws[i].RowValue(&s.totals[i], m)
		if !ok {
			return nil, false
		}
		values[i] = v
	}
	return values, true
}

// targets returns the cells a rule speaks of. The bill is no strategy: it has to
// be named.
func (in *Input) targets(r *Rule) []*Cell {
	var cells []*Cell
	for i := range in.Cells {
		if c := &in.Cells[i]; r.speaksOf(c.Name, c.Strategy) {
			cells = append(cells, c)
		}
	}
	return cells
}

// speaksOf reports whether a rule is on a cell of a strategy.
func (r *Rule) speaksOf(cell, strategy string) bool {
	switch {
	case r.Strategy != "":
		return strategy == r.Strategy
	case r.Cell != "":
		return matchesCell(r.Cell, cell)
	}
	return strategy != results.StrategyBilled
}

// Touches reports whether a rule of the check speaks of a cell.
func (f *File) Touches(cell, strategy string) bool {
	return slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.speaksOf(cell, strategy) })
}

// matchesCell reports whether a pattern takes the name of a cell. In a pattern *
// stands for slashes too, as names of strategies have them.
func matchesCell(pattern, name string) bool {
	if pattern == name {
		return true
	}
	flat := func(s string) string { return string(replaced([]rune(s))) }
	ok, _ := path.Match(flat(pattern), flat(name))
	return ok
}

// replaced takes the meaning that path.Match gives it from a slash.
func replaced(s []rune) []rune {
	for i, r := range s {
		if r == '/' {
			s[i] = '\x00'
		}
	}
	return s
}
