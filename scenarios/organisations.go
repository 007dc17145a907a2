package scenarios

import (
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/traces"
)

// Organisations say which sessions may read what others have written to the
// cache, written one or session.
type Organisations uint8

// The organisations that sessions belong to.
const (
	OrganisationsOne     Organisations = iota // all to one
	OrganisationsSession                      // each to one of its own
)

var organisationNames = []string{OrganisationsOne: "one", OrganisationsSession: "session"}

// UnmarshalYAML reads organisations by name.
func (o *Organisations) UnmarshalYAML(n *yaml.Node) error { return choose(o, n, organisationNames) }

// MarshalYAML writes the name.
func (o Organisations) MarshalYAML() (any, error) { return nameOf(int(o), organisationNames) }

// owner returns which organisation a session of a cohort belongs to, nil when
// there is one.
func (o Organisations) owner() func(int, *traces.Session) uint32 {
	if o == OrganisationsOne {
		return nil
	}
	return func(index int, _ *traces.Session) uint32 { return uint32(index) + 1 }
}
