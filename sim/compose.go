package sim

import (
	"context"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/client"
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
		Model: m.name, Window: m.window, Thinking: t.setting(client.ActionThinking), Effort: t.setting(client.ActionEffort),
		Draws: t.live.draws, Event: event, Span: span,
	})
	if err != nil && l.err == nil {
		l.failing = t.live.session
		l.err = err
		return prompt.Answer{Failed: prompt.FailAPI}
	}
	t.live.measure(answer.Measured)
	return answer
}

// setting returns what events have made of a parameter of the thread's requests
// that takes a text.
func (t *thread) setting(a client.Action) summarizer.Setting {
	key := t.head.keys[a]
	if key.IsZero() {
		return summarizer.Setting{}
	}
	for i := range t.live.assembly.changes {
		if c := &t.live.assembly.changes[i]; c.Action == a && c.Given && textKey(a, c.Value) == key {
			return summarizer.Setting{Set: true, Value: c.Value}
		}
	}
	return summarizer.Setting{Set: true}
}

// textKey is what a parameter with a text puts into the cache key.
func textKey(a client.Action, value string) prompt.Digest {
	return prompt.DigestString(a.String() + "\x00" + value)
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
