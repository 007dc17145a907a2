package sim

import (
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// head is what comes before a thread's conversation, and the changes to it that are due.
// The zero value keeps the recording's head.
type head struct {
	sections [client.NumSections]int32 // 1 + id of the entry of a section, 0 for none
	markers  [prompt.MaxMarkers]prompt.Marker
	marked   int // of the markers in use
	tools    toolset
	// keys are the parameters of the request that belong to the cache key, by
	// action.
	keys     [changes.NumActions]prompt.Digest
	fired    uint64 // events that have happened, a bit each
	times    uint64 // contents that events have made so far
	model    int32  // 1 + the model that an event switched to
	notices  int32  // tokens of notices due with the next input
	recorded prompt.TTL
	flags    uint32 // changes of what the static section depends on
	rendered uint32 // how many sections the prompt held as it was last rendered
	flagging uint64 // events flag_change since then, a bit each
	project  pending
	memory   pending
	shown    int32 // tokens of the memory index in the prompt
	tried    int32 // 1 + round that the uncached section was last computed for
}

// pending is another content of a section, not yet shown.
type pending struct {
	tokens  int32 // by which it grows
	content prompt.Digest
	due     bool
	events  uint64 // that made it, a bit each
}

// layOut shapes the head of a thread that begins: tools, system, reminders. Its tokens stay the
// recording's, except for the memory of sub-agents.
func (l *Loop) layOut(t *thread) {
	latch := t.replay.latch // nothing is decided before the first request
	t.ttl = t.replay.assembly.Lifetime(&t.replay.assembly.variables, l.asking(t, "", prompt.LifetimeClient), &latch)
	if !t.replay.assembly.laid {
		return
	}
	if t.replay.assembly.System.Divided() {
		l.shareTools(t)
	}
	l.layTools(t)
	if t.replay.assembly.System.Divided() {
		l.divide(t)
	}
	l.remember(t)
	l.mark(t)
}

// remember puts the memory of a sub-agent behind its system prompt. It is the same
// text in every session of its scope.
func (l *Loop) remember(t *thread) {
	m, s := &t.replay.assembly.System.AgentMemory, t.replay
	if m.Tokens <= 0 || !t.agent() {
		return
	}
	content := prompt.DigestString("agent memory").ExtendInt(uint64(m.Tokens))
	if m.Scope != client.MemoryOfUser {
		content = content.Extend(prompt.DigestString(s.session.Project))
	}
	if m.Scope != client.MemoryOfProject {
		content = content.ExtendInt(uint64(s.owner)).ExtendInt(uint64(s.place) + 1)
	}
	_, to := t.stretch(prompt.LevelSystem)
	if to == 0 {
		_, to = t.stretch(prompt.LevelTools)
	}
	with := [1]prompt.Ref{s.arena.Add(prompt.Block{
		Kind: prompt.KindSystem, Tokens: m.Tokens, Bytes: m.Tokens * 4, Object: -1, Digest: content,
	})}
	t.context.Replace(to, to, with[:], prompt.CauseHead)
}

// same returns a content that every user of an agent's version has in its
// prompt.
func (t *thread) same() prompt.Digest {
	s := t.replay.session
	return prompt.DigestString("shared").Extend(prompt.DigestString(s.Agent)).Extend(prompt.DigestString(s.Version()))
}

// ownPrompt reports whether the thread's head differs from every user's: a sub-agent's, or a
// caller's own.
func (l *Loop) ownPrompt(t *thread) bool { return t.agent() || t.replay.assembly.System.Custom }

// shareTools replaces the recorded tools by the tools of every user whose tools have as many
// tokens: a marker for everyone covers what comes before it as well, and a recording does not show
// in whose organisation it was made.
func (l *Loop) shareTools(t *thread) {
	if l.ownPrompt(t) {
		return
	}
	_, to := t.stretch(prompt.LevelTools)
	for i := range to {
		b := *t.context.BlockAt(i)
		b.Digest = t.same().ExtendInt(uint64(b.Tokens))
		with := [1]prompt.Ref{t.replay.arena.Add(b)}
		t.context.Replace(i, i+1, with[:], prompt.CauseHead)
	}
}

// divide replaces the recorded system prompt by the sections. The sections through the static one
// are the same for every user of the version; later sections are as far the session's own as the
// recorded prompt is.
func (l *Loop) divide(t *thread) {
	from, to := t.stretch(prompt.LevelSystem)
	if from == to {
		return
	}
	var total int32
	base := prompt.DigestString("sections")
	for i := from; i < to; i++ {
		total += t.context.At(i).Tokens
		base = base.Extend(t.context.BlockAt(i).Digest)
	}
	system := &t.replay.assembly.System
	sizes, short := system.Cut(total, l.takeProject(t), l.ownPrompt(t))
	if short > 0 {
		t.replay.refuse("system prompt", "its sections are larger than the recorded one")
	}
	var with [client.NumSections]prompt.Ref
	list := with[:0]
	var at [client.NumSections]int
	for s, n := range sizes {
		if n <= 0 {
			continue
		}
		at[s] = 1 + from + len(list)
		content := base
		if s <= int(client.SectionStatic) && !l.ownPrompt(t) {
			content = t.same().ExtendInt(uint64(n))
		}
		list = append(list, t.replay.arena.Add(prompt.Block{
			Kind: prompt.KindSystem, Tokens: n, Bytes: n * 4, Object: -1, Digest: content.ExtendInt(uint64(s) + 1),
		}))
	}
	t.context.Replace(from, to, list, prompt.CauseHead)
	for s, i := range at {
		if i > 0 {
			t.head.sections[s] = 1 + t.context.At(i-1).ID
		}
	}
}

// takeProject takes the project files out of the first reminder when they stand
// in the system prompt, and returns their tokens.
func (l *Loop) takeProject(t *thread) int32 {
	if t.replay.assembly.System.ClaudeMD != client.ClaudeMDSystem {
		return 0
	}
	for i := range strategies.Body(&t.context) {
		if e := t.context.At(i); e.Kind == prompt.KindReminder && e.Tokens > 1 {
			n := min(t.replay.assembly.System.ClaudeMDTokens, e.Tokens-1)
			l.swap(&t.context, i, -n, prompt.DigestString("without project files"), prompt.CauseHead)
			return n
		}
	}
	t.replay.refuse("system prompt", "no recorded reminders to take project files from")
	return 0
}

// stretch returns the positions [from, to) of the thread's entries on a level
// ahead of the messages.
func (t *thread) stretch(level prompt.Level) (from, to int) {
	for to < t.context.Len() && t.context.At(to).Kind.Level() <= level {
		if t.context.At(to).Kind.Level() < level {
			from = to + 1
		}
		to++
	}
	return from, max(from, to)
}

// mark notes the positions of the markers before the messages, when the client
// puts more than the one behind the system prompt.
func (l *Loop) mark(t *thread) {
	h, system := &t.head, &t.replay.assembly.System
	h.marked = 0
	add := func(i int, scope prompt.Scope) {
		if i >= 0 && (h.marked == 0 || int(h.markers[h.marked-1].Position) < i) {
			h.markers[h.marked] = prompt.Marker{Position: int32(i), Scope: scope}
			h.marked++
		}
	}
	if system.ToolMarker == client.ToolMarkerLast {
		_, to := t.stretch(prompt.LevelTools)
		add(to-1, prompt.ScopeOrg)
	}
	end := t.context.Messages() - 1
	if !system.Divided() || system.Custom || t.agent() {
		if h.marked > 0 {
			add(end, prompt.ScopeOrg)
		}
		return
	}
	add(t.find(h.sections[client.SectionIdentity]), prompt.ScopeOrg)
	add(t.find(h.sections[client.SectionStatic]), l.staticScope(t))
	if system.DynamicScope == client.ScopeOrg {
		add(end, prompt.ScopeOrg)
	}
}

// staticScope returns who shares the static section: everyone, unless another
// provider serves the request or the tools of some server stand before the section
// (000:79).
func (l *Loop) staticScope(t *thread) prompt.Scope {
	if t.replay.assembly.Provider == client.ProviderFirstParty && t.head.tools.mcp == 0 {
		return prompt.ScopeGlobal
	}
	return prompt.ScopeOrg
}

// find returns the position of the entry with an id ahead of the messages,
// given as 1 + id; -1 for none.
func (t *thread) find(id int32) int {
	for i := 0; id > 0 && i < t.context.Len() && t.context.At(i).Kind.Level() != prompt.LevelMessages; i++ {
		if t.context.At(i).ID == id-1 {
			return i
		}
	}
	return -1
}

// headMarks returns the markers before the messages of a request over entries: none when
// these do not begin with the thread's head, or the client's own rule applies.
func (t *thread) headMarks(entries []prompt.Entry) []prompt.Marker {
	h := &t.head
	if h.marked == 0 {
		return nil
	}
	last := int(h.markers[h.marked-1].Position)
	if last >= len(entries) || entries[last].Kind.Level() == prompt.LevelMessages || entries[last].Tokens != t.context.At(last).Tokens {
		return nil
	}
	return h.markers[:h.marked]
}

// swap puts a block of another size and content in the place of an entry and
// returns the id of what stands there now, noting why.
func (l *Loop) swap(c *prompt.Context, i int, grow int32, content prompt.Digest, cause prompt.EditCause) int32 {
	b := *c.BlockAt(i)
	b.Tokens = max(1, c.At(i).Tokens+grow)
	b.Bytes = max(0, b.Bytes+grow*4)
	b.Digest = b.Digest.Extend(content)
	with := [1]prompt.Ref{c.Arena().Add(b)}
	c.Replace(i, i+1, with[:], cause)
	return c.At(i).ID
}

// asking describes a call that needs a lifetime for its markers.
func (l *Loop) asking(t *thread, source string, lifetime prompt.Lifetime) client.Ask {
	return client.Ask{
		Source: source, Agent: t.agent(), Recorded: t.head.recorded, Overage: t.replay.overage, Lifetime: lifetime,
	}
}

// lifetime returns the lifetime class that a call of a layer asks for.
func (l *Loop) lifetime(t *thread, in *prompt.Intent) prompt.TTL {
	return t.replay.assembly.Lifetime(&t.replay.assembly.variables, l.asking(t, in.Source, in.Lifetime), &t.replay.latch)
}

// keepTTL sets the lifetime of the conversation's next call. Where the recording decides, the
// lifetime is what the recorded client asked for, whatever the server made of the request. A call
// that wrote nothing keeps the lifetime of the one before.
func (l *Loop) keepTTL(t *thread, r *traces.Round) {
	switch {
	case r.Usage.Write1h > 0:
		t.head.recorded = prompt.TTL1h
	case r.Usage.Write5m > 0:
		t.head.recorded = prompt.TTL5m
	}
	t.ttl = t.replay.assembly.Lifetime(&t.replay.assembly.variables, l.asking(t, "", prompt.LifetimeClient), &t.replay.latch)
}

// headChanged counts a change of tools, system prompt or request parameters
// against the request before; the first one has none before it.
func (l *Loop) headChanged(t *thread) {
	if t.started {
		t.replay.row.Figures[results.HeadChanges]++
	}
}
