package scenarios

import (
	"errors"
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// ErrContradiction is wrapped by errors of parameters that cannot work on the
// sessions at hand: a threshold that no window reaches, for instance.
var ErrContradiction = errors.New("parameters contradict each other")

// checkWindows reports thresholds that lie at or above the largest window of
// the sessions, all at once. Where a scenario sets the window itself, expanding
// it has checked that already.
func checkWindows(d *Design, sessions []*traces.Session) error {
	var errs []error
	var failed int64
	seen := map[string]bool{}
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Scenario.Client.Window > 0 {
			continue
		}
		window := largestWindow(&c.Scenario.Client.Assembly, sessions)
		err := c.Strategy.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput})
		if err == nil || seen[c.Name] {
			continue
		}
		seen[c.Name], failed = true, window
		errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w at the window of %d tokens of these sessions:\n%w", ErrContradiction, failed, errors.Join(errs...))
}

// largestWindow returns the largest window that thresholds are counted from in
// any of the sessions, tokens.
func largestWindow(a *client.Assembly, sessions []*traces.Session) int64 {
	v := a.Env.Variables()
	var largest int64
	for _, s := range sessions {
		for _, model := range s.Models {
			largest = max(largest, v.AutoWindow(a.Window(&v, model, windowOf(s))))
		}
	}
	return largest
}

// windowOf returns the context window a session may have had, tokens: that of
// its client, or the large one when the recording itself passed it.
func windowOf(s *traces.Session) int64 {
	const small, large = 200_000, 1_000_000
	if s.Window > 0 {
		return s.Window
	}
	for _, m := range s.Models {
		if strings.HasSuffix(m, "[1m]") {
			return large
		}
	}
	for i := range s.Threads {
		for j := range s.Threads[i].Rounds {
			if s.Threads[i].Rounds[j].Usage.Input() > small {
				return large
			}
		}
	}
	return small
}
