package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// Clearing is what a strategy makes the server leave out of each request.
type Clearing struct {
	Thinking *ClearThinking // nil for the server's default
	Tools    []ClearTools
	// SkipAgents says that requests of sub-agents declare nothing.
	SkipAgents bool
}

// ClearThinking is an edit that removes thinking. It is declared only in calls
// that think, because the provider rejects it in others.
type ClearThinking struct {
	Keep int // newest turns whose thinking stays; 0 for all
}

// ClearTools is an edit that removes results of tools. One of the triggers is set.
type ClearTools struct {
	InputTokens int64 // input tokens from which on it clears
	ToolUses    int64 // calls from which on it clears
	Keep        int   // newest calls that stay
	AtLeast     int64 // tokens below which nothing is cleared; 0 for any
	// Only are the tools it applies to, none for all; Exclude those it does not apply to.
	Only, Exclude []string
	Inputs        bool // the input of a call is removed too
}

// declared returns what a call declares of a clearing: nothing with a
// compaction on demand, which the provider only accepts alone.
func (e Clearing) declared(c *summarizer.Call, p *plan) Clearing {
	if p.kind == kindServer || e.SkipAgents && ofAgent(c) {
		return Clearing{}
	}
	if !p.thinking.On() {
		e.Thinking = nil
	}
	return e
}

// ofAgent reports whether a call is made on a sub-agent's thread.
func ofAgent(c *summarizer.Call) bool {
	if int(c.Thread) >= len(c.Session.Threads) {
		return false
	}
	k := c.Session.Threads[c.Thread].Kind
	return k == traces.ThreadAgent || k == traces.ThreadOrphan
}

// none reports whether nothing is declared.
func (e *Clearing) none() bool { return e.Thinking == nil && len(e.Tools) == 0 }

// names returns the types of the edits, in their order.
func (e *Clearing) names() []string {
	var list []string
	if e.Thinking != nil {
		list = append(list, api.EditThinking)
	}
	for range e.Tools {
		list = append(list, api.EditTools)
	}
	return list
}

// param distinguishes calls by their edits: types, and a digest of their
// settings. The tools are in another part of the key.
func (e *Clearing) param() string {
	d := prompt.DigestString(string(e.object(nil)))
	for i := range e.Tools {
		d = d.Extend(prompt.DigestString(strings.Join(e.Tools[i].Only, "\n")))
	}
	if len(e.Tools) > 0 {
		d = d.ExtendInt(1) // what they clear is sent in the client's form
	}
	return fmt.Sprintf("%s/%016x", strings.Join(e.names(), "+"), d.Hi)
}

// object returns the edits for a request with tools in the provider's form,
// with the one for thinking first, as the provider requires.
func (e *Clearing) object(tools []wire.Tool) jsontext.Value {
	m := api.ContextManagement{}
	if t := e.Thinking; t != nil {
		keep := jsontext.Value(`"all"`)
		if t.Keep > 0 {
			keep = fmt.Appendf(nil, `{"type":"thinking_turns","value":%d}`, t.Keep)
		}
		m.Edits = append(m.Edits, api.Edit{Type: api.EditThinking, Keep: keep})
	}
	for i := range e.Tools {
		m.Edits = append(m.Edits, e.Tools[i].edit(tools))
	}
	b, _ := json.Marshal(m, jsontext.AllowInvalidUTF8(true)) // it has no values that could fail
	return b
}

// edit returns the edit for a request with tools. The provider takes the tools
// to exclude: for an edit of some tools, all others.
func (e *ClearTools) edit(tools []wire.Tool) api.Edit {
	edit := api.Edit{
		Type: api.EditTools, Trigger: &api.Amount{Type: "input_tokens", Value: e.InputTokens},
		Keep: fmt.Appendf(nil, `{"type":"tool_uses","value":%d}`, e.Keep), ExcludeTools: e.excluded(tools),
	}
	if e.ToolUses > 0 {
		edit.Trigger = &api.Amount{Type: "tool_uses", Value: e.ToolUses}
	}
	if e.AtLeast > 0 {
		edit.ClearAtLeast = &api.Amount{Type: "input_tokens", Value: e.AtLeast}
	}
	if e.Inputs {
		edit.ClearToolInputs = jsontext.Value("true")
	}
	return edit
}

// excluded returns the tools that the edit does not apply to, each once.
func (e *ClearTools) excluded(tools []wire.Tool) []string {
	var list, only []string
	add := func(name string) {
		if !slices.Contains(only, name) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, name := range e.Exclude {
		add(safeName(name))
	}
	for _, name := range e.Only {
		only = append(only, safeName(name))
	}
	for i := range tools {
		if len(only) > 0 {
			add(tools[i].Name)
		}
	}
	return list
}
