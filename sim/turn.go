package sim

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
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
		u.Reading.MaxInput, u.Reading.MaxOutput, u.Reading.NamedOutput = m.MaxInput, m.MaxOutput, m.NamedOutput
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
	u.Announced, u.Listing, u.Files.PerByte = s.told, s.listing, s.fetch.Density.Of
	if u.Files.Newer = nil; len(s.recorded.ages) > 0 {
		u.Files.Newer = s.recorded.ages.newer
	}
	u.Kind, u.Thread, u.Session, u.Epoch, u.Parent = t.Trace.Kind, t.Index, s.ordinal, s.session.Start, t.Trace.Parent
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
	t.briefing.note(&b) // for the break detector (detect.go)
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
		l.launchBackground(t, h.layer)
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

var _ strategies.Host = (*host)(nil)

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

// Delete adds an entry of the thread to the deletions in force.
func (h *host) Delete(id int32) { h.thread.Deleted.Delete(&h.thread.Context, id) }

// Undelete takes a deletion back.
func (h *host) Undelete(id int32) { h.thread.Deleted.Undelete(id) }

// IsDeleted reports whether a deletion is in force.
func (h *host) IsDeleted(id int32) bool { return h.thread.Deleted.Has(id) }

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
