package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Delete adds an entry of the thread to the deletions in force.
func (h *host) Delete(id int32) { h.thread.Deleted.Delete(&h.thread.Context, id) }

// Undelete takes a deletion back.
func (h *host) Undelete(id int32) { h.thread.Deleted.Undelete(id) }

// IsDeleted reports whether a deletion is in force.
func (h *host) IsDeleted(id int32) bool { return h.thread.Deleted.Has(id) }

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
