package fleet

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// fits returns a function that tells what is wrong with a strategy at the window of the
// file, or at the largest of the sessions that are drawn if the file gives none:
// thresholds that are always reached, or never.
func (f *File) fits() func(*strategies.Strategy) error {
	window, of := f.Window, ", as the key window says; 0 is the client's"
	if window <= 0 {
		window, of = f.drawnWindow()
	}
	return func(s *strategies.Strategy) error {
		if window <= 0 {
			return nil // no profile can be read: that is told by itself
		}
		if err := s.ValidateFor(&strategies.Reading{Window: window, MaxOutput: client.MaxOutput}); err != nil {
			return fmt.Errorf("%w (window %d%s)", err, window, of)
		}
		return nil
	}
}

// drawnWindow returns the largest context window of sessions that are drawn, tokens,
// and words which have it; 0 when no profile can be read.
func (f *File) drawnWindow() (largest int64, of string) {
	for i := range f.Orgs {
		o := &f.Orgs[i]
		for _, name := range profilesOf(o) {
			w, err := f.workload(o, name)
			if err != nil {
				continue
			}
			if window := windowOf(w); window > largest {
				largest, of = window, fmt.Sprintf(" of sessions that organisation %s draws from %s", o.Name, name)
			}
		}
	}
	return largest, of
}

// windowOf returns the largest context window of sessions of a workload, tokens.
func windowOf(w *synthetic.Workload) int64 {
	c := client.ForVersion(w.Version)
	var largest int64
	for _, m := range w.Models {
		if m.Weight > 0 {
			largest = max(largest, c.Window(m.Name))
		}
	}
	if slices.ContainsFunc(w.Tools, func(t synthetic.WorkTool) bool { return t.Name == startsAgents && t.Weight > 0 }) {
		largest = max(largest, c.Window(w.Agents.Model))
	}
	if int64(w.Window) > largest {
		return passedWindow
	}
	return largest
}

// startsAgents is the tool of a workload without which it has no agents.
const startsAgents = "Task"

// passedWindow is the window of sessions that pass the one of their model's name,
// tokens: the simulation takes them for those of a model with the large one.
const passedWindow = 1_000_000
