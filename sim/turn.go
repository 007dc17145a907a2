package sim

import (
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// desk has the turn that layers see, and who serves them.
type desk struct {
	turn strategies.Turn
	host host
}

// refresh brings the turn the layers see up to date.
func (d *desk) refresh(t *thread) {
	u, s, l := &d.turn, t.replay, t.replay.loop
	if d.host.thread != t {
		d.host.thread = t
		d.present(t)
	}
	recent := t.Recent()
	u.Round, u.Trigger = t.Round, recent.Trigger
	u.Running, u.Forked = t.running+t.unread, t.Forked
	u.Gap, u.Now, u.Idle = t.idle, s.now(l.clock.now), l.clock.now-t.LastEnd
	u.TTL, u.Life, u.Usage, u.Deleted = t.TTL, profile.Life(t.TTL), t.Usage, t.Gone
	u.InputAt = min(t.InputAt, t.Context.Len())
	u.Excess = 0
	u.Events = t.Due()
	if len(s.book.Models.List) > 0 {
		m := s.book.Models.Of(t.head.Model())
		u.Model, u.Reading.Window = m.Name, t.replay.heads.Assembly.Variables.AutoWindow(m.Window)
		if kin := u.Kin; kin != nil && kin.Within != nil {
			u.Reading.Window = min(m.Window, kin.Within[kin.Runs])
		}
		u.Reading.MaxInput, u.Reading.MaxOutput = m.MaxInput, m.MaxOutput
		if l.config.Window > 0 {
			u.Reading.MaxInput = 0 // the limit is of the model's own window
		}
		u.Waits, u.Reading.Limit = m.Waits, 0
		if len(s.found.List) > 0 {
			u.Reading.Limit = s.limit(recent.At, m.Window)
		}
	}
	u.Reading.Values[strategies.MeasureClientTokens] = t.tally.Tokens(u.Model)
	u.Reading.Values[strategies.MeasureTokens] = int64(t.Context.Tokens())
	u.Reading.Values[strategies.MeasureIdle] = u.Idle
	u.Reading.Values[strategies.MeasureRounds] = t.Since
	t.watch(u, &l.clock)
}

// present sets what stays the same throughout a thread.
func (d *desk) present(t *thread) {
	u, s := &d.turn, t.replay
	u.Context, u.Blocks = &t.Context, s.session.Blocks
	u.Tools, u.Objects = s.session.Tools, s.session.Objects
	u.Carried = &t.carried
	if u.Profile = nil; !s.hidden.Automatic {
		u.Profile = s.hidden.Profile // of Claude Code
	}
	u.Client = strategies.Client{Agent: s.session.Agent, Version: s.version, Variant: s.session.Variant, Entry: s.session.Entry}
	u.User = &s.user.User
	u.Announced, u.Listing, u.PerByte = s.told, s.listing, s.fetch.Density.Of
	u.Kind, u.Thread, u.Session, u.Epoch, u.Parent = t.Trace.Kind, t.Index, s.seat, s.session.Start, t.Trace.Parent
}

// settle carries out what a hook reported about the context.
func (l *Loop) settle(t *thread, layer int) {
	t.InputAt = l.turn.InputAt
	if !l.turn.Reported() {
		return
	}
	b := l.turn.Boundary()
	b.Standing = t.Deleted.Tokens() - b.Deleted
	if l.config.Observer != nil {
		l.config.Observer.Changed(t.point(l.clock.now), t.layers[layer].Name(), b)
	}
	t.told.note(&b)
	t.replay.book.Changed(&b, t.replay.fetch.Measures())
	switch b.Kind {
	case strategies.BoundaryMicro, strategies.BoundaryServer:
		t.tally.Cleared(b.Uncounted)
		return
	case strategies.BoundaryStore: // no response has counted it yet
		t.tally.Stored(b.Uncounted)
		return
	}
	t.Chain++
	t.replay.book.Compacted(&t.balance, &t.Course, &b, l.clock.now, t.Deleted.Tokens())
	t.Since, t.wait.behind = 0, 0
	t.Deleted.Reset()
	t.head.Render()
	t.tally.Recount(&t.Context)
	window := t.replay.book.Models.Of(t.head.Model()).Window
	for _, h := range t.hooks.compact {
		h.do.AfterCompaction(&l.turn)
		l.launchBeside(t, h.layer)
	}
	t.InputAt = l.turn.InputAt
	if b.Kind == strategies.BoundaryCompact && !b.Replayed && b.After > window {
		t.replay.book.Row.Figures[measures.FailedCompactions]++ // what must stay does not fit: no success
	}
}

// host serves the layers of the thread whose turn it is.
type host struct {
	thread *thread
}

// Count adds to the counts of the session's row.
func (h *host) Count(id measures.ID, n int64) { h.thread.replay.book.Row.Figures[id] += float64(n) }

// Refuse counts a reason for which a layer did not act.
func (h *host) Refuse(layer, reason string) strategies.Outcome {
	h.thread.replay.book.Refuse(layer, reason)
	return strategies.Outcome{Reason: reason}
}

// SetMemory gives the index of memory files another content.
func (h *host) SetMemory(tokens int32, content prompt.Digest) {
	h.thread.head.SetMemory(tokens, content)
}

// Post puts a message into the input of another thread's next round, or into its
// mailbox. One to a thread that does not exist is lost.
func (h *host) Post(m strategies.Message) {
	s, from := h.thread.replay, h.thread
	for i := range s.session.Threads {
		to := &s.threads[i]
		sibling := m.To == strategies.ToSiblings && to != from && to.Agent() && to.Trace.Parent == from.Trace.Parent &&
			to.Started && !to.ended
		if m.Tokens <= 0 || !sibling && m.To != int32(i) {
			continue
		}
		if m.Mailbox {
			to.mailbox = append(to.mailbox, m.Tokens)
		} else {
			to.inbox = append(to.inbox, m.Tokens)
		}
	}
}

// Draw returns the draw of a layer at the round under way.
func (h *host) Draw(layer string, ordinal uint8) float64 {
	t := h.thread
	event := draws.Event(t.Index, t.Round, client.DrawKey(layer), ordinal)
	return draws.Unit(t.replay.draws.Uint64(draws.Layer, event))
}

// open delivers the messages that other threads have posted.
func (t *thread) open() {
	if t.Current().Trigger == traces.TriggerPrompt {
		t.inbox, t.mailbox = append(t.inbox, t.mailbox...), t.mailbox[:0]
	}
	for _, tokens := range t.inbox {
		b := client.Injected(prompt.KindAttachment, "message", tokens)
		b.Digest = b.Digest.ExtendInt(uint64(t.Index)<<32 | uint64(t.Round))
		t.Context.Add(b)
		t.tally.Add(&b)
		t.replay.book.Row.Figures[measures.AgentMessages]++
	}
	t.inbox = t.inbox[:0]
}

// hints lets the server refuse a request with the hint to clear, if it does so at this
// size and a layer takes hints, and sends it again after the layers' answer. It reports
// whether it did.
func (l *Loop) hints(t *thread) bool {
	at := l.config.HintAt
	if at <= 0 || len(t.hooks.hints) == 0 || t.requestTokens(l.clock.now) < at {
		return false
	}
	t.hinted = true
	t.replay.book.Row.Figures[measures.ServerHints]++
	for _, h := range t.hooks.hints {
		l.refresh(t)
		l.noteFinal(t, h.layer, "server_hint", h.do.ServerHint(&l.turn))
	}
	if l.err == nil {
		l.send(t)
	}
	return true
}

// thread is the running state of one conversation.
type thread struct {
	course.Course
	replay   *replay
	id       int32 // index into the loop's threads
	layers   []strategies.Layer
	strategy *strategies.Strategy // that the layers are of
	hooks    hooks
	family
	mail
	gap
	asking
	tally    client.Tally
	hidden   hidden.Thread
	head     head.Head
	told     told
	verified verify.Thread // with Verify
	balance  account.Thread
	carried  strategies.Carried // beside the messages
	fetch    fetch.Thread
	wait     wait
	lastKind facts.Cache // the kind of cache that its last call went to
	called   string      // source of the layer's call that the thread waits for
	overflow bool        // a request was answered beyond the window
	ended    bool        // after its last response
}

// family is what a thread knows of the threads that it starts.
type family struct {
	child   int32 // first child not yet started, index into replay.children
	running int32 // sub-agents at work
	unread  int32 // sub-agents that have ended in the background, and were not reported
	heard   int32 // rounds whose input has come
}

// mail are messages from other threads, tokens.
type mail struct {
	inbox   []int32 // for the next input
	mailbox []int32 // for the next prompt
}

// gap is the time between a response and the next input, and what timers do in it.
type gap struct {
	idle   bool    // it lasts
	held   bool    // a timer's call is under way; input waits for it
	late   bool    // input has come meanwhile
	heldAt int64   // when it came, ns on the cohort's clock
	wakes  []int64 // by timer: when it rings, 0 for never
}

// asking is what layers and the server have said of the request that is prepared. The zero value is a request that nobody
// was asked about.
type asking struct {
	retried  bool   // it was sent again after a refusal
	refusals int    // layers that were asked about refusals
	hinted   bool   // the server has hinted at it
	barred   uint64 // layers that are not asked before it, a bit each
}

// reset makes t the state of a thread that has not begun, keeping storage.
func (t *thread) reset(s *replay, i int32, layers []strategies.Layer) {
	*t = thread{
		Course: course.Course{Session: s.session, Trace: &s.session.Threads[i], Index: i, Context: t.Context, Scores: t.Scores, Deleted: t.Deleted},
		replay: s, id: s.base + i, layers: layers, strategy: s.strategy,
		hooks: t.hooks, family: family{child: -1}, mail: mail{t.inbox[:0], t.mailbox[:0]}, gap: gap{wakes: t.wakes[:0]},
		fetch: t.fetch, hidden: t.hidden, carried: t.carried,
	}
	t.fetch.Begin(&s.fetch, &t.Course, &t.tally)
	t.tally.Bind(&s.counter)
	t.Prepare(s.counter.Estimate)
	t.Deleted.Reset()
	t.hidden.Reset()
	t.carried.CopyFrom(&strategies.Carried{})
	t.hidden.Bind(&s.hidden, &t.Course)
	t.Context.Reset(s.session.Blocks, &s.arena)
	t.head.Begin(t.Trace, i)
	t.head.Bind(&s.heads, &t.Course)
}

// hooks are the layers of a thread by the hooks they implement, with their
// index, so that a call costs no type assertion.
type hooks struct {
	before   []hook[strategies.BeforeRequest]
	after    []hook[strategies.AfterResponse]
	tooLong  []hook[strategies.PromptTooLong]
	result   []strategies.IntentResult // by layer index; nil for a layer without one
	compact  []hook[strategies.AfterCompaction]
	starting []hook[strategies.ThreadStart]
	ending   []hook[strategies.ThreadEnd]
	loopEnd  []hook[strategies.EndOfLoop]
	timers   []hook[strategies.Timer]
	forks    []hook[strategies.Fork]
	hints    []hook[strategies.ServerHint]
	limits   []hook[strategies.AutoThreshold]
	// background is by layer index, nil for a layer without one.
	background []strategies.BackgroundResult
	keys       []uint8  // by layer index: identifies the layer in draws
	bars       []uint64 // by layer index: layers it bars when it is done
	// suggests says that a layer makes the calls which the profile would add at
	// the end of turns.
	suggests bool
	deletes  bool // a layer has results deleted from the cached prefix
}

type hook[T any] struct {
	layer int
	do    T
}

// bind finds the hooks of the layers, keeping storage.
func (h *hooks) bind(layers []strategies.Layer, bars []uint64) {
	*h = hooks{
		keys: h.keys[:0], bars: bars,
		before: h.before[:0], after: h.after[:0], tooLong: h.tooLong[:0],
		result: h.result[:0], compact: h.compact[:0], starting: h.starting[:0], ending: h.ending[:0], loopEnd: h.loopEnd[:0],
		timers: h.timers[:0], forks: h.forks[:0], hints: h.hints[:0], limits: h.limits[:0], background: h.background[:0],
	}
	for i, l := range layers {
		h.before = implements(h.before, i, l)
		h.after = implements(h.after, i, l)
		h.tooLong = implements(h.tooLong, i, l)
		h.starting = implements(h.starting, i, l)
		h.ending = implements(h.ending, i, l)
		h.loopEnd = implements(h.loopEnd, i, l)
		h.suggests = h.suggests || l.Name() == standard.Suggestion
		h.deletes = h.deletes || l.Name() == standard.CachedClear
		if s, ok := l.(standard.Sleeper); !ok || !s.Sleeps() {
			h.timers = implements(h.timers, i, l)
		}
		h.forks = implements(h.forks, i, l)
		h.hints = implements(h.hints, i, l)
		h.limits = implements(h.limits, i, l)
		h.compact = implements(h.compact, i, l)
		r, _ := l.(strategies.IntentResult)
		h.result = append(h.result, r)
		b, _ := l.(strategies.BackgroundResult)
		h.background = append(h.background, b)
		h.keys = append(h.keys, client.DrawKey(l.Name()))
	}
}

// implements appends a layer to the list of those with a hook if it has the hook.
func implements[T any](list []hook[T], i int, l strategies.Layer) []hook[T] {
	if do, ok := l.(T); ok {
		list = append(list, hook[T]{i, do})
	}
	return list
}

// Delete adds an entry of the thread to the deletions in force.
func (h *host) Delete(id int32) { h.thread.Deleted.Delete(&h.thread.Context, id) }

// Undelete takes a deletion back.
func (h *host) Undelete(id int32) { h.thread.Deleted.Undelete(id) }

// IsDeleted reports whether a deletion is in force.
func (h *host) IsDeleted(id int32) bool { return h.thread.Deleted.Has(id) }

// forget leaves out of the context what the provider leaves out by itself at
// this round: the reasoning of finished turns. As the agent has no part in it,
// it happens under every strategy, to the reasoning that is left.
func (t *thread) forget() {
	for i := t.Event; i < len(t.Trace.Events) && t.Trace.Events[i].Round <= t.Round; i++ {
		if ev := &t.Trace.Events[i]; ev.Kind == traces.EventForget {
			forgetBlocks(&t.Context, ev)
			t.hidden.MoveFound(ev)
		}
	}
}

// forgetBlocks takes the tokens of an event's blocks out of a context. When all the blocks are
// there and the recording lost more, the rest comes off what follows the first of them, as what lies ahead was read again: where
// only replies are counted, the size of their reasoning is an estimate. It comes off what no line shows first (results of tools the
// provider runs itself), else off any message, newest first.
func forgetBlocks(c *prompt.Context, ev *traces.Event) {
	left, found, at := ev.Saved, 0, c.Len()
	for i := c.Len() - 1; i >= 0 && found < len(ev.Cleared); i-- {
		e := c.At(i)
		if e.Block < 0 {
			continue
		}
		if _, ok := slices.BinarySearch(ev.Cleared, int32(e.Block)); ok {
			left -= e.Tokens
			c.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
			found, at = found+1, i
		}
	}
	if found < len(ev.Cleared) {
		return
	}
	for _, first := range []int{at, c.Messages()} {
		for _, unseen := range []bool{true, false} {
			for i := c.Len() - 1; i >= first && left > 0; i-- {
				e := c.At(i)
				if take := min(left, e.Tokens-1); take > 0 && (!unseen || e.Kind == prompt.KindUnseen) {
					c.SetForm(i, prompt.FormCleared, e.Tokens-take, prompt.CauseEdit)
					left -= take
				}
			}
		}
	}
}
