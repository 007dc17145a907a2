package strategies

import (
	"fmt"
	"strconv"

	"gopkg.in/yaml.v3"
)

// APIContextParams are the parameters of api-context: what the client asks the
// server to leave out of each request. Sizes are tokens.
type APIContextParams struct {
	Switch      `yaml:",inline"`
	Subagents   bool          `yaml:"subagents" doc:"requests of sub-agents ask for it too; assumed"`
	Basis       Basis         `yaml:"basis" doc:"what triggers and clear_at_least look at: edited (the history less what was cleared before) or original (the whole history, so that each request clears anew); assumed"`
	Thinking    ClearThinking `yaml:"clear_thinking" doc:"clear_thinking_20251015, listed first"`
	Results     ClearToolUses `yaml:"clear_results" doc:"clear_tool_uses_20250919 for tools whose results are the waste"`
	Uses        ClearToolUses `yaml:"clear_uses" doc:"clear_tool_uses_20250919 for tools whose input is the waste"`
	Placeholder int32         `yaml:"placeholder" doc:"tokens of the text in the place of a cleared result"`
	EmptyUse    int32         `yaml:"empty_use" doc:"tokens of a call whose input was cleared; assumed"`
}

// ClearThinking says which thinking the server leaves out.
type ClearThinking struct {
	Enabled   bool      `yaml:"enabled" doc:"off, the server keeps thinking as it does by itself"`
	Keep      KeepTurns `yaml:"keep" doc:"newest turns with thinking whose thinking stays: all or a number"`
	IdleKeep  int       `yaml:"idle_keep" doc:"the same for a request after a long gap; 0 for no change" off:"0"`
	IdleAfter int64     `yaml:"idle_after_minutes" doc:"minutes since the last response that make a long gap"`
	EveryTurn bool      `yaml:"every_turn" doc:"once there was a long gap, all later requests keep as few; off, only the first does, and what it cleared stays cleared"`
}

// ClearToolUses says which tool calls the server clears, and when.
type ClearToolUses struct {
	Enabled      bool     `yaml:"enabled" doc:"off, this edit is not asked for"`
	InputTokens  int64    `yaml:"input_tokens" doc:"input tokens from which on it clears; 0 for no such trigger"`
	ToolUses     int64    `yaml:"tool_uses" doc:"calls of these tools from which on it clears; 0 for no such trigger"`
	Keep         int      `yaml:"keep" doc:"newest calls of these tools that stay"`
	ClearAtLeast int64    `yaml:"clear_at_least" doc:"tokens below which nothing is cleared; 0 for any"`
	Tools        []string `yaml:"tools" doc:"tools it is for; none named: all"`
	ExcludeTools []string `yaml:"exclude_tools" doc:"tools it is not for"`
	ClearInputs  bool     `yaml:"clear_tool_inputs" doc:"the input of a call goes too"`
}

// KeepTurns is a number of turns, 0 for all of them.
type KeepTurns int

const keepAll = "all"

// MarshalYAML writes "all" or the number.
func (k KeepTurns) MarshalYAML() (any, error) {
	if k == 0 {
		return keepAll, nil
	}
	return int(k), nil
}

// UnmarshalYAML reads "all" or a number above 0.
func (k *KeepTurns) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == keepAll {
		*k = 0
		return nil
	}
	v, err := strconv.Atoi(n.Value)
	if err != nil || v < 1 {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: keep %q: want all or a number above 0", n.Line, n.Value)}}
	}
	*k = KeepTurns(v)
	return nil
}

// Basis is what the server's edits are decided on.
type Basis bool

// The two things a server may look at.
const (
	BasisEdited   Basis = false // the history less what earlier requests cleared
	BasisOriginal Basis = true  // the history as the client has it
)

var basisNames = []string{"edited", "original"}

// MarshalYAML writes "edited" or "original".
func (b Basis) MarshalYAML() (any, error) { return nameOf(basisNames, asInt(bool(b))), nil }

// UnmarshalYAML reads "edited" or "original".
func (b *Basis) UnmarshalYAML(n *yaml.Node) error {
	i, err := readName(n, "basis", basisNames)
	*b = i == 1
	return err
}

// Validate returns what is wrong with the parameters.
func (p *APIContextParams) Validate() []error {
	errs := negatives(p)
	if th := &p.Thinking; th.Enabled && th.IdleKeep > 0 && th.IdleAfter == 0 {
		errs = append(errs, fmt.Errorf("clear_thinking: idle_after_minutes 0 must be positive"))
	}
	if n := p.Thinking.IdleAfter; n > maxMinutes {
		errs = append(errs, fmt.Errorf("clear_thinking: idle_after_minutes %d must be at most %d", n, maxMinutes))
	}
	errs = append(errs, p.Results.validate("clear_results")...)
	return append(errs, p.Uses.validate("clear_uses")...)
}

func (e *ClearToolUses) validate(name string) []error {
	if e.Enabled && (e.InputTokens > 0) == (e.ToolUses > 0) {
		return []error{fmt.Errorf("%s: want one trigger, input_tokens or tool_uses", name)}
	}
	return nil
}

// ValidateFor returns what is wrong with the parameters at a window.
func (p *APIContextParams) ValidateFor(r *Reading) []error {
	tr := p.Fires()
	if tr == nil {
		return nil
	}
	return tr.ValidateFor(r)
}

// Fires returns the trigger of the clearing of results.
func (p *APIContextParams) Fires() *Trigger {
	if !p.Results.Enabled || p.Results.InputTokens == 0 {
		return nil
	}
	return &Trigger{Measure: MeasureTokens, Fixed: p.Results.InputTokens}
}

func defaultAPIContext() APIContextParams {
	return APIContextParams{
		Switch: on, Subagents: true, Placeholder: 12, EmptyUse: 60,
		Thinking: ClearThinking{Enabled: true, IdleKeep: 1, IdleAfter: 60},
		Results: ClearToolUses{
			Enabled: true, InputTokens: 180000, Keep: 3, ClearAtLeast: 140000,
			Tools: []string{"Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch"}, ExcludeTools: []string{},
		},
		Uses: ClearToolUses{
			Enabled: true, InputTokens: 180000, Keep: 3, ClearAtLeast: 140000, ClearInputs: true,
			Tools: []string{"Edit", "Write", "NotebookEdit"}, ExcludeTools: []string{},
		},
	}
}
