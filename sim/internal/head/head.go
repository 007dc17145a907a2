// Package head keeps what stands ahead of a conversation's messages, tools and system prompt: how a client lays it out,
// where it marks it, and what the events of a scenario change in it.
package head

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Head is what comes before a thread's conversation. Bind must have been called before any other method.
type Head struct {
	state
	of      *Session
	context *prompt.Context // of the thread: the head and the messages behind it
	course  *course.Course
	told    []int32 // messages that events have sent, tokens
	trace   *traces.Thread
	index   int32 // of the thread in the session
	agent   bool
	own     bool // the recorded strategy changes the system prompt; see edits
}

// Begin makes h the recording's head of a thread of a session, given with its index.
func (h *Head) Begin(trace *traces.Thread, index int32) {
	h.state, h.trace, h.index = state{}, trace, index
	h.agent, h.own = trace.Kind == traces.ThreadAgent || trace.Kind == traces.ThreadOrphan, edits(trace)
}

// Bind says in which session h is, and whose conversation it begins.
func (h *Head) Bind(of *Session, c *course.Course) { h.of, h.context, h.course = of, &c.Context, c }

// Inherit makes h the head of a thread that goes on from the thread of o.
func (h *Head) Inherit(o *Head) { h.state = o.state }

// Model returns the model of the round under way, or of the last one once it has ended, an index of the session's models: the
// recorded one unless an event has switched to another.
func (h *Head) Model() int32 {
	if h.model > 0 {
		return h.model - 1
	}
	return int32(h.course.Recent().Model)
}

// SetMemory gives the index of memory files another content, which the prompt shows when it is rendered next.
func (h *Head) SetMemory(tokens int32, content prompt.Digest) {
	h.memory = pending{tokens: tokens, content: content, due: true}
}

// state is what a head is made of, and the changes to it that are due.
// The zero value keeps the recording's head.
type state struct {
	sections [client.NumSections]int32 // 1 + id of the entry of a section, 0 for none
	markers  [exchange.MaxMarkers]exchange.Marker
	marked   int // of the markers in use
	tools    toolset
	// keys are the parameters of the request that belong to the cache key, by
	// action.
	keys     [changes.NumActions]prompt.Digest
	fired    uint64 // events that have happened, a bit each
	times    uint64 // contents that events have made so far
	model    int32  // 1 + the model that an event switched to
	notices  int32  // tokens of notices due with the next input
	recorded exchange.TTL
	placed   *traces.Breakpoints // of the recorded request under way, or the last one that shows them
	flags    uint32              // changes of what the static section depends on
	rendered uint32              // how many sections the prompt held as it was last rendered
	flagging uint64              // events flag_change since then, a bit each
	project  pending
	memory   pending
	shown    int32                              // tokens of the memory index in the prompt
	tried    int32                              // 1 + round that the uncached section was last computed for
	listed   struct{ first, now prompt.Digest } // of the first list of tools, and of the one that the log last showed
}

// pending is another content of a section, not yet shown.
type pending struct {
	tokens  int32 // by which it grows
	content prompt.Digest
	due     bool
	events  uint64 // that made it, a bit each
}

// LayOut shapes the head of a thread that begins: tools, system, reminders. Its tokens stay the
// recording's, except for the memory of sub-agents. It returns the lifetime that the client asks for.
func (h *Head) LayOut() exchange.TTL {
	latch := h.of.latch // nothing is decided before the first request
	ttl := h.of.Assembly.Lifetime(&h.of.Assembly.Variables, h.asking("", ask.LifetimeClient), &latch)
	if !h.of.Assembly.laid {
		return ttl
	}
	if h.of.Assembly.System.Divided() {
		h.shareTools()
	}
	h.layTools()
	if h.of.Assembly.System.Divided() {
		h.divide()
	}
	h.remember()
	h.mark()
	return ttl
}

// remember puts the memory of a sub-agent behind its system prompt. It is the same
// text in every session of its scope.
func (h *Head) remember() {
	m, s := &h.of.Assembly.System.AgentMemory, h.of
	if m.Tokens <= 0 || !h.agent {
		return
	}
	content := prompt.DigestString("agent memory").ExtendInt(uint64(m.Tokens))
	if m.Scope != client.MemoryOfUser {
		content = content.Extend(prompt.DigestString(s.session.Project))
	}
	if m.Scope != client.MemoryOfProject {
		content = content.ExtendInt(uint64(s.Owner)).ExtendInt(uint64(s.User) + 1)
	}
	_, to := Stretch(h.context, prompt.LevelSystem)
	if to == 0 {
		_, to = Stretch(h.context, prompt.LevelTools)
	}
	with := [1]prompt.Ref{s.arena.Add(prompt.Block{
		Kind: prompt.KindSystem, Tokens: m.Tokens, Bytes: m.Tokens * 4, Object: -1, Digest: content,
	})}
	h.context.Replace(to, to, with[:], prompt.CauseHead)
}

// same returns a content that every user of an agent's version has in its
// prompt.
func same(s *traces.Session) prompt.Digest {
	return prompt.DigestString("shared").Extend(prompt.DigestString(s.Agent)).Extend(prompt.DigestString(s.Version()))
}

// ownPrompt reports whether the thread's head differs from every user's: a sub-agent's, or a
// caller's own.
func (h *Head) ownPrompt() bool { return h.agent || h.of.Assembly.System.Custom }

// shareTools replaces the recorded tools by the tools of every user whose tools have as many
// tokens: a marker for everyone covers what comes before it as well, and a recording does not show
// in whose organisation it was made.
func (h *Head) shareTools() {
	if h.ownPrompt() {
		return
	}
	_, to := Stretch(h.context, prompt.LevelTools)
	for i := range to {
		b := *h.context.BlockAt(i)
		b.Digest = same(h.of.session).ExtendInt(uint64(b.Tokens))
		with := [1]prompt.Ref{h.of.arena.Add(b)}
		h.context.Replace(i, i+1, with[:], prompt.CauseHead)
	}
}

// divide replaces the recorded system prompt by the sections. The sections through the static one
// are the same for every user of the version; later sections are as far the session's own as the
// recorded prompt is.
func (h *Head) divide() {
	from, to := Stretch(h.context, prompt.LevelSystem)
	if from == to {
		return
	}
	var total int32
	base := prompt.DigestString("sections")
	for i := from; i < to; i++ {
		total += h.context.At(i).Tokens
		base = base.Extend(h.context.BlockAt(i).Digest)
	}
	system := &h.of.Assembly.System
	sizes, short := system.Cut(total, h.takeProject(), h.ownPrompt())
	if short > 0 {
		h.of.host.Refuse("system prompt", "its sections are larger than the recorded one")
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
		if s <= int(client.SectionStatic) && !h.ownPrompt() {
			content = same(h.of.session).ExtendInt(uint64(n))
		}
		list = append(list, h.of.arena.Add(prompt.Block{
			Kind: prompt.KindSystem, Tokens: n, Bytes: n * 4, Object: -1, Digest: content.ExtendInt(uint64(s) + 1),
		}))
	}
	h.context.Replace(from, to, list, prompt.CauseHead)
	for s, i := range at {
		if i > 0 {
			h.sections[s] = 1 + h.context.At(i-1).ID
		}
	}
}

// takeProject takes the project files out of the first reminder when they stand
// in the system prompt, and returns their tokens.
func (h *Head) takeProject() int32 {
	if h.of.Assembly.System.ClaudeMD != client.ClaudeMDSystem {
		return 0
	}
	for i := range strategies.Body(h.context) {
		if e := h.context.At(i); e.Kind == prompt.KindReminder && e.Tokens > 1 {
			n := min(h.of.Assembly.System.ClaudeMDTokens, e.Tokens-1)
			Swap(h.context, i, -n, prompt.DigestString("without project files"), prompt.CauseHead)
			return n
		}
	}
	h.of.host.Refuse("system prompt", "no recorded reminders to take project files from")
	return 0
}

// Stretch returns the positions [from, to) of the thread's entries on a level
// ahead of the messages.
func Stretch(c *prompt.Context, level prompt.Level) (from, to int) {
	for to < c.Len() && c.At(to).Kind.Level() <= level {
		if c.At(to).Kind.Level() < level {
			from = to + 1
		}
		to++
	}
	return from, max(from, to)
}

// mark notes the positions of the markers before the messages, when the client
// puts more than the one behind the system prompt.
func (h *Head) mark() {
	system := &h.of.Assembly.System
	h.marked = 0
	add := func(i int, scope exchange.Scope) {
		if i >= 0 && (h.marked == 0 || int(h.markers[h.marked-1].Position) < i) {
			h.markers[h.marked] = exchange.Marker{Position: int32(i), Scope: scope}
			h.marked++
		}
	}
	if system.ToolMarker == client.ToolMarkerLast {
		_, to := Stretch(h.context, prompt.LevelTools)
		add(to-1, exchange.ScopeOrg)
	}
	end := h.context.Messages() - 1
	if !system.Divided() || system.Custom || h.agent {
		if h.marked > 0 {
			add(end, exchange.ScopeOrg)
		}
		return
	}
	add(find(h.context, h.sections[client.SectionIdentity]), exchange.ScopeOrg)
	add(find(h.context, h.sections[client.SectionStatic]), staticScope(h))
	if system.DynamicScope == client.ScopeOrg {
		add(end, exchange.ScopeOrg)
	}
}

// staticScope returns who shares the static section of a head: everyone, unless another
// provider serves the request or the tools of some server stand before the section
// (000:79).
func staticScope(h *Head) exchange.Scope {
	if h.of.Assembly.Provider == client.ProviderFirstParty && h.tools.mcp == 0 {
		return exchange.ScopeGlobal
	}
	return exchange.ScopeOrg
}

// find returns the position of the entry with an id ahead of the messages,
// given as 1 + id; -1 for none.
func find(c *prompt.Context, id int32) int {
	for i := 0; id > 0 && i < c.Len() && c.At(i).Kind.Level() != prompt.LevelMessages; i++ {
		if c.At(i).ID == id-1 {
			return i
		}
	}
	return -1
}

// Place completes how the markers of a request over entries are placed: ahead of the messages, unless the entries do not begin with the
// thread's head or the client's own rule applies, and as the recording has it.
func (h *Head) Place(m *client.Marks, entries []prompt.Entry) {
	m.Head, m.Recorded = nil, h.placed
	m.Lifetimes = m.TTL == h.recorded && h.of.Assembly.AsksAsRecorded(&h.of.Assembly.Variables, h.agent)
	if h.marked == 0 {
		return
	}
	last := int(h.markers[h.marked-1].Position)
	if last < len(entries) && entries[last].Kind.Level() != prompt.LevelMessages && entries[last].Tokens == h.context.At(last).Tokens {
		m.Head = h.markers[:h.marked]
	}
}

// Swap puts a block of another size and content in the place of an entry and
// returns the id of what stands there now, noting why.
func Swap(c *prompt.Context, i int, grow int32, content prompt.Digest, cause prompt.EditCause) int32 {
	b := *c.BlockAt(i)
	b.Tokens = max(1, c.At(i).Tokens+grow)
	b.Bytes = max(0, b.Bytes+grow*4)
	b.Digest = b.Digest.Extend(content)
	with := [1]prompt.Ref{c.Arena().Add(b)}
	c.Replace(i, i+1, with[:], cause)
	return c.At(i).ID
}

// asking describes a call that needs a lifetime for its markers.
func (h *Head) asking(source string, lifetime ask.Lifetime) client.Ask {
	return client.Ask{
		Source: source, Agent: h.agent, Recorded: h.recorded, Overage: h.of.overage, Lifetime: lifetime,
	}
}

// Lifetime returns the lifetime class that a call of a layer asks for.
func (h *Head) Lifetime(in *prompt.Intent) exchange.TTL {
	return h.of.Assembly.Lifetime(&h.of.Assembly.Variables, h.asking(in.Source, in.Lifetime), &h.of.latch)
}

// Renew returns the lifetime of the conversation's next call. Where the recording decides, the
// lifetime is what the recorded client asked for, whatever the server made of the request. A call
// that wrote nothing keeps the lifetime of the one before.
func (h *Head) Renew(r *traces.Round) exchange.TTL {
	switch {
	case r.Usage.Write1h > 0:
		h.recorded = exchange.TTL1h
	case r.Usage.Write5m > 0:
		h.recorded = exchange.TTL5m
	}
	if p := h.of.session.Breakpoints(r); p != nil {
		if h.placed = p; p.N > 0 {
			h.recorded = p.At[p.N-1].TTL
		}
	}
	return h.of.Assembly.Lifetime(&h.of.Assembly.Variables, h.asking("", ask.LifetimeClient), &h.of.latch)
}

// changed counts a change of tools, system prompt or request parameters
// against the request before; the first one has none before it.
func (h *Head) changed() {
	if h.course.Started {
		h.of.row.Figures[measures.HeadChanges]++
	}
}

// Assembly is how the client of a session assembles requests, and the events that happen
// to it. Use does not change it: sessions of several loops may share one.
type Assembly struct {
	client.Assembly
	Variables client.Variables
	changes   []changes.Change
	Header    bool // the billing header is in the cache key
	laid      bool // the head differs from the recording's
}

// Assemble returns an assembly with events, at most changes.Max, that happen to every
// session that has it. Neither may be one that its Validate refuses.
func Assemble(a client.Assembly, events []client.Event) *Assembly {
	return &Assembly{
		Assembly: a, Variables: a.Env.Variables(), changes: changes.Compile(events),
		Header: a.System.Divided() && a.HeaderInKey(),
		laid: a.System.Divided() || a.System.ToolMarker == client.ToolMarkerLast || a.System.MCPTools > 0 ||
			a.System.AgentMemory.Tokens > 0,
	}
}

// Host is the simulation of a session with heads.
type Host interface {
	Refuse(who, reason string) // counts a reason for which somebody did not act
	Model(name string) int32   // returns the index of a model in the session, which may be new to it
}

// Session is what the heads of a session share.
type Session struct {
	Assembly *Assembly
	Owner    uint32 // the organisation, from 1
	User     int32  // its index
	session  *traces.Session
	draws    draws.Source
	arena    *prompt.Arena
	host     Host
	row      *results.Row
	latch    client.Latch
	repeats  bool
	overage  bool // the user has passed the plan's quota
	effects  effects
	contents uint64 // contents that occur once in the session
}

// Begin makes s what the heads of a recorded session share when it begins. repeats says that the strategy does what the recording did.
func (s *Session) Begin(session *traces.Session, d draws.Source, repeats bool) {
	*s = Session{
		Assembly: s.Assembly, Owner: s.Owner, User: s.User, session: session, draws: d, repeats: repeats, arena: s.arena, host: s.host, row: s.row, overage: s.Assembly.TTL.Overage,
	}
}

// Bind says where the blocks of new contents go, whose row is filled, and who simulates the session.
func (s *Session) Bind(a *prompt.Arena, row *results.Row, h Host) { s.arena, s.row, s.host = a, row, h }

// Overage reports whether the user has passed the plan's quota.
func (s *Session) Overage() bool { return s.overage }
