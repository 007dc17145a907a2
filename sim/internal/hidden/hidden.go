// Package hidden says of a conversation's requests what no line of a recording shows: what others keep warm in the cache, what
// the client changes unseen, how an automatic cache serves, which calls the client hides, and how likely a loss is.
package hidden

import (
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/signs"
)

// Model says what is known beside a recording. The zero value knows nothing.
type Model struct {
	Fitted *profile.Profile // nil for none
	Named  *servers.Server  // the server that was named, nil for the recording's: how its requests are served is not learned
	Abroad bool             // the profile describes other servers than the session's
	Draw   bool             // things with a probability are drawn; else the likelier happens
	Blind  bool             // the bill tells nothing but for how long the client asked
	Found  bool             // the first call of a main conversation finds what the recording's found
}

// Session is what the conversations of a session share.
type Session struct {
	Model
	Profile   *profile.Profile // nil for agents and servers that it does not describe
	Version   string           // of the client
	Draws     draws.Source
	Automatic bool // the calls go, by now, to a cache that needs no markers
	Unwritten bool // what is written to the cache is billed as plain input, as gateways do
	Header    bool // a billing header is part of the cache's key
	Hides     bool // the session may have calls at the end of turns that no line shows

	session *traces.Session
	rules   profile.Set // the rules of the profile that hold for the client
	static  int64       // tokens of the head of main threads, by the profile; 0 for unknown
	hidden  [2]float64  // by the profile, share of turns with a hidden call, by kind of round
	halfDay bool        // the client asks an automatic cache to keep prefixes for 12 hours
	scaled  scaled      // the model and gateway for which scale was found
	scale   float64     // what calls lose in proportion to the shares of the profile
	shown   []ownLosses // what its calls show of its losses, by provider and gateway
	routes  []route     // where its calls go
	own     float64     // the same for the session's person; 0 before it is asked for
	held    int         // calls that wrote all results of parallel calls, less those that left some uncached
}

// OpensInLines is the version of Claude Code from which on lines show all that the client sends ahead of the first
// prompt (runs of 2.1.277 to 2.1.332), so that what they do not show is tools and system prompt.
const OpensInLines = "2.1.277"

// Begin makes s a session at its beginning, by what a model says, whose calls go to a cache that needs markers or does not.
// Fields that are exported besides are the caller's to set.
func (s *Session) Begin(m Model, session *traces.Session, automatic bool) {
	*s = Session{
		Model: m, session: session, Version: session.Version(), Hides: session.MayHide(), halfDay: halfDay(session), scale: 1, shown: s.shown[:0],
		routes: s.routes[:0],
	}
	s.Serve(automatic)
}

// Serve says that the calls from here on go to a cache that needs no markers, or to one that does.
func (s *Session) Serve(automatic bool) {
	s.Automatic, s.Profile = automatic, s.Fitted
	if !agents.ClaudeCode(s.session) && !automatic || s.Abroad {
		s.Profile = nil // it describes clients of other agents, and other servers
	}
	if s.Profile == nil {
		return
	}
	s.rules, s.static = s.Profile.RulesFor(s.Version), s.Profile.StaticFor(s.Version)
	if profile.Compare(s.Version, OpensInLines) >= 0 {
		s.static = 0 // the session's own
	}
	for kind := range s.hidden {
		s.hidden[kind] = s.Profile.HiddenFor(s.Version, s.session.Entry, kind > 0)
	}
}

// CopyFrom makes s know what o knows, keeping s's storage. Both go on apart.
func (s *Session) CopyFrom(o *Session) {
	shown, routes := append(s.shown[:0], o.shown...), append(s.routes[:0], o.routes...)
	*s = *o
	s.shown, s.routes = shown, routes
}

// Thread is what the calls of a conversation have shown so far. Bind must have been called before any method.
type Thread struct {
	*course.Course
	of        *Session
	unlogged  unlogged
	automatic automatic
}

// Bind says which conversation t is about, of which session.
func (t *Thread) Bind(of *Session, c *course.Course) { t.of, t.Course = of, c }

// Reset forgets what calls have shown, keeping storage.
func (t *Thread) Reset() {
	t.unlogged, t.automatic = unlogged{}, automatic{models: t.automatic.models[:0]}
}

// Inherit makes t know what o knows, whose conversation t's goes on from. Automatic caches have to show themselves again.
func (t *Thread) Inherit(o *Thread) { t.unlogged = o.unlogged }

// Applied returns the rules of the profile that had something to say about the request under way.
func (t *Thread) Applied() profile.Set { return t.unlogged.applied }

// CopyFrom makes t know what o knows, keeping t's storage. Both go on apart.
func (t *Thread) CopyFrom(o *Thread) {
	models := append(t.automatic.models[:0], o.automatic.models...)
	*t = *o
	t.automatic.models = models
}

// describeFirst adds to the first request of a session, neither Claude Code's nor Codex's, the part that other sessions of its agent keep warm.
func (t *Thread) describeFirst(q *exchange.Request, model string) {
	p, s := t.of.Fitted, t.Session
	if p == nil || t.Started || t.Trace.Kind != traces.ThreadMain || agents.ClaudeCode(s) || t.codex() || t.of.Abroad {
		return
	}
	if n, ok := t.of.recordedFirst(t.Course, q.Entries); ok {
		q.Shared = n
		return
	}
	at := t.of.gatherShown(t.Current(), model)
	q.Shared = int32(min(int64(p.FirstShare(&at)*float64(q.Tokens())), t.Opening()))
}

// takesFirst reports whether a simulation takes for granted what the round's call found in the cache, as the first call of the
// recording's main conversation.
func (s *Session) takesFirst(c *course.Course) bool {
	return s.Found && !s.Blind && !s.Abroad && s.Named == nil && c.Trace.Kind == traces.ThreadMain && c.Round == 0 && c.Recent().Counted()
}

// recordedFirst returns what the first call of the recording's main conversation found in the cache, tokens, where a
// simulation takes it for granted: of a request that a layer has shortened, no more than what stands ahead of the change.
func (s *Session) recordedFirst(c *course.Course, entries []prompt.Entry) (int32, bool) {
	if !s.takesFirst(c) {
		return 0, false
	}
	i, recorded := 0, c.Trace.Prefix
	for ; i < len(entries); i++ { // the head's entries are the client's own
		e := &entries[i]
		if e.Kind.Level() != prompt.LevelMessages {
			continue
		}
		for recorded.From < recorded.To && c.Session.Blocks[recorded.From].Kind.Level() != prompt.LevelMessages {
			recorded.From++
		}
		if recorded.From == recorded.To {
			recorded = c.Current().Input
		}
		if e.Form != prompt.FormVerbatim || e.Block != prompt.Ref(recorded.From) {
			break
		}
		recorded.From++
	}
	same := course.OpeningOf(entries)
	if i > 0 {
		same = max(same, int64(entries[i-1].Cum))
	}
	return int32(min(c.Current().Usage.Read, same)), true
}

// foundFirst returns what the first call of a thread finds in the cache of what
// other conversations have left, tokens: a draw, or the expected value when
// nothing is drawn, so that the cost of many sessions comes out right. It looks
// at the version alone, never at the call.
func (t *Thread) foundFirst(p *profile.Profile, entries []prompt.Entry) int32 {
	if t.Trace.Kind == traces.ThreadBranch || t.Forked {
		return 0
	}
	if n, ok := t.of.recordedFirst(t.Course, entries); ok {
		return n
	}
	if n, ok := t.history(p); ok {
		return n
	}
	share, tokens := t.firstCall(p)
	tokens = min(tokens, t.Opening())
	if !t.of.Draw {
		return int32(share * float64(tokens))
	}
	if t.expects(3, share) {
		return int32(tokens)
	}
	return 0
}

// firstCall returns how often the first call of a thread finds something that
// others have cached, and how large that is.
func (t *Thread) firstCall(p *profile.Profile) (share float64, tokens int64) {
	s := t.Session
	if t.Agent() {
		return p.FirstOfAgent(s.Version())
	}
	return p.FirstCall(t.firstRead())
}

// firstRead returns what a profile predicts the read of a thread's first call from.
func (t *Thread) firstRead() *profile.FirstRead {
	s := t.Session
	return &profile.FirstRead{
		User: profile.Key(s.User()), Version: profile.Name(s.Version()), Model: profile.Name(s.Models[t.Current().Model]),
		Entry:   profile.Name(s.Entry),
		Session: profile.Key(prompt.DigestString(s.ID)), At: t.Current().At / 1e9,
	}
}

// history returns what the first call of a thread reads when it goes on where another
// session ended a turn, or in a file that begins with the end of one: all that was left,
// if the time since then is within the lifetime (recorded: a file whose first line is the
// end of a turn is warm exactly within it). A thread that leaves another session amid a
// turn is another process, with a head of its own.
func (t *Thread) history(p *profile.Profile) (int32, bool) {
	r, left := t.Current(), &t.Trace.Left
	if left.Usage.Input() > 0 && left.Model && left.Gap >= 0 && left.Gap <= profile.Life(left.TTL) &&
		profile.Compare(t.of.Version, calls.LastGitState) > 0 {
		return t.Ahead(), true
	}
	since := t.Trace.Since
	if since == 0 && r.At > 0 {
		since = r.At - t.Session.Start
	}
	if !r.Signs.Has(signs.TurnEnd) || since == 0 || since > profile.Life(t.TTL) || t.InputAt == 0 {
		return 0, false
	}
	return t.Ahead(), true
}

// Resume compares the first call of a thread that goes on where a call of another session ended with what that call
// left: the simulated cache holds no other session, and so cannot tell of a miss there.
func (t *Thread) Resume(out *exchange.Outcome) {
	left := &t.Trace.Left
	held := left.Usage.Read + left.Usage.Writes()
	if t.of.Automatic || t.of.Unwritten {
		held = left.Usage.Input()
	}
	held = min(held, out.Effective)
	if t.Chain == 0 {
		held = min(held, int64(t.Ahead()))
	}
	if held == 0 {
		return
	}
	out.Expected = held
	switch {
	case out.Usage.Read >= held:
	case t.Chain > 0:
		out.Miss = exchange.MissCompaction
	case !left.Model:
		out.Miss = exchange.MissModel
	case left.Gap > profile.Life(left.TTL):
		out.Miss = exchange.MissExpiry
	case t.of.Automatic:
		out.Miss = exchange.MissEviction
	default: // another process, with a head of its own
		out.Miss = exchange.MissHead
	}
}

// entryDesktop is the desktop client, which keeps no state when it is closed.
const entryDesktop = "claude-desktop"

// clues are what the lines of a thread have shown so far of what its client does
// with the next request.
type clues struct {
	thinking signs.Thinking
	ends     bool  // lines show when a turn ends
	searched bool  // tools were searched for
	hooked   int32 // 1 + id of the first entry after a hook of this turn, 0 for none
	opened   int32 // 1 + id of the first prompt of the client's process, 0 for none
	lost     bool  // the request under way has another head
	altered  bool  // its messages differ from what was sent, from a hooked tool call on
	// applied are the rules that had something to say about the request under way.
	applied  profile.Set
	coming   profile.Set // the same for the next request
	wasPlain bool        // the last request went without thinking
	shrunk   bool        // the request under way shrank at a prompt
}

// ApplyUnseen takes from the lines of a round's input what the client did to the
// request that no line shows, and does it to the context.
func (t *Thread) ApplyUnseen() {
	u, r := &t.unlogged.clues, t.Current()
	u.lost, u.altered, u.applied, u.coming, u.shrunk = false, false, u.coming, 0, false
	u.thinking.Hear(t.Score().Content, r.Signs)
	if at := u.reopen(t.Course); at >= 0 {
		u.altered = true
		t.alter(at)
	}
	if t.of.Profile == nil {
		return
	}
	defer func() { u.ends = u.ends || r.Signs.Has(signs.TurnEnd) }()
	if t.otherHead(r) {
		u.lost = true
		t.alter(0)
	}
	asked := r.Trigger == traces.TriggerPrompt
	if asked && u.hooked > 0 {
		i := slices.IndexFunc(t.Context.Seal(), func(e prompt.Entry) bool { return e.ID == u.hooked-1 })
		if i >= 0 && t.rule(profile.RuleHook) {
			u.altered = true
			t.alter(i)
		}
		u.hooked = 0
	}
	if (t.Round == 1 || t.Round == 2) && t.ofTeam() && t.rule(profile.RuleTeam) {
		u.altered = true
		t.alter(t.Context.Messages())
	}
	if r.Signs.Has(signs.Hook) && u.hooked == 0 && t.InputAt < t.Context.Len() {
		u.hooked = 1 + t.Context.At(t.InputAt).ID
	}
	if asked && t.Shrinks() && r.Signs&(signs.Resume|signs.Command) == 0 {
		u.shrunk = t.rule(profile.RuleShrink)
	}
}

// reopen returns where a request departs from the one before as another process of the client makes it: at the first prompt of the
// last process, where the log lacks what stood ahead of that. It is -1 for nowhere.
func (u *clues) reopen(t *course.Course) (at int) {
	r, c := t.Current(), &t.Context
	if at = -1; r.Trigger != traces.TriggerPrompt || u.opened > 0 && !r.Signs.Has(signs.Process) || !agents.Of(t.Session.Agent).Forgets {
		return at
	}
	if u.opened > 0 {
		at = c.Index(u.opened - 1)
	}
	for i := t.InputAt; i < c.Len(); i++ {
		if e := c.At(i); e.Kind == prompt.KindPrompt {
			u.opened = 1 + e.ID
			break
		}
	}
	return at
}

// rule notes that a rule has something to say about the request, and reports
// whether it holds for the client.
func (t *Thread) rule(r profile.Rule) bool {
	t.unlogged.applied = t.unlogged.applied.With(r)
	return t.of.rules.Has(r)
}

// ofTeam reports whether the thread is the conversation of a teammate: another one opened it.
func (t *Thread) ofTeam() bool {
	return t.Trace.Kind == traces.ThreadMain && !t.Trace.MidContext && t.Trace.Rounds[0].Signs.Has(signs.Team)
}

// otherHead reports whether the client builds another head for the round's
// request than for the one before.
func (t *Thread) otherHead(r *traces.Round) bool {
	u := &t.unlogged
	switch {
	case !t.Started:
		return false
	case r.Trigger == traces.TriggerPrompt && u.ended && u.ends && t.Session.Entry == entryDesktop &&
		r.Signs&(signs.TurnEnd|signs.Interrupt) == 0:
		return t.rule(profile.RuleRestart)
	case !u.searched && t.Score().Searched:
		u.searched = true
		return t.rule(profile.RuleToolSearch)
	}
	return false
}

// alter gives the entry at a position another content of the same size: the
// client sends something else there from now on.
func (t *Thread) alter(i int) {
	if i < t.Context.Len() && t.Context.At(i).Form == prompt.FormVerbatim {
		cause := prompt.CauseHead
		if t.Context.At(i).Kind.Level() == prompt.LevelMessages {
			cause = prompt.CauseEdit
		}
		head.Swap(&t.Context, i, 0, prompt.DigestString("altered").ExtendInt(uint64(t.Round)), cause)
	}
}

const (
	// leastSteps is how many different reads tell a step from chance: the common divisor of the differences of
	// four random numbers is above one in one case of seven.
	leastSteps = 4
	// leastStep is the least step that counts as one, tokens: below it a read ends at any token.
	leastStep = 16
)

// steps estimates where the reads of a thread end, where no known grid explains them: the step is the greatest common
// divisor of the differences of its reads.
type steps struct {
	n      int   // different reads in a row
	last   int64 // read, tokens
	step   int64 // 0 before the second read
	behind int64 // least distance of a read from the end of the request before, tokens
}

// see adds a read behind a request, tokens.
func (s *steps) see(read, input int64) {
	if read <= 0 || read == s.last {
		return
	}
	if s.n > 0 {
		s.step = divisor(s.step, max(read-s.last, s.last-read))
	}
	if behind := max(0, input-read); s.n == 0 || behind < s.behind {
		s.behind = behind
	}
	s.n, s.last = s.n+1, read
}

// grid returns the estimate, once there are enough reads for one.
func (s *steps) grid() (exchange.Serving, bool) {
	switch {
	case s.n < leastSteps:
		return exchange.Serving{}, false
	case s.step < leastStep:
		return exchange.Serving{Step: 1, Lag: int32(s.behind)}, true
	}
	return exchange.Serving{Step: int32(s.step), Offset: int32(s.last % s.step), Lag: int32(s.behind)}, true
}

// divisor returns the greatest common divisor of two numbers that are not negative.
func divisor(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
