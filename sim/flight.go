package sim

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// fly sends a request and schedules its first token and its end.
func (l *Loop) fly(t *thread, layer int, entries []prompt.Entry, marks client.Marks, tail int32, change prompt.Change, answer prompt.Answer, model int32) {
	m := l.models.of(model)
	l.markers = l.client.Mark(l.markers[:0], entries, marks)
	l.request = prompt.Request{
		Thread: uint32(t.index), Owner: 1, Model: m.id, MinTokens: m.minCache,
		Entries: entries, Markers: l.markers, Change: change, Tail: tail,
	}
	var key, ordinal uint8
	if layer >= 0 {
		key, ordinal = t.hooks.keys[layer], l.ordinal
		l.sides++
		l.request.Thread = 1<<31 | l.sides // a conversation of its own: it leaves no prefix to miss
	}
	event := draws.Event(t.index, t.round, key, ordinal)
	l.request.Draw = l.draws.Uint64(draws.Eviction, event)
	if layer < 0 {
		r := t.current()
		l.describe(t, m.name, r.Usage.Uncached-int64(r.Tail))
	}
	out := l.server.Begin(l.clock.now, &l.request)
	if l.config.Verify {
		l.verify(t, layer, &out)
	}
	i := l.newFlight()
	l.flights[i] = flight{
		thread: t.index, layer: int32(layer), ticket: out.Ticket, model: model, start: l.clock.now,
		answer: answer, outcome: out, context: l.request.Tokens(), first: layer < 0 && !t.started,
	}
	l.tellServed(t, layer, &l.flights[i].outcome)
	l.clock.schedule(l.clock.now+answer.First, eventFirst, i)
	l.clock.schedule(l.clock.now+max(answer.First, answer.Total), eventEnd, i)
}

func (l *Loop) newFlight() int32 {
	if n := len(l.free); n > 0 {
		i := l.free[n-1]
		l.free = l.free[:n-1]
		return i
	}
	l.flights = append(l.flights, flight{})
	return int32(len(l.flights) - 1)
}

// land ends a call: the server keeps its entries, the row gets its figures,
// and the thread goes on.
func (l *Loop) land(i int32) {
	f := l.flights[i]
	l.free = append(l.free, i)
	t := &l.threads[f.thread]
	switch {
	case f.hidden:
		l.landHidden(&f)
		return
	case f.refused:
		l.deliver(t, &f)
		return
	}
	l.server.End(l.clock.now, f.ticket, int64(f.answer.Output))
	f.outcome.Usage.Output = int64(f.answer.Output)
	l.account(t, &f)
	if f.layer >= 0 {
		l.deliver(t, &f)
		return
	}
	l.reply(t, &f)
}

// reply appends the response of a round and goes on to the next.
func (l *Loop) reply(t *thread, f *flight) {
	r := t.current()
	for b := r.Reply.From; b < r.Reply.To; b++ {
		t.context.Append(prompt.Ref(b))
	}
	t.counted, t.trailing = f.context+int64(f.answer.Output), 0
	if l.count.LoggedOutput {
		t.counted = f.context + r.Logged
	}
	t.lastEnd, t.started = l.clock.now, true
	t.rounds++
	l.learn(t, r, f.outcome.Miss)
	l.hide(t, f)
	for _, h := range t.hooks.after {
		l.refresh(t)
		l.final(t, h.layer, "after_response", h.do.AfterResponse(&l.turn))
	}
	l.spawn(t, t.round)
	t.round++
	if int(t.round) < len(t.trace.Rounds) {
		l.clock.schedule(l.clock.now+t.current().Wait, eventInput, t.index)
	}
}

// launch makes the call a layer asked for.
func (l *Loop) launch(t *thread, layer int) {
	in, asked := l.turn.Intent()
	if !asked {
		l.resume(t, layer) // a hook that waits for nothing
		return
	}
	if t.hooks.result[layer] == nil {
		l.fail(t, layer, "asks for a call and has no IntentResult")
		return
	}
	model := l.callModel(t, &in)
	span := t.context.Seal()[t.context.Len()-1].Chain
	event := draws.Event(t.index, t.round, t.hooks.keys[layer], in.Ordinal)
	l.build(t, &in)
	l.ordinal = in.Ordinal
	entries := l.side.Seal()
	if excess := int64(l.side.Tokens()) - l.models.of(model).window; excess > 0 && in.Known == nil {
		l.answer(t, layer, &prompt.Result{Answer: prompt.Answer{Failed: prompt.FailTooLong}, Excess: excess})
		return
	}
	if in.Known == nil {
		l.asked++
		in.Number = l.asked
	}
	answer := l.config.Summarizer.Summarize(&in, l.draws, event, span)
	if answer.Refused() {
		l.refuse(t, layer, answer)
		return
	}
	marks := client.Marks{TTL: t.ttl, SecondToLast: in.SkipCacheWrite}
	l.fly(t, layer, entries, marks, 0, prompt.NoChange, answer, model)
}

// deliver hands the result of an intent back to its layer.
func (l *Loop) deliver(t *thread, f *flight) {
	l.row.AddedLatency += float64(l.clock.now-f.start) / 1e9
	l.answer(t, int(f.layer), &prompt.Result{Answer: f.answer, Usage: f.outcome.Usage})
}

// answer calls a layer's IntentResult and goes on as it says.
func (l *Loop) answer(t *thread, layer int, r *prompt.Result) {
	l.refresh(t)
	out := t.hooks.result[layer].IntentResult(&l.turn, r)
	l.tellAnswer(t, layer, "intent_result", out)
	l.settle(t, layer)
	if out.Verdict == strategies.Pending {
		l.launch(t, layer)
		return
	}
	l.conclude(t, layer, out)
	l.resume(t, layer)
}

// resume goes on behind a layer that had waited for a call: with the next
// layer, or with the request that was refused.
func (l *Loop) resume(t *thread, layer int) {
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

// refresh brings the turn the layers see up to date.
func (l *Loop) refresh(t *thread) {
	u := &l.turn
	r := t.round
	u.Context, u.Blocks = &t.context, l.session.Blocks
	u.Tools, u.Objects = l.session.Tools, l.session.Objects
	u.Agent, u.Version = l.session.Agent, l.session.Version()
	u.Kind, u.Thread, u.Round = t.trace.Kind, t.index, r
	u.Trigger = t.trace.Rounds[min(int(r), len(t.trace.Rounds)-1)].Trigger
	u.Now, u.Idle = l.clock.now, l.clock.now-t.lastEnd
	u.InputAt = min(t.inputAt, t.context.Len())
	u.Events = t.trace.Events[t.event:l.dueEvents(t)]
	m := l.models.of(int32(t.trace.Rounds[min(int(r), len(t.trace.Rounds)-1)].Model))
	u.Reading.Window, u.Reading.MaxOutput = m.window, m.maxOutput
	u.Reading.Values[strategies.MeasureClientTokens] = t.counted
	if l.count.Trailing {
		u.Reading.Values[strategies.MeasureClientTokens] += t.trailing
	}
	u.Reading.Values[strategies.MeasureTokens] = int64(t.context.Tokens())
	u.Reading.Values[strategies.MeasureIdle] = u.Idle
	u.Reading.Values[strategies.MeasureRounds] = t.rounds
	l.watch(t)
}

// dueEvents returns the index behind the recorded events of the round.
func (l *Loop) dueEvents(t *thread) int {
	i := t.event
	for i < len(t.trace.Events) && t.trace.Events[i].Round <= t.round {
		i++
	}
	return i
}

// settle takes what a hook reported about the context.
func (l *Loop) settle(t *thread, layer int) {
	t.inputAt = l.turn.InputAt
	b := l.turn.Boundary()
	if b.Kind != strategies.BoundaryNone && l.config.Observer != nil {
		l.config.Observer.Changed(l.point(t), t.layers[layer].Name(), b)
	}
	switch b.Kind {
	case strategies.BoundaryNone:
		return
	case strategies.BoundaryMicro:
		l.row.Microcompactions++
		t.counted = max(0, t.counted-b.Uncounted)
		return
	}
	l.row.Compactions++
	t.chain++
	if b.Chained {
		l.row.Recompactions++
	}
	l.row.ChainMax = max(l.row.ChainMax, t.chain)
	t.rounds = 0
	l.recount(t)
	for _, h := range t.hooks.compact {
		h.AfterCompaction(&l.turn)
	}
	if b.Kind == strategies.BoundaryCompact && !b.Replayed && b.After > l.turn.Reading.Window {
		l.row.FailedCompaction++ // what must stay does not fit: no success
	}
}

// recount makes the client's count what it is after a compaction: no response
// to take the usage from, so the estimate of every message.
func (l *Loop) recount(t *thread) {
	t.counted, t.trailing = 0, 0
	for i := t.context.Messages(); i < t.context.Len(); i++ {
		t.trailing += l.count.Block(t.context.BlockAt(i))
	}
}

// source says whose call it is.
func source(t *thread, layer int32) results.Source {
	switch {
	case layer >= 0:
		return results.SourceCompact
	case t.trace.Kind == traces.ThreadBranch:
		return results.SourceBranch
	case t.trace.Kind == traces.ThreadMain:
		return results.SourceMain
	}
	return results.SourceAgent
}
