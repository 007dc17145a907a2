package check

import (
	"slices"

	"github.com/compactsim/compactsim/internal/nearest"
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
	// Key identifies the key under which projects and sessions have pseudonyms; ""
	// when they are called as they are.
	Key string
}

// Session is what groups are made from.
type Session struct {
	Project, Model, Agent string
	// Unpriced are the models of its calls that have no price.
	Unpriced []string
}

// Cell is one cell of the scenario under one or more seeds.
type Cell struct {
	Name     string
	Strategy string
	// Draws are the cell under each seed, at least one; a cell without draws has
	// one. All have rows of the same sessions.
	Draws []*results.Cell
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
		return nearest.Match(r.Cell, cell)
	}
	return strategy != results.StrategyBilled
}

// Touches reports whether a rule of the check speaks of a cell.
func (f *File) Touches(cell, strategy string) bool {
	return slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.speaksOf(cell, strategy) })
}
