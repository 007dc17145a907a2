package assembly

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// continueForeign removes the calls that an earlier session owns. A thread that
// begins with such calls continues from what they left in its context; calls of
// others further on only leave their blocks.
func (s *Session) continueForeign() {
	if len(s.foreign) == 0 {
		return
	}
	before := make(map[*Thread]int64, len(s.Threads))
	for _, t := range s.Threads {
		before[t] = static(t)
		for r := range t.Calls {
			if c := t.Calls[r].Call; s.foreign[c.ID] {
				c.foreign = true
				s.Quality.Repeated++
			}
		}
	}
	for i := len(s.Threads) - 1; i >= 0; i-- { // children first: they use their parents' rounds
		s.takeOver(s.Threads[i])
	}
	began := make([][]Block, len(s.Threads))
	for i, t := range s.Threads {
		if k := t.leading(); k > 0 && k < len(t.Calls) {
			began[i] = s.contextAt(t, k-1)
		}
	}
	for i, t := range s.Threads {
		s.mergeForeign(t, began[i])
	}
	s.dropEmpty()
	for _, t := range s.Threads {
		t.refit(before[t] - static(t))
	}
	for _, t := range s.Threads {
		for t.Up != nil && len(t.Up.Calls) == 0 {
			t.Up, t.ParentRound = t.Up.Up, -1
		}
		if t.Up == nil && t.Kind != traces.ThreadMain {
			t.Kind = traces.ThreadOrphan
		}
	}
}

// refit preserves the totals after compactions when the static prefix before
// them has changed.
func (t *Thread) refit(lost int64) {
	for i := range t.Happened {
		if t.Happened[i].Kind == traces.EventCompact {
			t.Happened[i].Kept = clamp32(max(0, int64(t.Happened[i].Kept)+lost))
		}
	}
}

// leading returns how many rounds at the start of a thread belong to others.
func (t *Thread) leading() int {
	n := 0
	for n < len(t.Calls) && t.Calls[n].foreign {
		n++
	}
	return n
}

// takeOver makes a branch that leaves its parent at a call of another session a
// thread of its own, with the context it inherits as prefix.
func (s *Session) takeOver(t *Thread) {
	if t.Kind != traces.ThreadBranch || len(t.Calls) == 0 {
		return
	}
	p := t.Up
	if t.ParentRound >= 0 && !p.Calls[t.ParentRound].foreign || t.ParentRound < 0 && p.leading() == 0 {
		return
	}
	t.Ahead = s.contextAt(t.Up, int(t.ParentRound))
	t.LeftBy(p.Calls[:max(0, t.ParentRound+1)], &t.Calls[0])
	t.Kind, t.Up, t.ParentRound = traces.ThreadOrphan, nil, -1
	t.MidContext = true
}

// contextAt returns the blocks of a thread's context after the reply of a
// round; for round -1 those it starts with.
func (s *Session) contextAt(t *Thread, round int) []Block {
	var list []Block
	if t.Kind == traces.ThreadBranch {
		list = s.contextAt(t.Up, int(t.ParentRound))
	} else {
		list = slices.Clone(t.Ahead)
	}
	next, static := 0, static(t)
	for r := 0; r <= round; r++ {
		saved, absorbed := int32(0), int32(0)
		for ; next < len(t.Happened) && int(t.Happened[next].Round) <= r; next++ {
			if ev := &t.Happened[next]; ev.Kind == traces.EventCompact {
				list, saved, absorbed = compacted(list, ev, static), 0, ev.Absorbed
			} else {
				saved += ev.Saved
			}
		}
		static += headTokens(t.Calls[r].Before)
		list = append(list, t.Calls[r].Before[absorbed:]...)
		clearOldest(list, saved)
		list = append(list, t.Calls[r].Reply...)
	}
	return list
}

// compacted returns the context after a compaction. static is the prefix that its total
// was fitted to; an unseen block replaces what an earlier event took from it.
func compacted(list []Block, ev *Event, static int64) []Block {
	n := 0
	for n < len(list) && list[n].Kind.Level() != prompt.LevelMessages {
		n++
	}
	list = append(list[:n:n], ev.Text...)
	if rest := static + int64(ev.Kept) - Tokens(list); rest > 0 {
		d := prompt.DigestString("kept").ExtendInt(uint64(ev.At)).ExtendInt(uint64(rest))
		list = append(list, Block{Block: prompt.Block{
			Digest: BlockDigest(prompt.KindUnseen, d), Tokens: int32(rest), Object: -1,
			Kind: prompt.KindUnseen, Flags: prompt.FlagDerived,
		}})
	}
	return list
}

// clearOldest removes the tokens that a recording lost from the oldest
// messages, and from the prefix when the loss exceeds all messages.
func clearOldest(list []Block, saved int32) {
	saved = take(list, saved, func(b *Block) bool { return b.Kind.Level() == prompt.LevelMessages })
	take(list, saved, func(*Block) bool { return true })
}

// take removes tokens from the blocks that match, in order, and returns how
// many it did not find.
func take(list []Block, tokens int32, match func(*Block) bool) int32 {
	for i := range list {
		if match(&list[i]) {
			n := min(tokens, list[i].Tokens)
			list[i].Tokens -= n
			tokens -= n
		}
	}
	return tokens
}

// mergeForeign removes the rounds of others from a thread, which begins with
// the context that the leading ones left.
func (s *Session) mergeForeign(t *Thread, began []Block) {
	k := t.leading()
	if k == len(t.Calls) {
		t.Calls = nil
		return
	}
	if k > 0 {
		t.Ahead = began
		t.MidContext, t.continued = true, true
		if t.Kind == traces.ThreadBranch {
			t.Kind, t.Up, t.ParentRound = traces.ThreadOrphan, nil, -1
		}
		t.Began = t.Calls[k].began()
		t.LeftBy(t.Calls[:k], &t.Calls[k])
		if last := t.Calls[k-1].Last; last != 0 && t.Began > last {
			t.Since = t.Began - last
		}
	}
	at := make([]int32, len(t.Calls)+1) // new index of each round; another thread's round has the index of the next own one
	var own []Round
	var left []Block
	for r := range t.Calls {
		at[r] = int32(len(own))
		rd := t.Calls[r]
		if r < k {
			continue
		}
		if r > k && t.compactedAt(r) {
			left = nil // what came before is in the summary
		}
		rd.Before = append(left, rd.Before...)
		left = nil
		if rd.foreign {
			left = append(rd.Before, rd.Reply...)
			continue
		}
		own = append(own, rd)
	}
	at[len(t.Calls)] = int32(len(own))
	t.Calls = own
	t.Happened = slices.DeleteFunc(t.Happened, func(ev Event) bool { return int(ev.Round) < k })
	t.moveEvents(at)
	s.moveChildren(t, at)
}

// LeftBy says which calls of another session, in order, left the context that the thread's first call goes on with.
func (t *Thread) LeftBy(others []Round, first *Round) {
	if len(others) == 0 || !others[len(others)-1].OK || !first.OK {
		return
	}
	last := &others[len(others)-1]
	t.Left = traces.LeftBehind{Usage: last.Usage.Usage, TTL: exchange.TTL5m, Gap: -1, Model: last.Model == first.Model}
	for i := range slices.Backward(others) { // a call that wrote nothing leaves what it read for as long as before
		if u := &others[i].Usage; u.Writes() > 0 {
			if u.Write1h > 0 {
				t.Left.TTL = exchange.TTL1h
			}
			break
		}
	}
	if began := first.began(); last.Last != 0 && began >= last.Last {
		t.Left.Gap = began - last.Last
	}
}

// moveEvents updates the rounds of events. Blocks that an event absorbed are
// gone with the call they led to, or with a later compaction.
func (t *Thread) moveEvents(at []int32) {
	for i := range t.Happened {
		ev := &t.Happened[i]
		was := ev.Round
		ev.Round = at[was]
		later := slices.ContainsFunc(t.Happened[i+1:], func(next Event) bool {
			return next.Kind == traces.EventCompact && next.Round > was && at[next.Round] == ev.Round
		})
		if later || int(ev.Round) == len(t.Calls) {
			ev.Absorbed = 0
		}
	}
}

// compactedAt reports whether a compaction happened before a round.
func (t *Thread) compactedAt(round int) bool {
	return slices.ContainsFunc(t.Happened, func(ev Event) bool {
		return ev.Kind == traces.EventCompact && int(ev.Round) == round
	})
}

// moveChildren updates the rounds that started other threads.
func (s *Session) moveChildren(t *Thread, at []int32) {
	for _, c := range s.Threads {
		if c.Up != t || c.ParentRound < 0 {
			continue
		}
		// The last own round up to the old one.
		c.ParentRound = at[c.ParentRound+1] - 1
	}
}
