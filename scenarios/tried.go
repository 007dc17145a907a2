package scenarios

import (
	_ "embed" // the figures of the experiment
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Tried is how far predictions of a session's cost under another setting were from what a real client cost under that
// setting, from recordings of the same script under the first. make experiment writes tried.json from the pairs of
// docs/validation.md.
type Tried struct {
	Agent string `json:"agent"` // as in traces.Session.Agent
	Pairs int    `json:"pairs"`
	// Mean and greatest error of the cost as shares, in the open and in the closed loop.
	Open   [2]float64 `json:"open"`
	Closed [2]float64 `json:"closed"`
}

//go:embed tried.json
var triedText []byte

// tried says for the agents of a run how far such predictions were off; nothing for agents that were not tried, and for
// runs without a strategy besides the recorded one.
func tried(d *Design, sessions []*traces.Session, run *results.Run) []results.Note {
	var list []Tried
	if json.Unmarshal(triedText, &list) != nil || !asksAnother(run) {
		return nil
	}
	var parts []string
	for _, t := range list {
		if !slices.ContainsFunc(sessions, func(s *traces.Session) bool { return s.Agent == t.Agent }) {
			continue
		}
		off := t.Closed
		if d.Scenario.Agent.Refetch == sim.RefetchNever {
			off = t.Open
		}
		text := fmt.Sprintf("%s off what %s really cost", document.Percent(off[0]), agents.Of(t.Agent).Title)
		if t.Pairs > 1 {
			text += fmt.Sprintf(" on average, %s at worst", document.Percent(off[1]))
		}
		parts = append(parts, text+", in "+document.Count(t.Pairs, "pair"))
	}
	if len(parts) == 0 {
		return nil
	}
	return []results.Note{{Text: "predictions under another setting were " + strings.Join(parts, "; ") + " (docs/validation.md)"}}
}

// asksAnother reports whether a run has cells of other strategies than the recorded one.
func asksAnother(run *results.Run) bool {
	return slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		return c.Strategy != results.StrategyBilled && c.Strategy != results.StrategyRecorded
	})
}
