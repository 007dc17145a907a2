package sim

import (
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// eventKind says what happens at an event.
type eventKind uint8

const (
	eventBegin eventKind = iota // a session whose body is not in memory begins
	eventStart                  // a thread begins
	eventInput                  // a round's input has arrived
	eventFirst                  // the first token of a call, where it comes at once
	eventEnd                    // the end of a call
	eventTimer                  // the time a layer asked for
	eventAwait                  // the latest time a layer waits for a background call
)

// event is a point on the clock, ordered by (at, seq): what happens at one time
// happens user by user, for each in the order it was scheduled. So nothing depends on
// what other users had scheduled before.
type event struct {
	at  int64  // ns
	seq uint64 // the user in the upper bits, above seqBits
	happening
}

// happening is what an event is. It is apart so that an event has few enough fields to be kept in registers.
type happening struct {
	of   int32 // session for a begin, flight for a first token and an end, else thread
	arg  int16 // which of the thread's timers or hooks
	kind eventKind
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.seq < f.seq
}

// clock is a 4-ary heap of events by value. A 4-ary heap is shallower than a
// binary one and touches fewer cache lines on the way down.
type clock struct {
	heap []event
	seq  uint64
	now  int64  // ns, time of the event handed out last
	user uint64 // the user of the event that was handed out last, or of the session that is admitted
}

// seqBits leave 31 for users; so many events of a cohort take an hour to simulate.
const seqBits = 33

// reset empties the clock and sets it to zero, keeping its storage.
func (c *clock) reset() { *c = clock{heap: c.heap[:0]} }

// schedule adds an event. A time in the past is taken for now: time never runs
// back.
func (c *clock) schedule(at int64, kind eventKind, of int32) {
	c.add(event{at: at, happening: happening{of: of, kind: kind}})
}

// add puts an event on the clock; its sequence number is the clock's.
func (c *clock) add(e event) {
	e.at, e.seq = max(e.at, c.now), c.user<<seqBits|c.seq
	c.seq++
	c.heap = append(c.heap, e)
	i := len(c.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&c.heap[parent]) {
			break
		}
		c.heap[i] = c.heap[parent]
		i = parent
	}
	c.heap[i] = e
}

// rootsApart is how many numbers are reserved for the threads that begin with a session.
const rootsApart = 64

// scheduleBegin schedules the beginning of a session that is loaded then, and reserves the numbers of its first events: what begins at
// one time begins in the order in which it would begin had all sessions been loaded at first.
func (c *clock) scheduleBegin(at int64, session int32) {
	c.schedule(at, eventBegin, session)
	c.seq += rootsApart
}

// spendReserved gives the events that do schedules the numbers reserved with a beginning.
func (c *clock) spendReserved(begin *event, do func()) {
	seq := c.seq
	c.seq = begin.seq & (1<<seqBits - 1)
	do()
	c.seq = seq
}

// next takes the earliest event off the clock and moves the time to it. It
// reports whether there was one.
func (c *clock) next() (event, bool) {
	if len(c.heap) == 0 {
		return event{}, false
	}
	top := c.heap[0]
	n := len(c.heap) - 1
	e := c.heap[n]
	c.heap = c.heap[:n]
	if n > 0 {
		c.sink(e)
	}
	c.now, c.user = top.at, top.seq>>seqBits
	return top, true
}

// sink puts e in its place from the root down.
func (c *clock) sink(e event) {
	n, i := len(c.heap), 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, n); k++ {
			if c.heap[k].before(&c.heap[least]) {
				least = k
			}
		}
		if !c.heap[least].before(&e) {
			break
		}
		c.heap[i] = c.heap[least]
		i = least
	}
	c.heap[i] = e
}

// setTimers asks the layers of a thread when they want to be called.
func (t *thread) setTimers() {
	for i := range t.hooks.timers {
		t.setTimer(i)
	}
}

func (t *thread) setTimer(i int) {
	l := t.replay.loop
	l.refresh(t)
	at := t.hooks.timers[i].do.Wake(&l.turn)
	for len(t.wakes) <= i {
		t.wakes = append(t.wakes, 0)
	}
	if at <= 0 {
		t.wakes[i] = 0
		return
	}
	at = max(at+t.replay.origin, l.clock.now)
	if t.wakes[i] != at {
		t.wakes[i] = at
		l.clock.add(event{at: at, happening: happening{t.id, int16(i), eventTimer}})
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
	l.takeOutcome(t, h.layer, "timer", out)
	l.settle(t, h.layer)
	if out.Verdict == strategies.Pending {
		if !t.idle {
			l.breach(t, h.layer, "timer cannot wait for a call outside the gap between a response and the next input")
			return
		}
		t.held, t.late = true, false
		l.launch(t, h.layer)
		return
	}
	t.conclude(h.layer, out)
	if t.setTimer(i); t.wakes[i] == l.clock.now {
		l.breach(t, h.layer, "wants to be called again at the same time")
	}
}

// takeTime returns how long a call takes to its first token and in all, ns. The time that the
// summariser states comes before the time of the call's input. A known answer takes the time that
// it states, or else what the latency model gives; a call made for real takes
// as long as it took.
func (t *thread) takeTime(m *costmodel.Latency, c *call, u *prompt.Usage) (first, total int64) {
	first, total = c.answer.First, max(c.answer.First, c.answer.Total)
	switch {
	case c.extra != (fetch.Extra{}):
		return c.modelled(m, u)
	case c.side == nil:
		return t.shifted(m, first, total, u)
	case c.answer.Measured != nil: // by the clock of whoever made the call
	case c.side.Known == nil:
		input := m.Prompt(u.Input(), u.Read)
		return first + input, total + input
	case total == 0:
		return c.modelled(m, u)
	}
	return first, total
}

// modelled returns the times that the latency model gives a call.
func (c *call) modelled(m *costmodel.Latency, u *prompt.Usage) (first, total int64) {
	v := *u
	v.Output = int64(c.answer.Output)
	return m.First(v), m.Total(v)
}

// shifted returns the recorded times of a conversation's call, moved by what the server
// has to compute more, or less, than it did in the recording, and adds the difference to
// the waiting of the row. It moves no first token ahead of the model's base.
func (t *thread) shifted(m *costmodel.Latency, first, total int64, u *prompt.Usage) (int64, int64) {
	was := &t.Current().Usage
	input := was.Input()
	if input == 0 {
		return first, total // nobody knows what the recorded server did
	}
	moved := max(first+m.Prompt(u.Input(), u.Read)-m.Prompt(input, was.Read), min(first, int64(m.Base)))
	t.replay.book.Waited(measures.WaitFirstToken, moved-first)
	return moved, total + moved - first
}

// waitOf returns the part that the waiting for a layer's call belongs to.
func waitOf(source string) measures.Wait {
	if source == measures.SourceCompact.String() {
		return measures.WaitCompaction
	}
	return measures.WaitOther
}
