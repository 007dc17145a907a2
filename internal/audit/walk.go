package audit

import (
	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// sourceOf returns who made the calls of a thread.
func sourceOf(k traces.ThreadKind) results.Source {
	switch k {
	case traces.ThreadAgent, traces.ThreadOrphan:
		return results.SourceAgent
	case traces.ThreadBranch:
		return results.SourceBranch
	}
	return results.SourceMain
}

// walk returns the calls of a session, thread by thread, in order.
func walk(s *traces.Session, prices Prices) [][]call {
	p := newPricer(prices, s)
	threads := make([][]call, len(s.Threads))
	var detector breaks.Detector
	for i := range s.Threads {
		t := &s.Threads[i]
		w := walker{session: s, thread: t, calls: make([]call, len(t.Rounds))}
		for r := range t.Rounds {
			c := &w.calls[r]
			*c = call{session: s, thread: t, index: int32(i), round: int32(r), source: sourceOf(t.Kind)}
			c.model = p.of(&t.Rounds[r])
			c.cost = c.model.cost(t.Rounds[r].Usage)
			c.price = c.model.perToken(t.Rounds[r].Usage.Input())
			w.add(c)
			verdict := detector.See(w.seen(c))
			c.reason, c.changed = verdict.Reason, verdict.Changed
		}
		threads[i] = w.calls
	}
	return threads
}

// walker goes over one thread.
type walker struct {
	session *traces.Session
	thread  *traces.Thread
	calls   []call
	next    int   // event
	deleted int64 // tokens cleared so far
	tier    prompt.TTL
	told    breaks.Call
}

// add fills what follows from the call before.
func (w *walker) add(c *call) {
	r := c.r()
	c.gap, c.tier = -1, w.tier
	var before *call
	if c.round > 0 {
		before = &w.calls[c.round-1]
	}
	w.clock(c, before)
	for ; w.next < len(w.thread.Events) && w.thread.Events[w.next].Round <= c.round; w.next++ {
		ev := &w.thread.Events[w.next]
		c.acted |= 1 << ev.Kind
		if ev.Kind == traces.EventMicrocompact || ev.Kind == traces.EventForget {
			w.deleted += int64(ev.Saved)
		}
	}
	switch {
	case before == nil:
	case r.Usage.Input() > 0:
		c.miss(before)
	default: // no usable counts: what the call before left is not forgotten
		c.left = before.left
	}
	switch {
	case r.Usage.Write1h > 0:
		w.tier = prompt.TTL1h
	case r.Usage.Writes() > 0:
		w.tier = prompt.TTL5m
	}
}

// clock sets when the call was. A request without a line of its own, such as a
// retry, is taken to follow at once.
func (w *walker) clock(c *call, before *call) {
	r := c.r()
	c.at = r.At
	if c.at == 0 && before != nil && before.end != 0 {
		c.at = before.end + r.Wait
	}
	c.untimed = c.at == 0 || r.Flags&traces.RoundNoTime != 0
	if c.untimed {
		return
	}
	c.end = c.at + r.Stream
	if before == nil || before.untimed {
		return
	}
	c.gap = r.Wait
	c.back = r.At != 0 && before.r().At != 0 && r.At < before.r().At+before.r().First
}

// seen returns the call as the detector takes it. Results that the client
// cleared are deletions it knows of.
func (w *walker) seen(c *call) *breaks.Call {
	u := &c.r().Usage
	w.told = breaks.Call{
		Source: c.source, Thread: c.index, Model: c.model.name, Read: u.Read, Context: u.Input(), Deleted: w.deleted,
		Compacted: c.acted.has(traces.EventCompact),
	}
	if !c.untimed {
		w.told.At, w.told.End = c.at, c.end
		if c.back { // before the response it follows: the pause is not known
			w.told.At, w.told.End = 0, 0
		}
	}
	return &w.told
}
