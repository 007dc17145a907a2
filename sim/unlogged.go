package sim

import (
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// unlogged is what a thread's past reveals of what no line shows: sizes and habits that the
// profile knows on average and the thread's earlier calls better. A call counts only once
// its response has ended.
type unlogged struct {
	signs
	static   int64
	hidden   [2]habit     // calls at the end of turns: before a person's words, and before a notice
	warm     habit        // expired calls that still read a shared prefix
	shared   int64        // its tokens
	sharedBy uint16       // model that it was seen with
	unsent   []prompt.Ref // blocks of the newest round that the server held although no call sent them

	known bool // a call has been recorded
	left  int64
	ttl   prompt.TTL
	model uint16
	ended bool // the last response ended its turn
}

// habit counts how often something happened when it could.
type habit struct{ yes, no float64 }

// see adds an observation; keep is the weight that earlier ones retain.
func (h *habit) see(happened bool, keep float64) {
	h.yes, h.no = h.yes*keep, h.no*keep
	if happened {
		h.yes++
	} else {
		h.no++
	}
}

// share returns the expected share, of which prior counts for weight observations.
func (h habit) share(prior, weight float64) float64 {
	if n := weight + h.yes + h.no; n > 0 {
		return (prior*weight + h.yes) / n
	}
	return 0
}

const (
	// minShared is the least that can be cached, tokens (platform.claude.com,
	// prompt caching: the smallest minimum of a model).
	minShared = 1024
	// variantPlain is the variant of requests without thinking.
	variantPlain = 1
	// nearStatic is how far the read of a first call may lie below the static prefix of its version to
	// be taken for the static prefix of its session, as a share. A read below is a part that other
	// sessions share.
	nearStatic = 0.1
	// mostHead is how much of a first call's context its head is at most. A longer read is the prefix
	// of an earlier conversation.
	mostHead = 0.8
	// hiddenFirst and hiddenTotal are how long a hidden call takes to its first
	// token and in all, ns. An assumption: it only delays when its entry is there.
	hiddenFirst, hiddenTotal = int64(2e9), int64(3e9)
	// surely is the share expected where a rule applies.
	surely = 0.9
	// keepHabit is the weight that an observation retains beside the next one: people
	// switch suggestions on and off.
	keepHabit = 0.5
	// hiddenLayer separates the draws of hidden calls from the draws of layers.
	hiddenLayer = 0x7f
)

// describe adds to the request of a conversation what no line shows.
func (l *Loop) describe(t *thread, model string, unheld int64) {
	l.describeFirst(t, model)
	p := t.replay.profile
	if p == nil {
		return
	}
	if t.replay.automatic {
		l.describeServed(t, model, p)
		return
	}
	u, r := &t.unlogged, &l.request
	r.Variant = t.variant(p)
	if n := len(r.Markers); p.Switches.Unheld && unheld >= 0 && n > 0 {
		behind := t.Score().Behind
		r.Markers[n-1].Shift = -behind
		r.Unheld = int32(unheld) - behind
	}
	// What others keep warm is found from a breakpoint, by a request that begins
	// as theirs do.
	shares := len(r.Markers) > 0 && !t.replay.heads.Assembly.Header
	if shares && p.Switches.Shared && u.shared > 0 && t.Current().Model == u.sharedBy && (u.lost || l.expects(t, 1, u.warm.share(t.warmPrior(p), p.Weight))) {
		r.Shared = int32(min(u.shared, t.Opening()))
	}
	if u.shrunk && unheld >= 0 && t.Current().Wait <= profile.Life(u.ttl) {
		r.Shared = max(r.Shared, t.Ahead())
	}
	if shares && p.Switches.First && !t.Started {
		r.Shared = max(r.Shared, l.foundFirst(t, p))
	}
	if p.Switches.Static {
		l.placeStatic(t, p)
	}
}

// variant returns the variant of the request: without thinking or with it.
func (t *thread) variant(p *profile.Profile) uint32 {
	u := &t.unlogged
	plain := u.thinking.Off()
	if plain != u.wasPlain {
		u.applied = u.applied.With(profile.RuleThinking)
	}
	u.wasPlain = plain
	if plain && p.Switches.Thinking && t.replay.rules.Has(profile.RuleThinking) {
		return variantPlain
	}
	return 0
}

// warmPrior returns the share of expired calls that find the head of their prompt
// in the cache, before the thread's own are known.
func (t *thread) warmPrior(p *profile.Profile) float64 {
	if t.Current().Wait > profile.Life(t.unlogged.ttl) && t.rule(profile.RuleWarm) {
		return surely
	}
	return p.Shared.Value
}

// placeStatic moves the breakpoint behind the system prompt to where the static
// prefix is taken to end.
func (l *Loop) placeStatic(t *thread, p *profile.Profile) {
	at := t.Context.Messages() - 1
	mark := slices.IndexFunc(l.request.Markers, func(m prompt.Marker) bool { return int(m.Position) == at })
	if at < 0 || mark < 0 {
		return
	}
	laid := int64(l.request.Entries[at].Cum)
	static := t.unlogged.static
	if static == 0 && t.replay.rules.Has(profile.RuleHook) && t.unlogged.shared > 0 {
		static = t.unlogged.shared + int64(p.OwnSystem.Value)
	}
	if static == 0 && t.Trace.Kind != traces.ThreadAgent && t.Trace.Kind != traces.ThreadOrphan {
		if static = t.replay.static; !l.config.Blind {
			static = headOf(t.replay.session, static)
		}
	}
	if static > 0 {
		static = min(static, t.Opening())
		l.request.Markers[mark].Shift = int32(static - laid)
	}
}

// headOf returns the static prefix of a session, tokens, where its version's prefix is static, 0
// if it is unknown: what its first call read, unless that is a part
// of the prefix that others share, or an earlier conversation.
func headOf(s *traces.Session, static int64) int64 {
	if len(s.Threads) == 0 || len(s.Threads[0].Rounds) == 0 {
		return static
	}
	u := &s.Threads[0].Rounds[0].Usage
	part := float64(u.Read) < (1-nearStatic)*float64(static)
	whole := float64(u.Read) > (1+nearStatic)*float64(static) && float64(u.Read) > mostHead*float64(u.Input())
	if static > 0 && (part || whole) {
		return static
	}
	return u.Read
}

// expects decides about something with a probability: for the majority, or by a draw when
// draws are on.
func (l *Loop) expects(t *thread, ordinal uint8, share float64) bool {
	if !l.config.Draw {
		return share >= 0.5
	}
	return draws.Unit(t.replay.draws.Uint64(draws.Unlogged, draws.Event(t.Index, t.Round, hiddenLayer, ordinal))) < share
}

// learn takes from a call that has ended what it shows about the thread.
func (l *Loop) learn(t *thread, r *traces.Round, miss prompt.MissClass) {
	p := t.replay.profile
	if p == nil {
		return
	}
	if l.config.Blind { // of the bill, only for how long the client asked
		t.unlogged.lasts(r)
		t.unlogged.thinking.See(t.Score().Content)
		return
	}
	if t.replay.automatic {
		t.learnServed(r)
		return
	}
	u := &t.unlogged
	if u.known && r.Model == u.model && r.Usage.Input() > 0 {
		l.compare(t, r, profile.Life(u.ttl), miss)
	}
	read := r.Usage.Read
	if !u.known && read >= minShared && !t.Trace.MidContext {
		u.shared, u.sharedBy = read, r.Model
	}
	u.known, u.model, u.left, u.ended = true, r.Model, read+r.Usage.Writes(), t.Answered()
	u.lasts(r)
	u.thinking.See(t.Score().Content)
}

// lasts notes for how long a call wrote.
func (u *unlogged) lasts(r *traces.Round) {
	switch {
	case r.Usage.Write1h > 0:
		u.ttl = prompt.TTL1h
	case r.Usage.Writes() > 0:
		u.ttl = prompt.TTL5m
	}
}

// compare learns from how the read of a call differs from what the last one had left.
func (l *Loop) compare(t *thread, r *traces.Round, life int64, miss prompt.MissClass) {
	u, read := &t.unlogged, r.Usage.Read
	acted, replaced := false, miss == prompt.MissHead || u.altered
	for i := t.Event - 1; i >= 0 && t.Trace.Events[i].Round == t.Round; i-- {
		acted = true
		replaced = replaced || t.Trace.Events[i].Kind != traces.EventShrink
	}
	switch {
	case r.Wait > life:
		if warm := read >= minShared && read < u.left; warm || read == 0 {
			u.warm.see(warm, 1)
			if warm {
				u.shared, u.sharedBy = read, r.Model
			}
		}
	case u.lost && read >= minShared && read < u.left/2:
		u.shared, u.sharedBy = read, r.Model
	case replaced && read >= minShared && read < u.left/2:
		u.static = read
	case !acted && u.ended && read >= u.left && !t.replay.soon(r):
		u.hidden[kindOf(r)].see(read > u.left, keepHabit)
	}
}

// hides reports whether the client makes a call at the end of the turn, by what
// the lines before the next request say, or else by its habit.
func (l *Loop) hides(t *thread, p *profile.Profile) bool {
	u, s := &t.unlogged, t.replay.session
	kind := 0
	if next := int(t.Round) + 1; next < len(t.Trace.Rounds) {
		r := &t.Trace.Rounds[next]
		kind = kindOf(r)
		switch {
		case r.Signs.Has(traces.SignAway):
			u.coming = u.coming.With(profile.RuleAway)
			return t.replay.rules.Has(profile.RuleAway)
		case t.replay.soon(r), u.ends && s.Entry != entryDesktop && !r.Signs.Has(traces.SignTurnEnd):
			return false
		}
	}
	return l.expects(t, 2, u.hidden[kind].share(t.replay.hidden[kind], p.Weight))
}

// kindOf returns 1 for a round that answers a notice of a background task, 0 for
// one that answers a person.
func kindOf(r *traces.Round) int {
	if r.Signs.Has(traces.SignNotice) {
		return 1
	}
	return 0
}

// soonAfter is how long the desktop client waits before it makes a call of its
// own at the end of a turn, ns (recorded: 13 of 38 turns that went on sooner had
// one, of 88 others 80).
const soonAfter = int64(20e9)

// soon reports whether a round began before its client made a call of its own.
func (s *replay) soon(r *traces.Round) bool {
	return s.session.Entry == entryDesktop && r.Wait < soonAfter && !r.Signs.Has(traces.SignAway)
}

// hide makes the call that a client is expected to add at the end of a turn: the
// conversation with the last response, which it caches, and a question of its own.
func (l *Loop) hide(t *thread, f *flight) {
	p := t.replay.profile
	if p == nil || !p.Switches.Hidden || !t.replay.hides || t.hooks.suggests || !t.unlogged.ended || t.Trace.Kind != traces.ThreadMain {
		return
	}
	if !l.hides(t, p) {
		return
	}
	t.head.Stamp()
	entries := t.Context.Seal()
	last := len(entries) - 1
	if last < 0 || !entries[last].Kind.Assistant() {
		return
	}
	m := t.replay.models.of(f.model)
	l.markers = t.replay.client.Mark(l.markers[:0], entries, client.Marks{TTL: t.TTL, Head: t.head.Marks(entries)})
	if t.replay.heads.Assembly.Variables.Uncached(m.name) {
		l.markers = l.markers[:0]
	}
	l.request = prompt.Request{
		Thread: uint32(t.id) | hiddenLayer<<24, Owner: t.replay.heads.Owner, Model: m.id, MinTokens: m.minCache,
		Entries: entries, Markers: l.markers, Deletions: t.deleted.resolve(&t.Context), Change: prompt.NoChange,
		Draw: t.replay.draws.Uint64(draws.Eviction, draws.Event(t.Index, t.Round, hiddenLayer, 0)),
	}
	l.describe(t, m.name, -1)
	out := t.replay.server.Begin(l.clock.now, &l.request)
	if l.config.Verify {
		l.verifyRead(t, &out)
	}
	l.meter(t.replay, &out)
	i := l.newFlight()
	l.flights[i] = flight{
		thread: t.id, layer: -1, hidden: true, source: results.SourceOther, ticket: out.Ticket, model: f.model, start: l.clock.now,
		answer: prompt.Answer{First: hiddenFirst, Total: hiddenTotal}, outcome: out, context: out.Effective,
	}
	l.tellFirst(i, hiddenFirst)
	l.clock.schedule(l.clock.now+hiddenTotal, eventEnd, i)
}
