package loop

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// The input of a round is what the recording has of it, less what belongs to the recording's own ways: what its client
// put back behind a compaction that a strategy does not repeat.

// takeInput appends the input of the round under way to the context, and the client's count of it to what follows the
// last response.
func (l *Loop) takeInput(t *thread) {
	in := t.current().Input
	from, to := t.broughtBack()
	if from == to {
		t.context.AppendRange(prompt.Ref(in.From), prompt.Ref(in.To))
		t.trailing += t.score().estimate
		return
	}
	s := t.replay
	for k := in.From; k < in.To; k++ {
		b := &s.session.Blocks[k]
		if k >= from && k < to && isBroughtBack(b) {
			continue
		}
		t.context.Append(prompt.Ref(k))
		t.trailing += s.estimate(b)
	}
}

// broughtBack returns the part of the input of the round under way that came behind a recorded compaction, if the
// strategy does not repeat what the recording did; else an empty range.
func (t *thread) broughtBack() (from, to int32) {
	if t.replay.replays {
		return 0, 0
	}
	in := t.current().Input
	for i := t.event; i < len(t.trace.Events) && t.trace.Events[i].Round <= t.round; i++ {
		if e := &t.trace.Events[i]; e.Kind == traces.EventCompact && e.Round == t.round {
			from, to = in.From+e.Absorbed, in.To
		}
	}
	return from, to
}

// isBroughtBack reports whether a client adds a block by itself behind a compaction: files, skills and reminders, and
// nothing that a person said or a tool answered.
func isBroughtBack(b *prompt.Block) bool {
	return (b.Kind == prompt.KindAttachment || b.Kind == prompt.KindReminder) && b.Flags&prompt.FlagMeta != 0
}
