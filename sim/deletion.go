package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// deletions are the entries that a thread's client wants the server to leave
// out without changing the cached prefix.
type deletions struct {
	list   []prompt.Deletion // in order of position
	ids    []int32           // of the entries, in the same order
	tokens int64             // of the list
	edits  uint32            // 1 + edits of the context when positions were last checked, 0 for never
}

// Delete adds an entry of the thread to the deletions in force.
func (h *host) Delete(id int32) {
	t := h.thread
	if i := t.Context.Index(id); i >= 0 && !slices.Contains(t.deleted.ids, id) {
		t.deleted.add(&t.Context, i)
	}
}

// Undelete takes a deletion back.
func (h *host) Undelete(id int32) {
	d := &h.thread.deleted
	if i := slices.Index(d.ids, id); i >= 0 {
		d.tokens -= int64(d.list[i].Tokens)
		d.list, d.ids = slices.Delete(d.list, i, i+1), slices.Delete(d.ids, i, i+1)
	}
}

// IsDeleted reports whether a deletion is in force.
func (h *host) IsDeleted(id int32) bool { return slices.Contains(h.thread.deleted.ids, id) }

func (d *deletions) reset() { *d = deletions{list: d.list[:0], ids: d.ids[:0]} }

// add puts the entry at position i at its place in the list.
func (d *deletions) add(c *prompt.Context, i int) {
	e := c.At(i)
	at := len(d.list)
	for at > 0 && d.list[at-1].Position > int32(i) {
		at--
	}
	d.list = slices.Insert(d.list, at, prompt.Deletion{Position: int32(i), Tokens: e.Tokens, Ref: c.BlockAt(i).Digest})
	d.ids = slices.Insert(d.ids, at, e.ID)
	d.tokens += int64(e.Tokens)
}

// resolve brings positions up to date with the context; entries that are gone,
// or no longer whole, leave the list.
func (d *deletions) resolve(c *prompt.Context) []prompt.Deletion {
	if d.edits == c.Edits()+1 {
		return d.list
	}
	d.edits = c.Edits() + 1
	for i := range d.list {
		p := int(d.list[i].Position)
		if p < c.Len() && c.At(p).ID == d.ids[i] && c.At(p).Tokens == d.list[i].Tokens {
			continue
		}
		return d.rebuild(c)
	}
	return d.list
}

func (d *deletions) rebuild(c *prompt.Context) []prompt.Deletion {
	ids, edits := slices.Clone(d.ids), d.edits
	d.reset()
	d.edits = edits
	for i := range c.Len() {
		if e := c.At(i); (e.Form == prompt.FormVerbatim || e.Form == prompt.FormRange) && slices.Contains(ids, e.ID) {
			d.add(c, i)
		}
	}
	return d.list
}

// copyFrom makes d an independent copy.
func (d *deletions) copyFrom(o *deletions) {
	d.list, d.ids, d.tokens, d.edits = append(d.list[:0], o.list...), append(d.ids[:0], o.ids...), o.tokens, 0
}

// forget leaves out of the context what the provider leaves out by itself at
// this round: the reasoning of finished turns. As the agent has no part in it,
// it happens under every strategy, to the reasoning that is left.
func (t *thread) forget() {
	for i := t.Event; i < len(t.Trace.Events) && t.Trace.Events[i].Round <= t.Round; i++ {
		if ev := &t.Trace.Events[i]; ev.Kind == traces.EventForget {
			forgetBlocks(&t.Context, ev)
			t.hidden.MoveFound(ev)
		}
	}
}

// forgetBlocks takes the tokens of an event's blocks out of a context. When all the blocks are
// there and the recording lost more, the rest comes off what follows the first of them, as what lies ahead was read again: where
// only replies are counted, the size of their reasoning is an estimate. It comes off what no line shows first (results of tools the
// provider runs itself), else off any message, newest first.
func forgetBlocks(c *prompt.Context, ev *traces.Event) {
	left, found, at := ev.Saved, 0, c.Len()
	for i := c.Len() - 1; i >= 0 && found < len(ev.Cleared); i-- {
		e := c.At(i)
		if e.Block < 0 {
			continue
		}
		if _, ok := slices.BinarySearch(ev.Cleared, int32(e.Block)); ok {
			left -= e.Tokens
			c.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
			found, at = found+1, i
		}
	}
	if found < len(ev.Cleared) {
		return
	}
	for _, first := range []int{at, c.Messages()} {
		for _, unseen := range []bool{true, false} {
			for i := c.Len() - 1; i >= first && left > 0; i-- {
				e := c.At(i)
				if take := min(left, e.Tokens-1); take > 0 && (!unseen || e.Kind == prompt.KindUnseen) {
					c.SetForm(i, prompt.FormCleared, e.Tokens-take, prompt.CauseEdit)
					left -= take
				}
			}
		}
	}
}
