package strategies

import (
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt/ask"
)

// sessionMemoryParams are the parameters of session-memory. Sizes are tokens.
type sessionMemoryParams struct {
	Switch      `yaml:",inline"`
	Trigger     Trigger           `yaml:"trigger" doc:"replaces the messages it covers with the memory, before any request" needs:"compact"`
	Compact     bool              `yaml:"compact" doc:"replace messages; off, the memory is only kept up to date"`
	Subagents   bool              `yaml:"subagents" doc:"sub-agents keep a memory too; assumed not"`
	Extract     extraction        `yaml:"extract" doc:"the calls beside the conversation that keep the memory up to date"`
	Memory      sessionMemoryFile `yaml:"memory" doc:"the size of the memory"`
	Keep        keepRange         `yaml:"keep" doc:"the newest messages, which stay as they are" needs:"compact"`
	Count       countWay          `yaml:"count" doc:"how messages are counted for that: estimate (a quarter of their bytes, padded by a third) or true" needs:"compact"`
	Wait        int64             `yaml:"wait_seconds" doc:"longest time a compaction waits for a call that updates the memory, s" min:"0" off:"0" needs:"compact"`
	Stale       int64             `yaml:"stale_seconds" doc:"a call under way for longer is not waited for, s" min:"0" needs:"compact"`
	Guard       bool              `yaml:"guard" doc:"refuse a result that, with tools and system prompt, would reach the trigger again; off, every request compacts" needs:"compact"`
	Breaker     int               `yaml:"breaker" doc:"full compactions failed in a row that stop this one too; 0 for no breaker" unit:"failures" min:"0" off:"0" needs:"compact"`
	Summary     SummaryText       `yaml:"summary" doc:"what the client writes around the memory" needs:"compact"`
	Attachments attachments       `yaml:"attachments" doc:"what comes back after the kept messages; assumed as in a full compaction" needs:"compact"`
	Hooks       hookSizes         `yaml:"hooks" doc:"what hooks of the user inject; assumed as in a full compaction" needs:"compact"`
}

// extraction are the parameters of the calls that update the memory.
type extraction struct {
	Init        int64        `yaml:"init" doc:"client's count below which no memory is begun" unit:"tokens" min:"0"`
	Growth      int64        `yaml:"growth" doc:"growth of the client's count between two updates, at least" unit:"tokens" min:"0"`
	ToolCalls   int          `yaml:"tool_calls" doc:"tool calls between two updates, at least, unless the last response has none" min:"0"`
	Guard       bool         `yaml:"guard" doc:"calls that update the memory are never looked at; off, their own growth starts another inside each"`
	Barred      bool         `yaml:"barred" doc:"these calls never start a compaction; off, one above the trigger begins with a compaction, and each waits for the other"`
	Instruction int32        `yaml:"instruction" doc:"tokens of the instruction, beside the memory itself; assumed" unit:"tokens" min:"1"`
	Turns       int32        `yaml:"turns" doc:"responses of one update: edits, then a word at the end" unit:"responses" min:"1"`
	TurnInput   int32        `yaml:"turn_input" doc:"tokens of the results of the edits; assumed" unit:"tokens" min:"0"`
	Output      int32        `yaml:"output" doc:"tokens of each of the responses; assumed" unit:"tokens" min:"0"`
	Lifetime    callLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Seconds     float64      `yaml:"seconds" doc:"time of each response, s; 0 for the latency model's" min:"0" max:"1e6"`
	Failure     float64      `yaml:"failure" doc:"share of updates that end without an edit, 0…1; assumed" unit:"share" min:"0" max:"1"`
}

// keepRange says how many of the newest messages stay: all that the memory does
// not cover, and older ones until both minima hold or Max is reached.
type keepRange struct {
	MinTokens int64 `yaml:"min_tokens" doc:"tokens that stay at least" min:"0"`
	MinTexts  int   `yaml:"min_texts" doc:"messages with text that stay at least" unit:"messages" min:"0"`
	MaxTokens int64 `yaml:"max_tokens" doc:"tokens from which no older message is added" min:"0"`
}

// Rules returns contradictions between the parameters.
func (p *keepRange) Rules() []error {
	if p.MinTokens > p.MaxTokens {
		return []error{spec.Wrong("min_tokens", "%d is more than max_tokens %d", p.MinTokens, p.MaxTokens)}
	}
	return nil
}

// Fires returns the trigger of compactions, nil when they are off.
func (p *sessionMemoryParams) Fires() *Trigger {
	if !p.Compact {
		return nil
	}
	return &p.Trigger
}

// defaultSessionMemory has the values of the documents: E5, 002 (session memory
// file), 003 (SessionMemoryCompactConfig), 004 (q97, N97).
func defaultSessionMemory() sessionMemoryParams {
	full := defaultCompact()
	return sessionMemoryParams{
		Switch: on, Compact: true,
		Extract: extraction{
			Init: 10000, Growth: 5000, ToolCalls: 3, Guard: true, Barred: true,
			Instruction: 1000, Turns: 2, TurnInput: 100, Output: 400, Lifetime: callLifetime(ask.Lifetime5m),
		},
		Memory: sessionMemoryFile{
			Template: 300, Sections: 10, Section: 2000, Total: 12000, Share: 0.05, Largest: 0.3,
			Condense: true, Reminder: 40, Marker: 25,
		},
		Keep: keepRange{MinTokens: 10000, MinTexts: 5, MaxTokens: 40000},
		Wait: 15, Stale: 60, Guard: true, Breaker: full.Breaker,
		Summary: full.Summary, Attachments: full.Attachments,
	}
}

// sessionMemoryFile says how large the memory is. The documents give its limits; how it
// grows is assumed: with what it has summarised, the sections keeping their shares, one section
// (the worklog) larger than the rest, which are equal.
type sessionMemoryFile struct {
	Template int32   `yaml:"template" doc:"tokens of the headers and descriptions of an empty memory" unit:"tokens" min:"0"`
	Sections int     `yaml:"sections" doc:"sections of the memory" min:"1"`
	Section  int64   `yaml:"section" doc:"tokens a section is kept to, and cut to when the memory takes the place of messages" unit:"tokens" min:"0"`
	Total    int64   `yaml:"total" doc:"tokens the memory is kept to, its template included" unit:"tokens" min:"0"`
	Share    float64 `yaml:"share" doc:"tokens it grows by for each token of the messages it summarises, 0…1; assumed" min:"0" max:"1"`
	Largest  float64 `yaml:"largest" doc:"share of the memory that the largest section has, 0…1; assumed" unit:"share" above:"0" max:"1"`
	Condense bool    `yaml:"condense" doc:"updates keep to the limits when they are reminded; off, the memory grows on"`
	Reminder int32   `yaml:"reminder" doc:"tokens of the reminder for each limit that is reached; assumed" unit:"tokens" min:"0"`
	Marker   int32   `yaml:"marker" doc:"tokens that stand for what was cut off a section; assumed" unit:"tokens" min:"0"`
}

// Rules returns contradictions between the parameters.
func (m *sessionMemoryFile) Rules() []error {
	if m.Section > m.Total {
		return []error{spec.Wrong("section", "%d is more than total %d", m.Section, m.Total)}
	}
	return nil
}

// sizes returns the tokens that are written into the largest section and into
// each other one when so many tokens have been summarised.
func (m *sessionMemoryFile) sizes(summarised int64) (largest, other int64) {
	text := m.Share * float64(summarised)
	if m.Sections == 1 {
		return int64(text), 0
	}
	return int64(m.Largest * text), int64((1 - m.Largest) * text / float64(m.Sections-1))
}

// tokens returns the size of the file.
func (m *sessionMemoryFile) tokens(summarised int64) int64 {
	largest, other := m.sizes(summarised)
	if !m.Condense {
		return int64(m.Template) + largest + other*int64(m.Sections-1)
	}
	n := min(largest, m.Section) + min(other, m.Section)*int64(m.Sections-1)
	return min(int64(m.Template)+n, m.Total)
}

// reminders returns the tokens of the reminders that an update begins with: one
// for each section at its limit, one for the memory at its own.
func (m *sessionMemoryFile) reminders(summarised int64) int64 {
	largest, other := m.sizes(summarised)
	n := 0
	if largest >= m.Section {
		n++
	}
	if other >= m.Section {
		n += m.Sections - 1
	}
	if m.tokens(summarised) >= m.Total {
		n++
	}
	return int64(n) * int64(m.Reminder)
}

// summary returns the tokens of the memory when it replaces messages: each section cut to
// its limit, with a marker where something was cut off. Condensed sections never are.
func (m *sessionMemoryFile) summary(summarised int64) int64 {
	if m.Condense {
		return m.tokens(summarised)
	}
	largest, other := m.sizes(summarised)
	return int64(m.Template) + m.cut(largest) + m.cut(other)*int64(m.Sections-1)
}

func (m *sessionMemoryFile) cut(section int64) int64 {
	if section <= m.Section {
		return section
	}
	return m.Section + int64(m.Marker)
}
