package strategies

import (
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// SessionMemoryParams are the parameters of session-memory. Sizes are tokens.
type SessionMemoryParams struct {
	Switch      `yaml:",inline"`
	Trigger     Trigger     `yaml:"trigger" doc:"puts the memory in the place of the messages it covers, ahead of any request"`
	Compact     bool        `yaml:"compact" doc:"do that; off, the memory is only kept up to date"`
	Subagents   bool        `yaml:"subagents" doc:"sub-agents keep a memory too; assumed not"`
	Extract     Extraction  `yaml:"extract" doc:"the calls beside the conversation that keep the memory up to date"`
	Memory      MemoryFile  `yaml:"memory" doc:"the size of the memory"`
	Keep        KeepRange   `yaml:"keep" doc:"the newest messages, which stay as they are"`
	Count       Count       `yaml:"count" doc:"how messages are counted for that: estimate (a quarter of their bytes, padded by a third) or true"`
	Wait        int64       `yaml:"wait_seconds" doc:"longest time a compaction waits for a call that updates the memory, s" off:"0"`
	Stale       int64       `yaml:"stale_seconds" doc:"a call under way for longer is not waited for, s"`
	Guard       bool        `yaml:"guard" doc:"refuse a result that would reach the trigger again; off, every request compacts"`
	Breaker     int         `yaml:"breaker" doc:"full compactions failed in a row that stop this one too; 0 for no breaker" off:"0"`
	Summary     SummaryText `yaml:"summary" doc:"what the client writes around the memory"`
	Attachments Attachments `yaml:"attachments" doc:"what comes back behind the kept messages; assumed as in a full compaction"`
	Hooks       HookSizes   `yaml:"hooks" doc:"what hooks of the user inject; assumed as in a full compaction"`
}

// Extraction are the parameters of the calls that update the memory.
type Extraction struct {
	Init        int64        `yaml:"init" doc:"client's count below which no memory is begun"`
	Growth      int64        `yaml:"growth" doc:"growth of the client's count between two updates, at least"`
	ToolCalls   int          `yaml:"tool_calls" doc:"tool calls between two updates, at least, unless the last response has none"`
	Guard       bool         `yaml:"guard" doc:"calls that update the memory are never looked at; off, their own growth starts another inside each"`
	Barred      bool         `yaml:"barred" doc:"these calls never start a compaction; off, one above the trigger waits for a compaction that waits for it"`
	Instruction int32        `yaml:"instruction" doc:"tokens of the instruction, beside the memory itself; assumed"`
	Turns       int32        `yaml:"turns" doc:"responses of one update: edits, then a word at the end"`
	TurnInput   int32        `yaml:"turn_input" doc:"tokens of the results of the edits; assumed"`
	Output      int32        `yaml:"output" doc:"tokens of each of the responses; assumed"`
	Lifetime    CallLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Seconds     float64      `yaml:"seconds" doc:"time of each response, s; 0 for that of the latency model"`
	Failure     float64      `yaml:"failure" doc:"share of updates that end without an edit, 0…1; assumed"`
}

// KeepRange says how many of the newest messages stay: all that the memory does
// not cover, and older ones until both minima hold or Max is reached.
type KeepRange struct {
	MinTokens int64 `yaml:"min_tokens" doc:"tokens that stay at least"`
	MinTexts  int   `yaml:"min_texts" doc:"messages with text that stay at least"`
	MaxTokens int64 `yaml:"max_tokens" doc:"tokens from which no older message is added"`
}

// Validate returns what is wrong with the parameters.
func (p *SessionMemoryParams) Validate() []error {
	errs := append(p.Trigger.Validate(), negatives(p)...)
	if p.Extract.Turns < 1 {
		errs = append(errs, errors.New("extract.turns 0 must be positive"))
	}
	if p.Extract.Instruction == 0 {
		errs = append(errs, errors.New("extract.instruction 0 must be positive: without one no update is asked for"))
	}
	if !(p.Extract.Failure >= 0 && p.Extract.Failure <= 1) {
		errs = append(errs, fmt.Errorf("extract.failure %g must lie in 0…1", p.Extract.Failure))
	}
	if !(p.Extract.Seconds >= 0 && p.Extract.Seconds <= maxSpan) {
		errs = append(errs, fmt.Errorf("extract.seconds %g must lie in 0…%g", p.Extract.Seconds, float64(maxSpan)))
	}
	if p.Keep.MinTokens > p.Keep.MaxTokens {
		errs = append(errs, fmt.Errorf("keep: min_tokens %d is more than max_tokens %d", p.Keep.MinTokens, p.Keep.MaxTokens))
	}
	errs = append(errs, p.Memory.Validate()...)
	return append(errs, p.Attachments.Validate()...)
}

// ValidateFor returns what is wrong with the parameters at a window.
func (p *SessionMemoryParams) ValidateFor(r *Reading) []error {
	if !p.Compact {
		return nil
	}
	return p.Trigger.ValidateFor(r)
}

// Fires returns the trigger of compactions, nil when they are off.
func (p *SessionMemoryParams) Fires() *Trigger {
	if !p.Compact {
		return nil
	}
	return &p.Trigger
}

// defaultSessionMemory has the values of the documents: E5, 002 (session memory
// file), 003 (SessionMemoryCompactConfig), 004 (q97, N97).
func defaultSessionMemory() SessionMemoryParams {
	full := defaultCompact()
	return SessionMemoryParams{
		Switch: on, Compact: true,
		Extract: Extraction{
			Init: 10000, Growth: 5000, ToolCalls: 3, Guard: true, Barred: true,
			Instruction: 1000, Turns: 2, TurnInput: 100, Output: 400, Lifetime: CallLifetime(prompt.Lifetime5m),
		},
		Memory: MemoryFile{
			Template: 300, Sections: 10, Section: 2000, Total: 12000, Share: 0.05, Largest: 0.3,
			Condense: true, Reminder: 40, Marker: 25,
		},
		Keep: KeepRange{MinTokens: 10000, MinTexts: 5, MaxTokens: 40000},
		Wait: 15, Stale: 60, Guard: true, Breaker: full.Breaker,
		Summary: full.Summary, Attachments: full.Attachments,
	}
}
