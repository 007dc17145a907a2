package hidden

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// A client that sums all its calls says of what a call reads whether another call can have cached it. Where the sum has no
// room for such a call (traces.Session.MayHide), nobody was billed for writing what a call read beyond all that was sent
// before: the server held it already, or counted more than the request had. It is read in every simulation too, and a call
// that does not read it, such as for a summary, does not send it. A call that was billed for reading alone says the same of itself.

// KnowsHeld reports whether the recording says what the server held before the call of the round under way, or of the last one.
func (t *Thread) KnowsHeld() bool {
	u := &t.Recent().Usage
	return t.Session.Summed && !t.of.Hides || u.Uncached+u.Writes() == 0
}

// alreadyHeld returns the tokens at the head of the round's request that were in the cache by that rule, 0 where it says nothing.
func (t *Thread) alreadyHeld() int32 {
	r := t.Current()
	if !t.KnowsHeld() {
		return 0
	}
	before, behind := t.Opening(), t.Opening() // what can have been cached of the recorded request, and the same of this one
	switch {
	case slices.ContainsFunc(t.Trace.Events, func(e traces.Event) bool { return e.Round == t.Round && e.Kind == traces.EventCompact }):
		if t.Chain == 0 {
			return 0 // the recording compacted here, and this strategy did not
		}
	case t.Round > 0:
		u := &t.Trace.Rounds[t.Round-1].Usage
		before, behind = u.Input()+u.Output, int64(t.Ahead())
	}
	surplus := r.Usage.Read - before
	if surplus <= 0 || behind == 0 && t.Round > 0 {
		return 0
	}
	return int32(min(behind+surplus, int64(t.Context.Tokens())))
}

// ReadHeld makes the thread's request read what the server held already, and notes the blocks among what it held that no line shows.
func (t *Thread) ReadHeld(q *prompt.Request) {
	n := t.alreadyHeld()
	if n == 0 || len(q.Markers) == 0 {
		return
	}
	q.Shared = max(q.Shared, n)
	t.unlogged.unsent = nil // what a branch took over from its parent stays the parent's
	for i := t.InputAt; i < len(q.Entries); i++ {
		if e := &q.Entries[i]; e.Kind == prompt.KindUnseen {
			t.unlogged.unsent = append(t.unlogged.unsent, e.Block)
		}
	}
}

// LeaveOut takes what the server held already, and a call beside the conversation does not read, out of its bill.
func (t *Thread) LeaveOut(entries []prompt.Entry, u *prompt.Usage) {
	if len(t.unlogged.unsent) == 0 {
		return
	}
	for i := range slices.Backward(entries) {
		e := &entries[i]
		if int64(e.Cum) <= u.Read {
			break
		}
		if slices.Contains(t.unlogged.unsent, e.Block) {
			left := min(int64(e.Tokens), int64(e.Cum)-u.Read)
			for _, from := range []*int64{&u.Uncached, &u.Write5m, &u.Write1h} {
				take := min(left, *from)
				*from, left = *from-take, left-take
			}
		}
	}
}
