package scenarios

import (
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// asVersion returns who has a session whose client is to behave as a version of
// Claude Code, given the organisations that sessions belong to, nil for one. Those
// of other agents keep their own client: its versions are others.
func asVersion(release string, owner func(int, *traces.Session) uint32) func(int, *traces.Session) sim.Person {
	as := client.ForVersion(release)
	return func(index int, s *traces.Session) sim.Person {
		p := sim.Person{Owner: 1}
		if owner != nil {
			p.Owner = owner(index, s)
		}
		if agents.ClaudeCode(s) {
			p.Client = as
		}
		return p
	}
}
