package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/strategies"
)

// declares returns what the requests of a strategy ask of the provider's server, in
// the terms of its parameters.
func declares(s *strategies.Strategy) live.Clearing {
	p, ok := s.Params(strategies.APIContextName).(strategies.APIContextParams)
	on := s.LayerNames()
	if !ok || !slices.Contains(on, strategies.APIContextName) {
		return live.Clearing{}
	}
	c := live.Clearing{SkipAgents: !p.Subagents}
	if p.Thinking.Enabled {
		c.Thinking = &live.ClearThinking{Keep: int(p.Thinking.Keep)}
	}
	for _, e := range []strategies.ClearToolUses{p.Results, p.Uses} {
		if e.Enabled {
			c.Tools = append(c.Tools, live.ClearTools{
				InputTokens: e.InputTokens, ToolUses: e.ToolUses, Keep: e.Keep, AtLeast: e.ClearAtLeast,
				Only: e.Tools, Exclude: e.ExcludeTools, Inputs: e.ClearInputs,
			})
		}
	}
	return c
}

// compactsOnServer reports whether a strategy has the provider compact, and how
// many tokens of instructions of its own it has for that.
func compactsOnServer(s *strategies.Strategy) bool {
	p, ok := s.Params(strategies.CompactName).(strategies.CompactParams)
	return ok && slices.Contains(s.LayerNames(), strategies.CompactName) && slices.Contains(p.Call, strategies.WayServer)
}

// declaredText says what the requests of a strategy ask of the server, "" for
// nothing.
func declaredText(s *strategies.Strategy, trigger int64) string {
	var parts []string
	if c := declares(s); len(c.Tools) > 0 || c.Thinking != nil {
		parts = append(parts, fmt.Sprintf("%s (beta context-management-2025-06-27)", edits(&c)))
	}
	switch {
	case compactsOnServer(s) && trigger > 0:
		parts = append(parts, fmt.Sprintf("to compact from %d tokens on (beta compact-2026-01-12)", trigger))
	case compactsOnServer(s):
		parts = append(parts, "to compact on demand (beta compact-2026-09-04)")
	}
	if len(parts) == 0 {
		return ""
	}
	return "asks the server " + strings.Join(parts, ", and ")
}

// edits names what is to be cleared.
func edits(c *live.Clearing) string {
	var parts []string
	if n := len(c.Tools); n > 0 {
		parts = append(parts, fmt.Sprintf("to clear tool results by %s", plural(n, "edit")))
	}
	if c.Thinking != nil {
		parts = append(parts, "to clear thinking where a call thinks")
	}
	return strings.Join(parts, " and ")
}
