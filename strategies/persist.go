package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
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
	entries []prompt.Entry // that the change took out
	first   int32          // id of the first entry in their place
	n       int            // entries in their place
}

// take notes the entries [from, to) before they are replaced.
func (u *undo) take(c *prompt.Context, from, to int) {
	u.entries, u.n = u.entries[:0], 0
	for i := from; i < to; i++ {
		u.entries = append(u.entries, *c.At(i))
	}
}

// mark notes what replaced these entries: n entries from a position on, at least one.
func (u *undo) mark(c *prompt.Context, at, n int) { u.first, u.n = c.At(at).ID, n }

// restore puts the entries where they were, if what replaced them is still there, and brings what the turn measured up to date.
func (u *undo) restore(t *Turn) {
	if u.n == 0 {
		return
	}
	c, n := t.Context, u.n
	u.n = 0
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

// clone returns an undo with storage of its own.
func (u *undo) clone() undo { return undo{slices.Clone(u.entries), u.first, u.n} }
