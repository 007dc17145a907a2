package claudecode

import (
	"bytes"

	"github.com/compactsim/compactsim/traces/signs"
)

const (
	interrupted  = "[Request interrupted by user"
	taskNotice   = "<task-notification>"
	commandText  = "<command-message>"
	modelCommand = "<command-name>/model<"
	teamMessage  = "<teammate-message"
	resumeHook   = "SessionStart:resume"
	startHook    = "SessionStart:startup"
	turnEnd      = "stop_hook_summary"
	turnDuration = "turn_duration"
	awaySummary  = "away_summary"
)

// logged returns the signs of a line that carries no message of the
// conversation: what the client logs of itself, or a hook's output.
func (h *header) logged() signs.Set {
	var s signs.Set
	switch string(h.subtype) {
	case turnEnd, turnDuration:
		s |= signs.TurnEnd
	case awaySummary:
		s |= signs.Away
	case "api_error":
		s |= signs.Retry
	}
	for _, hook := range [...][]byte{h.hook, h.attachment.hook} {
		switch string(hook) {
		case resumeHook:
			s |= signs.Resume
		case startHook:
			s |= signs.Process
		}
	}
	switch string(h.attachment.typ) {
	case "deferred_tools_delta", "mcp_instructions_delta":
		s |= signs.Servers
	case "skill_listing", "agent_listing_delta":
		s |= signs.Listing
	case "plan_mode", "plan_mode_reentry", "plan_mode_exit":
		s |= signs.PlanMode
	case "teammate_mailbox", "team_context":
		s |= signs.Team
	}
	tool := string(h.attachment.event) == "PreToolUse" || string(h.attachment.event) == "PostToolUse"
	if tool && string(h.attachment.typ) == "hook_additional_context" {
		s |= signs.Hook
	}
	return s
}

// sign reads a member of a person's line that says how the turn is to be run.
func (p *parser) sign(h *header, member string) {
	if member == "planContent" {
		if len(p.Str()) > 0 {
			h.signs |= signs.Plan
		}
		return
	}
	if member == "thinkingMetadata" && p.Peek() == '{' {
		h.signs |= signs.ThinkingTold
	}
	for name := range p.Members {
		switch string(name) {
		case "disabled":
			if p.Bool() {
				h.signs |= signs.ThinkingOff
			}
		case "kind":
			if string(p.Str()) == "task-notification" {
				h.signs |= signs.Notice
			}
		default:
			p.Skip()
		}
	}
}

// says sets what a message is by the first words of its text.
func (m *message) says(text []byte) {
	m.manner |= manner(text)
	switch {
	case bytes.HasPrefix(text, []byte(interrupted)):
		m.signs |= signs.Interrupt
	case bytes.HasPrefix(text, []byte(taskNotice)):
		m.signs |= signs.Notice
	case bytes.HasPrefix(text, []byte(commandText)):
		m.signs |= signs.Command
	case bytes.HasPrefix(text, []byte(modelCommand)):
		m.signs |= signs.Model
	case bytes.HasPrefix(text, []byte(teamMessage)):
		m.signs |= signs.Team
	}
}

// state is what lines say of the client and its settings, as names of the source; 0 for what no line has said.
type state [numStates]int32

const (
	stateVersion = iota
	stateEntry
	stateBranch
	stateMode // of permissions
	stateEffort
	numStates
)

// compare sets the signs of a line of the conversation that names another state of the client than the lines before it.
func (s *source) compare(h *header) {
	if h.uuid.IsZero() || h.has(flagSidechain) {
		return
	}
	h.state[stateVersion], h.state[stateEntry] = h.version, h.entry
	for i, now := range h.state {
		before := s.state[i]
		if now == 0 || now == before {
			continue
		}
		s.state[i] = now
		if before == 0 {
			continue
		}
		switch i {
		case stateVersion:
			h.signs |= signs.Version
		case stateEntry:
			h.signs |= signs.Process
		case stateBranch:
			h.signs |= signs.Branch
		case stateEffort:
			h.signs |= signs.Effort
		case stateMode:
			if s.names.at(now) == "plan" || s.names.at(before) == "plan" {
				h.signs |= signs.PlanMode
			}
		}
	}
}

// diagnostics reads what the server says about the prefix of a request.
func (p *parser) diagnostics() signs.Verdict {
	v := signs.VerdictNone
	if p.Peek() == 'n' {
		v = signs.VerdictSame
	}
	for name := range p.Members {
		if string(name) != "cache_miss_reason" {
			p.Skip()
			continue
		}
		if p.Peek() == 'n' {
			v = signs.VerdictSame
		}
		for name := range p.Members {
			if string(name) == "type" {
				v = signs.VerdictOf(p.Str())
			} else {
				p.Skip()
			}
		}
	}
	return v
}
