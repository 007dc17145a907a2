package claudecode

import (
	"bytes"

	"github.com/compactsim/compactsim/traces"
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
func (h *header) logged() traces.Signs {
	var s traces.Signs
	switch string(h.subtype) {
	case turnEnd, turnDuration:
		s |= traces.SignTurnEnd
	case awaySummary:
		s |= traces.SignAway
	case "api_error":
		s |= traces.SignRetry
	}
	for _, hook := range [...][]byte{h.hook, h.attachment.hook} {
		switch string(hook) {
		case resumeHook:
			s |= traces.SignResume
		case startHook:
			s |= traces.SignProcess
		}
	}
	switch string(h.attachment.typ) {
	case "deferred_tools_delta", "mcp_instructions_delta":
		s |= traces.SignServers
	case "skill_listing", "agent_listing_delta":
		s |= traces.SignListing
	case "plan_mode", "plan_mode_reentry", "plan_mode_exit":
		s |= traces.SignPlanMode
	case "teammate_mailbox", "team_context":
		s |= traces.SignTeam
	}
	tool := string(h.attachment.event) == "PreToolUse" || string(h.attachment.event) == "PostToolUse"
	if tool && string(h.attachment.typ) == "hook_additional_context" {
		s |= traces.SignHook
	}
	return s
}

// sign reads a member of a person's line that says how the turn is to be run.
func (p *parser) sign(h *header, member string) {
	if member == "planContent" {
		if len(p.Str()) > 0 {
			h.signs |= traces.SignPlan
		}
		return
	}
	if member == "thinkingMetadata" && p.Peek() == '{' {
		h.signs |= traces.SignThinking
	}
	for name := range p.Members {
		switch string(name) {
		case "disabled":
			if p.Bool() {
				h.signs |= traces.SignThinkingOff
			}
		case "kind":
			if string(p.Str()) == "task-notification" {
				h.signs |= traces.SignNotice
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
		m.signs |= traces.SignInterrupt
	case bytes.HasPrefix(text, []byte(taskNotice)):
		m.signs |= traces.SignNotice
	case bytes.HasPrefix(text, []byte(commandText)):
		m.signs |= traces.SignCommand
	case bytes.HasPrefix(text, []byte(modelCommand)):
		m.signs |= traces.SignModel
	case bytes.HasPrefix(text, []byte(teamMessage)):
		m.signs |= traces.SignTeam
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
			h.signs |= traces.SignVersion
		case stateEntry:
			h.signs |= traces.SignProcess
		case stateBranch:
			h.signs |= traces.SignBranch
		case stateEffort:
			h.signs |= traces.SignEffort
		case stateMode:
			if s.names.at(now) == "plan" || s.names.at(before) == "plan" {
				h.signs |= traces.SignPlanMode
			}
		}
	}
}

// diagnostics reads what the server says about the prefix of a request.
func (p *parser) diagnostics() traces.Verdict {
	v := traces.VerdictNone
	if p.Peek() == 'n' {
		v = traces.VerdictSame
	}
	for name := range p.Members {
		if string(name) != "cache_miss_reason" {
			p.Skip()
			continue
		}
		if p.Peek() == 'n' {
			v = traces.VerdictSame
		}
		for name := range p.Members {
			if string(name) == "type" {
				v = traces.VerdictOf(p.Str())
			} else {
				p.Skip()
			}
		}
	}
	return v
}
