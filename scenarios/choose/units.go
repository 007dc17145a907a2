package choose

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/traces"
)

// timeBlocks is the number of blocks of consecutive sessions that are taken as units where sessions
// that follow each other are alike.
const timeBlocks = 10

// The names of units: UnitsOf returns the last three. Sessions are drawn one by one where blocks, projects and people give no wider interval.
const (
	UnitSession = "session"
	UnitBlock   = "block of time"
	UnitProject = "project"
	UnitPerson  = "person"
)

// UnitsOf returns what may be sampled in the place of sessions, in any order: blocks of sessions that follow each other in time, the
// sessions of a project, and the sessions of a person.
func UnitsOf(sessions []*traces.Session) []stats.Units {
	n := len(sessions)
	blocks, projects, people, order := make([]string, n), make([]string, n), make([]string, n), make([]int, n)
	for i, s := range sessions {
		projects[i], people[i], order[i] = s.Project, s.Person(), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sessions[a].Start, sessions[b].Start) })
	for rank, i := range order {
		blocks[i] = strconv.Itoa(rank * timeBlocks / n)
	}
	return []stats.Units{stats.UnitsBy(UnitBlock, blocks), stats.UnitsBy(UnitProject, projects), stats.UnitsBy(UnitPerson, people)}
}
