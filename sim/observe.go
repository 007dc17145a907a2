package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// Point names where on a thread something happens.
type Point struct {
	Session       int32 // index in the cohort
	Thread, Round int32 // indices into the session
	Now           int64 // ns on the session's clock
	Idle          int64 // ns since the thread's last response ended
}

// Observer sees what a loop does and why, in order. What it is given is only
// valid during the call.
type Observer interface {
	// Checked is told every trigger evaluation.
	Checked(Point, strategies.Check)
	// Answered is told what a layer's hook answered.
	Answered(p Point, layer, hook string, out strategies.Outcome)
	// Changed is told what a layer did to the context.
	Changed(Point, string, strategies.Boundary)
	// Served is told every request and how the server served it; layer is
	// empty for the conversation's own.
	Served(p Point, layer string, r *prompt.Request, out *prompt.Outcome)
}

// PaybackObserver is an Observer that is also told at the end of a session what
// became of each of its compactions. They count from 0 in the order in which
// Changed told of them.
type PaybackObserver interface {
	Observer
	Paid(session, compaction int, p *results.Payback)
}

// point returns where a thread is now.
func (l *Loop) point(t *thread) Point {
	return Point{Session: t.live.index, Thread: t.index, Round: t.round, Now: t.live.now(l.clock.now), Idle: l.clock.now - t.lastEnd}
}

// tellAnswer tells the observer, if there is one, what a hook answered.
func (l *Loop) tellAnswer(t *thread, layer int, hook string, out strategies.Outcome) {
	if l.config.Observer != nil {
		l.config.Observer.Answered(l.point(t), t.layers[layer].Name(), hook, out)
	}
}

// tellServed tells the observer of a request; layer is −1 for the conversation's.
func (l *Loop) tellServed(t *thread, layer int, out *prompt.Outcome) {
	if l.config.Observer == nil {
		return
	}
	name := ""
	if layer >= 0 {
		name = t.layers[layer].Name()
	}
	l.config.Observer.Served(l.point(t), name, &l.request, out)
}

// watch makes the turn report trigger evaluations to the observer, if there is
// one.
func (l *Loop) watch(t *thread) {
	if l.config.Observer == nil {
		l.turn.Watch(nil)
		return
	}
	l.turn.Watch(func(c strategies.Check) { l.config.Observer.Checked(l.point(t), c) })
}
