package sim

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// call is what a request is made from.
type call struct {
	layer      int    // whose it is, -1 for the conversation's own
	background int32  // 1 + index of the background call it belongs to, 0 for none
	event      uint64 // stable id of a layer's call
	side       uint32 // the server's name for the conversation of a layer's call
	last       bool   // no request of that conversation follows
	entries    []prompt.Entry
	deletions  []prompt.Deletion
	marks      client.Marks
	tail       int32
	change     prompt.Change
	answer     prompt.Answer
	own        bool // of a layer: it sends what the conversation itself would send
	known      bool // the answer is not the summariser's
	text       bool // of a layer: it sends a part of the messages as one text, which begins and ends anywhere
	extra      fetch.Extra
	model      int32
}

// kind says whose the call is.
func (c *call) kind() account.Kind {
	switch {
	case c.background > 0:
		return account.Background
	case c.layer >= 0:
		return account.Beside
	case c.extra != (fetch.Extra{}):
		return account.Extra
	}
	return account.Recorded
}

// flight is one call between its request and the end of its response.
type flight struct {
	account.Call
	thread     int32 // index into the loop's threads
	layer      int32 // the layer whose intent it is, -1 for the conversation's own call
	background int32 // as in call
	ticket     int32
	answer     prompt.Answer
	refused    bool        // the server gave no answer; ticket and outcome mean nothing
	extra      fetch.Extra // what a round that no recording has brings
	told       int32       // 1 + index of what the break detector is told about the call, 0 for nothing
}

// fly sends a request and schedules its end.
func (l *Loop) fly(t *thread, c *call) {
	s := t.replay
	m := s.book.Models.Of(c.model)
	c.marks.Head = t.head.Marks(c.entries)
	l.markers = s.client.Mark(l.markers[:0], c.entries, c.marks)
	if t.replay.heads.Assembly.Variables.Uncached(m.Name) {
		l.markers = l.markers[:0]
	}
	q := &l.request
	*q = prompt.Request{}
	q.Thread, q.Owner, q.Model, q.MinTokens = uint32(t.id), s.heads.Owner, m.ID, m.MinCache
	q.Entries, q.Markers, q.Deletions, q.Change, q.Tail = c.entries, l.markers, c.deletions, c.change, c.tail
	if q.Last = c.last; t.replay.hidden.Automatic {
		q.Serving = t.hidden.Serving(c.model, m.Name)
	}
	event := draws.Event(t.Index, t.Round, 0, 0)
	if c.extra != (fetch.Extra{}) {
		event = draws.Event(t.Index, t.Round, 0, 1)
	}
	if c.layer >= 0 {
		event = c.event
		q.Thread = c.side // a conversation of its own: it leaves no prefix to miss
	}
	q.Draw = s.draws.Uint64(draws.Eviction, event)
	lossRate := 0.0
	if c.layer < 0 {
		r := t.Current()
		t.hidden.Describe(q, m.Name, r.Usage.Uncached-int64(r.Tail))
		t.hidden.ReadHeld(q)
		lossRate = t.hidden.LossRate(m.Name, l.clock.now)
	}
	if l.config.Draw {
		q.Loss, lossRate = lossRate, 0
	}
	i := l.flights.add(flight{})
	f := &l.flights.list[i]
	f.Outcome = s.server.Begin(l.clock.now, q)
	out := &f.Outcome
	if s.hidden.Unwritten {
		out.Usage = out.Usage.Plain()
	}
	if s.written && out.Effective >= int64(m.MinCache) {
		out.Usage = out.Usage.Written(int64(q.Tail))
	}
	if lossRate > 0 {
		s.book.ExpectLoss(c.model, l.clock.now, lossRate, t.hidden.Lost(q, out.Usage.Read), &out.Usage)
	}
	if l.config.Verify {
		l.verify(t, c, out)
	}
	if c.layer >= 0 {
		t.hidden.LeaveOut(c.entries, &out.Usage)
	}
	first, total := t.timed(&l.config.Latency, c, &out.Usage)
	f.thread, f.layer, f.background, f.ticket, f.Model = t.id, int32(c.layer), c.background, out.Ticket, c.model
	f.Start, f.Source, f.Context, f.answer = l.clock.now, t.source(c, l.backgrounds), out.Effective, c.answer
	f.Kind, f.First, f.Own, f.extra = c.kind(), c.layer < 0 && !t.Started, c.own, c.extra
	if f.First {
		t.hidden.Resume(out)
	}
	if c.layer < 0 {
		f.Rules = t.hidden.Applied()
	}
	if l.config.Breaks {
		l.breaks.sent(t, c, f, i)
	}
	s.book.Sent(&t.balance, q, &f.Call)
	t.tellServed(l.clock.now, c.layer, q, &f.Outcome)
	s.meter(q, &f.Outcome)
	l.tellFirst(i, first)
	l.clock.schedule(l.clock.now+max(first, total), eventEnd, i)
}

// meter tells the meter, if there is one, of the request that was served.
func (s *replay) meter(q *prompt.Request, out *prompt.Outcome) {
	if s.loop.config.Meter != nil {
		s.loop.config.Meter.Began(&s.book.Row, q, out)
	}
}

// tellFirst tells the server when the first token of a flight comes, ns from now. One that comes at once is an event:
// what is due at this time already does not find what the request writes.
func (l *Loop) tellFirst(i int32, first int64) {
	if first == 0 {
		l.clock.schedule(l.clock.now, eventFirst, i)
		return
	}
	f := &l.flights.list[i]
	l.threads[f.thread].replay.server.FirstToken(l.clock.now+first, f.ticket)
}

// flights are calls under way. Places of calls that have ended are used again.
type flights struct {
	list []flight
	free []int32
}

// add keeps a flight and returns its place.
func (s *flights) add(f flight) int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free, s.list[i] = s.free[:n-1], f
		return i
	}
	s.list = append(s.list, f)
	return int32(len(s.list) - 1)
}

// take returns the flight at a place, which is free from now on.
func (s *flights) take(i int32) flight {
	s.free = append(s.free, i)
	return s.list[i]
}

func (s *flights) reset() { s.list, s.free = s.list[:0], s.free[:0] }

func (s *flights) copyFrom(o *flights) {
	s.list, s.free = append(s.list[:0], o.list...), append(s.free[:0], o.free...)
}

// land ends a call: the server keeps its entries, the row gets its figures,
// and the thread goes on.
func (l *Loop) land(i int32) {
	f := l.flights.take(i)
	t := &l.threads[f.thread]
	if !f.refused {
		t.replay.server.End(l.clock.now, f.ticket, int64(f.answer.Output))
		f.Outcome.Usage.Output = int64(f.answer.Output)
		if l.config.Meter != nil {
			l.config.Meter.Ended()
		}
		l.breaks.ended(t, &f, l.clock.now)
		t.replay.book.Ended(&t.balance, &t.Course, &f.Call, l.clock.now)
	}
	switch f.Kind {
	case account.Hidden:
	case account.Extra:
		l.extended(t, &f)
	case account.Background:
		l.landBackground(t, &f)
	case account.Beside:
		if !t.held {
			t.replay.book.Waited(waitOf(t.called), l.clock.now-f.Start)
		}
		l.answer(t, int(f.layer), &prompt.Result{Answer: f.answer, Usage: f.Outcome.Usage, Source: t.called, Began: t.replay.now(f.Start)})
	default:
		l.reply(t, &f)
	}
}

// reply appends the response of a round and goes on to the next.
func (l *Loop) reply(t *thread, f *flight) {
	r, s := t.Current(), t.replay
	t.fetch.TakeReply()
	t.fetch.Look()
	t.tally.Think(s.session.Blocks[r.Input.From:r.Input.To], s.session.Blocks[r.Reply.From:r.Reply.To])
	t.tally.Respond(f.Outcome.Usage, f.Context, r.Logged)
	t.LastEnd, t.Started, t.idle = l.clock.now, true, true
	t.usage, t.serverDeleted = f.Outcome.Usage, f.Outcome.Deleted
	t.rounds++
	s.user.Ends[s.seat] = s.session.Start + s.now(l.clock.now)
	t.noteLevels(false)
	t.hidden.Learn(r, f.Outcome.Miss)
	if !t.hooks.suggests && t.hidden.Hides() {
		l.hide(t, f)
	}
	for _, h := range t.hooks.after {
		l.refresh(t)
		l.noteFinal(t, h.layer, "after_response", h.do.AfterResponse(&l.turn))
	}
	if len(t.hooks.loopEnd) > 0 && t.Answered() {
		for _, h := range t.hooks.loopEnd {
			l.refresh(t)
			l.noteFinal(t, h.layer, "end_of_loop", h.do.EndOfLoop(&l.turn))
		}
	}
	l.spawn(t, t.Round)
	t.Round++
	if int(t.Round) < len(t.Trace.Rounds) {
		t.setTimers()
		l.clock.schedule(l.clock.now+t.Current().Wait, eventInput, t.id)
		return
	}
	l.end(t)
}

// hide makes the call that a client is expected to add at the end of a turn: the
// conversation with the last response, which it caches, and a question of its own.
func (l *Loop) hide(t *thread, f *flight) {
	t.head.Stamp()
	entries := t.Context.Seal()
	last := len(entries) - 1
	if last < 0 || !entries[last].Kind.Assistant() {
		return
	}
	m := t.replay.book.Models.Of(f.Model)
	l.markers = t.replay.client.Mark(l.markers[:0], entries, client.Marks{TTL: t.TTL, Head: t.head.Marks(entries)})
	if t.replay.heads.Assembly.Variables.Uncached(m.Name) {
		l.markers = l.markers[:0]
	}
	l.request = prompt.Request{
		Thread: uint32(t.id) | hidden.Layer<<24, Owner: t.replay.heads.Owner, Model: m.ID, MinTokens: m.MinCache,
		Entries: entries, Markers: l.markers, Deletions: t.deleted.resolve(&t.Context), Change: prompt.NoChange,
		Draw: t.replay.draws.Uint64(draws.Eviction, draws.Event(t.Index, t.Round, hidden.Layer, 0)),
	}
	t.hidden.Describe(&l.request, m.Name, -1)
	out := t.replay.server.Begin(l.clock.now, &l.request)
	if l.config.Verify {
		l.written.Read(&t.Course, l.served(t, &out), l.reporter(t))
	}
	t.replay.meter(&l.request, &out)
	i := l.flights.add(flight{
		Call:   account.Call{Kind: account.Hidden, Source: results.SourceOther, Model: f.Model, Start: l.clock.now, Outcome: out, Context: out.Effective},
		thread: t.id, layer: -1, ticket: out.Ticket, answer: prompt.Answer{First: hidden.First, Total: hidden.Total},
	})
	l.tellFirst(i, hidden.First)
	l.clock.schedule(l.clock.now+hidden.Total, eventEnd, i)
}

// launch makes the call a layer asked for.
func (l *Loop) launch(t *thread, layer int) {
	in, asked := l.turn.Intent()
	if !asked {
		l.resume(t, layer) // a hook that waits for nothing
		return
	}
	if t.hooks.result[layer] == nil {
		l.breach(t, layer, "asks for a call and has no IntentResult")
		return
	}
	s := t.replay
	if in.Compacts { // the conversation goes on, and compacts, after the call
		l.answer(t, layer, &prompt.Result{Answer: prompt.Answer{Failed: prompt.FailDeadlock}, Source: in.Source})
		return
	}
	model := t.callModel(&in)
	span := t.Context.Seal()[t.Context.Len()-1].Chain
	side.Build(&l.side, t.replay.session.Blocks, &t.Context, &t.head, &in)
	entries := l.side.Seal()
	if excess := int64(l.side.Tokens()) - s.book.Models.Of(model).Window; excess > 0 && in.Known == nil {
		l.answer(t, layer, &prompt.Result{Answer: prompt.Answer{Failed: prompt.FailTooLong, Excess: excess}})
		return
	}
	if in.Known == nil {
		s.asked++
		in.Number = s.asked
	}
	marks := client.Marks{TTL: t.head.Lifetime(&in), SecondToLast: in.SkipCacheWrite, None: in.Unmarked}
	answer := l.summarize(t, &l.side, &in, t.event(layer, in.Ordinal), span, marks)
	if l.err != nil {
		return
	}
	t.called = in.Source
	if answer.Refused() {
		l.refuse(t, layer, answer)
		return
	}
	l.sides++
	c := call{
		layer: layer, event: t.event(layer, in.Ordinal), side: 1<<31 | l.sides, last: true, entries: entries, change: prompt.NoChange, answer: answer, known: in.Known != nil, own: ownPrefix(&in), model: model,
		marks: marks, text: in.AsText(),
	}
	if !in.Own && in.Model == "" {
		l.sideDeleted.copyFrom(&t.deleted) // the deletions in what the call sends as the conversation does
		c.deletions = l.sideDeleted.resolve(&l.side)
	}
	l.fly(t, &c)
}

// answer calls a layer's IntentResult and goes on as it says.
func (l *Loop) answer(t *thread, layer int, r *prompt.Result) {
	l.refresh(t)
	out := t.hooks.result[layer].IntentResult(&l.turn, r)
	l.noteOutcome(t, layer, "intent_result", out)
	l.settle(t, layer)
	if out.Verdict == strategies.Pending {
		l.launch(t, layer)
		return
	}
	t.conclude(layer, out)
	l.resume(t, layer)
}

// resume goes on after a layer that waited for a call: with the next
// layer, with the request that was refused, or with the gap it was made in.
func (l *Loop) resume(t *thread, layer int) {
	if t.held {
		l.release(t)
		return
	}
	if t.retried {
		l.send(t)
		return
	}
	for i := range t.hooks.before {
		if t.hooks.before[i].layer == layer {
			l.ask(t, i+1)
			return
		}
	}
	l.send(t)
}

// ownPrefix reports whether a layer's call sends what the conversation itself would send,
// so that its read shows what the conversation would have read.
func ownPrefix(in *prompt.Intent) bool {
	return !in.Own && in.Model == "" && in.Whole() && !in.Rekey
}
