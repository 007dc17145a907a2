package sim

import (
	"context"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Composer is a Summarizer that wants to see all that a call sends, because it
// has the call made for real. An error ends the simulation: no answer can be
// had, now or for any other call. Several loops ask it at once.
type Composer interface {
	Compose(ctx context.Context, c *summarizer.Call) (prompt.Answer, error)
}

// summarize asks the summariser for the answer of a call that sends side.
func (l *Loop) summarize(t *thread, side *prompt.Context, in *prompt.Intent, event uint64, span prompt.Digest, marks client.Marks) prompt.Answer {
	if l.composer == nil || in.Known != nil && !in.Sized {
		return l.config.Summarizer.Summarize(in, t.live.draws, event, span)
	}
	if in.Known != nil {
		t.live.asked++
		in.Number = t.live.asked
	}
	m := t.live.models.of(l.callModel(t, in))
	entries := side.Seal()
	marks.Head = t.headMarks(entries)
	l.markers = t.live.client.Mark(l.markers[:0], entries, marks)
	if t.live.assembly.variables.Uncached(m.name) {
		l.markers = l.markers[:0]
	}
	answer, err := l.composer.Compose(l.context(), &summarizer.Call{
		Intent: in, Session: t.live.session, Thread: t.index, Round: t.round, Context: side, Markers: l.markers,
		Model: m.name, Window: m.window, Draws: t.live.draws, Event: event, Span: span,
	})
	if err != nil && l.err == nil {
		l.failing = t.live.session
		l.err = err
		return prompt.Answer{Failed: prompt.FailAPI}
	}
	t.live.measure(answer.Measured)
	return answer
}

// context returns what ends calls that block.
func (l *Loop) context() context.Context {
	if l.ctx == nil {
		return context.Background()
	}
	return l.ctx
}

// measure adds what a real server said of a call to the row.
func (s *live) measure(m *prompt.Measured) {
	if m == nil {
		return
	}
	n := &s.row.Counts
	n[results.CountLiveCalls]++
	n[results.CountLiveAttempts] += int64(m.Attempts)
	n[results.CountLiveIterations] += int64(m.Iterations)
	n[results.CountLiveUncached] += m.Usage.Uncached
	n[results.CountLiveRead] += m.Usage.Read
	n[results.CountLiveWrite] += m.Usage.Write5m + m.Usage.Write1h + m.Usage.WriteOther
	n[results.CountLiveOutput] += m.Usage.Output
	n[results.CountPredictedUncached] += m.Predicted.Uncached
	n[results.CountPredictedRead] += m.Predicted.Read
	n[results.CountPredictedWrite] += m.Predicted.Write5m + m.Predicted.Write1h + m.Predicted.WriteOther
	n[results.CountPredictedOutput] += m.Predicted.Output
	n[results.CountEntities] += int64(m.Entities)
	n[results.CountEntitiesKept] += int64(m.Kept)
	n[results.CountSectionsMissing] += int64(m.Missing)
	n[results.CountSectionsCut] += int64(m.Cut)
}

// event is the stable id of a call that a layer makes at the round under way.
func (l *Loop) event(t *thread, layer int, ordinal uint8) uint64 {
	return draws.Event(t.index, t.round, t.hooks.keys[layer], ordinal)
}
