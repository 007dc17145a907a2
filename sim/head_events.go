package sim

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// toolset is what the tools entry of a thread is made of: the tools it has in
// any case, and those of servers.
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
	system := &t.live.assembly.System
	_, to := t.stretch(prompt.LevelTools)
	if system.MCPTools <= 0 || system.MCP != client.MCPPrefix || to == 0 {
		return
	}
	n := min(system.MCPTools, t.context.At(to-1).Tokens-1)
	if n < system.MCPTools {
		t.live.refuse("system prompt", "the tools of servers are larger than all recorded ones")
	}
	l.swap(&t.context, to-1, -n, prompt.DigestString("without servers"))
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
		with[0] = t.live.arena.Add(b)
	}
	t.context.Replace(to-1, to, with[:], prompt.CauseHead)
	return true
}

// changeHead carries out what changes the head ahead of a round's input. What
// the prompt depends on shows in it when a person speaks: the client renders it
// once a turn.
func (l *Loop) changeHead(t *thread) {
	if len(t.live.assembly.changes) == 0 {
		return
	}
	if t.current().Trigger == traces.TriggerPrompt {
		l.renderFlags(t)
	}
	for i := range t.live.assembly.changes {
		c := &t.live.assembly.changes[i]
		if t.agent() && !c.Agents || c.Every == 0 && t.head.fired>>i&1 != 0 {
			continue
		}
		if c.Action == client.ActionOverage && t.trace.Kind != traces.ThreadMain {
			continue // the user's, not a thread's
		}
		if c.Due(t.round+1, l.sizeFor(t, c), t.live.now(l.clock.now)) {
			t.head.fired |= 1 << i
			l.change(t, c)
		}
	}
}

// sizeFor returns the tokens of a thread's context for an event that waits for
// them.
func (l *Loop) sizeFor(t *thread, c *client.Change) int64 {
	if c.When.Tokens == 0 {
		return 0
	}
	return int64(t.context.Tokens())
}

// change carries out one event.
func (l *Loop) change(t *thread, c *client.Change) {
	switch c.Action {
	case client.ActionTools, client.ActionDenyRule:
		l.changeTools(t, c)
	case client.ActionMCPConnect:
		n := c.Tokens
		if !c.Given {
			n = defaultMCPTools
		}
		l.connect(t, min(t.head.tools.mcp+n, client.MaxEventTokens), true)
	case client.ActionMCPLeave:
		l.connect(t, 0, false)
	case client.ActionSystem:
		if l.rewrite(t, client.SectionStatic, c.Tokens, l.content(t, c)) {
			l.headChanged(t)
		}
	case client.ActionFlag:
		t.head.flags++
	case client.ActionClaudeMD:
		p := &t.head.project
		p.tokens, p.content, p.due = p.tokens+c.Tokens, p.content.Extend(l.content(t, c)), true
	case client.ActionModel:
		l.changeModel(t, c.Value)
	case client.ActionOverage:
		t.live.overage = c.Value == "on" || !c.Given && !t.live.overage
	case client.ActionPermission, client.ActionOutputStyle, client.ActionSkill:
		t.head.notices += c.Tokens
	default:
		l.changeKey(t, c)
	}
}

// content is what an event makes of a text: the same wherever the same happens
// for the same time.
func (l *Loop) content(t *thread, c *client.Change) prompt.Digest {
	t.head.times++
	return prompt.DigestString(c.Action.String() + "\x00" + c.Value).ExtendInt(t.head.times)
}

// changeTools gives a thread other tools of its own.
func (l *Loop) changeTools(t *thread, c *client.Change) {
	_, to := t.stretch(prompt.LevelTools)
	if to == 0 {
		return
	}
	h := &t.head.tools
	if !h.know {
		h.base, h.know = t.context.At(to-1).Block, true
	}
	b := *t.context.Block(h.base)
	b.Tokens = max(1, b.Tokens+c.Tokens)
	b.Bytes = max(0, b.Bytes+c.Tokens*4)
	b.Digest = b.Digest.Extend(l.content(t, c))
	h.base = t.live.arena.Add(b)
	l.serve(t, h.mcp)
	l.headChanged(t)
}

// connect makes the tools of servers weigh n tokens, one of them coming or all
// going: in the prefix, with all that follows from it, or announced behind it.
// Where none is connected none goes.
func (l *Loop) connect(t *thread, n int32, comes bool) {
	if t.live.assembly.System.MCP == client.MCPDeferred {
		if comes || t.head.tools.deferred {
			t.head.notices += t.live.assembly.System.MCPNotice
		}
		t.head.tools.deferred = comes
		return
	}
	if n == t.head.tools.mcp || !l.serve(t, n) {
		return
	}
	if t.head.sections[client.SectionUncached] > 0 {
		l.rewrite(t, client.SectionUncached, 0, prompt.DigestString("servers").ExtendInt(uint64(n)))
	}
	if t.live.assembly.laid {
		l.mark(t)
	}
	l.headChanged(t)
}

// changeModel makes a thread's calls go to another model, with a cache, a price
// and a window of its own.
func (l *Loop) changeModel(t *thread, name string) {
	s := t.live
	i := s.models.named(name, l.window(s, name), s.session.StartTime())
	if i == t.model() {
		return
	}
	s.nameModels()
	t.head.model = i + 1
	l.headChanged(t)
}

// changeKey changes a parameter of the request that belongs to the cache key of
// a level.
func (l *Loop) changeKey(t *thread, c *client.Change) {
	h := &t.head
	value := &h.keys[c.Action]
	var next prompt.Digest
	switch {
	case c.Action.Takes() == client.TakesSwitch:
		if on := c.Value == "on" || !c.Given && value.IsZero(); on {
			next = prompt.DigestString(c.Action.String())
		}
	case !c.Given:
		next = l.content(t, c)
	case c.Value != "default":
		next = textKey(c.Action, c.Value)
	}
	if next == *value || c.Action.Stays() && next.IsZero() {
		return
	}
	*value = next
	level, _ := c.Action.Key()
	var key prompt.Digest
	for a, v := range h.keys {
		if at, ok := client.Action(a).Key(); ok && at == level && !v.IsZero() {
			key = key.Extend(v)
		}
	}
	t.context.SetKey(level, key)
	l.headChanged(t)
}

// announce tells with a round's input what is added to a conversation instead of
// changing what stands ahead of it.
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
	t.trailing += t.live.count.Block(&b)
}

// window returns the context window of one of a session's models, tokens.
func (l *Loop) window(s *live, model string) int64 {
	w := l.config.window(s.client, s.session, model)
	if l.config.Window > 0 {
		return w
	}
	return s.assembly.Window(&s.assembly.variables, model, w)
}
