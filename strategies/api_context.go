package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
)

// APIContextName is the registry's name of the layer.
const APIContextName = "api-context"

var apiContextDefinition = Define(APIContextName,
	"asks the server to leave old tool results and thinking out of each request",
	defaultAPIContext(),
	func(p APIContextParams) Layer { return newAPIContext(p) })

// apiContext is the server's side of context editing for one thread. The client
// sends its whole history each time, and what the server leaves out follows from
// that history alone; here the context holds what is left, so that only what is
// new needs to be looked at.
type apiContext struct {
	params  APIContextParams
	results toolEdit
	uses    toolEdit
	thought thoughts
	few     bool  // there was a gap after which little thinking was kept
	saved   int64 // tokens left out so far
}

func newAPIContext(p APIContextParams) *apiContext {
	return &apiContext{params: p, results: newToolEdit(p, p.Results), uses: newToolEdit(p, p.Uses)}
}

func (l *apiContext) Name() string { return APIContextName }

func (l *apiContext) Clone() Layer {
	c := *l
	c.results, c.uses, c.thought = l.results.clone(), l.uses.clone(), l.thought.clone()
	return &c
}

func (l *apiContext) Reset() {
	l.forget()
	l.results.calls.reset()
	l.uses.calls.reset()
	l.few = false
}

// AfterCompaction begins anew: the client no longer sends what lies ahead of the
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
	if l.params.Basis == BasisOriginal {
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
	ClearToolUses
	basis       Basis
	placeholder int32
	emptyUse    int32
	calls       clearables // not cleared
	cleared     int64      // calls cleared so far
	saved       int64      // tokens that took out
}

func newToolEdit(p APIContextParams, e ClearToolUses) toolEdit {
	return toolEdit{
		ClearToolUses: e, basis: p.Basis, placeholder: p.Placeholder, emptyUse: p.EmptyUse,
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
	if e.calls.refresh(t) && !(e.due(input) && e.worth()) { // others have cleared some of them
		return 0
	}
	return e.clear(t.Context)
}

// due reports whether the trigger is met.
func (e *toolEdit) due(input int64) bool {
	calls := int64(len(e.calls.list))
	if e.basis == BasisOriginal {
		calls += e.cleared
	}
	return e.InputTokens > 0 && input >= e.InputTokens || e.ToolUses > 0 && calls >= e.ToolUses
}

// past is what earlier requests cleared and this one clears with them.
func (e *toolEdit) past() int64 {
	if e.basis == BasisOriginal {
		return e.saved
	}
	return 0
}

// worth reports whether clearing the older calls takes out anything, and enough.
func (e *toolEdit) worth() bool {
	var saving int64
	for _, r := range e.calls.olderResults(e.Keep) {
		saving += e.saving(&r)
	}
	return saving > 0 && e.past()+saving >= e.ClearAtLeast
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
	old := e.calls.olderResults(e.Keep)
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
