package sim

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
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
	u.Announced, u.Listing, u.PerByte = s.told, s.listing, s.fetch.PerByte
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
	loop   *Loop
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
		to := &h.loop.threads[int(s.base)+i]
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
