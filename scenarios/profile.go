package scenarios

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/profile"
)

// Values of Scenario.Profile that are not files.
const (
	ProfileDefault = "default" // the one that comes with the program
	ProfileNone    = "none"    // the plain cache model
)

// profile returns the profile of a name as Scenario.Profile has it, nil for none.
func (p *Plan) profile(name string) (*profile.Profile, error) {
	switch name {
	case ProfileNone, "":
		return nil, nil
	case ProfileDefault:
		return profile.Default()
	}
	if fitted := p.Profiles[name]; fitted != nil {
		return fitted, nil
	}
	return nil, fmt.Errorf("profile %s has not been read", name)
}
