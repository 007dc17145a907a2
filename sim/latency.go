package sim

import (
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// timed returns how long a call takes to its first token and in all, ns. The time that the
// summariser states comes before the time of the call's input. A known answer takes the time that
// it states, or else what the latency model gives; a call made for real takes
// as long as it took.
func (t *thread) timed(m *costmodel.Latency, c *call, u *prompt.Usage) (first, total int64) {
	first, total = c.answer.First, max(c.answer.First, c.answer.Total)
	switch {
	case c.extra != (fetch.Extra{}):
		return c.modelled(m, u)
	case c.beside == nil:
		return t.shifted(m, first, total, u)
	case c.answer.Measured != nil: // by the clock of whoever made the call
	case c.beside.Known == nil:
		input := m.Prompt(u.Input(), u.Read)
		return first + input, total + input
	case total == 0:
		return c.modelled(m, u)
	}
	return first, total
}

// modelled returns the times that the latency model gives a call.
func (c *call) modelled(m *costmodel.Latency, u *prompt.Usage) (first, total int64) {
	v := *u
	v.Output = int64(c.answer.Output)
	return m.First(v), m.Total(v)
}

// shifted returns the recorded times of a conversation's call, moved by what the server
// has to compute more, or less, than it did in the recording, and adds the difference to
// the waiting of the row. It moves no first token ahead of the model's base.
func (t *thread) shifted(m *costmodel.Latency, first, total int64, u *prompt.Usage) (int64, int64) {
	was := &t.Current().Usage
	input := was.Input()
	if input == 0 {
		return first, total // nobody knows what the recorded server did
	}
	moved := max(first+m.Prompt(u.Input(), u.Read)-m.Prompt(input, was.Read), min(first, int64(m.Base)))
	t.replay.book.Waited(results.WaitFirstToken, moved-first)
	return moved, total + moved - first
}

// waitOf returns the part that the waiting for a layer's call belongs to.
func waitOf(source string) results.Wait {
	if source == results.SourceCompact.String() {
		return results.WaitCompaction
	}
	return results.WaitOther
}
