package sim

import (
	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// call is what a request is made from.
type call struct {
	side      *side.Call // of a layer; nil for the conversation's own
	place     int32      // of side
	entries   []prompt.Entry
	deletions []exchange.Deletion
	marks     client.Marks
	tail      int32
	change    prompt.Change
	answer    prompt.Answer
	extra     fetch.Extra
	model     int32
}

// kind says whose the call is.
func (c *call) kind() account.Kind {
	switch {
	case c.side != nil && c.side.Background:
		return account.Background
	case c.side != nil:
		return account.Awaited
	case c.extra != (fetch.Extra{}):
		return account.Extra
	}
	return account.Recorded
}

// layer returns the index of the layer whose call it is, -1 for none.
func (c *call) layer() int32 {
	if c.side == nil {
		return -1
	}
	return c.side.Layer
}

// source returns the source of the call, of a conversation of some kind.
func (c *call) source(of traces.ThreadKind) measures.Source {
	switch {
	case c.side != nil:
		return measures.SourceOf(c.side.Source)
	case c.extra != (fetch.Extra{}):
		return measures.SourceReread
	}
	return account.OwnSource(of)
}

// flight is one call between its request and the end of its response.
type flight struct {
	account.Call
	thread  int32 // index into the loop's threads
	layer   int32 // the layer whose intent it is, -1 for the conversation's own call
	place   int32 // of a layer's call among those beside conversations
	ticket  int32
	answer  prompt.Answer
	refused bool        // the server gave no answer; ticket and outcome mean nothing
	extra   fetch.Extra // what a round that no recording has brings
	told    int32       // 1 + index of what the break detector is told about the call, 0 for nothing
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

// wire has what is on its way to servers.
type wire struct {
	flights flights
	request exchange.Request
	markers []exchange.Marker
}

// fly sends a request and schedules its end.
func (l *Loop) fly(t *thread, c *call) {
	s := t.replay
	s.serve(c.model) // whoever speaks to the session's server says first which it is: models have servers of their own
	m := s.book.Models.Of(c.model)
	q := &l.request
	*q = exchange.Request{}
	q.Thread, q.Owner, q.Model, q.MinTokens = uint32(t.id), s.heads.Owner, m.ID, m.MinCache
	q.Entries, q.Markers, q.Deletions = c.entries, l.mark(t, c.entries, &c.marks, m.Name), c.deletions
	if q.Change, q.Tail = c.change, c.tail; s.hidden.Automatic {
		q.Serving = t.hidden.Serving(c.model, m.Name)
	}
	event, lossRate := draws.Event(t.Index, t.Round, 0, 0), 0.0
	switch c.kind() {
	case account.Extra:
		event = draws.Event(t.Index, t.Round, 0, 1)
	case account.Awaited, account.Background:
		event = c.side.Event + uint64(c.side.Turn)<<56
		q.Thread, q.Last = c.side.Name, c.side.Last() // a conversation of its own: it leaves no prefix to miss
	}
	q.Draw = s.draws.Uint64(draws.Eviction, event)
	if c.side == nil {
		r := t.Current()
		t.hidden.Describe(q, m.Name, r.Usage.Uncached-int64(r.Tail))
		t.hidden.ReadHeld(q)
		lossRate = t.hidden.LossRate(m.Name, l.clock.now)
	}
	if l.config.ByDraws {
		q.Loss, lossRate = lossRate, 0
	}
	i := l.flights.add(flight{})
	f := &l.flights.list[i]
	f.Outcome = s.server.Begin(l.clock.now, q)
	out := &f.Outcome
	if s.hidden.Unwritten && !s.hidden.Automatic {
		out.Usage = out.Usage.Plain()
	}
	if s.billsWritten && s.hidden.Automatic && out.Effective >= int64(m.MinCache) {
		out.Usage = out.Usage.Written(int64(q.Tail))
	}
	if lossRate > 0 {
		s.book.ExpectLoss(c.model, l.clock.now, lossRate, t.hidden.Lost(q, out.Usage.Read), &out.Usage)
	}
	if l.config.Verify {
		l.verify(t, c, out)
	}
	if c.side != nil {
		t.hidden.LeaveOut(c.entries, &out.Usage)
	}
	first, total := t.takeTime(&l.config.Latency, c, &out.Usage)
	f.thread, f.layer, f.place, f.ticket, f.Model = t.id, c.layer(), c.place, out.Ticket, c.model
	f.Start, f.Source, f.Context, f.answer = l.clock.now, c.source(t.Trace.Kind), out.Effective, c.answer
	f.Kind, f.extra = c.kind(), c.extra
	if c.side == nil {
		f.First, f.Rules = !t.Started, t.hidden.Applied()
	} else {
		f.Own = c.side.OwnPrefix()
	}
	switch {
	case f.First:
		t.hidden.Resume(out)
	case c.side == nil && t.lastKind != s.cache && out.Miss == exchange.MissNone && q.Change == prompt.NoChange:
		missOther(out, &t.Usage)
	}
	if c.side == nil {
		t.lastKind = s.cache
	}
	if l.config.Breaks {
		l.breaks.sent(t, c, f, i)
	}
	s.book.Sent(&t.balance, q, &f.Call)
	t.tellServed(l.clock.now, int(f.layer), q, &f.Outcome)
	s.meter(q, &f.Outcome)
	l.depart(t, i, first, total)
}

// mark completes what is asked of the markers in a request of entries to a model, and returns the markers that the session's client sets.
func (w *wire) mark(t *thread, entries []prompt.Entry, m *client.Marks, model string) []exchange.Marker {
	t.head.Place(m, entries)
	w.markers = t.replay.client.Mark(w.markers[:0], entries, *m)
	if t.replay.heads.Assembly.Variables.Uncached(model) {
		w.markers = w.markers[:0]
	}
	return w.markers
}

// missOther makes a call miss what the conversation's last call left in a cache of another kind: the cache that serves the call has
// seen the conversation before that, or never.
func missOther(out *exchange.Outcome, last *prompt.Usage) {
	held := last.Read + last.Writes()
	if last.Writes() == 0 {
		held = last.Input()
	}
	if held = min(held, out.Effective); out.Usage.Read < held {
		out.Expected, out.Miss = held, exchange.MissModel
	}
}

// meter tells the meter, if there is one, of the request that was served.
func (s *replay) meter(q *exchange.Request, out *exchange.Outcome) {
	if s.loop.config.Meter != nil {
		s.loop.config.Meter.Began(&s.book.Row, q, out)
	}
}

// depart schedules the first token of a flight, ns from now, and its end. A first token that comes at once is an event: other
// requests that are due now must not find what this one writes.
func (w *wire) depart(t *thread, i int32, first, total int64) {
	clock, f := &t.replay.loop.clock, &w.flights.list[i]
	t.replay.due++
	switch {
	case f.refused:
	case first == 0:
		clock.schedule(clock.now, eventFirst, i)
	default:
		t.replay.server.FirstToken(clock.now+first, f.ticket)
	}
	clock.schedule(clock.now+max(first, total), eventEnd, i)
}

// land ends a call: the server keeps its entries, the row gets its figures,
// and the thread goes on.
func (l *Loop) land(i int32) {
	f := l.flights.take(i)
	t := l.threads[f.thread]
	t.replay.due--
	if !f.refused {
		t.replay.serve(f.Model) // another thread may have called another model since
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
	case account.Awaited:
		if !t.held { // else input may have waited for it: resume counts from when the input came
			t.replay.book.Waited(waitOf(t.called), l.clock.now-f.Start)
		}
		l.answer(t, int(f.layer), &prompt.Result{Answer: f.answer, Usage: f.Outcome.Usage})
	default:
		l.reply(t, &f)
	}
}

// reply appends the response of a round and goes on to the next.
func (l *Loop) reply(t *thread, f *flight) {
	r, s := t.Current(), t.replay
	t.fetch.TakeReply()
	t.fetch.ShowJudge() // what the reply brought
	t.tally.Think(s.session.Blocks[r.Input.From:r.Input.To], s.session.Blocks[r.Reply.From:r.Reply.To])
	t.tally.Respond(f.Outcome.Usage, f.Context, r.Logged)
	t.LastEnd, t.Started, t.idle = l.clock.now, true, true
	t.Usage, t.Gone = f.Outcome.Usage, f.Outcome.Deleted
	t.Since++
	s.user.Ends[s.ordinal] = s.session.Start + s.now(l.clock.now)
	t.noteLevels(false)
	t.hidden.Learn(r, f.Outcome.Miss)
	if !t.hooks.suggests && t.hidden.Hides() { // else a layer makes the call that the profile would add
		l.hide(t, f)
	}
	for _, h := range t.hooks.after {
		l.refresh(t)
		l.takeFinal(t, h.layer, "after_response", h.do.AfterResponse(&l.turn))
	}
	if len(t.hooks.loopEnd) > 0 && t.Answered() {
		for _, h := range t.hooks.loopEnd {
			l.refresh(t)
			l.takeFinal(t, h.layer, "end_of_loop", h.do.EndOfLoop(&l.turn))
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
	l.request = exchange.Request{
		Thread: uint32(t.id) | hidden.Layer<<24, Owner: t.replay.heads.Owner, Model: m.ID, MinTokens: m.MinCache,
		Entries: entries, Markers: l.mark(t, entries, &client.Marks{TTL: t.TTL}, m.Name), Deletions: t.Deleted.Resolve(&t.Context), Change: prompt.NoChange,
		Draw: t.replay.draws.Uint64(draws.Eviction, draws.Event(t.Index, t.Round, hidden.Layer, 0)),
	}
	t.hidden.Describe(&l.request, m.Name, -1)
	out := t.replay.server.Begin(l.clock.now, &l.request) // of the model, as land has served the response
	if l.config.Verify {
		l.written.Read(&t.Course, t.served(&out), l.reporter(t))
	}
	t.replay.meter(&l.request, &out)
	i := l.flights.add(flight{
		Call:   account.Call{Kind: account.Hidden, Source: measures.SourceOther, Model: f.Model, Start: l.clock.now, Outcome: out, Context: out.Effective},
		thread: t.id, layer: -1, ticket: out.Ticket, answer: prompt.Answer{First: hidden.First, Total: hidden.Total},
	})
	l.depart(t, i, hidden.First, hidden.Total)
}

// extended takes what a round that no recording has brings, and asks the layers again before the recorded request.
func (l *Loop) extended(t *thread, f *flight) {
	t.tally.Respond(f.Outcome.Usage, f.Context, int64(f.answer.Output))
	t.fetch.Bring(f.extra)
	t.Usage, t.Gone = f.Outcome.Usage, f.Outcome.Deleted
	t.LastEnd, t.Started = l.clock.now, true
	t.Since++
	t.replay.book.Waited(measures.WaitOther, l.clock.now-f.Start)
	t.attempt = attempt{}
	t.fetch.ShowJudge()
	l.ask(t, 0)
}
