package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// timed returns how long a call takes to its first token and in all, ns. What the
// summariser says of a call's time is ahead of what its input takes; a known
// answer without a time takes what the latency model says, one with a time that. A
// call made for real takes as long as it took.
func (l *Loop) timed(t *thread, c *call, u prompt.Usage) (first, total int64) {
	first, total = c.answer.First, max(c.answer.First, c.answer.Total)
	switch {
	case c.layer < 0:
		return l.shifted(t, first, total, u)
	case c.answer.Measured != nil: // by the clock of whoever made the call
	case !c.known:
		input := l.config.Latency.Prompt(u)
		return first + input, total + input
	case total == 0:
		u.Output = int64(c.answer.Output)
		return l.config.Latency.First(u), l.config.Latency.Total(u)
	}
	return first, total
}

// shifted returns the recorded times of a conversation's call, moved by what the
// server has to compute more, or less, than it did in the recording, and adds
// that to the waiting of the row. No first token comes ahead of the model's base
// because of it.
func (l *Loop) shifted(t *thread, first, total int64, u prompt.Usage) (int64, int64) {
	was := t.current().Usage
	if was.Input() == 0 {
		return first, total // nobody knows what the recorded server did
	}
	m := &l.config.Latency
	moved := max(first+m.Prompt(u)-m.Prompt(was), min(first, int64(m.Base)))
	t.live.row.Waited(results.WaitFirstToken, float64(moved-first)/1e9)
	return moved, total + moved - first
}

// waited adds the time from a point on to the waiting of the row.
func (l *Loop) waited(t *thread, from int64, w results.Wait) {
	t.live.row.Waited(w, float64(l.clock.now-from)/1e9)
}

// waitOf says to which part the waiting for a layer's call belongs.
func waitOf(source string) results.Wait {
	if source == results.SourceCompact.String() {
		return results.WaitCompaction
	}
	return results.WaitOther
}
