package hidden

import (
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// unlogged is what a thread's past reveals of what no line shows: sizes and habits that the
// profile knows on average and the thread's earlier calls better. A call counts only once
// its response has ended.
type unlogged struct {
	clues
	static   int64
	hidden   [2]habit     // calls at the end of turns: before a person's words, and before a notice
	warm     habit        // expired calls that still read a shared prefix
	shared   int64        // its tokens
	sharedBy uint16       // model that it was seen with
	unsent   []prompt.Ref // blocks of the newest round that the server held although no call sent them

	known bool // a call has been recorded
	left  int64
	ttl   exchange.TTL
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
	// First is how long a hidden call takes to its first token, ns. An assumption: it only delays when its entry is there.
	First = int64(2e9)
	// Total is how long a hidden call takes in all, ns; an assumption, too.
	Total = int64(3e9)
	// surely is the share expected where a rule applies.
	surely = 0.9
	// keepHabit is the weight that an observation retains beside the next one: people
	// switch suggestions on and off.
	keepHabit = 0.5
	// Layer separates the draws of hidden calls from the draws of layers.
	Layer = 0x7f
)

// Describe adds to a request of the conversation what no line shows. unheld are the tokens that the recorded call sent uncached,
// negative for a call that no recording has.
func (t *Thread) Describe(q *exchange.Request, model string, unheld int64) {
	t.describeFirst(q, model)
	p := t.of.Profile
	if p == nil {
		return
	}
	if t.of.Automatic {
		t.describeServed(q, model, p)
		return
	}
	u, r := &t.unlogged, q
	r.Variant = t.variant(p)
	if n := len(r.Markers); p.Switches.Unheld && unheld >= 0 && n > 0 {
		behind := t.Score().Behind
		if t.of.held > 0 {
			behind = 0
		}
		r.Markers[n-1].Shift = -behind
		r.Unheld = int32(unheld) - behind
	}
	// What others keep warm is found from a breakpoint, by a request that begins
	// as theirs do.
	shares := len(r.Markers) > 0 && !t.of.Header
	if shares && p.Switches.Shared && u.shared > 0 && t.Current().Model == u.sharedBy && (u.lost || t.expects(1, u.warm.share(t.warmPrior(p), p.Weight))) {
		r.Shared = int32(min(u.shared, t.Opening()))
	}
	if u.shrunk && unheld >= 0 && t.Current().Wait <= profile.Life(u.ttl) {
		r.Shared = max(r.Shared, t.Ahead())
	}
	if shares && p.Switches.First && !t.Started {
		r.Shared = max(r.Shared, t.foundFirst(p, q.Entries))
	}
	if p.Switches.Static {
		t.placeStatic(q, p)
	}
}

// variant returns the variant of the request: without thinking or with it.
func (t *Thread) variant(p *profile.Profile) uint32 {
	u := &t.unlogged
	plain := u.thinking.Off()
	if plain != u.wasPlain {
		u.applied = u.applied.With(profile.RuleThinking)
	}
	u.wasPlain = plain
	if plain && p.Switches.Thinking && t.of.rules.Has(profile.RuleThinking) {
		return variantPlain
	}
	return 0
}

// warmPrior returns the share of expired calls that find the head of their prompt
// in the cache, before the thread's own are known.
func (t *Thread) warmPrior(p *profile.Profile) float64 {
	if t.Current().Wait > profile.Life(t.unlogged.ttl) && t.rule(profile.RuleWarm) {
		return surely
	}
	return p.Shared.Value
}

// placeStatic moves the breakpoint behind the system prompt to where the static
// prefix is taken to end.
func (t *Thread) placeStatic(q *exchange.Request, p *profile.Profile) {
	at := t.Context.Messages() - 1
	mark := slices.IndexFunc(q.Markers, func(m exchange.Marker) bool { return int(m.Position) == at })
	if at < 0 || mark < 0 {
		return
	}
	laid := int64(q.Entries[at].Cum)
	static := t.unlogged.static
	if static == 0 && t.of.rules.Has(profile.RuleHook) && t.unlogged.shared > 0 {
		static = t.unlogged.shared + int64(p.OwnSystem.Value)
	}
	if static == 0 && t.Trace.Kind != traces.ThreadAgent && t.Trace.Kind != traces.ThreadOrphan {
		if static = t.of.static; !t.of.Blind {
			static = headOf(t.Session, static)
		}
	}
	if static > 0 {
		static = min(static, t.Opening())
		q.Markers[mark].Shift = int32(static - laid)
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
func (t *Thread) expects(ordinal uint8, share float64) bool {
	if !t.of.Draw {
		return share >= 0.5
	}
	return draws.Unit(t.of.Draws.Uint64(draws.Unlogged, draws.Event(t.Index, t.Round, Layer, ordinal))) < share
}

// Learn takes from a call that has ended what it shows about the thread.
func (t *Thread) Learn(r *traces.Round, miss exchange.MissClass) {
	t.of.learnLost(t, r)
	p := t.of.Profile
	if p == nil {
		return
	}
	if t.of.Blind { // of the bill, only for how long the client asked
		t.unlogged.lasts(r)
		t.unlogged.thinking.See(t.Score().Content)
		return
	}
	if t.of.Automatic {
		t.learnServed(r)
		return
	}
	t.of.learnHeld(r, int64(t.Score().Behind))
	u := &t.unlogged
	if u.known && r.Model == u.model && r.Usage.Input() > 0 {
		t.compare(r, profile.Life(u.ttl), miss)
	}
	read := r.Usage.Read
	if !u.known && read >= minShared && !t.Trace.MidContext {
		u.shared, u.sharedBy = read, r.Model
	}
	u.known, u.model, u.left, u.ended = true, r.Model, read+r.Usage.Writes(), t.Answered()
	u.lasts(r)
	u.thinking.See(t.Score().Content)
}

// learnHeld notes whether the client marks results of parallel calls wherever they came last: behind another address than the
// vendor's it does (Claude Code 2.1.49 to 2.1.332, 155 calls on a loopback server, 2026-11-29), and no line says which address it has.
func (s *Session) learnHeld(r *traces.Round, behind int64) {
	switch {
	case behind <= signs.MaxTail || r.Usage.Writes() == 0:
	case r.Usage.Uncached < behind:
		s.held++
	default:
		s.held--
	}
}

// lasts notes for how long a call wrote.
func (u *unlogged) lasts(r *traces.Round) {
	switch {
	case r.Usage.Write1h > 0:
		u.ttl = exchange.TTL1h
	case r.Usage.Writes() > 0:
		u.ttl = exchange.TTL5m
	}
}

// compare learns from how the read of a call differs from what the last one had left.
func (t *Thread) compare(r *traces.Round, life int64, miss exchange.MissClass) {
	u, read := &t.unlogged, r.Usage.Read
	acted, replaced := false, miss == exchange.MissHead || u.altered
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
	case !acted && u.ended && read >= u.left && !t.of.soon(r):
		u.hidden[kindOf(r)].see(read > u.left, keepHabit)
	}
}

// Hides reports whether the client makes a call of its own behind the response that has just come.
func (t *Thread) Hides() bool {
	p := t.of.Profile
	if p == nil || !p.Switches.Hidden || !t.of.Hides || !t.unlogged.ended || t.Trace.Kind != traces.ThreadMain {
		return false
	}
	return t.hides(p)
}

// hides reports whether the client makes a call at the end of the turn, by what
// the lines before the next request say, or else by its habit.
func (t *Thread) hides(p *profile.Profile) bool {
	u, s := &t.unlogged, t.Session
	kind := 0
	if next := int(t.Round) + 1; next < len(t.Trace.Rounds) {
		r := &t.Trace.Rounds[next]
		kind = kindOf(r)
		switch {
		case r.Signs.Has(signs.Away):
			u.coming = u.coming.With(profile.RuleAway)
			return t.of.rules.Has(profile.RuleAway)
		case t.of.soon(r), u.ends && s.Entry != entryDesktop && !r.Signs.Has(signs.TurnEnd):
			return false
		}
	}
	return t.expects(2, u.hidden[kind].share(t.of.hidden[kind], p.Weight))
}

// kindOf returns 1 for a round that answers a notice of a background task, 0 for
// one that answers a person.
func kindOf(r *traces.Round) int {
	if r.Signs.Has(signs.Notice) {
		return 1
	}
	return 0
}

// soonAfter is how long the desktop client waits before it makes a call of its
// own at the end of a turn, ns (recorded: 13 of 38 turns that went on sooner had
// one, of 88 others 80).
const soonAfter = int64(20e9)

// soon reports whether a round began before its client made a call of its own.
func (s *Session) soon(r *traces.Round) bool {
	return s.session.Entry == entryDesktop && r.Wait < soonAfter && !r.Signs.Has(signs.Away)
}

// A client that sums all its calls says of what a call reads whether another call can have cached it. Where the sum has no
// room for such a call (traces.Session.MayHide), nobody was billed for writing what a call read beyond all that was sent
// before: the server held it already, or counted more than the request had. It is read in every simulation too, and a call
// that does not read it, such as for a summary, does not send it. A call that was billed for reading alone says the same of itself.

// KnowsHeld reports whether the simulation takes from the recording what the server held before the call of the round under way,
// or of the last one.
func (t *Thread) KnowsHeld() bool { return t.of.billedHeld(t.Course) || t.of.takesFirst(t.Course) }

// billedHeld reports whether the bill says what the server held before that call.
func (s *Session) billedHeld(c *course.Course) bool {
	u := &c.Recent().Usage
	return c.Session.Summed && !s.Hides || u.Uncached+u.Writes() == 0
}

// alreadyHeld returns the tokens at the head of the round's request that were in the cache by that rule, 0 where it says nothing.
func (t *Thread) alreadyHeld() int32 {
	r := t.Current()
	if !t.of.billedHeld(t.Course) {
		return 0
	}
	before, behind := t.Opening(), t.Opening() // what can have been cached of the recorded request, and the same of this one
	switch {
	case slices.ContainsFunc(t.Trace.Events, func(e traces.Event) bool { return e.Round == t.Round && e.Kind == traces.EventCompact }):
		if t.Chain == 0 {
			return 0 // the recording compacted here, and this strategy did not
		}
	case t.Round > 0:
		u := &t.Trace.Rounds[t.Round-1].Usage
		before, behind = u.Input()+u.Output, int64(t.Ahead())
	}
	surplus := r.Usage.Read - before
	if surplus <= 0 || behind == 0 && t.Round > 0 {
		return 0
	}
	return int32(min(behind+surplus, int64(t.Context.Tokens())))
}

// ReadHeld makes the thread's request read what the server held already, and notes the blocks among what it held that no line shows.
func (t *Thread) ReadHeld(q *exchange.Request) {
	n := t.alreadyHeld()
	if n == 0 || len(q.Markers) == 0 {
		return
	}
	q.Shared = max(q.Shared, n)
	t.unlogged.unsent = nil // what a branch took over from its parent stays the parent's
	for i := t.InputAt; i < len(q.Entries); i++ {
		if e := &q.Entries[i]; e.Kind == prompt.KindUnseen {
			t.unlogged.unsent = append(t.unlogged.unsent, e.Block)
		}
	}
}

// LeaveOut takes what the server held already, and a call beside the conversation does not read, out of its bill.
func (t *Thread) LeaveOut(entries []prompt.Entry, u *prompt.Usage) {
	if len(t.unlogged.unsent) == 0 {
		return
	}
	for i := range slices.Backward(entries) {
		e := &entries[i]
		if int64(e.Cum) <= u.Read {
			break
		}
		if slices.Contains(t.unlogged.unsent, e.Block) {
			left := min(int64(e.Tokens), int64(e.Cum)-u.Read)
			for _, from := range []*int64{&u.Uncached, &u.Write5m, &u.Write1h} {
				take := min(left, *from)
				*from, left = *from-take, left-take
			}
		}
	}
}
