package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// Names of the provider's edits (platform.claude.com, context editing).
const (
	editingBeta   = "context-management-2025-06-27"
	clearToolEdit = "clear_tool_uses_20250919"
	clearThoughts = "clear_thinking_20251015"
)

// EditTypes returns the types of edits that are known here. A provider may have
// further ones, behind a beta feature of their own.
func EditTypes() []string { return []string{clearToolEdit, clearThoughts, compactEdit} }

// EditType returns the type of an edit in the provider's form, "" for none.
func EditType(v jsontext.Value) string { return typeOf(v) }

// Clearing is what a strategy asks the server to leave out of each request.
type Clearing struct {
	Thinking *ClearThinking // nil for what the server does by itself
	Tools    []ClearTools
	// SkipAgents says that requests of sub-agents declare nothing.
	SkipAgents bool
}

// ClearThinking is an edit that leaves out thinking. It is declared in calls that
// think: the provider refuses it in others.
type ClearThinking struct {
	Keep int // newest turns whose thinking stays; 0 for all
}

// ClearTools is an edit that leaves out results of tools. One of the triggers is
// set.
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
		if typeOf(f) != clearThoughts || p.thinking.On() {
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
	return slices.ContainsFunc(e.further, func(v jsontext.Value) bool { return strings.HasPrefix(typeOf(v), prefix) })
}

// names returns the types of the edits, in their order.
func (e *edits) names() []string {
	var list []string
	for _, v := range e.objects(nil) {
		list = append(list, typeOf(v))
	}
	return list
}

// param is what tells calls apart that declare different edits: their types, and a
// digest of all they say. Which tools a request has is told elsewhere.
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

// objects returns the edits in the provider's form, for a request with tools. The
// one for thinking is the first, as the provider wants it.
func (e *edits) objects(tools []wire.Tool) []jsontext.Value {
	var first, list []jsontext.Value
	if e.thinking != nil {
		first = append(first, e.thinking.object())
	}
	for i := range e.tools {
		list = append(list, e.tools[i].object(tools))
	}
	for _, v := range e.further {
		if typeOf(v) == clearThoughts {
			first = append(first, v)
		} else {
			list = append(list, v)
		}
	}
	return append(first, list...)
}

// typeOf returns the type of an edit.
func typeOf(v jsontext.Value) string {
	var e struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(v, &e) != nil {
		return ""
	}
	return e.Type
}

func (e *ClearThinking) object() jsontext.Value {
	keep := jsontext.Value(`"all"`)
	if e.Keep > 0 {
		keep = fmt.Appendf(nil, `{"type":"thinking_turns","value":%d}`, e.Keep)
	}
	return fmt.Appendf(nil, `{"type":%q,"keep":%s}`, clearThoughts, keep)
}

// object returns the edit for a request with tools. The provider takes the tools
// that an edit is not for: all others, of one that is for some.
func (e *ClearTools) object(tools []wire.Tool) jsontext.Value {
	trigger, value := "input_tokens", e.InputTokens
	if e.ToolUses > 0 {
		trigger, value = "tool_uses", e.ToolUses
	}
	b := fmt.Appendf(nil, `{"type":%q,"trigger":{"type":%q,"value":%d},"keep":{"type":"tool_uses","value":%d}`, clearToolEdit, trigger, value, e.Keep)
	if e.AtLeast > 0 {
		b = fmt.Appendf(b, `,"clear_at_least":{"type":"input_tokens","value":%d}`, e.AtLeast)
	}
	if names := e.excluded(tools); len(names) > 0 {
		for i, name := range names {
			open := byte(',')
			if i == 0 {
				b, open = append(b, `,"exclude_tools":`...), '['
			}
			b, _ = jsontext.AppendQuote(append(b, open), clean(name))
		}
		b = append(b, ']')
	}
	if e.Inputs {
		b = append(b, `,"clear_tool_inputs":true`...)
	}
	return append(b, '}')
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

// whole reports whether an entry that is cleared in the context is sent as the client
// has it: the server clears it, by edits that the call declares. What the client has
// cleared itself it no longer has.
func (p *composer) whole(e prompt.Entry) bool {
	return len(p.plan.edits.tools) > 0 && e.Form == prompt.FormCleared && e.Had > 0
}

// had returns an entry that the server clears as the client has it: whole, or the
// beginning of what it has stored.
func had(e prompt.Entry, b *prompt.Block) prompt.Entry {
	e.Form, e.Tokens = prompt.FormVerbatim, e.Had
	if e.Had < b.Tokens {
		e.Form = prompt.FormRange
	}
	return e
}

// held tells what the chain does not of a call that declares edits: which of the
// cleared calls and results the client has no more or not whole. It is zero where
// it has them all.
func held(c *prompt.Context) prompt.Digest {
	var d prompt.Digest
	for i := c.Messages(); i < c.Len(); i++ {
		e := c.At(i)
		if e.Form == prompt.FormCleared && (e.Kind == prompt.KindToolUse || e.Kind == prompt.KindToolResult) && e.Had != c.BlockAt(i).Tokens {
			d = d.ExtendInt(uint64(i)).ExtendInt(uint64(e.Had))
		}
	}
	return d
}

// restore puts into the block added last what the client still has of it. As it was,
// it is what the server is taken to leave.
func (p *composer) restore(had wire.Block) {
	b := &p.blocks[len(p.blocks)-1]
	left := b.block
	b.left = &left
	b.block.Text, b.block.Input = had.Text, had.Input
}

// left returns a request as the server is taken to leave it: the request itself
// where nothing is cleared in it.
func left(r *wire.Request, blocks []placed) *wire.Request {
	var rest []placed
	for i := range blocks {
		if blocks[i].left == nil {
			continue
		}
		if rest == nil {
			rest = append(rest, blocks...)
		}
		rest[i].block = *blocks[i].left
		rest[i].block.Cache = blocks[i].block.Cache
	}
	if rest == nil {
		return r
	}
	e := *r
	e.Messages = messages(rest)
	return &e
}
