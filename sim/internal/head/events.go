package head

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// toolset is what the tools entry of a thread is made of: the tools it has in any case, and the
// tools of servers.
type toolset struct {
	base prompt.Ref // its block without tools of servers; meaningful once known
	know bool
	mcp  int32 // tokens of the tools of servers
	// deferred says that servers are connected whose tools are not in the prefix.
	deferred bool
}

// defaultMCPTools is what the tools of a server weigh when an event does not
// say, tokens. Assumed.
const defaultMCPTools = 5000

// layTools takes the tools of servers that are connected from the start out of
// the recorded ones, where they stand in the prefix.
func (h *Head) layTools() {
	system := &h.of.Assembly.System
	_, to := Stretch(h.context, prompt.LevelTools)
	if system.MCPTools <= 0 || system.MCP != client.MCPPrefix || to == 0 {
		return
	}
	n := min(system.MCPTools, h.context.At(to-1).Tokens-1)
	if n < system.MCPTools {
		h.of.host.Refuse("system prompt", "the tools of servers are larger than all recorded ones")
	}
	Swap(h.context, to-1, -n, prompt.DigestString("without servers"), prompt.CauseHead)
	h.serve(n)
}

// serve makes the tools of servers weigh n tokens. It reports whether the
// thread has tools at all.
func (h *Head) serve(n int32) bool {
	_, to := Stretch(h.context, prompt.LevelTools)
	if to == 0 {
		return false
	}
	x := &h.tools
	if !x.know {
		x.base, x.know = h.context.At(to-1).Block, true
	}
	x.mcp = n
	with := [1]prompt.Ref{x.base}
	if n > 0 {
		b := *h.context.Block(x.base)
		b.Tokens += n
		b.Bytes += n * 4
		b.Digest = b.Digest.Extend(prompt.DigestString("servers").ExtendInt(uint64(n)))
		with[0] = h.of.arena.Add(b)
	}
	h.context.Replace(to-1, to, with[:], prompt.CauseHead)
	return true
}

// Change carries out what changes the head before a round's input. The prompt
// shows what it depends on when a person speaks: the client renders it once a turn. now is on the session's clock, ns. It
// returns the messages that come with the next input, tokens.
func (h *Head) Change(now int64) (told []int32) {
	if len(h.of.Assembly.changes) == 0 {
		return nil
	}
	if h.trace.Rounds[h.course.Round].Trigger == traces.TriggerPrompt {
		h.renderFlags()
	}
	for i := range h.of.Assembly.changes {
		c := &h.of.Assembly.changes[i]
		if h.agent && !c.Agents || c.Every == 0 && h.fired>>i&1 != 0 {
			continue
		}
		if c.Action == changes.ActionOverage && h.trace.Kind != traces.ThreadMain {
			continue // the user's, not a thread's
		}
		tokens := int64(0)
		if c.When.Tokens > 0 {
			tokens = int64(h.context.Tokens())
		}
		if c.Due(h.course.Round+1, tokens, now) {
			h.fired |= 1 << i
			h.of.effects.happen(i, h.apply(c, i))
		}
	}
	told, h.told = h.told, nil
	return told
}

// apply carries out the event with a position in the scenario, and returns what it changes.
func (h *Head) apply(c *changes.Change, at int) effect {
	changed := true
	switch c.Action {
	case changes.ActionTools, changes.ActionDenyRule:
		changed = h.changeTools(c)
	case changes.ActionMCPConnect:
		n := c.Tokens
		if !c.Given {
			n = defaultMCPTools
		}
		changed = h.connect(min(h.tools.mcp+n, changes.MaxTokens), true)
	case changes.ActionMCPLeave:
		changed = h.connect(0, false)
	case changes.ActionSystem:
		if changed = h.rewrite(client.SectionStatic, c.Tokens, h.content(c)); changed {
			h.changed()
		}
	case changes.ActionFlag:
		h.flags++
		return h.wait(client.SectionStatic, &h.flagging, at)
	case changes.ActionClaudeMD:
		p := &h.project
		p.tokens, p.content, p.due = p.tokens+c.Tokens, p.content.Extend(h.content(c)), true
		return h.wait(client.SectionProject, &p.events, at)
	case changes.ActionModel:
		// Its cache, its price and its window are of its own.
		i := h.of.host.Model(c.Value)
		if changed = i != h.Model(); changed {
			h.model = i + 1
			h.changed()
		}
	case changes.ActionOverage:
		over := c.Value == "on" || !c.Given && !h.of.overage
		if changed = over != h.of.overage; changed {
			h.of.row.Figures[measures.QuotaChanges]++
		}
		h.of.overage = over
	case changes.ActionPermission, changes.ActionOutputStyle, changes.ActionSkill:
		h.notices += c.Tokens
		changed = c.Tokens > 0
	case changes.ActionMessage:
		h.told = append(h.told, max(1, c.Tokens))
	default:
		changed = h.changeKey(c)
	}
	if changed {
		return effectShown
	}
	return effectNone
}

// wait notes an event whose effect a section of the prompt shows when it is rendered next.
func (h *Head) wait(s client.Section, events *uint64, at int) effect {
	*events |= 1 << at
	if h.section(s) < 0 {
		return effectNone
	}
	return effectDue
}

// content is the digest of what an event makes of a text: the same wherever the same
// event makes a thread's n-th content.
func (h *Head) content(c *changes.Change) prompt.Digest {
	h.times++
	return prompt.DigestString(c.Action.String() + "\x00" + c.Value).ExtendInt(h.times)
}

// changeTools gives a thread other tools of its own. It reports whether the thread has tools.
func (h *Head) changeTools(c *changes.Change) bool {
	_, to := Stretch(h.context, prompt.LevelTools)
	if to == 0 {
		return false
	}
	x := &h.tools
	if !x.know {
		x.base, x.know = h.context.At(to-1).Block, true
	}
	b := *h.context.Block(x.base)
	b.Tokens = max(1, b.Tokens+c.Tokens)
	b.Bytes = max(0, b.Bytes+c.Tokens*4)
	b.Digest = b.Digest.Extend(h.content(c))
	x.base = h.of.arena.Add(b)
	h.serve(x.mcp)
	h.changed()
	return true
}

// connect makes the tools of servers weigh n tokens, as one server comes or all go: in
// the prefix, with all that follows from it, or announced after it. When none is
// connected, none goes. It reports whether that changes what is sent.
func (h *Head) connect(n int32, comes bool) bool {
	if h.of.Assembly.System.MCP == client.MCPDeferred {
		told := comes || h.tools.deferred
		if told {
			h.notices += h.of.Assembly.System.MCPNotice
		}
		h.tools.deferred = comes
		return told && h.of.Assembly.System.MCPNotice > 0
	}
	if n == h.tools.mcp || !h.serve(n) {
		return false
	}
	if h.sections[client.SectionUncached] > 0 {
		h.rewrite(client.SectionUncached, 0, prompt.DigestString("servers").ExtendInt(uint64(n)))
	}
	if h.of.Assembly.laid {
		h.mark()
	}
	h.changed()
	return true
}

// changeKey changes a parameter of the request that belongs to the cache key of
// a level. It reports whether the parameter had another value.
func (h *Head) changeKey(c *changes.Change) bool {
	value := &h.keys[c.Action]
	var next prompt.Digest
	switch {
	case c.Action.Switches():
		if on := c.Value == "on" || !c.Given && value.IsZero(); on {
			next = prompt.DigestString(c.Action.String())
		}
	case !c.Given:
		next = h.content(c)
	case c.Value != "default":
		next = textKey(c.Action, c.Value)
	}
	if next == *value || c.Action.Stays() && next.IsZero() {
		return false
	}
	*value = next
	level, _ := c.Action.Key()
	var key prompt.Digest
	for a, v := range h.keys {
		if at, ok := changes.Action(a).Key(); ok && at == level && !v.IsZero() {
			key = key.Extend(v)
		}
	}
	h.context.SetKey(level, key)
	h.changed()
	return true
}

// Notice returns the block with the notices of what is added to a conversation without changing its head, due with the input
// of the round under way, and whether there are any.
func (h *Head) Notice() (prompt.Block, bool) {
	tokens := h.notices
	if h.notices = 0; tokens <= 0 {
		return prompt.Block{}, false
	}
	b := client.Injected(prompt.KindAttachment, "notice", tokens)
	b.Bytes = tokens * 4
	b.Digest = b.Digest.ExtendInt(uint64(h.index)<<32 | uint64(h.course.Round))
	return b, true
}

// section returns the position of what holds a section: its own entry, else the
// last of the system prompt, for project files the first reminder; -1 for none.
func (h *Head) section(s client.Section) int {
	if i := find(h.context, h.sections[s]); i >= 0 {
		return i
	}
	if s == client.SectionProject {
		for i := range strategies.Body(h.context) {
			if h.context.At(i).Kind == prompt.KindReminder {
				return i
			}
		}
		return -1
	}
	from, to := Stretch(h.context, prompt.LevelSystem)
	if from == to {
		return -1
	}
	return to - 1
}

// rewrite gives a section another content; where the thread has none nothing
// changes.
func (h *Head) rewrite(s client.Section, grow int32, content prompt.Digest) bool {
	i := h.section(s)
	if i < 0 {
		return false
	}
	swap(h, i, grow, content)
	return true
}

// swap gives an entry of a head another content, and the sections that it holds go along.
func swap(h *Head, i int, grow int32, content prompt.Digest) {
	was := 1 + h.context.At(i).ID
	renamed(h, was, 1+Swap(h.context, i, grow, content, prompt.CauseHead))
}

// renamed notes that another entry stands in the place of one, both given as 1 + id.
func renamed(h *Head, was, now int32) {
	for k := range h.sections {
		if h.sections[k] == was {
			h.sections[k] = now
		}
	}
}

// VaryByRequest changes what differs from request to request: the billing header
// where it is in the key, the uncached section, and sections that are not
// memoised.
func (h *Head) VaryByRequest() {
	h.Stamp()
	if p := h.of.Assembly.System.UncachedChange; p > 0 && h.tried != h.course.Round+1 && h.sections[client.SectionUncached] > 0 {
		h.tried = h.course.Round + 1
		event := draws.Event(h.index, h.course.Round, client.DrawKey("system prompt"), 0)
		if draws.Unit(h.of.draws.Uint64(draws.Layer, event)) < p && h.rewrite(client.SectionUncached, 0, h.of.once()) {
			h.changed()
		}
	}
	if !h.of.Assembly.System.Memoised {
		h.ShowSections()
	}
}

// Stamp gives the next request a billing header of its own, where that is in the
// key.
func (h *Head) Stamp() {
	if h.of.Assembly.Header {
		h.rewrite(client.SectionBilling, 0, h.of.once())
	}
}

// once returns a content that nothing else has.
func (s *Session) once() prompt.Digest {
	s.contents++
	return prompt.Digest{Hi: s.draws.Session, Lo: 1}.ExtendInt(s.contents)
}

// Render renders memoised sections again after a compaction. Only the main
// conversation clears them (000, clean-up).
func (h *Head) Render() {
	if h.agent {
		return
	}
	h.renderFlags()
	h.ShowSections()
}

// renderFlags brings the static section up to the flags it depends on.
func (h *Head) renderFlags() {
	if h.flags == h.rendered {
		return
	}
	h.rendered = h.flags
	if h.rewrite(client.SectionStatic, 0, flagged(h.flags)) {
		h.of.effects.shown |= h.flagging
		h.changed()
	}
	h.flagging = 0
}

// flagged is what a number of flag changes makes of the static section: the
// same in every session that has seen them.
func flagged(n uint32) prompt.Digest { return prompt.DigestString("flags").ExtendInt(uint64(n)) }

// ShowSections shows what memoised sections hold back.
func (h *Head) ShowSections() {
	if h.project.due && h.rewrite(client.SectionProject, h.project.tokens, h.project.content) {
		h.of.effects.shown |= h.project.events
		h.changed()
	}
	if h.memory.due && h.rewrite(client.SectionMemoised, h.memory.tokens-h.shown, h.memory.content) {
		h.shown = h.memory.tokens
		if h.course.Started {
			h.changed()
		}
	}
	h.project, h.memory = pending{}, pending{}
}

// Fork makes the head of a call on the conversation's own prefix what its
// request has there: a billing header of its own, and unless the rendered
// prompt is used again the prompt as it would be rendered now.
func (h *Head) Fork(side *prompt.Context) {
	if h.of.Assembly.Header {
		if i := find(h.context, h.sections[client.SectionBilling]); i >= 0 {
			Swap(side, i, 0, h.of.once(), prompt.CauseHead)
		}
	}
	if !h.of.Assembly.System.RenderedReuse && h.flags != h.rendered {
		if i := h.section(client.SectionStatic); i >= 0 {
			Swap(side, i, 0, flagged(h.flags), prompt.CauseHead)
		}
	}
}
