package codex

import "github.com/compactsim/compactsim/traces"

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentCodex

// Describe returns what the rest of the program needs to know about Codex. It
// compacts at nine tenths of its window and appends the instruction for a
// summary to the history.
func Describe() *traces.Agent {
	return &traces.Agent{
		Name: Agent, Title: "Codex", Member: member, Read: ReadInputs,
		Places: func(h *traces.Home) {
			h.Add(traces.Place{Agent: Agent}, h.From("CODEX_HOME", ".codex"), "sessions")
		},
		Cache:         func(string) traces.Cache { return traces.CacheAutomatic },
		CompactsAt:    func(_ string, window, _ int64) int64 { return window * 9 / 10 },
		SummaryShares: func(string) bool { return true },
	}
}

// member reports whether a line is of a rollout: a payload behind a known type.
func member(typ, name string) bool {
	if name != "payload" {
		return false
	}
	switch typ {
	case "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state":
		return true
	}
	return false
}
