package sim

import (
	"cmp"
	"context"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
)

// launch makes the call a layer asked for, for which the thread waits.
func (l *Loop) launch(t *thread, layer int) {
	in, asked := l.turn.Intent()
	switch {
	case !asked:
		l.resume(t, layer) // a hook that waits for nothing
	case t.hooks.result[layer] == nil:
		l.breach(t, layer, "asks for a call and has no IntentResult")
	case in.Compacts: // the conversation goes on, and compacts, after the call
		l.answer(t, layer, &prompt.Result{Answer: prompt.Answer{Failed: prompt.FailDeadlock}, Source: in.Source})
	default:
		l.call(t, layer, &in, false)
	}
}

// launchBeside makes the calls that a hook of a layer asked for and that run beside the conversation.
func (l *Loop) launchBeside(t *thread, layer int) {
	for _, in := range l.turn.TakeBackground() {
		switch {
		case t.hooks.background[layer] == nil:
			l.breach(t, layer, "asks for a background call and has no BackgroundResult")
			return
		case in.Compacts:
			t.wait.behind |= 1 << layer
			t.detectDeadlock()
		default:
			t.replay.book.Row.Figures[measures.BackgroundCalls]++
			l.call(t, layer, &in, true)
		}
	}
}

// call makes a call of a layer.
func (l *Loop) call(t *thread, layer int, in *prompt.Intent, beside bool) {
	place, c := l.sides.New()
	c.Begin(&side.Asked{
		Intent: *in, Beside: beside, Thread: t.id, Layer: int32(layer), Model: t.callModel(in), TTL: t.head.Lifetime(in),
		Event: t.event(layer, in.Ordinal), Span: t.Context.Seal()[t.Context.Len()-1].Chain,
	}, &t.Course, &t.head, t.replay.now(l.clock.now))
	excess := int64(c.Context.Tokens()) - t.replay.book.Models.Of(c.Model).Window
	tooLong := excess > 0 && (beside || in.Known == nil)
	if in.Known == nil && (beside || !tooLong) {
		t.replay.asked++
		c.Number = t.replay.asked
	}
	switch {
	case !tooLong:
		c.Answer = t.summarize(c)
	case beside:
		c.Answer = prompt.Answer{Failed: prompt.FailTooLong, Excess: excess}
	default:
		l.sides.End(place)
		l.answer(t, layer, &prompt.Result{Answer: prompt.Answer{Failed: prompt.FailTooLong, Excess: excess}})
		return
	}
	if c.Answer.Measured != nil {
		c.Turns = 1 // one response has done it all
	}
	if !beside {
		t.called = in.Source
	}
	if l.err == nil {
		l.sendBeside(t, place)
	}
	if !beside {
		l.sides.End(place)
	}
}

// sendBeside sends the request of the turn of a call that is next. A call without an answer ends when the server has
// said so: it reads and writes nothing, and costs nothing.
func (l *Loop) sendBeside(t *thread, place int32) {
	c := l.sides.At(place)
	if !c.Answer.Refused() {
		entries := c.Context.Seal()
		l.fly(t, &call{
			beside: c, place: place, entries: entries, deletions: c.Deletions(), marks: c.Marks(), change: c.Change(), answer: c.Answer, model: c.Model,
		})
		return
	}
	kind := account.Beside
	if c.Beside {
		kind = account.Background
	}
	i := l.flights.add(flight{
		Call:   account.Call{Kind: kind, Start: l.clock.now},
		thread: t.id, layer: c.Layer, place: place, refused: true, answer: c.Answer,
	})
	l.depart(t, i, c.Answer.First, c.Answer.Total)
}

// landBeside takes a response of a call that runs beside the conversation: the next turn follows,
// or the layer gets the result.
func (l *Loop) landBeside(t *thread, f *flight) {
	c := l.sides.At(f.place)
	var u *prompt.Usage
	if !f.refused {
		u = &f.Outcome.Usage
	}
	var h side.Head
	if t.replay.heads.Assembly.Header {
		h = &t.head
	}
	if c.Respond(&f.answer, u, h) {
		l.sendBeside(t, f.place)
		return
	}
	l.sides.End(f.place)
	layer := int(c.Layer)
	l.refresh(t)
	l.noteFinal(t, layer, "background_result", t.hooks.background[layer].BackgroundResult(&l.turn, &c.Result))
	if t.wait.on == layer+1 && l.err == nil {
		l.wake(t)
	}
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
		t.held = false
		for i := range t.hooks.timers {
			if l.err == nil {
				t.setTimer(i)
			}
		}
		if t.late { // input has waited for the call
			t.replay.book.Waited(waitOf(t.called), l.clock.now-t.heldAt)
			l.input(t)
		}
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

// callModel returns the model of a call that a layer asks for: the round's, or
// the one the layer names.
func (t *thread) callModel(in *prompt.Intent) int32 {
	if in.Model == "" {
		return t.head.Model()
	}
	i := t.replay.book.Models.Named(in.Model, t.replay.loop.config.known(t.replay.client, t.replay.session, in.Model), t.replay.session.StartTime())
	t.replay.nameModels()
	return i
}

// Composer is a Summarizer that makes real calls, and for that gets all that a call
// sends. An error ends the simulation, as no later call can be answered either. Several
// loops call it at once.
type Composer interface {
	Compose(ctx context.Context, c *summarizer.Call) (prompt.Answer, error)
}

// summarize asks the summariser for the answer of a call.
func (t *thread) summarize(c *side.Call) prompt.Answer {
	l, s, in := t.replay.loop, t.replay, &c.Intent
	in.Denser = s.dense
	if l.composer == nil || in.Known != nil {
		s.wrote.of(in, s)
		return l.config.Summarizer.Summarize(in, s.draws, c.Event, c.Span)
	}
	m, marks := s.book.Models.Of(c.Asked.Model), c.Marks()
	answer, err := l.composer.Compose(cmp.Or(l.ctx, context.Background()), &summarizer.Call{
		Intent: in, Session: s.session, Thread: t.Index, Round: t.Round, Context: &c.Context,
		Markers: l.mark(t, c.Context.Seal(), &marks, m.Name), Model: m.Name, Window: m.Window, Draws: s.draws, Event: c.Event, Span: c.Span,
	})
	if err != nil {
		l.stop(s.session, err)
		return prompt.Answer{Failed: prompt.FailAPI}
	}
	s.measure(answer.Measured)
	return answer
}

// measure adds what a real server said of a call to the row.
func (s *replay) measure(m *prompt.Measured) {
	if m == nil {
		return
	}
	n := &s.book.Row.Figures
	n[measures.LiveCalls]++
	n[measures.LiveAttempts] += float64(m.Attempts)
	n[measures.LiveIterations] += float64(m.Iterations)
	n[measures.LiveUncachedTokens] += float64(m.Usage.Uncached)
	n[measures.LiveReadTokens] += float64(m.Usage.Read)
	n[measures.LiveWriteTokens] += float64(m.Usage.Writes())
	n[measures.LiveOutputTokens] += float64(m.Usage.Output)
	n[measures.SectionsMissing] += float64(m.Missing)
	n[measures.SectionsCut] += float64(m.Cut)
}

// event is the stable id of a call that a layer makes at the round under way.
func (t *thread) event(layer int, ordinal uint8) uint64 {
	return draws.Event(t.Index, t.Round, t.hooks.keys[layer], ordinal)
}
