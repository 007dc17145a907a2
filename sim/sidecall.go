package sim

import (
	"cmp"
	"context"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
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
		l.answer(t, layer, &prompt.Result{Answer: prompt.Answer{Failed: ask.FailDeadlock}})
	default:
		l.call(t, layer, &in, false)
	}
}

// launchBackground makes the calls that a hook of a layer asked for and that run beside the conversation.
func (l *Loop) launchBackground(t *thread, layer int) {
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

func (l *Loop) call(t *thread, layer int, in *prompt.Intent, background bool) {
	place, c := l.sides.New()
	c.Begin(&side.Asked{
		Intent: *in, Background: background, Thread: t.id, Layer: int32(layer), Model: t.callModel(in), TTL: t.head.Lifetime(in),
		Event: t.event(layer, in.Ordinal), Span: t.Context.Seal()[t.Context.Len()-1].Chain,
	}, &t.Course, &t.head)
	excess := int64(c.Context.Tokens()) - t.replay.book.Models.Of(c.Model).Room()
	tooLong := excess > 0 && (background || in.Known == nil)
	if in.Known == nil && (background || !tooLong) {
		t.replay.asked++
		c.Number = t.replay.asked
	}
	switch {
	case !tooLong:
		c.Answer = t.summarize(c)
	case background:
		c.Answer = prompt.Answer{Failed: ask.FailTooLong, Excess: excess}
	default:
		l.sides.End(place)
		l.answer(t, layer, &prompt.Result{Answer: prompt.Answer{Failed: ask.FailTooLong, Excess: excess}})
		return
	}
	if c.Answer.Measured != nil {
		c.Turns = 1 // one response has done it all
	}
	if !background {
		t.called = in.Source
	}
	if l.err == nil {
		l.sendSide(t, place)
	}
	if !background { // its one request is on the way: landBackground alone reads a call again
		l.sides.End(place)
	}
}

// sendSide sends the request of the turn of a call that is next. A call without an answer ends when the server has
// said so: it reads and writes nothing, and costs nothing.
func (l *Loop) sendSide(t *thread, place int32) {
	c := l.sides.At(place)
	if !c.Answer.Refused() {
		entries := c.Context.Seal()
		l.fly(t, &call{
			side: c, place: place, entries: entries, deletions: c.Deletions(), marks: c.Marks(), change: c.Change(), answer: c.Answer, model: c.Model,
		})
		return
	}
	kind := account.Awaited
	if c.Background {
		kind = account.Background
	}
	i := l.flights.add(flight{
		Call:   account.Call{Kind: kind, Start: l.clock.now},
		thread: t.id, layer: c.Layer, place: place, refused: true, answer: c.Answer,
	})
	l.depart(t, i, c.Answer.First, c.Answer.Total)
}

// landBackground takes a response of a call that runs beside the conversation: the next turn follows,
// or the layer gets the result.
func (l *Loop) landBackground(t *thread, f *flight) {
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
		l.sendSide(t, f.place)
		return
	}
	l.sides.End(f.place)
	layer := int(c.Layer)
	l.refresh(t)
	l.takeFinal(t, layer, "background_result", t.hooks.background[layer].BackgroundResult(&l.turn, &c.Result))
	if t.wait.on == layer+1 && l.err == nil {
		l.wake(t)
	}
}

// answer calls a layer's IntentResult and goes on as it says.
func (l *Loop) answer(t *thread, layer int, r *prompt.Result) {
	l.refresh(t)
	out := t.hooks.result[layer].IntentResult(&l.turn, r)
	l.takeOutcome(t, layer, "intent_result", out)
	l.settle(t, layer)
	if out.Verdict == strategies.Pending {
		l.launch(t, layer)
		return
	}
	t.conclude(layer, out)
	l.resume(t, layer)
}

// resume goes on after a layer that waited for a call, where the call was asked for: in a gap, by a timer (held, which ring
// sets), at a refusal of the request (retried, which refused sets), or before the request, where the next layer is asked.
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
	in.Usual = agents.Of(s.session.Agent).Summary() * cmp.Or(s.dense, 1)
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
		return prompt.Answer{Failed: ask.FailAPI}
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

// ownSummary is the mean size of the summaries that a recording's client was given, tokens, as two measures that a
// recording may have: the output of the calls that wrote them, and the messages that carry them. 0 where it has neither.
type ownSummary struct {
	output  int32 // by call
	message int32 // by compaction, with what the client writes around
	text    int32 // the same of Claude Code, sized by its text
}

// ownSummaryOf measures the summaries of a session's main conversation.
func ownSummaryOf(s *traces.Session) ownSummary {
	var output, calls, message, messages int64
	for i := range s.Summaries {
		if c := &s.Summaries[i]; c.Usage.Output > 0 && s.Threads[c.Thread].Kind == traces.ThreadMain {
			output, calls = output+c.Usage.Output, calls+int64(max(1, c.Calls))
		}
	}
	for i := range s.Threads {
		if t := &s.Threads[i]; t.Kind == traces.ThreadMain && s.Variant != facts.VariantLocal {
			n, of := sealedSummaries(s, t)
			message, messages = message+n, messages+of
		}
	}
	for i := range s.Unshown {
		if c := &s.Unshown[i]; c.Summary() && c.Usage.Output > 0 && s.Threads[c.Thread].Kind == traces.ThreadMain {
			output, calls = output+c.Usage.Output, calls+1
		}
	}
	return ownSummary{output: mean(output, calls), message: mean(message, messages), text: shownSummaries(s)}
}

// sealedSummaries returns the tokens of a thread's summaries whose size recorded totals show, and how many these are. Of a
// first request some tokens are in no line; they come back with every compaction, and are no part of the summary.
func sealedSummaries(s *traces.Session, t *traces.Thread) (tokens, count int64) {
	var opening int64
	if len(t.Rounds) > 0 {
		for _, b := range s.Blocks[t.Rounds[0].Input.From:t.Rounds[0].Input.To] {
			if b.Kind == prompt.KindUnseen {
				opening += int64(b.Tokens)
			}
		}
	}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != traces.EventCompact || e.Summary.Len() == 0 || s.Blocks[e.Summary.From].Flags&prompt.FlagDerived == 0 {
			continue
		}
		for _, b := range s.Blocks[e.Summary.From:e.Summary.To] {
			tokens += int64(b.Tokens)
		}
		tokens -= opening
		count++
	}
	return tokens, count
}

// shownSummaries returns the mean size of the summaries of Claude Code's main conversations, which its log shows, tokens.
func shownSummaries(s *traces.Session) int32 {
	var sum, n int64
	for i := range s.Threads {
		t := &s.Threads[i]
		for k := range t.Events {
			if e := &t.Events[k]; agents.ClaudeCode(s) && t.Kind == traces.ThreadMain && e.Kind == traces.EventCompact && e.Summary.Len() > 0 && s.Blocks[e.Summary.From].Flags&prompt.FlagDerived == 0 {
				sum, n = sum+s.Tokens(e.Summary), n+1
			}
		}
	}
	return mean(sum, n)
}

func mean(sum, n int64) int32 {
	if n == 0 || sum <= 0 {
		return 0
	}
	return int32((sum + n/2) / n)
}

// of tells a call of a strategy that is the recording's own client's how large its answer is. The answer must be
// all summary: what else a model writes is in the outputs too.
func (o *ownSummary) of(in *prompt.Intent, s *replay) {
	if o.text > 0 && s.strategy.Generation.Agent == s.session.Agent && in.Source == measures.SourceCompact.String() {
		in.Recorded, in.RecordedOutput, in.Around = o.text, o.output, true
		return
	}
	if in.Analysis == nil || *in.Analysis != 0 || s.strategy.Generation.Agent != s.session.Agent {
		return
	}
	in.RecordedOutput = o.output
	if in.Recorded, in.Around = o.message, o.message > 0; !in.Around {
		in.Recorded = o.output
	}
}

// readsSummaries reports whether two calls or more of a recording, each the first behind a compaction, read about what ends
// with the newest summary, which stayed, and not with what stands ahead of it: the program marks it, or the server keeps all prefixes.
func readsSummaries(session *traces.Session) bool {
	n := 0
	for i := range session.Threads {
		t := &session.Threads[i]
		head, end := session.Tokens(t.Prefix), int64(0)
		for k := range t.Events {
			e := &t.Events[k]
			if e.Kind != traces.EventCompact || int(e.Round) >= len(t.Rounds) {
				continue
			}
			if e.Summary.Len() > 0 {
				end = head + session.Tokens(e.Summary)
			}
			read := t.Rounds[e.Round].Usage.Read
			if off := max(read-end, end-read); end > 0 && 20*off <= end && off < max(read-head, head-read) {
				n++
			}
		}
	}
	return n > 1
}
