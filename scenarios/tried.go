package scenarios

import (
	_ "embed" // the figures of the experiment
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Tried is how far predictions of a session's cost under another setting were from what a real client cost under that
// setting, from recordings of the same script under the first. make experiment writes tried.json from the pairs of
// docs/validation.md.
type Tried struct {
	Agent   string `json:"agent"`   // as in traces.Session.Agent
	Version string `json:"version"` // of the client
	Pairs   int    `json:"pairs"`
	// Mean and greatest error of the cost as shares, in the open and in the closed loop.
	Open   [2]float64 `json:"open"`
	Closed [2]float64 `json:"closed"`
}

//go:embed tried.json
var triedText []byte

// Trials returns how far predictions were off, by agent; nothing where the figures cannot be read.
func Trials() (list []Tried) {
	if json.Unmarshal(triedText, &list) != nil {
		return nil
	}
	return list
}

// tried says for the agents of a run how far such predictions were off; nothing for agents that were not tried, and for
// runs without a strategy besides the recorded one.
func tried(d *Design, sessions []*traces.Session, run *results.Run) []results.Note {
	if !asksAnother(run) {
		return nil
	}
	var parts []string
	for _, t := range Trials() {
		if !slices.ContainsFunc(sessions, func(s *traces.Session) bool { return s.Agent == t.Agent }) {
			continue
		}
		off := t.Closed
		if d.Scenario.Agent.Refetch == sim.RefetchNever {
			off = t.Open
		}
		text := fmt.Sprintf("%s off what %s %s really cost", document.Percent(off[0]), agents.Of(t.Agent).Title, t.Version)
		if t.Pairs > 1 {
			text += fmt.Sprintf(" on average, %s at worst", document.Percent(off[1]))
		}
		text += ", in " + document.Count(t.Pairs, "pair")
		if n := t.later(sessions); n > 0 {
			text += "; nobody has tried the later versions of " + document.Count(n, "session")
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return nil
	}
	return []results.Note{{Text: "predictions under another setting were " + strings.Join(parts, "; ") + " (docs/validation.md)"}}
}

// later returns the number of the agent's sessions by versions after the one that was tried.
func (t *Tried) later(sessions []*traces.Session) (n int) {
	tried, _ := version.Numbers(t.Version)
	for _, s := range sessions {
		if s.Agent == t.Agent && version.AtLeast(s.Version(), tried[0], tried[1], tried[2]+1) {
			n++
		}
	}
	return n
}

// asksAnother reports whether a run has cells of other strategies than the recorded one.
func asksAnother(run *results.Run) bool {
	return slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		return c.Strategy != results.StrategyBilled && c.Strategy != results.StrategyRecorded
	})
}
