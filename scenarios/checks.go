package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/serving/changes"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// ErrContradiction is wrapped by errors of parameters that cannot work on the
// sessions at hand: a threshold that no window reaches, for instance.
var ErrContradiction = errors.New("parameters contradict each other")

// check returns all that is wrong with a run over these sessions at once:
// models without a price (in strict mode), events and thresholds.
// Outside strict mode calls without a price cost nothing, and the report says
// so.
func (p *Plan) check(d *Design, sessions []*traces.Session, seen *survey) error {
	var errs []error
	if p.Strict {
		errs = p.UnknownModels(sessions)
	}
	if d.Scenario.Bound && d.Scenario.Sessions.Cohort != cohortSession {
		errs = append(errs, errors.New("bound: sessions.cohort lets sessions share a cache, and the bound is that of a session alone"))
	}
	if d.Scenario.Bound && d.Scenario.Users.Any() {
		errs = append(errs, errors.New("bound: users share a cache, and the bound is that of a session alone"))
	}
	if d.Scenario.Bound && d.Scenario.Server.Name != "" {
		errs = append(errs, errors.New("bound: server.name replaces the server, and the bound is that of the recording's"))
	}
	return errors.Join(append(errs, p.checkEvents(d, sessions), checkWindows(d, seen.windows))...)
}

// checkWindows reports all thresholds at or above the largest window of the
// sessions. Where a scenario sets the window itself, expansion has already
// checked them.
func checkWindows(d *Design, w windows) error {
	var errs []error
	var failed int64
	said := map[string]bool{}
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Scenario.Client.Window > 0 {
			continue
		}
		window := w.largest(&c.Scenario.Client.Assembly)
		err := c.Strategy.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput})
		if err == nil || said[c.Name] {
			continue
		}
		said[c.Name], failed = true, window
		errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w at the window of %d tokens of these sessions:\n%w", ErrContradiction, failed, errors.Join(errs...))
}

// checkWindow reports thresholds that make no sense for the window that the
// scenario sets, with the places of both.
func (x *expansion) checkWindow(e *entry, v *variant, around []variant) {
	done := map[int64]bool{}
	for _, a := range around {
		window := a.scenario.Client.Window
		if window <= 0 || done[window] {
			continue
		}
		done[window] = true
		err := v.strategy.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput})
		if err == nil {
			continue
		}
		at := x.tree.At(e.node)
		for _, path := range slices.Sorted(maps.Keys(e.place)) {
			if strings.Contains(path, ".trigger") {
				at = e.place[path]
			}
		}
		place := ""
		if n := spec.Find(x.tree.Root, "client", "window"); n != nil {
			place = " at " + x.tree.At(n)
		}
		x.once(fmt.Errorf("%s: %w (client.window %d%s)", at, err, window, place))
	}
}

// ErrEvents is wrapped by errors of events that do not work with the sessions
// or the prices.
var ErrEvents = errors.New("events that cannot be run")

// checkEvents reports models that events switch to and that have no price at
// the time of the first session: their calls would cost nothing.
func (p *Plan) checkEvents(d *Design, sessions []*traces.Session) error {
	var errs []error
	for i := range d.Scenario.Events {
		e := &d.Scenario.Events[i]
		if e.Do != changes.ActionModel.String() {
			continue
		}
		if _, err := p.Prices.Lookup(e.Value, sessions[0].StartTime()); err != nil {
			errs = append(errs, fmt.Errorf("%s: events: %s %s: %w", d.placeOfEvent(i), e.Do, e.Value, err))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w:\n%w", ErrEvents, errors.Join(errs...))
	}
	return nil
}

// placeOfEvent returns the file and line of an event if they are known.
func (d *Design) placeOfEvent(i int) string {
	if d.tree == nil {
		return "scenario"
	}
	if list := spec.Child(d.tree.Root, "events"); list != nil && i < len(list.Content) {
		return d.tree.At(list.Content[i])
	}
	return d.tree.Name
}

// UnknownModels returns an error for every model of the sessions that has no
// price. It names similar models and the flag that bills one model as another.
func (p *Plan) UnknownModels(sessions []*traces.Session) []error {
	var errs []error
	seen := map[string]bool{}
	for _, s := range sessions {
		for _, m := range s.Models {
			if seen[m] {
				continue
			}
			seen[m] = true
			if _, err := p.Prices.Lookup(m, s.StartTime()); err != nil {
				errs = append(errs, fmt.Errorf("%w; --price-as %s bills it as another, --prices FILE gives one", err, document.Quoted(m+"=MODEL")))
			}
		}
	}
	return errs
}
