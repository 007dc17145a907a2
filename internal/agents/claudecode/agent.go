package claudecode

import (
	"github.com/compactsim/compactsim/internal/version"
	"github.com/compactsim/compactsim/traces"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = traces.AgentClaudeCode

// Describe returns what the rest of the program needs to know about Claude Code.
func Describe() *traces.Agent {
	return &traces.Agent{
		Name: Agent, Title: "Claude Code", ClaudeCode: true, Member: member, Places: places, Read: ReadInputs,
		Cache: func(string) traces.Cache { return traces.CacheMarked }, CompactsAt: compactsAt, SummaryShares: summaryShares,
	}
}

// member reports whether a line has a member that only transcripts have.
func member(_, name string) bool {
	switch name {
	case "sessionId", "uuid", "parentUuid", "leafUuid":
		return true
	}
	return false
}

// places adds the folders of sessions. CLAUDE_CONFIG_DIR takes the place of the
// usual ones.
func places(h *traces.Home) {
	p := traces.Place{Agent: Agent}
	if dir := h.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		h.Add(p, dir, "projects")
		return
	}
	h.Add(p, h.Under(".claude"), "projects")
	h.Add(p, h.XDG("XDG_CONFIG_HOME", ".config"), "claude", "projects")
}

// compactsAt returns the client's threshold: the window less 13,000 for 1.x
// (001:230), less the output limit besides through 2.1.20, of which 20,000 at
// most are reserved from 2.1.25 on, as recordings show.
func compactsAt(release string, window, maxOutput int64) int64 {
	const reserve, outputCap = 13_000, 20_000
	switch {
	case release != "" && !version.AtLeast(release, 2):
		return window - reserve
	case release != "" && !version.AtLeast(release, 2, 1, 21):
		return window - maxOutput - reserve
	}
	return window - min(maxOutput, outputCap) - reserve
}

// summaryShares reports whether a version forks the conversation to summarise
// it: from 2.1.25 on, the first whose recordings show the thresholds of the
// generation that does. Which version did what is assumed.
func summaryShares(release string) bool { return version.AtLeast(release, 2, 1, 25) }
