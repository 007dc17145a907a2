package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// forget leaves out of the context what the provider leaves out by itself at
// this round: the reasoning of finished turns. It is no act of the agent, so
// it happens under every strategy, to what that has left of it.
func (l *Loop) forget(t *thread) {
	for i := t.event; i < len(t.trace.Events) && t.trace.Events[i].Round <= t.round; i++ {
		if ev := &t.trace.Events[i]; ev.Kind == traces.EventForget {
			forgetBlocks(&t.context, ev)
		}
	}
}

// forgetBlocks takes the tokens of an event's blocks out of a context. When all
// of them are there and the recording lost more, the rest comes off what no line
// shows (results of tools the provider runs itself), else off any message, newest
// first.
func forgetBlocks(c *prompt.Context, ev *traces.Event) {
	left, found := ev.Saved, 0
	for i := c.Len() - 1; i >= 0 && found < len(ev.Cleared); i-- {
		e := c.At(i)
		if e.Block < 0 {
			continue
		}
		if _, ok := slices.BinarySearch(ev.Cleared, int32(e.Block)); ok {
			left -= e.Tokens
			c.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
			found++
		}
	}
	if found < len(ev.Cleared) {
		return
	}
	first := c.Messages()
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
