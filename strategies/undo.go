package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// persistence is how long a client keeps what it changed of the history. Libraries often edit a copy for each request: the next
// one begins with the history as it was, and measures that.
type persistence uint8

// How long a change lasts.
const (
	persistAlways persistence = iota // from then on
	persistRun                       // within a loop each request has a copy of its own, and the last copy stays
	persistNever                     // each request has a copy of its own
)

// Names returns the names used in YAML, by value.
func (persistence) Names() []string { return []string{"always", "run", "never"} }

// undo takes the place of a layer's own change back, so that the next request begins with the history as it was.
type undo struct {
	entries []prompt.Entry // that the change took out; none while there is nothing to take back
	first   int32          // id of the first entry in their place, or behind it where nothing took it
	n       int            // entries in their place
	past    []prompt.Entry // that come back with the next prompt, see pile
}

// take notes the entries [from, to) before they are replaced.
func (u *undo) take(c *prompt.Context, from, to int) {
	u.entries, u.n = u.entries[:0], 0
	for i := from; i < to; i++ {
		u.entries = append(u.entries, *c.At(i))
	}
}

// mark notes what replaced these entries: n entries from a position on. An entry must be there.
func (u *undo) mark(c *prompt.Context, at, n int) { u.first, u.n = c.At(at).ID, n }

// forget lets the change stand.
func (u *undo) forget() { u.entries = u.entries[:0] }

// restore puts the entries where they were, if what replaced them is still there, and brings what the turn measured up to date.
func (u *undo) restore(t *Turn) {
	c, n := t.Context, u.n
	if len(u.entries) == 0 {
		return
	}
	defer u.forget()
	at := c.Index(u.first)
	if at < 0 || at+n > c.Len() {
		return
	}
	before := int64(c.Tokens())
	c.Restore(at, at+n, u.entries, prompt.CauseEdit)
	if t.InputAt >= at+n {
		t.InputAt += len(u.entries) - n
	}
	grown := int64(c.Tokens()) - before
	t.Reading.add(grown)
}

// pile prepares to restore behind summaries that pile up. Of what the last one stood for, the messages up to the newest prompt wait
// for the next one. Then these are back, and all summaries go.
func (u *undo) pile(t *Turn) {
	c := t.Context
	newPrompt := func(e *prompt.Entry) bool { return e.Kind == prompt.KindPrompt }
	if t.Trigger != traces.TriggerPrompt {
		ends := 0 // the messages of the loop begin there
		for i := range u.entries {
			if newPrompt(&u.entries[i]) {
				ends = i + 1
			}
		}
		for i := max(0, c.Index(u.first)); i < c.Len(); i++ {
			if newPrompt(c.At(i)) {
				ends = len(u.entries)
			}
		}
		kept := u.entries[:0]
		for i, e := range u.entries {
			if i < ends && e.Kind != prompt.KindSummary {
				u.past = append(u.past, e)
			} else {
				kept = append(kept, e)
			}
		}
		u.entries = kept
		return
	}
	u.restore(t)
	before := int64(c.Tokens())
	for i := c.Len() - 1; i >= 0; i-- {
		if c.At(i).Kind == prompt.KindSummary {
			c.Replace(i, i+1, nil, prompt.CauseEdit)
			t.InputAt--
		}
	}
	if n := len(u.past); n > 0 {
		at := Body(c)
		for at < c.Len() && c.At(at).ID < u.past[n-1].ID {
			at++
		}
		c.Restore(at, at, u.past, prompt.CauseEdit)
		u.past, t.InputAt = u.past[:0], t.InputAt+n
	}
	t.Reading.add(int64(c.Tokens()) - before)
}

// clone returns an undo with storage of its own.
func (u *undo) clone() undo { return undo{slices.Clone(u.entries), u.first, u.n, slices.Clone(u.past)} }

// takeOpening takes what the client had put ahead of the first prompt out of one request.
func (u *undo) takeOpening(t *Turn) {
	c, to := t.Context, Body(t.Context)
	from := to
	for from > 0 && c.At(from-1).Kind == prompt.KindReminder {
		from--
	}
	if from == to || to == c.Len() {
		return
	}
	u.take(c, from, to)
	c.Replace(from, to, nil, prompt.CauseCompaction)
	u.mark(c, from, 0)
	t.InputAt -= to - from
}
