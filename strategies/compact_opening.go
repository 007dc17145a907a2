package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// lateOpening is what a client had put ahead of the first prompt, while the one request behind a compaction lacks it. The
// zero value lacks nothing.
type lateOpening struct {
	entries []prompt.Entry
}

// take takes the client's reminders out of the context that a compaction has just made.
func (o *lateOpening) take(t *Turn) {
	c, to := t.Context, Body(t.Context)
	from := to
	for from > 0 && c.At(from-1).Kind == prompt.KindReminder {
		from--
	}
	if from == to {
		return
	}
	o.entries = slices.Clone(c.Seal()[from:to])
	c.Replace(from, to, nil, prompt.CauseCompaction)
	t.InputAt -= to - from
}

// restore puts them back ahead of the messages: the request no longer begins as the one before it did.
func (o *lateOpening) restore(t *Turn) {
	if len(o.entries) == 0 {
		return
	}
	c := t.Context
	at, before := Body(c), int64(c.Tokens())
	c.Restore(at, at, o.entries, prompt.CauseEdit)
	t.InputAt += len(o.entries)
	o.entries = nil
	t.Reading.add(int64(c.Tokens()) - before)
}
