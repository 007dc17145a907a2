package strategies

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
)

// apiContextParams are the parameters of api-context: what the client asks the
// server to leave out of each request. Sizes are tokens.
type apiContextParams struct {
	Switch      `yaml:",inline"`
	Subagents   bool          `yaml:"subagents" doc:"requests of sub-agents ask for it too; assumed"`
	Basis       basis         `yaml:"basis" doc:"what triggers and clear_at_least look at: edited (the history less what was cleared before) or original (the whole history, so that each request clears anew); assumed"`
	Thinking    clearThinking `yaml:"clear_thinking" doc:"clear_thinking_20251015, listed first"`
	Results     clearToolUses `yaml:"clear_results" doc:"clear_tool_uses_20250919 for tools whose results are the waste"`
	Uses        clearToolUses `yaml:"clear_uses" doc:"clear_tool_uses_20250919 for tools whose input is the waste"`
	Placeholder int32         `yaml:"placeholder" doc:"tokens of the text in the place of a cleared result" unit:"tokens" min:"0"`
	EmptyUse    int32         `yaml:"empty_use" doc:"tokens of a call whose input was cleared; assumed" unit:"tokens" min:"0"`
}

// clearThinking says which thinking the server leaves out.
type clearThinking struct {
	Enabled   bool      `yaml:"enabled" doc:"off, the server keeps thinking as it does by itself"`
	Keep      keepTurns `yaml:"keep" doc:"newest turns with thinking whose thinking stays: all or a number" needs:"enabled"`
	IdleKeep  int       `yaml:"idle_keep" doc:"the same for a request after a long gap; 0 for no change" unit:"calls" min:"0" off:"0" needs:"enabled"`
	IdleAfter int64     `yaml:"idle_after_minutes" doc:"minutes since the last response that make a long gap" min:"0" max:"153722867" needs:"idle_keep"`
	EveryTurn bool      `yaml:"every_turn" doc:"once there was a long gap, all later requests keep as few; off, only the first does, and what it cleared stays cleared" needs:"idle_keep"`
}

// clearToolUses says which tool calls the server clears, and when.
type clearToolUses struct {
	Enabled      bool      `yaml:"enabled" doc:"off, this edit is not asked for"`
	InputTokens  int64     `yaml:"input_tokens" doc:"input tokens from which it clears; 0 for no such trigger" min:"0" needs:"enabled"`
	ToolUses     int64     `yaml:"tool_uses" doc:"calls of these tools from which it clears; 0 for no such trigger" unit:"calls" min:"0" needs:"enabled"`
	Keep         int       `yaml:"keep" doc:"newest calls of these tools that stay" unit:"calls" min:"0" needs:"enabled"`
	KeepTokens   int64     `yaml:"keep_tokens" doc:"newest calls that stay in place of keep, as many as have results of so many tokens: 002:67 has 40000, which no edit of the provider takes, so that real calls declare keep; 0 for keep" min:"0" off:"0" needs:"enabled"`
	ClearAtLeast int64     `yaml:"clear_at_least" doc:"tokens below which nothing is cleared; 0 for any" unit:"tokens" min:"0" needs:"enabled"`
	Tools        toolNames `yaml:"tools" doc:"tools it is for, by name or operation; none named: all" needs:"enabled"`
	ExcludeTools toolNames `yaml:"exclude_tools" doc:"tools it is not for, by name or operation" needs:"enabled"`
	ClearInputs  bool      `yaml:"clear_tool_inputs" doc:"the input of a call goes too" needs:"enabled"`
}

// keepTurns is a number of turns, 0 for all turns.
type keepTurns int

const keepAll = "all"

// MarshalYAML writes "all" or the number.
func (k keepTurns) MarshalYAML() (any, error) {
	if k == 0 {
		return keepAll, nil
	}
	return int(k), nil
}

// UnmarshalYAML reads "all" or a number above 0.
func (k *keepTurns) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == keepAll {
		*k = 0
		return nil
	}
	v, err := strconv.Atoi(n.Value)
	if err != nil || v < 1 {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: keep %q: want all or a number above 0", n.Line, n.Value)}}
	}
	*k = keepTurns(v)
	return nil
}

// basis is the history that decides the server's edits.
type basis bool

// The histories that a server may look at.
const (
	basisEdited   basis = false // the history less what earlier requests cleared
	basisOriginal basis = true  // the history as the client has it
)

// Names returns the names used in YAML, by value.
func (basis) Names() []string { return []string{"edited", "original"} }

// Rules returns contradictions between the parameters.
func (p *clearThinking) Rules() []error {
	if p.Enabled && p.IdleKeep > 0 && p.IdleAfter == 0 {
		return []error{spec.Wrong("idle_after_minutes", "must be positive: idle_keep needs a gap")}
	}
	return nil
}

// Rules returns contradictions between the parameters.
func (e *clearToolUses) Rules() []error {
	if e.Enabled && (e.InputTokens > 0) == (e.ToolUses > 0) {
		return []error{errors.New("want one trigger, input_tokens or tool_uses")}
	}
	return nil
}

// Fires returns the trigger of the clearing of results.
func (p *apiContextParams) Fires() *Trigger {
	if !p.Results.Enabled || p.Results.InputTokens == 0 {
		return nil
	}
	return &Trigger{Measure: MeasureTokens, Fixed: p.Results.InputTokens}
}

func defaultAPIContext() apiContextParams {
	return apiContextParams{
		Switch: on, Subagents: true, Placeholder: 12, EmptyUse: 60,
		Thinking: clearThinking{Enabled: true, IdleKeep: 1, IdleAfter: 60},
		Results: clearToolUses{
			Enabled: true, InputTokens: 180000, Keep: 3, ClearAtLeast: 140000,
			Tools: []string{"Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch"}, ExcludeTools: []string{},
		},
		Uses: clearToolUses{
			Enabled: true, InputTokens: 180000, Keep: 3, ClearAtLeast: 140000, ClearInputs: true,
			Tools: []string{"Edit", "Write", "NotebookEdit"}, ExcludeTools: []string{},
		},
	}
}

// apiContextName is the registry's name of the layer.
const apiContextName = "api-context"

var apiContextDefinition = Define(apiContextName,
	"asks the server to leave old tool results and thinking out of each request",
	defaultAPIContext(),
	func(p apiContextParams) Layer { return newAPIContext(p) }).with(Traits{Clears: true})

// apiContext is the server's side of context editing for one thread. The client
// sends its whole history each time, and what the server leaves out follows from
// that history alone; here the context holds what is left, so that only what is
// new needs to be looked at.
type apiContext struct {
	params  apiContextParams
	results toolEdit
	uses    toolEdit
	thought thoughts
	few     bool  // there was a gap after which little thinking was kept
	saved   int64 // tokens left out so far
}

var (
	_ BeforeRequest   = (*apiContext)(nil)
	_ AfterCompaction = (*apiContext)(nil)
)

func newAPIContext(p apiContextParams) *apiContext {
	return &apiContext{params: p, results: newToolEdit(p, p.Results), uses: newToolEdit(p, p.Uses)}
}

func (l *apiContext) Name() string { return apiContextName }

func (l *apiContext) Clone() Layer {
	c := *l
	c.results, c.uses, c.thought = l.results.clone(), l.uses.clone(), l.thought.clone()
	return &c
}

func (l *apiContext) Copy() Layer { return l.Clone() }

func (l *apiContext) Reset() {
	l.forget()
	l.results.calls.reset()
	l.uses.calls.reset()
	l.few = false
}

// AfterCompaction starts over: the client no longer sends what lies before the
// boundary.
func (l *apiContext) AfterCompaction(*Turn) { l.forget() }

func (l *apiContext) forget() {
	l.results.forget()
	l.uses.forget()
	l.thought.forget()
	l.saved = 0
}

// BeforeRequest carries out the edits in the order they are listed. All look at
// the size the request came in with.
func (l *apiContext) BeforeRequest(t *Turn) Outcome {
	if isAgent(t.Kind) && !l.params.Subagents {
		return Outcome{Declined, "sub-agents do not ask for it"}
	}
	before := int64(t.Context.Tokens())
	input := before
	if l.params.Basis == basisOriginal {
		input += l.saved
	}
	l.clearThinking(t)
	cleared := l.results.apply(t, input) + l.uses.apply(t, input)
	after := int64(t.Context.Tokens())
	if cleared == 0 && after == before {
		return Outcome{Declined, "nothing to clear"}
	}
	l.saved += before - after
	t.Compacted(Boundary{Kind: BoundaryServer, Before: before, After: after, Cleared: cleared})
	return Outcome{Verdict: Done}
}

// toolEdit is a clear_tool_uses edit on one thread.
type toolEdit struct {
	clearToolUses
	basis       basis
	placeholder int32
	emptyUse    int32
	calls       clearables // not cleared
	cleared     int64      // calls cleared so far
	saved       int64      // tokens that took out
}

func newToolEdit(p apiContextParams, e clearToolUses) toolEdit {
	return toolEdit{
		clearToolUses: e, basis: p.Basis, placeholder: p.Placeholder, emptyUse: p.EmptyUse,
		calls: clearables{tools: toolset{named: e.Tools, excluded: e.ExcludeTools, mcp: true}},
	}
}

func (e *toolEdit) clone() toolEdit {
	c := *e
	c.calls = e.calls.clone()
	return c
}

func (e *toolEdit) forget() {
	e.calls.forget()
	e.cleared, e.saved = 0, 0
}

// apply clears the older calls when the edit is due, and returns how many.
func (e *toolEdit) apply(t *Turn, input int64) int {
	if !e.Enabled {
		return 0
	}
	e.calls.update(t)
	if !e.due(input) || e.past()+e.calls.tokens+e.calls.inputs < e.ClearAtLeast || !e.worth() {
		return 0
	}
	if e.calls.refresh(t) && !(e.due(input) && e.worth()) { // other layers have cleared some of these calls
		return 0
	}
	return e.clear(t.Context)
}

// due reports whether the trigger is met.
func (e *toolEdit) due(input int64) bool {
	calls := int64(len(e.calls.list))
	if e.basis == basisOriginal {
		calls += e.cleared
	}
	return e.InputTokens > 0 && input >= e.InputTokens || e.ToolUses > 0 && calls >= e.ToolUses
}

// past is what earlier requests cleared and this one clears with them.
func (e *toolEdit) past() int64 {
	if e.basis == basisOriginal {
		return e.saved
	}
	return 0
}

// worth reports whether clearing the older calls takes out anything, and enough.
func (e *toolEdit) worth() bool {
	var saving int64
	for _, r := range e.older() {
		saving += e.saving(&r)
	}
	return saving > 0 && e.past()+saving >= e.ClearAtLeast
}

// older returns the listed calls before the calls that stay.
func (e *toolEdit) older() []clearable {
	if e.KeepTokens == 0 {
		return e.calls.olderResults(e.Keep)
	}
	i := len(e.calls.list)
	for left := e.KeepTokens; i > 0; i-- {
		if left -= int64(max(0, e.calls.list[i-1].tokens)); left < 0 {
			break
		}
	}
	return e.calls.list[:i]
}

// saving is what clearing a call takes out, tokens.
func (e *toolEdit) saving(r *clearable) int64 {
	if r.id < 0 {
		return 0
	}
	s := int64(r.tokens - e.placeholder)
	if e.ClearInputs {
		s += int64(r.input - min(r.input, e.emptyUse))
	}
	return s
}

// clear leaves the older calls out and returns how many there were.
func (e *toolEdit) clear(c *prompt.Context) int {
	n := 0
	old := e.older()
	for i := range old {
		r := &old[i]
		if r.id < 0 {
			continue
		}
		e.saved += e.saving(r)
		c.LeaveOut(r.at, e.placeholder)
		if e.ClearInputs {
			c.LeaveOut(r.useAt, min(r.input, e.emptyUse))
		}
		n++
	}
	e.cleared += int64(n)
	last := old[len(old)-1].use
	e.calls.drop(func(r clearable) bool { return r.id >= 0 && r.use <= last })
	return n
}

// thoughts lists the thinking of a context that is not left out, by turn: the
// entries of one response.
type thoughts struct {
	next  int32 // id of the first entry not looked at
	turn  int32 // number of the response looked at last
	reply bool  // the last entry looked at belongs to it
	list  []thought
}

type thought struct{ id, turn int32 }

func (h *thoughts) forget() { *h = thoughts{list: h.list[:0]} }

func (h *thoughts) clone() thoughts {
	c := *h
	c.list = slices.Clone(h.list)
	return c
}

// update takes in what was appended since.
func (h *thoughts) update(c *prompt.Context) {
	from := c.Len()
	for from > 0 && c.At(from-1).ID >= h.next {
		from--
	}
	for i := from; i < c.Len(); i++ {
		e := c.At(i)
		h.next = max(h.next, e.ID+1)
		if e.Kind.Assistant() && !h.reply {
			h.turn++
		}
		h.reply = e.Kind.Assistant()
		if e.Kind == prompt.KindThinking && e.Tokens > 0 {
			h.list = append(h.list, thought{e.ID, h.turn})
		}
	}
}

// cut returns how many of the list come before the newest turns with
// thinking.
func (h *thoughts) cut(keep int) int {
	i, last := len(h.list), int32(-1)
	for i > 0 {
		if turn := h.list[i-1].turn; turn != last {
			if keep--; keep < 0 {
				break
			}
			last = turn
		}
		i--
	}
	return i
}

// clearThinking leaves out the thinking of all but the newest turns that the
// client asks to keep.
func (l *apiContext) clearThinking(t *Turn) {
	if !l.params.Thinking.Enabled {
		return
	}
	keep := l.keepTurns(t)
	l.thought.update(t.Context)
	if keep == 0 {
		return
	}
	n := l.thought.cut(keep)
	if n == 0 {
		return
	}
	c := t.Context
	for i := c.Index(l.thought.list[n-1].id); i >= 0; i-- {
		e := c.At(i)
		if e.Kind == prompt.KindThinking {
			c.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
		}
		if e.ID == l.thought.list[0].id {
			break
		}
	}
	l.thought.list = slices.Delete(l.thought.list, 0, n)
}

// keepTurns returns how many turns the client asks to keep in this request, 0 for all.
// After a long gap the cache is cold and it asks for fewer, once. The client of March 26
// to April 10, 2026 kept asking for fewer (B1; 2.1.101).
func (l *apiContext) keepTurns(t *Turn) int {
	p := &l.params.Thinking
	keep := int(p.Keep)
	gap := p.IdleKeep > 0 && t.Usage.Input() > 0 && t.Idle > p.IdleAfter*int64(time.Minute)
	l.few = l.few || gap
	if few := gap || l.few && p.EveryTurn; few && (keep == 0 || p.IdleKeep < keep) {
		return p.IdleKeep
	}
	return keep
}
