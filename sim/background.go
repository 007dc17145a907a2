package sim

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// background is a call that runs beside the conversation, perhaps in several
// turns. It keeps what it sends: the conversation changes meanwhile.
type background struct {
	thread  int32
	layer   int32
	model   int32
	turn    int32 // of the response under way, from 0
	intent  prompt.Intent
	answer  prompt.Answer
	context prompt.Context
	deleted deletions
	result  prompt.Result
	ttl     prompt.TTL
	event   uint64 // stable id, by where it was started
	side    uint32 // names it to the server
	running bool
}

// backgrounds are background calls by place. Places of calls that have ended are used again.
type backgrounds []*background

// end forgets all calls, keeping storage.
func (s backgrounds) end() {
	for _, b := range s {
		b.running = false
	}
}

// place returns a place that is not in use.
func (s *backgrounds) place() int32 {
	for i, b := range *s {
		if !b.running {
			return int32(i)
		}
	}
	*s = append(*s, &background{})
	return int32(len(*s) - 1)
}

// copyFrom makes s an independent copy, given the blocks that each thread's session adds.
func (s *backgrounds) copyFrom(o backgrounds, arena func(thread int32) *prompt.Arena) {
	for len(*s) < len(o) {
		*s = append(*s, &background{})
	}
	s.end()
	for i, from := range o {
		b := (*s)[i]
		context, deleted := b.context, b.deleted
		if *b = *from; from.running {
			context.Become(&from.context, arena(b.thread))
			deleted.copyFrom(&from.deleted)
			deleted.edits = from.deleted.edits
		}
		b.context, b.deleted = context, deleted
	}
}

// startBackgrounds starts the background calls that a hook of a layer asked for.
func (l *Loop) startBackgrounds(t *thread, layer int) {
	for _, in := range l.turn.TakeBackground() {
		if t.hooks.background[layer] == nil {
			l.breach(t, layer, "asks for a background call and has no BackgroundResult")
			return
		}
		l.startBackground(t, layer, &in)
	}
}

func (l *Loop) startBackground(t *thread, layer int, in *prompt.Intent) {
	if in.Compacts {
		t.wait.behind |= 1 << layer
		t.detectDeadlock()
		return
	}
	i := l.backgrounds.place()
	b := l.backgrounds[i]
	l.sides++
	*b = background{
		thread: t.id, layer: int32(layer), intent: *in, context: b.context, deleted: b.deleted,
		model: t.callModel(in), ttl: t.head.Lifetime(in), event: t.event(layer, in.Ordinal), side: 1<<31 | l.sides, running: true,
	}
	b.deleted.reset()
	if !in.Own && in.Model == "" {
		b.deleted.copyFrom(&t.deleted)
	}
	span := t.Context.Seal()[t.Context.Len()-1].Chain
	side.Build(&b.context, t.replay.session.Blocks, &t.Context, &t.head, in)
	b.result = prompt.Result{Source: in.Source, Ordinal: in.Ordinal, Began: t.replay.now(l.clock.now)}
	if in.Known == nil {
		t.replay.asked++
		b.intent.Number = t.replay.asked
	}
	t.replay.book.Row.Figures[results.BackgroundCalls]++
	if excess := int64(b.context.Tokens()) - t.replay.book.Models.Of(b.model).Window; excess > 0 {
		b.answer = prompt.Answer{Failed: prompt.FailTooLong, Excess: excess}
	} else {
		b.answer = l.summarize(t, &b.context, &b.intent, b.event, span, b.marks())
	}
	if b.answer.Measured != nil {
		b.intent.Turns = 1 // one response has done it all
	}
	if l.err == nil {
		l.sendBackground(t, i)
	}
}

// sendBackground sends the request of the turn that is next.
func (l *Loop) sendBackground(t *thread, i int32) {
	b := l.backgrounds[i]
	if b.answer.Refused() {
		f := l.flights.add(flight{
			Call:   account.Call{Kind: account.Background, Start: l.clock.now},
			thread: t.id, layer: b.layer, background: i + 1, refused: true, answer: b.answer,
		})
		l.clock.schedule(l.clock.now+max(b.answer.First, b.answer.Total), eventEnd, f)
		return
	}
	entries := b.context.Seal()
	l.fly(t, &call{
		layer: int(b.layer), event: b.event + uint64(b.turn)<<56, background: i + 1, side: b.side, entries: entries, deletions: b.deleted.resolve(&b.context),
		last: b.turn+1 >= b.intent.Turns || b.answer.Failed != "", marks: b.marks(), change: b.context.Sent(), answer: b.answer, known: b.intent.Known != nil, model: b.model,
		text: b.intent.AsText(),
	})
}

// marks returns where the call's breakpoints are on its messages.
func (b *background) marks() client.Marks {
	return client.Marks{TTL: b.ttl, SecondToLast: b.intent.SkipCacheWrite, None: b.intent.Unmarked}
}

// landBackground takes a response of a background call: the next turn follows,
// or the layer gets the result.
func (l *Loop) landBackground(t *thread, f *flight) {
	b := l.backgrounds[f.background-1]
	b.result.Answer = f.answer
	if !f.refused {
		b.result.Usage.Add(&f.Outcome.Usage)
	}
	if b.turn++; f.answer.Failed == "" && b.turn < b.intent.Turns {
		b.nextTurn(t, f)
		l.sendBackground(t, f.background-1)
		return
	}
	b.running = false
	layer := int(b.layer)
	l.refresh(t)
	l.noteFinal(t, layer, "background_result", t.hooks.background[layer].BackgroundResult(&l.turn, &b.result))
	if t.wait.on == layer+1 && l.err == nil {
		l.wake(t)
	}
}

// nextTurn appends what the last turn answered and the results of its tools.
func (b *background) nextTurn(t *thread, f *flight) {
	mark := uint64(b.side)<<16 | uint64(b.turn)
	reply := client.Injected(prompt.KindText, b.intent.Source, max(1, f.answer.Output))
	reply.Digest = reply.Digest.ExtendInt(mark)
	b.context.Add(reply)
	results := client.Injected(prompt.KindPrompt, b.intent.Source+" results", max(1, b.intent.TurnInput))
	results.Digest = results.Digest.ExtendInt(mark)
	b.context.Add(results)
	if !b.intent.Own && t.replay.heads.Assembly.Header {
		t.head.Fork(&b.context)
	}
}

// await makes a thread wait for a background call of a layer until a time on
// the session's clock.
func (l *Loop) await(t *thread, hook, layer int) {
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
		t.replay.book.Refuse(t.layers[layer].Name(), prompt.FailDeadlock)
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
	t.replay.book.Waited(results.WaitOther, l.clock.now-t.wait.from)
	l.ask(t, t.wait.hook)
}

var _ strategies.Host = (*host)(nil)
