package scenarios

import (
	"context"
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/loop/learning"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// learn adds what the sessions show to the default profile before any cell
// runs: a row depends on its session, the profile and the seed.
func (p *Plan) learn(ctx context.Context, d *Design, sessions []*traces.Session, openings *profile.Openings) error {
	if d.Scenario.Profile != ProfileDefault || d.Scenario.Sessions.Generate.Profile != "" || d.Scenario.Users.Any() {
		return nil
	}
	base, err := profile.Default()
	if err != nil {
		return err
	}
	config, err := p.Config(results.StrategyRecorded, nil)
	if err != nil {
		return err
	}
	p.learned, p.lessons, err = learning.Learn(ctx, config, base, sessions, openings)
	return err
}

// Profile returns the profile that a run used, with what it learned from the
// sessions; nil for the plain cache model.
func (p *Plan) Profile() (*profile.Profile, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	return p.profile(d.Scenario.Profile)
}

// lesson says what the profile learned of clients that it lacks.
func lesson(l *learning.Learned) string {
	if len(l.Epochs) == 0 {
		return ""
	}
	text := fmt.Sprintf("the profile has no recordings of clients from %s on: tried on %d sessions here, ",
		strings.Join(l.Epochs, ", "), l.Of)
	if len(l.Rules) == 0 {
		return text + "no rule of other versions predicts them better than the plain cache"
	}
	return text + strings.Join(l.Rules, ", ") + " predict them better than the plain cache"
}

// profile returns the profile that a value of Scenario.Profile names, nil for none.
func (p *Plan) profile(name string) (*profile.Profile, error) {
	switch name {
	case ProfileNone, "":
		return nil, nil
	case ProfileDefault:
		if p.learned != nil {
			return p.learned, nil
		}
		return profile.Default()
	}
	if fitted := p.Profiles[name]; fitted != nil {
		return fitted, nil
	}
	return nil, fmt.Errorf("profile %s has not been read", name)
}
