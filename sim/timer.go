package sim

import "github.com/compactsim/compactsim/strategies"

// setTimers asks the layers of a thread when they want to be called.
func (l *Loop) setTimers(t *thread) {
	for i := range t.hooks.timers {
		l.setTimer(t, i)
	}
}

func (l *Loop) setTimer(t *thread, i int) {
	l.refresh(t)
	at := t.hooks.timers[i].do.Wake(&l.turn)
	for len(t.wakes) <= i {
		t.wakes = append(t.wakes, 0)
	}
	if at <= 0 {
		t.wakes[i] = 0
		return
	}
	at = max(at+t.live.origin, l.clock.now)
	if t.wakes[i] != at {
		t.wakes[i] = at
		l.clock.add(event{at: at, of: t.id, arg: int16(i), kind: eventTimer})
	}
}

// ring calls a layer at the time it asked for, unless it has asked for another
// one since or the thread has ended. A thread that waits for a call or for its
// own compaction is not disturbed.
func (l *Loop) ring(t *thread, i int, at int64) {
	if t.ended || t.wakes[i] != at {
		return
	}
	t.wakes[i] = 0
	h := t.hooks.timers[i]
	if t.held {
		return // it is asked again when the call has ended
	}
	l.refresh(t)
	out := h.do.Timer(&l.turn)
	l.took(t, h.layer, "timer", out)
	l.settle(t, h.layer)
	if out.Verdict == strategies.Pending {
		if !t.idle {
			l.fail(t, h.layer, "timer cannot wait for a call outside the gap between a response and the next input")
			return
		}
		t.held, t.late = true, false
		l.launch(t, h.layer)
		return
	}
	l.conclude(t, h.layer, out)
	if l.setTimer(t, i); t.wakes[i] == l.clock.now {
		l.fail(t, h.layer, "wants to be called again at the same time")
	}
}

// release ends a call that a timer made in a gap; input that has come meanwhile
// has waited for it.
func (l *Loop) release(t *thread) {
	t.held = false
	for i := range t.hooks.timers {
		if l.err == nil {
			l.setTimer(t, i)
		}
	}
	if t.late {
		l.waited(t, t.heldAt, waitOf(t.called))
		l.input(t)
	}
}
