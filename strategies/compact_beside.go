package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// besideCall is a compaction that the provider makes while the conversation goes
// on, and its block until it takes the place of the messages (B3: never two at
// once).
type besideCall struct {
	running bool
	ready   bool
	call    summaryCall
	last    int32 // id of the last entry that the block stands for
	result  prompt.Result
}

// startBeside makes the summary call without waiting for it.
func (l *compact) startBeside(t *Turn) Outcome {
	in := l.intent(t)
	l.beside = besideCall{running: true, call: l.call, last: t.Context.At(l.call.high - 1).ID}
	t.Background(in)
	return Outcome{Declined, "a compaction has begun beside the conversation"}
}

// BackgroundResult takes the block. A request may be under way: the block waits
// for the next one.
func (l *compact) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.beside.running = false
	if r.Failed != "" {
		l.call = l.beside.call
		return l.fail(t, r.Failed)
	}
	l.beside.ready, l.beside.result = true, *r
	return Outcome{Declined, "the block waits for the next request"}
}

// swap puts the block first, in the place of exactly the messages it stands for;
// what was said meanwhile stays. It reports whether these are still there.
func (l *compact) swap(t *Turn) bool {
	l.beside.ready = false
	high := t.Context.Index(l.beside.last) + 1
	if high == 0 {
		t.Refuse(CompactName, "what the block stands for is not there")
		return false
	}
	l.call = l.beside.call
	l.call.low, l.call.high, l.call.end = Body(t.Context), high, t.Context.Len()
	l.apply(t, &l.beside.result)
	return true
}
