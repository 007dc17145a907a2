package claudecode

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// continueForeign takes out of the session the calls that an earlier one owns.
// A thread that begins with such calls goes on with what they left in its
// context; calls of others further on only leave their blocks there.
func (b *builder) continueForeign() {
	for _, t := range b.threads {
		for r := range t.rounds {
			c := t.rounds[r].call
			c.foreign = b.rec.foreign[c.id]
			if c.foreign {
				b.quality.Repeated++
			}
		}
	}
	if b.quality.Repeated == 0 {
		return
	}
	static := make(map[*thread]int64, len(b.threads))
	for _, t := range b.threads {
		static[t] = b.static(t)
	}
	for i := len(b.threads) - 1; i >= 0; i-- { // children first: they look at their parents' rounds
		b.takeOver(b.threads[i])
	}
	began := make([][]block, len(b.threads))
	for i, t := range b.threads {
		if k := t.leading(); k > 0 && k < len(t.rounds) {
			began[i] = b.contextAt(t, k-1)
		}
	}
	for i, t := range b.threads {
		b.mergeForeign(t, began[i])
	}
	b.dropEmpty()
	for _, t := range b.threads {
		t.refit(static[t] - b.static(t))
	}
	for _, t := range b.threads {
		for t.parent != nil && len(t.parent.rounds) == 0 {
			t.parent, t.ParentRound = t.parent.parent, -1
		}
		if t.parent == nil && t.Kind != traces.ThreadMain {
			t.Kind = traces.ThreadOrphan
		}
	}
}

// refit keeps the totals behind compactions when the static prefix before them
// has changed.
func (t *thread) refit(lost int64) {
	for i := range t.events {
		if t.events[i].Kind == traces.EventCompact {
			t.events[i].Kept = int32(max(0, int64(t.events[i].Kept)+lost))
		}
	}
}

// leading returns how many rounds at the start of a thread are others'.
func (t *thread) leading() int {
	n := 0
	for n < len(t.rounds) && t.rounds[n].call.foreign {
		n++
	}
	return n
}

// takeOver makes a branch that leaves its parent at a call of others a thread
// of its own, with the context it inherits as prefix.
func (b *builder) takeOver(t *thread) {
	if t.Kind != traces.ThreadBranch || len(t.rounds) == 0 {
		return
	}
	p := t.parent
	if t.ParentRound >= 0 && !p.rounds[t.ParentRound].call.foreign || t.ParentRound < 0 && p.leading() == 0 {
		return
	}
	t.prefix = b.contextAt(t.parent, int(t.ParentRound))
	t.Kind, t.parent, t.ParentRound = traces.ThreadOrphan, nil, -1
	t.MidContext = true
}

// contextAt returns what a thread's context holds after the reply of a round;
// for round -1 what it starts with.
func (b *builder) contextAt(t *thread, round int) []block {
	var list []block
	if t.Kind == traces.ThreadBranch {
		list = b.contextAt(t.parent, int(t.ParentRound))
	} else {
		list = slices.Clone(t.prefix)
	}
	next := 0
	for r := 0; r <= round; r++ {
		saved, absorbed := int32(0), int32(0)
		for ; next < len(t.events) && int(t.events[next].Round) <= r; next++ {
			if ev := &t.events[next]; ev.Kind == traces.EventCompact {
				list, saved, absorbed = compacted(list, ev, b.static(t)), 0, ev.Absorbed
			} else {
				saved += ev.Saved
			}
		}
		list = append(list, t.rounds[r].input[absorbed:]...)
		clearOldest(list, saved)
		list = append(list, t.rounds[r].reply...)
	}
	return list
}

// compacted is a context behind a compaction. static is the prefix that its
// total was fitted to: what an earlier event took from it is made up for.
func compacted(list []block, ev *event, static int64) []block {
	n := 0
	for n < len(list) && list[n].Kind.Level() != prompt.LevelMessages {
		n++
	}
	list = append(list[:n:n], ev.summary...)
	if rest := static + int64(ev.Kept) - tokens(list); rest > 0 {
		d := prompt.DigestString("kept").ExtendInt(uint64(ev.At)).ExtendInt(uint64(rest))
		list = append(list, block{Block: prompt.Block{
			Digest: blockDigest(prompt.KindUnseen, d), Tokens: int32(rest), Object: -1,
			Kind: prompt.KindUnseen, Flags: prompt.FlagDerived,
		}})
	}
	return list
}

// clearOldest takes what a recording lost from the oldest messages, and from
// the prefix when it lost more than its messages weigh.
func clearOldest(list []block, saved int32) {
	saved = take(list, saved, func(b *block) bool { return b.Kind.Level() == prompt.LevelMessages })
	take(list, saved, func(*block) bool { return true })
}

// take removes tokens from the blocks that match, in order, and returns how
// many it did not find.
func take(list []block, tokens int32, match func(*block) bool) int32 {
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
// what the leading ones left.
func (b *builder) mergeForeign(t *thread, began []block) {
	k := t.leading()
	if k == len(t.rounds) {
		t.rounds = nil
		return
	}
	if k > 0 {
		t.prefix = began
		t.MidContext, t.continued = true, true
		if t.Kind == traces.ThreadBranch {
			t.Kind, t.parent, t.ParentRound = traces.ThreadOrphan, nil, -1
		}
		t.start = t.rounds[k].began()
	}
	at := make([]int32, len(t.rounds)+1) // new index of each round, of the next own one for others'
	var own []round
	var left []block
	for r := range t.rounds {
		at[r] = int32(len(own))
		rd := t.rounds[r]
		if r < k {
			continue
		}
		if r > k && t.compactedAt(r) {
			left = nil // what came before is in the summary
		}
		rd.input = append(left, rd.input...)
		left = nil
		if rd.call.foreign {
			left = append(rd.input, rd.reply...)
			continue
		}
		own = append(own, rd)
	}
	at[len(t.rounds)] = int32(len(own))
	t.rounds = own
	t.events = slices.DeleteFunc(t.events, func(ev event) bool { return int(ev.Round) < k })
	t.moveEvents(at)
	b.moveChildren(t, at)
}

// moveEvents follows the rounds that events stand before. Blocks that an event
// absorbed are gone with the call they led to, or with a later compaction.
func (t *thread) moveEvents(at []int32) {
	for i := range t.events {
		ev := &t.events[i]
		was := ev.Round
		ev.Round = at[was]
		later := slices.ContainsFunc(t.events[i+1:], func(next event) bool {
			return next.Kind == traces.EventCompact && next.Round > was && at[next.Round] == ev.Round
		})
		if later || int(ev.Round) == len(t.rounds) {
			ev.Absorbed = 0
		}
	}
}

// compactedAt reports whether a compaction happened ahead of a round.
func (t *thread) compactedAt(round int) bool {
	return slices.ContainsFunc(t.events, func(ev event) bool {
		return ev.Kind == traces.EventCompact && int(ev.Round) == round
	})
}

// moveChildren follows the rounds that started other threads.
func (b *builder) moveChildren(t *thread, at []int32) {
	for _, c := range b.threads {
		if c.parent != t || c.ParentRound < 0 {
			continue
		}
		// The own round at or before the old one.
		c.ParentRound = at[c.ParentRound+1] - 1
	}
}

// began is the time of the first thing that is known of a round.
func (rd *round) began() int64 {
	if rd.inputAt != 0 {
		return rd.inputAt
	}
	return rd.call.first
}
