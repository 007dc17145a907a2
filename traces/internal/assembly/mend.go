package assembly

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Every API refuses a request that begins with the assistant or has a result
// without its call, so no recorded agent sent one, whatever the lines say.
// Lines that are missing, doubled or out of order are therefore mended here, so
// that what is simulated is well-formed.

// unanswered is the round of a result that is missing.
const unanswered = math.MaxInt32

// toolCall is a tool call of a thread, or one of its parent whose result the thread has.
type toolCall struct {
	made     int32 // round that has it; -1 before the first
	due      int32 // round whose input its result belongs to
	at       int32 // index in the input of that round if the call is part of an input; -1 for a reply
	answered int32 // round whose input has its result
	number   int32 // in the session
}

// calls are the tool calls of a thread by id, in their order.
type calls map[prompt.Digest][]*toolCall

// note adds the tool calls among blocks.
func (c calls) note(list []Block, made, due int32, input bool) {
	for i := range list {
		if b := &list[i]; b.Kind == prompt.KindToolUse && !b.ID.IsZero() {
			u := &toolCall{made: made, due: due, at: -1, answered: unanswered}
			if input {
				u.at = int32(i)
			}
			c[b.ID] = append(c[b.ID], u)
		}
	}
}

// open returns the last call of an id that comes before an index in the input
// of a round and has no result yet.
func (c calls) open(id prompt.Digest, round, at int32) *toolCall {
	for _, u := range slices.Backward(c[id]) {
		if ahead := u.due < round || u.due == round && u.at < at; ahead && u.answered == unanswered {
			return u
		}
	}
	return nil
}

// inherit returns the call of an id in the last response that a branch
// inherits, if the branch has its result.
func inherit(all map[*Thread]calls, t *Thread, id prompt.Digest) *toolCall {
	for ; t.Kind == traces.ThreadBranch && t.Up != nil; t = t.Up {
		for _, u := range slices.Backward(all[t.Up][id]) {
			if u.made == t.ParentRound && u.due > t.ParentRound && u.answered > t.ParentRound {
				return &toolCall{made: -1, at: -1, answered: unanswered, number: u.number}
			}
		}
		if t.ParentRound >= 0 {
			break
		}
	}
	return nil
}

// answer returns the call that a result at an index of a round's input answers,
// nil for none, and marks it as answered.
func answer(all map[*Thread]calls, t *Thread, id prompt.Digest, round, at int32) *toolCall {
	if id.IsZero() {
		return nil
	}
	u := all[t].open(id, round, at)
	if u == nil && len(all[t][id]) == 0 {
		if u = inherit(all, t, id); u != nil {
			all[t][id] = append(all[t][id], u)
		}
	}
	if u != nil {
		u.answered = round
	}
	return u
}

// mend moves the results of tools to where they belong: after their call,
// before the next request, and on the call's side of a compaction. A result
// whose call is not in the recording stays, without an id. Parents come before
// their branches.
func (s *Session) mend() {
	all := make(map[*Thread]calls, len(s.Threads))
	for _, t := range s.Threads {
		all[t] = calls{}
		for r := range t.Calls {
			all[t].note(t.Calls[r].Before, int32(r), int32(r), true)
			all[t].note(t.Calls[r].Reply, int32(r), int32(r)+1, false)
		}
		moved, compacts := map[int32][]Block{}, map[int32][]*Event{}
		for i := range t.Happened {
			if ev := &t.Happened[i]; ev.Kind == traces.EventCompact {
				compacts[ev.Round] = append(compacts[ev.Round], ev)
			}
		}
		for r := range t.Calls {
			s.mendInput(all, t, int32(r), compacts[int32(r)], moved)
		}
		for r := range int32(len(t.Calls)) { // a result may be due behind the last call
			if results := moved[r]; len(results) > 0 {
				t.insert(r, results, compacts[r])
			}
		}
	}
}

// mendInput removes the results that belong elsewhere from the input of a round, which compacts precede.
func (s *Session) mendInput(all map[*Thread]calls, t *Thread, round int32, compacts []*Event, moved map[int32][]Block) {
	rd := &t.Calls[round]
	kept, n, answered := rd.Before, 0, false // as they are up to the first one that is removed
	for i := range rd.Before {
		b := &rd.Before[i]
		if b.Kind != prompt.KindToolResult || b.ID.IsZero() {
			if n++; n <= i {
				kept = append(kept, *b)
			}
			continue
		}
		due, at := s.due(all, t, b, round, int32(i))
		here := int32(n)
		behind := slices.ContainsFunc(compacts, func(ev *Event) bool { return at < ev.Absorbed && ev.Absorbed <= here })
		if due == round && !behind {
			if n, answered = n+1, true; n <= i {
				kept = append(kept, *b)
			}
			continue
		}
		if n == i {
			kept = slices.Clone(rd.Before[:n])
		}
		moved[due] = append(moved[due], *b)
		for _, ev := range compacts {
			if here < ev.Absorbed {
				ev.Absorbed--
			}
		}
	}
	if n < len(rd.Before) {
		rd.Before, rd.Answered = kept, answered
	}
}

// due returns the round whose input a result belongs to, and the index of its
// call in that input, -1 when the call comes before it. Without a call the
// result stays where it is, and its id is removed.
func (s *Session) due(all map[*Thread]calls, t *Thread, b *Block, round, place int32) (due, at int32) {
	if u := answer(all, t, b.ID, round, place); u != nil {
		return u.due, u.at
	}
	for _, u := range all[t][b.ID] {
		if u.answered == unanswered && int(u.due) < len(t.Calls) {
			u.answered = u.due
			s.Problem(Place{b.Source, b.Line}, "tool result before its call; it is put after it")
			return u.due, u.at
		}
	}
	s.Problem(Place{b.Source, b.Line}, "tool result without its call")
	b.ID = prompt.Digest{}
	return round, math.MaxInt32
}

// insert adds results to the input of a round, before its compactions.
func (t *Thread) insert(round int32, results []Block, compacts []*Event) {
	rd := &t.Calls[round]
	rd.Answered = true
	at := int32(len(rd.Before))
	for _, ev := range compacts {
		at = min(at, ev.Absorbed)
		ev.Absorbed += int32(len(results))
	}
	rd.Before = slices.Insert(rd.Before, int(at), results...)
}

// number gives tool calls their numbers and results the numbers of their calls. It
// runs last: calls may have been removed because earlier sessions own them.
func (s *Session) number() {
	all := make(map[*Thread]calls, len(s.Threads))
	n := int32(0)
	for _, t := range s.Threads {
		c := calls{}
		all[t] = c
		pass := func(list []Block, round, due int32) {
			for i := range list {
				switch b := &list[i]; {
				case b.ID.IsZero():
				case b.Kind == prompt.KindToolUse:
					n++
					b.call = n
					c[b.ID] = append(c[b.ID], &toolCall{made: round, due: due, at: -1, answered: unanswered, number: n})
				case b.Kind == prompt.KindToolResult:
					if u := answer(all, t, b.ID, round, math.MaxInt32); u != nil {
						b.call = u.number
					}
				}
			}
		}
		pass(t.Ahead, -1, 0)
		for r := range t.Calls {
			pass(t.Calls[r].Before, int32(r), int32(r))
			pass(t.Calls[r].Reply, int32(r), int32(r)+1)
		}
	}
}

// address inserts an empty message before the first message of a conversation when that
// is the assistant's or missing: what the assistant answers is not in the recording.
// Reminders and listings of the client, which some calls lack, do not count as messages.
// A branch from the start of a thread begins as the thread does.
func (s *Session) address(t *Thread) {
	root := t
	for root.Kind == traces.ThreadBranch && root.Up != nil {
		if root.ParentRound >= 0 {
			return
		}
		root = root.Up
	}
	said := func(b Block) bool {
		return b.Kind.Level() == prompt.LevelMessages && b.Kind != prompt.KindReminder && b.Flags&prompt.FlagListing == 0
	}
	at := slices.IndexFunc(root.Ahead, said)
	rd := &t.Calls[0]
	list, first := &root.Ahead, (*Block)(nil)
	switch {
	case at >= 0:
		first = &root.Ahead[at]
	default:
		if i := slices.IndexFunc(rd.Before, said); i >= 0 {
			first = &rd.Before[i]
		}
	}
	if first != nil && !first.Kind.Assistant() {
		return
	}
	switch {
	case root != t:
		list, at = &rd.Before, 0
		for i := range t.Happened {
			if ev := &t.Happened[i]; ev.Kind == traces.EventCompact && ev.Round == 0 {
				ev.Absorbed++
			}
		}
	case at < 0:
		at = len(t.Ahead)
	}
	*list = slices.Insert(*list, at, Block{Block: UnseenBlock(rd.ID, 0)})
	s.Problem(rd.Place, "call %s answers a message that is not in the recording", rd.ID)
}
