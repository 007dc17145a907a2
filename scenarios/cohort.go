package scenarios

import (
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/traces"
)

// Cohort says which sessions share a clock and a cache, written session,
// project or all.
type Cohort uint8

// The groups of sessions that can share a clock.
const (
	CohortSession Cohort = iota // each is alone
	CohortProject               // those of one agent and project
	CohortAll                   // those of one agent
)

var cohortNames = []string{CohortSession: "session", CohortProject: "project", CohortAll: "all"}

// UnmarshalYAML reads a cohort by name.
func (c *Cohort) UnmarshalYAML(n *yaml.Node) error { return choose(c, n, cohortNames) }

// MarshalYAML writes the name.
func (c Cohort) MarshalYAML() (any, error) { return nameOf(int(c), cohortNames) }

// group returns the cohorts of sessions by index, nil when each is alone.
// Sessions of different agents call different providers and share nothing.
func (c Cohort) group(sessions []*traces.Session) [][]int {
	if c == CohortSession {
		return nil
	}
	var list [][]int
	at := map[[2]string]int{}
	for i, s := range sessions {
		key := [2]string{s.Agent}
		if c == CohortProject {
			key[1] = s.Project
		}
		j, ok := at[key]
		if !ok {
			j = len(list)
			at[key] = j
			list = append(list, nil)
		}
		list[j] = append(list[j], i)
	}
	return list
}
