package sim

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
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
func (l *Loop) layTools(t *thread) {
	system := &t.replay.assembly.System
	_, to := t.stretch(prompt.LevelTools)
	if system.MCPTools <= 0 || system.MCP != client.MCPPrefix || to == 0 {
		return
	}
	n := min(system.MCPTools, t.context.At(to-1).Tokens-1)
	if n < system.MCPTools {
		t.replay.refuse("system prompt", "the tools of servers are larger than all recorded ones")
	}
	l.swap(&t.context, to-1, -n, prompt.DigestString("without servers"), prompt.CauseHead)
	l.serve(t, n)
}

// serve makes the tools of servers weigh n tokens. It reports whether the
// thread has tools at all.
func (l *Loop) serve(t *thread, n int32) bool {
	_, to := t.stretch(prompt.LevelTools)
	if to == 0 {
		return false
	}
	h := &t.head.tools
	if !h.know {
		h.base, h.know = t.context.At(to-1).Block, true
	}
	h.mcp = n
	with := [1]prompt.Ref{h.base}
	if n > 0 {
		b := *t.context.Block(h.base)
		b.Tokens += n
		b.Bytes += n * 4
		b.Digest = b.Digest.Extend(prompt.DigestString("servers").ExtendInt(uint64(n)))
		with[0] = t.replay.arena.Add(b)
	}
	t.context.Replace(to-1, to, with[:], prompt.CauseHead)
	return true
}

// changeHead carries out what changes the head before a round's input. The prompt
// shows what it depends on when a person speaks: the client renders it once a turn.
func (l *Loop) changeHead(t *thread) {
	if len(t.replay.assembly.changes) == 0 {
		return
	}
	if t.current().Trigger == traces.TriggerPrompt {
		l.renderFlags(t)
	}
	for i := range t.replay.assembly.changes {
		c := &t.replay.assembly.changes[i]
		if t.agent() && !c.Agents || c.Every == 0 && t.head.fired>>i&1 != 0 {
			continue
		}
		if c.Action == changes.ActionOverage && t.trace.Kind != traces.ThreadMain {
			continue // the user's, not a thread's
		}
		if c.Due(t.round+1, l.sizeFor(t, c), t.replay.now(l.clock.now)) {
			t.head.fired |= 1 << i
			t.replay.effects.happen(i, l.change(t, c, i))
		}
	}
}

// sizeFor returns the tokens of a thread's context for an event that waits for
// them.
func (l *Loop) sizeFor(t *thread, c *changes.Change) int64 {
	if c.When.Tokens == 0 {
		return 0
	}
	return int64(t.context.Tokens())
}

// change carries out the event with a position in the scenario, and returns what it changes.
func (l *Loop) change(t *thread, c *changes.Change, at int) effect {
	changed := true
	switch c.Action {
	case changes.ActionTools, changes.ActionDenyRule:
		changed = l.changeTools(t, c)
	case changes.ActionMCPConnect:
		n := c.Tokens
		if !c.Given {
			n = defaultMCPTools
		}
		changed = l.connect(t, min(t.head.tools.mcp+n, changes.MaxTokens), true)
	case changes.ActionMCPLeave:
		changed = l.connect(t, 0, false)
	case changes.ActionSystem:
		if changed = l.rewrite(t, client.SectionStatic, c.Tokens, l.content(t, c)); changed {
			l.headChanged(t)
		}
	case changes.ActionFlag:
		t.head.flags++
		return l.wait(t, client.SectionStatic, &t.head.flagging, at)
	case changes.ActionClaudeMD:
		p := &t.head.project
		p.tokens, p.content, p.due = p.tokens+c.Tokens, p.content.Extend(l.content(t, c)), true
		return l.wait(t, client.SectionProject, &p.events, at)
	case changes.ActionModel:
		changed = l.changeModel(t, c.Value)
	case changes.ActionOverage:
		over := c.Value == "on" || !c.Given && !t.replay.overage
		if changed = over != t.replay.overage; changed {
			t.replay.row.Figures[results.QuotaChanges]++
		}
		t.replay.overage = over
	case changes.ActionPermission, changes.ActionOutputStyle, changes.ActionSkill:
		t.head.notices += c.Tokens
		changed = c.Tokens > 0
	case changes.ActionMessage:
		t.inbox = append(t.inbox, max(1, c.Tokens))
	default:
		changed = l.changeKey(t, c)
	}
	if changed {
		return effectShown
	}
	return effectNone
}

// wait notes an event whose effect a section of the prompt shows when it is rendered next.
func (l *Loop) wait(t *thread, s client.Section, events *uint64, at int) effect {
	*events |= 1 << at
	if l.section(t, s) < 0 {
		return effectNone
	}
	return effectDue
}

// content is the digest of what an event makes of a text: the same wherever the same
// event makes a thread's n-th content.
func (l *Loop) content(t *thread, c *changes.Change) prompt.Digest {
	t.head.times++
	return prompt.DigestString(c.Action.String() + "\x00" + c.Value).ExtendInt(t.head.times)
}

// changeTools gives a thread other tools of its own. It reports whether the thread has tools.
func (l *Loop) changeTools(t *thread, c *changes.Change) bool {
	_, to := t.stretch(prompt.LevelTools)
	if to == 0 {
		return false
	}
	h := &t.head.tools
	if !h.know {
		h.base, h.know = t.context.At(to-1).Block, true
	}
	b := *t.context.Block(h.base)
	b.Tokens = max(1, b.Tokens+c.Tokens)
	b.Bytes = max(0, b.Bytes+c.Tokens*4)
	b.Digest = b.Digest.Extend(l.content(t, c))
	h.base = t.replay.arena.Add(b)
	l.serve(t, h.mcp)
	l.headChanged(t)
	return true
}

// connect makes the tools of servers weigh n tokens, as one server comes or all go: in
// the prefix, with all that follows from it, or announced after it. When none is
// connected, none goes. It reports whether that changes what is sent.
func (l *Loop) connect(t *thread, n int32, comes bool) bool {
	if t.replay.assembly.System.MCP == client.MCPDeferred {
		told := comes || t.head.tools.deferred
		if told {
			t.head.notices += t.replay.assembly.System.MCPNotice
		}
		t.head.tools.deferred = comes
		return told && t.replay.assembly.System.MCPNotice > 0
	}
	if n == t.head.tools.mcp || !l.serve(t, n) {
		return false
	}
	if t.head.sections[client.SectionUncached] > 0 {
		l.rewrite(t, client.SectionUncached, 0, prompt.DigestString("servers").ExtendInt(uint64(n)))
	}
	if t.replay.assembly.laid {
		l.mark(t)
	}
	l.headChanged(t)
	return true
}

// changeModel makes a thread's calls go to another model, with a cache, a price
// and a window of its own. It reports whether they did not go there already.
func (l *Loop) changeModel(t *thread, name string) bool {
	s := t.replay
	i := s.models.named(name, l.window(s, name), s.session.StartTime())
	if i == t.model() {
		return false
	}
	s.nameModels()
	t.head.model = i + 1
	l.headChanged(t)
	return true
}

// changeKey changes a parameter of the request that belongs to the cache key of
// a level. It reports whether the parameter had another value.
func (l *Loop) changeKey(t *thread, c *changes.Change) bool {
	h := &t.head
	value := &h.keys[c.Action]
	var next prompt.Digest
	switch {
	case c.Action.Switches():
		if on := c.Value == "on" || !c.Given && value.IsZero(); on {
			next = prompt.DigestString(c.Action.String())
		}
	case !c.Given:
		next = l.content(t, c)
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
	t.context.SetKey(level, key)
	l.headChanged(t)
	return true
}

// announce adds to a round's input the notices of what is added to a conversation without
// changing its head.
func (l *Loop) announce(t *thread) {
	if t.head.notices <= 0 {
		t.head.notices = 0
		return
	}
	b := injected(prompt.KindAttachment, "notice", t.head.notices)
	b.Bytes = t.head.notices * 4
	b.Digest = b.Digest.ExtendInt(uint64(t.index)<<32 | uint64(t.round))
	t.head.notices = 0
	t.context.Add(b)
	t.trailing += t.replay.estimate(&b)
}

// window returns the context window of one of a session's models, tokens.
func (l *Loop) window(s *replay, model string) int64 {
	w := l.config.window(s.client, s.session, model)
	if l.config.Window > 0 {
		return w
	}
	return s.assembly.Window(&s.assembly.variables, model, w)
}

// section returns the position of what holds a section: its own entry, else the
// last of the system prompt, for project files the first reminder; -1 for none.
func (l *Loop) section(t *thread, s client.Section) int {
	if i := t.find(t.head.sections[s]); i >= 0 {
		return i
	}
	if s == client.SectionProject {
		for i := range strategies.Body(&t.context) {
			if t.context.At(i).Kind == prompt.KindReminder {
				return i
			}
		}
		return -1
	}
	from, to := t.stretch(prompt.LevelSystem)
	if from == to {
		return -1
	}
	return to - 1
}

// rewrite gives a section another content; where the thread has none nothing
// changes.
func (l *Loop) rewrite(t *thread, s client.Section, grow int32, content prompt.Digest) bool {
	i := l.section(t, s)
	if i < 0 {
		return false
	}
	was := 1 + t.context.At(i).ID
	now := 1 + l.swap(&t.context, i, grow, content, prompt.CauseHead)
	for k := range t.head.sections {
		if t.head.sections[k] == was {
			t.head.sections[k] = now
		}
	}
	return true
}

// touchHead changes what differs from request to request: the billing header
// where it is in the key, the uncached section, and sections that are not
// memoised.
func (l *Loop) touchHead(t *thread) {
	l.stamp(t)
	if p := t.replay.assembly.System.UncachedChange; p > 0 && t.head.tried != t.round+1 && t.head.sections[client.SectionUncached] > 0 {
		t.head.tried = t.round + 1
		event := draws.Event(t.index, t.round, layerKey("system prompt"), 0)
		if draws.Unit(t.replay.draws.Uint64(draws.Layer, event)) < p && l.rewrite(t, client.SectionUncached, 0, l.once(t)) {
			l.headChanged(t)
		}
	}
	if !t.replay.assembly.System.Memoised {
		l.showSections(t)
	}
}

// stamp gives the next request a billing header of its own, where that is in the
// key.
func (l *Loop) stamp(t *thread) {
	if t.replay.assembly.header {
		l.rewrite(t, client.SectionBilling, 0, l.once(t))
	}
}

// once returns a content that nothing else has.
func (l *Loop) once(t *thread) prompt.Digest {
	t.replay.contents++
	return prompt.Digest{Hi: t.replay.draws.Session, Lo: 1}.ExtendInt(t.replay.contents)
}

// renderHead renders memoised sections again after a compaction. Only the main
// conversation clears them (000, clean-up).
func (l *Loop) renderHead(t *thread) {
	if t.agent() {
		return
	}
	l.renderFlags(t)
	l.showSections(t)
}

// renderFlags brings the static section up to the flags it depends on.
func (l *Loop) renderFlags(t *thread) {
	h := &t.head
	if h.flags == h.rendered {
		return
	}
	h.rendered = h.flags
	if l.rewrite(t, client.SectionStatic, 0, flagged(h.flags)) {
		t.replay.effects.shown |= h.flagging
		l.headChanged(t)
	}
	h.flagging = 0
}

// flagged is what a number of flag changes makes of the static section: the
// same in every session that has seen them.
func flagged(n uint32) prompt.Digest { return prompt.DigestString("flags").ExtendInt(uint64(n)) }

// showSections shows what memoised sections hold back.
func (l *Loop) showSections(t *thread) {
	h := &t.head
	if h.project.due && l.rewrite(t, client.SectionProject, h.project.tokens, h.project.content) {
		t.replay.effects.shown |= h.project.events
		l.headChanged(t)
	}
	if h.memory.due && l.rewrite(t, client.SectionMemoised, h.memory.tokens-h.shown, h.memory.content) {
		h.shown = h.memory.tokens
		if t.started {
			l.headChanged(t)
		}
	}
	h.project, h.memory = pending{}, pending{}
}

// forkHead makes the head of a call on the conversation's own prefix what its
// request has there: a billing header of its own, and unless the rendered
// prompt is used again the prompt as it would be rendered now.
func (l *Loop) forkHead(t *thread, side *prompt.Context) {
	if t.replay.assembly.header {
		if i := t.find(t.head.sections[client.SectionBilling]); i >= 0 {
			l.swap(side, i, 0, l.once(t), prompt.CauseHead)
		}
	}
	if !t.replay.assembly.System.RenderedReuse && t.head.flags != t.head.rendered {
		if i := l.section(t, client.SectionStatic); i >= 0 {
			l.swap(side, i, 0, flagged(t.head.flags), prompt.CauseHead)
		}
	}
}
