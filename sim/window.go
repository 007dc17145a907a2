package sim

import (
	"strings"

	"github.com/compactsim/compactsim/sim/internal/gauge"
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
	l.takeOutcome(t, h.layer, "before_request", out)
	l.settle(t, h.layer)
	if out.Verdict == strategies.Pending {
		l.launch(t, h.layer)
		return
	}
	t.conclude(h.layer, out)
	l.send(t)
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
