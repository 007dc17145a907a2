package sim

import (
	"strings"

	"github.com/compactsim/compactsim/sim/internal/gauge"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// Levels are what a client shows of how full its window is, and what it does when it is full.
type Levels = gauge.Levels

// DefaultLevels returns the levels of Claude Code.
func DefaultLevels() Levels { return gauge.DefaultLevels() }

// Block is what happens to a prompt at the blocking level.
type Block = gauge.Block

// What may happen to a prompt at the blocking level.
const (
	BlockOff     = gauge.BlockOff     // it is sent all the same, as in the recording; the call is counted
	BlockCompact = gauge.BlockCompact // the person asks for a compaction first
	BlockEnd     = gauge.BlockEnd     // the session ends
	BlockNone    = gauge.BlockNone    // the client knows no such level: nothing is stopped or counted
)

// Overflow is what happens to a request that the server refuses as longer than
// the window and that no layer can shorten.
type Overflow uint8

// What may happen to a request beyond the window.
const (
	// overflowStrategy ends the session under a strategy that shortens contexts, though a
	// setting may have switched that off. Others, and a replay of the recording, are
	// references and go on.
	overflowStrategy Overflow = iota
	OverflowAnswer            // it is answered and priced as if the window were larger
	overflowEnd               // the error reaches the person, and the session ends (002:281)
)

// Names returns the names of overflows in files.
func (Overflow) Names() []string { return []string{"strategy", "answer", "end"} }

// ends reports whether a refused request ends a session under a strategy.
func (o Overflow) ends(s *strategies.Strategy) bool {
	if o != overflowStrategy {
		return o == overflowEnd
	}
	return s.Shortens()
}

// shown is a thread as the gauge of its client sees it.
type shown thread

// Thresholds calls f with the size at which each layer compacts by itself.
func (t *shown) Thresholds(f func(layer string, tokens int64, r *strategies.Reading)) {
	l := t.replay.loop
	for _, h := range t.hooks.limits {
		l.refresh((*thread)(t))
		if tokens, ok := h.do.AutoThreshold(&l.turn); ok {
			f(t.layers[h.layer].Name(), tokens, &l.turn.Reading)
		}
	}
}

// Turn returns the turn of the thread.
func (t *shown) Turn() *strategies.Turn {
	l := t.replay.loop
	l.refresh((*thread)(t))
	return &l.turn
}

// view returns how full the window of a thread is now.
func (t *thread) view() gauge.View {
	model := t.head.Model()
	m := t.replay.book.Models.Of(model)
	return gauge.View{Now: t.replay.loop.clock.now, Model: model, Window: m.Window, MaxOutput: m.MaxOutput, Used: t.tally.Tokens(m.Name)}
}

// noteLevels notes the levels that a person sees at a request, which is sent, or after a response.
func (t *thread) noteLevels(sends bool) {
	if g := &t.replay.gauge; g.Shows() && !t.Agent() {
		v := t.view()
		g.Note(t.Index, sends, &v, (*shown)(t))
	}
}

// byHand is the compaction a person asks for when the client refuses the prompt.
var byHand = []traces.Event{{Kind: traces.EventCompact, Manual: true}}

// byProgram begins the ways in which programs start Claude Code (traces.Session.Entry): nobody is there to ask for a
// compaction, and the client ends with an error, amid a turn too (2.1.332 with DISABLE_AUTO_COMPACT: at 176,868 and
// 174,676 tokens, before a result that would pass 177,000).
const byProgram = "sdk"

// alone reports whether nobody is there to ask for a compaction.
func (s *replay) alone() bool {
	return s.gauge.Levels.Block == BlockCompact && strings.HasPrefix(s.session.Entry, byProgram)
}

// mayBlock reports whether the client looks at the blocking level before the request of a thread.
func (t *thread) mayBlock() bool {
	l, g := t.replay.loop, &t.replay.gauge
	if !g.Levels.Block.Stops() || g.Blocked(t.Index) || t.Agent() || !t.replay.alone() && t.Current().Trigger != traces.TriggerPrompt {
		return false
	}
	l.refresh(t)
	return !l.turn.Waits
}

// block stops a prompt at the blocking level if the client does: a compaction by hand
// comes first, or the session ends. It reports whether it did; the prompt goes on after
// the compaction, whatever became of that.
func (l *Loop) block(t *thread) bool {
	if !t.mayBlock() {
		return false
	}
	v := t.view()
	if !t.replay.gauge.Stops(t.Index, &v, (*shown)(t)) {
		return false
	}
	if t.replay.gauge.Levels.Block == BlockEnd || t.replay.alone() {
		l.cutOff(t)
		return true
	}
	for i, h := range t.hooks.before {
		if t.layers[h.layer].Name() == standard.Compact {
			l.compactByHand(t, i)
			return true
		}
	}
	return false
}

// compactByHand asks the layer of a hook for a compaction and then goes on.
func (l *Loop) compactByHand(t *thread, i int) {
	h := t.hooks.before[i]
	l.refresh(t)
	l.turn.Events = byHand
	out := h.do.BeforeRequest(&l.turn)
	l.noteOutcome(t, h.layer, "before_request", out)
	l.settle(t, h.layer)
	if out.Verdict == strategies.Pending {
		l.launch(t, h.layer)
		return
	}
	t.conclude(h.layer, out)
	l.send(t)
}

// cutOff ends a conversation before its request. A sub-agent's conversation ends alone:
// its parent goes on with the recorded results.
func (l *Loop) cutOff(t *thread) {
	t.noteLevels(false)
	t.replay.cut = true
	l.end(t)
}

// countUnsimulated counts the recorded calls that a session which ended early
// leaves out.
func (s *replay) countUnsimulated() {
	if s.cut {
		r := &s.book.Row
		r.Figures[measures.EndedSessions] = 1
		r.Figures[measures.UnsimulatedCalls] = float64(s.session.NumCalls() - r.OwnCalls() - s.fetch.LeftOut())
	}
}

// await makes a thread wait for a background call of a layer until a time on
// the session's clock.
func (t *thread) await(hook, layer int) {
	l := t.replay.loop
	until := l.turn.Awaited() + t.replay.origin
	if until <= l.clock.now {
		l.breach(t, layer, "waits until a time that has come")
		return
	}
	t.wait.begin(layer, hook, l.clock.now, until)
	l.clock.schedule(t.wait.end, eventAwait, t.id)
	t.detectDeadlock()
}

// detectDeadlock counts that a thread waits for a background call that waits for
// a compaction of the thread. The end of the thread's wait dissolves it.
func (t *thread) detectDeadlock() {
	if layer, ok := t.wait.deadlock(); ok {
		t.replay.book.Refuse(t.layers[layer].Name(), ask.FailDeadlock)
	}
}

// wait is how a thread and background calls wait for each other. Times are ns on the cohort's clock.
type wait struct {
	on     int    // 1 + layer whose background call the thread waits for, 0 for none
	hook   int    // index among the hooks before a request
	from   int64  // when the thread began to wait
	end    int64  // its latest time
	behind uint64 // layers with a background call that waits for a compaction, a bit each
}

// begin makes the thread wait for a layer's call, from a time to another.
func (w *wait) begin(layer, hook int, from, end int64) {
	w.on, w.hook, w.from, w.end = layer+1, hook, from, end
}

// over ends the wait.
func (w *wait) over() { w.on = 0 }

// ends reports whether the wait, if there is one, ends at a time at the latest.
func (w *wait) ends(at int64) bool { return w.on > 0 && w.end == at }

// deadlock returns the layer whose call the thread waits for while the call waits for the thread.
func (w *wait) deadlock() (layer int, ok bool) {
	return w.on - 1, w.on > 0 && w.behind>>(w.on-1)&1 != 0
}

// wake ends the wait of a thread: the layer is asked again.
func (l *Loop) wake(t *thread) {
	t.wait.over()
	t.replay.book.Waited(measures.WaitOther, l.clock.now-t.wait.from)
	l.ask(t, t.wait.hook)
}

var _ strategies.Host = (*host)(nil)
