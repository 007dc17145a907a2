package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// inSample returns the remarks on a sweep: the cheapest cell was chosen on the sessions
// it is shown for, unless the run was interrupted, and which swept parameters their clients offer as settings.
func inSample(sessions []*traces.Session, run *results.Run) []results.Note {
	swept := map[string]bool{}
	for i := range run.Cells {
		for name := range run.Cells[i].Params {
			swept[name] = name != "prices.at" && name != "seed"
		}
	}
	maps.DeleteFunc(swept, func(_ string, is bool) bool { return !is })
	if len(swept) == 0 || run.Workload.Unfinished > 0 {
		return nil
	}
	text := "the cheapest setting was chosen on these same sessions; sim advise PATH tests settings on others"
	for _, name := range slices.Sorted(maps.Keys(swept)) {
		text += "; " + name + ": " + offers(name, sessions)
	}
	return []results.Note{{Text: text}}
}

// offers names the settings by which the agents of sessions offer a parameter.
// Any setting of a threshold offers a threshold, in whatever measure.
func offers(param string, sessions []*traces.Session) string {
	var by, none []string
	for _, name := range slices.Sorted(maps.Keys(byAgent(sessions))) {
		a := agents.Of(name)
		at := slices.IndexFunc(a.Settings, func(s traces.Setting) bool {
			key, _, _ := strings.Cut(s.Assign, "=")
			return strings.HasSuffix("."+key, "."+param) || s.Group == traces.GroupThreshold && strings.Contains("."+param, ".trigger.")
		})
		if at < 0 {
			none = append(none, a.Title)
		} else {
			by = append(by, fmt.Sprintf("%s by %s", a.Title, a.Settings[at].Name))
		}
	}
	switch {
	case len(by) == 0:
		return "no client here offers it"
	case len(none) > 0:
		return "offered in " + strings.Join(by, ", ") + ", not in " + strings.Join(none, ", ")
	}
	return "offered in " + strings.Join(by, ", ")
}

// byAgent returns sessions by the agent that made them.
func byAgent(sessions []*traces.Session) map[string][]*traces.Session {
	list := map[string][]*traces.Session{}
	for _, s := range sessions {
		list[s.Agent] = append(list[s.Agent], s)
	}
	return list
}
