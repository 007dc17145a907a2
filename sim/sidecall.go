package sim

import (
	"context"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// callModel returns the model of a call that a layer asks for: the round's, or
// the one the layer names.
func (t *thread) callModel(in *prompt.Intent) int32 {
	if in.Model == "" {
		return t.model()
	}
	i := t.replay.book.Models.Named(in.Model, t.replay.loop.config.known(t.replay.client, t.replay.session, in.Model), t.replay.session.StartTime())
	t.replay.nameModels()
	return i
}

// refuse lets a call end without an answer: the server takes its time to say
// so, reads and writes nothing, and bills nothing.
func (l *Loop) refuse(t *thread, layer int, answer prompt.Answer) {
	i := l.flights.add(flight{
		Call:   account.Call{Kind: account.Beside, Start: l.clock.now},
		thread: t.id, layer: int32(layer), refused: true, answer: answer,
	})
	l.clock.schedule(l.clock.now+max(answer.First, answer.Total), eventEnd, i)
}

// Composer is a Summarizer that makes real calls, and for that gets all that a call
// sends. An error ends the simulation, as no later call can be answered either. Several
// loops call it at once.
type Composer interface {
	Compose(ctx context.Context, c *summarizer.Call) (prompt.Answer, error)
}

// summarize asks the summariser for the answer of a call that sends side.
func (l *Loop) summarize(t *thread, side *prompt.Context, in *prompt.Intent, event uint64, span prompt.Digest, marks client.Marks) prompt.Answer {
	in.Denser = t.replay.dense
	if l.composer == nil || in.Known != nil {
		t.replay.wrote.of(in, t.replay)
		return l.config.Summarizer.Summarize(in, t.replay.draws, event, span)
	}
	m := t.replay.book.Models.Of(t.callModel(in))
	entries := side.Seal()
	marks.Head = t.head.Marks(entries)
	l.markers = t.replay.client.Mark(l.markers[:0], entries, marks)
	if t.replay.heads.Assembly.Variables.Uncached(m.Name) {
		l.markers = l.markers[:0]
	}
	ctx := l.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	answer, err := l.composer.Compose(ctx, &summarizer.Call{
		Intent: in, Session: t.replay.session, Thread: t.Index, Round: t.Round, Context: side, Markers: l.markers,
		Model: m.Name, Window: m.Window, Draws: t.replay.draws, Event: event, Span: span,
	})
	if err != nil {
		l.stop(t.replay.session, err)
		return prompt.Answer{Failed: prompt.FailAPI}
	}
	t.replay.measure(answer.Measured)
	return answer
}

// measure adds what a real server said of a call to the row.
func (s *replay) measure(m *prompt.Measured) {
	if m == nil {
		return
	}
	n := &s.book.Row.Figures
	n[results.LiveCalls]++
	n[results.LiveAttempts] += float64(m.Attempts)
	n[results.LiveIterations] += float64(m.Iterations)
	n[results.LiveUncachedTokens] += float64(m.Usage.Uncached)
	n[results.LiveReadTokens] += float64(m.Usage.Read)
	n[results.LiveWriteTokens] += float64(m.Usage.Writes())
	n[results.LiveOutputTokens] += float64(m.Usage.Output)
	n[results.SectionsMissing] += float64(m.Missing)
	n[results.SectionsCut] += float64(m.Cut)
}

// event is the stable id of a call that a layer makes at the round under way.
func (t *thread) event(layer int, ordinal uint8) uint64 {
	return draws.Event(t.Index, t.Round, t.hooks.keys[layer], ordinal)
}
