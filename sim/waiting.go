package sim

import (
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
)

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

// wake ends the wait of a thread: the layer is asked again.
func (l *Loop) wake(t *thread) {
	t.wait.over()
	t.replay.book.Waited(measures.WaitOther, l.clock.now-t.wait.from)
	l.ask(t, t.wait.hook)
}
