package strategies

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// thoughts lists the thinking of a context that is not left out, by turn: the
// entries of one response.
type thoughts struct {
	next  int32 // id of the first entry not looked at
	turn  int32 // number of the response looked at last
	reply bool  // the last entry looked at belongs to it
	list  []thought
}

type thought struct{ id, turn int32 }

func (h *thoughts) forget() { *h = thoughts{list: h.list[:0]} }

func (h *thoughts) clone() thoughts {
	c := *h
	c.list = slices.Clone(h.list)
	return c
}

// update takes in what was appended since.
func (h *thoughts) update(c *prompt.Context) {
	from := c.Len()
	for from > 0 && c.At(from-1).ID >= h.next {
		from--
	}
	for i := from; i < c.Len(); i++ {
		e := c.At(i)
		h.next = max(h.next, e.ID+1)
		if e.Kind.Assistant() && !h.reply {
			h.turn++
		}
		h.reply = e.Kind.Assistant()
		if e.Kind == prompt.KindThinking && e.Tokens > 0 {
			h.list = append(h.list, thought{e.ID, h.turn})
		}
	}
}

// cut returns how many of the list stand ahead of the newest turns with
// thinking.
func (h *thoughts) cut(keep int) int {
	i, last := len(h.list), int32(-1)
	for i > 0 {
		if turn := h.list[i-1].turn; turn != last {
			if keep--; keep < 0 {
				break
			}
			last = turn
		}
		i--
	}
	return i
}

// clearThinking leaves out the thinking of all but the newest turns that the
// client asks to keep.
func (l *apiContext) clearThinking(t *Turn) {
	if !l.params.Thinking.Enabled {
		return
	}
	keep := l.keepTurns(t)
	l.thought.update(t.Context)
	if keep == 0 {
		return
	}
	n := l.thought.cut(keep)
	if n == 0 {
		return
	}
	c := t.Context
	for i := c.Index(l.thought.list[n-1].id); i >= 0; i-- {
		e := c.At(i)
		if e.Kind == prompt.KindThinking {
			c.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
		}
		if e.ID == l.thought.list[0].id {
			break
		}
	}
	l.thought.list = slices.Delete(l.thought.list, 0, n)
}

// keepTurns returns how many turns the client asks to keep in this request, 0
// for all. After a long gap the cache is cold and it asks for fewer, once. The
// client of March 26 to April 10, 2026 asked so ever after (B1; 2.1.101).
func (l *apiContext) keepTurns(t *Turn) int {
	p := &l.params.Thinking
	keep := int(p.Keep)
	gap := p.IdleKeep > 0 && t.Usage.Input() > 0 && t.Idle > p.IdleAfter*int64(time.Minute)
	l.few = l.few || gap
	if few := gap || l.few && p.EveryTurn; few && (keep == 0 || p.IdleKeep < keep) {
		return p.IdleKeep
	}
	return keep
}
