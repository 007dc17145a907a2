package claudecode

import (
	"bytes"

	"github.com/compactsim/compactsim/traces"
)

const (
	interrupted  = "[Request interrupted by user"
	taskNotice   = "<task-notification>"
	commandText  = "<command-message>"
	resumeHook   = "SessionStart:resume"
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
	}
	if string(h.hook) == resumeHook || string(h.attachment.hook) == resumeHook {
		s |= traces.SignResume
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
