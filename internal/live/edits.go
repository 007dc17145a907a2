package live

import (
	"errors"
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

// MinTrigger is the smallest threshold of a compaction that the provider takes, tokens (platform.claude.com,
// compaction).
const MinTrigger = 50_000

// Server says what the provider does to the context of a call: what it leaves out, and how it compacts where a call
// asks.
type Server struct {
	// Trigger asks for a compaction at a threshold, tokens of input, and a stop behind it, as was offered ahead of
	// that on demand; MinTrigger at least, 0 for one on demand.
	Trigger int64
	// Instructions replace the provider's own; "" for those, or for this program's where the strategy wants some.
	Instructions string
	// Clear are the edits that a strategy declares.
	Clear Clearing
	// Edits are declared besides: JSON objects in the provider's form.
	Edits []jsontext.Value
}

// Validate returns what is wrong with the further edits.
func (s *Server) Validate() error {
	var errs []error
	for i, e := range s.Edits {
		if !e.IsValid() || e.Kind() != '{' {
			errs = append(errs, fmt.Errorf("server edit %d is no JSON object", i+1))
		} else if EditType(e) == "" {
			errs = append(errs, fmt.Errorf("server edit %d has no type", i+1))
		}
	}
	return errors.Join(errs...)
}

// onDemand reports whether a call is a compaction on demand.
func (s *Server) onDemand(p *plan) bool { return p.kind == kindServer && s.Trigger == 0 }

// declare puts into a request what the provider does to its context. Instructed means that the strategy has
// instructions.
func (s *Server) declare(r *wire.Request, p *plan, instructed bool) {
	words := s.Instructions
	if words == "" && instructed {
		words = serverInstructions("")
	}
	switch {
	case s.onDemand(p):
		r.Compaction = &wire.Compaction{Instructions: clean(words)}
	case p.kind == kindServer:
		r.ContextManagement = s.object(p.edits.objects(r.Tools), words)
	case !p.edits.none():
		r.ContextManagement = editsObject(p.edits.objects(r.Tools))
	}
}

// betas returns the betas of every call, and behind them those that this one needs.
func (s *Server) betas(all []string, p *plan) []string {
	list := append([]string(nil), all...) // nil for none
	add := func(beta string) {
		if !slices.Contains(list, beta) {
			list = append(list, beta)
		}
	}
	if p.edits.clears() {
		add(api.BetaEditing)
	}
	switch {
	case s.onDemand(p):
		add(api.BetaOnDemand)
	case p.kind == kindServer || p.edits.compacts():
		add(api.BetaCompact)
	}
	return list
}

// form names the way in which the provider is asked for a compaction.
func (s *Server) form() string {
	if s.Trigger == 0 {
		return "on-demand"
	}
	return fmt.Sprintf("threshold/%d", s.Trigger)
}

// object is the object of edits with the compaction by a threshold at its end.
func (s *Server) object(edits []jsontext.Value, words string) jsontext.Value {
	return editsObject(append(slices.Clone(edits), editOf(&api.Edit{
		Type: api.EditCompact, Trigger: &api.Amount{Type: "input_tokens",
			Value: max(s.Trigger, MinTrigger)}, Pause: true, Instructions: words,
	})))
}

// editsObject is the object that declares edits.
func editsObject(edits []jsontext.Value) jsontext.Value {
	b, _ := json.Marshal(api.ContextManagement{Edits: edits}) // valid JSON all of them
	return b
}

// editOf returns an edit in the provider's form.
func editOf(e *api.Edit) jsontext.Value {
	b, _ := json.Marshal(e, jsontext.AllowInvalidUTF8(true)) // it holds no values that could fail
	return b
}

// EditTypes returns the types of edits that are known here. A provider may have more, behind a beta of their own.
func EditTypes() []string { return []string{api.EditTools, api.EditThinking, api.EditCompact} }

// EditType returns the type of an edit in the provider's form, "" for none.
func EditType(v jsontext.Value) string {
	var e struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(v, &e) != nil {
		return ""
	}
	return e.Type
}

// Clearing is what a strategy asks the server to leave out of each request.
type Clearing struct {
	Thinking *ClearThinking // nil for what the server does by itself
	Tools    []ClearTools
	// SkipAgents says that requests of sub-agents declare nothing.
	SkipAgents bool
}

// ClearThinking is an edit that leaves out thinking, declared in calls that think: the provider refuses it in
// others.
type ClearThinking struct {
	Keep int // newest turns whose thinking stays; 0 for all
}

// ClearTools is an edit that leaves out results of tools. One of the triggers is set.
type ClearTools struct {
	InputTokens int64 // of input from which on it clears
	ToolUses    int64 // calls from which on it clears
	Keep        int   // newest calls that stay
	AtLeast     int64 // tokens below which nothing is cleared; 0 for any
	// Only are the tools it is for, none for all; Exclude those it is not for.
	Only, Exclude []string
	Inputs        bool // the input of a call goes too
}

// edits are those that a call declares, without a compaction of the program's own.
type edits struct {
	thinking *ClearThinking
	tools    []ClearTools
	further  []jsontext.Value
}

// edits returns what a call declares.
func (s *Server) edits(c *summarizer.Call, p *plan) edits {
	if s.onDemand(p) {
		return edits{} // the provider takes them apart only
	}
	var e edits
	for _, f := range s.Edits {
		if EditType(f) != api.EditThinking || p.thinking.On() {
			e.further = append(e.further, f)
		}
	}
	if s.Clear.SkipAgents && ofAgent(c) {
		return e
	}
	if p.thinking.On() {
		e.thinking = s.Clear.Thinking
	}
	e.tools = s.Clear.Tools
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
func (e *edits) none() bool { return e.thinking == nil && len(e.tools)+len(e.further) == 0 }

// clears reports whether an edit clears, and compacts whether one compacts.
func (e *edits) clears() bool {
	return e.thinking != nil || len(e.tools) > 0 || e.any("clear_")
}

func (e *edits) compacts() bool { return e.any("compact_") }

func (e *edits) any(prefix string) bool {
	return slices.ContainsFunc(e.further, func(v jsontext.Value) bool { return strings.HasPrefix(EditType(v), prefix) })
}

// names returns the types of the edits, in their order.
func (e *edits) names() []string {
	var list []string
	for _, v := range e.objects(nil) {
		list = append(list, EditType(v))
	}
	return list
}

// param distinguishes calls by their edits: types, and a digest of all they say. The tools are in the key
// elsewhere.
func (e *edits) param() string {
	d := prompt.DigestString(string(editsObject(e.objects(nil))))
	for i := range e.tools {
		d = d.Extend(prompt.DigestString(strings.Join(e.tools[i].Only, "\n")))
	}
	if len(e.tools) > 0 {
		d = d.ExtendInt(1) // what they clear is sent as the client has it
	}
	return fmt.Sprintf("%s/%016x", strings.Join(e.names(), "+"), d.Hi)
}

// objects returns the edits in the provider's form, that for thinking first, as the provider wants it.
func (e *edits) objects(tools []wire.Tool) []jsontext.Value {
	var first, list []jsontext.Value
	if e.thinking != nil {
		first = append(first, e.thinking.object())
	}
	for i := range e.tools {
		list = append(list, e.tools[i].object(tools))
	}
	for _, v := range e.further {
		if EditType(v) == api.EditThinking {
			first = append(first, v)
		} else {
			list = append(list, v)
		}
	}
	return append(first, list...)
}

func (e *ClearThinking) object() jsontext.Value {
	keep := jsontext.Value(`"all"`)
	if e.Keep > 0 {
		keep = fmt.Appendf(nil, `{"type":"thinking_turns","value":%d}`, e.Keep)
	}
	return editOf(&api.Edit{Type: api.EditThinking, Keep: keep})
}

// object returns the edit for a request with tools. The provider takes the tools to exclude: all others, of an edit
// for some.
func (e *ClearTools) object(tools []wire.Tool) jsontext.Value {
	edit := &api.Edit{
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
	return editOf(edit)
}

// excluded returns the tools that the edit is not for, each once.
func (e *ClearTools) excluded(tools []wire.Tool) []string {
	var list []string
	for _, name := range e.Exclude {
		if name = safeName(name); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if len(e.Only) == 0 {
		return list
	}
	for i := range tools {
		name := tools[i].Name
		only := slices.ContainsFunc(e.Only, func(o string) bool { return safeName(o) == name })
		if !only && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
