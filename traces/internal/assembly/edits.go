package assembly

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
)

// A program that keeps its context small drops the oldest messages, puts shorter ones in their places, or
// puts a summary in the place of several. Such a request need not begin as the one before it did: that it goes on
// from there shows in the messages that both have, in their order, the newest one included. Where
// the log has no call that wrote a summary, what came in the place of messages is another form of
// these.

// edit is what a request made of the messages of another.
type edit struct {
	stayed  []*Message // in their order, the newest among them
	dropped []*Message
	added   []*Message // ahead of the newest that stayed
	moved   *Message   // the first that stayed behind one of them
	answer  []*Message // of the assistant, right behind it
	fresh   []*Message // behind the answer
	forms   forms      // of messages that were dropped, by what was added in their place
}

// forms has the messages that others stand for, by the digests of those.
type forms map[prompt.Digest][]*Message

// first returns messages as they were said first, each once: what several forms stand for overlaps where a program shortens the same
// messages again and again.
func (f forms) first(list []*Message) (all []*Message) {
	told := map[*Message]bool{}
	for _, m := range list {
		said, ok := f[m.Digest]
		if !ok {
			all = append(all, m)
			continue
		}
		for _, m := range said {
			if !told[m] {
				told[m] = true
				all = append(all, m)
			}
		}
	}
	return all
}

// editOf compares two lists of messages, given what answered the old ones. It is nil if neither the newest of these
// nor their answer alone stayed.
func editOf(old, now []*Message, reply []Block) *edit {
	if len(old) == 0 || len(now) == 0 {
		return nil
	}
	find := func(d prompt.Digest) int {
		i := len(now) - 1
		for i >= 0 && now[i].Digest != d {
			i--
		}
		return i
	}
	end, answered := find(old[len(old)-1].Digest), false // where the newest of the old ones is, or else their answer
	if end < 0 && len(reply) > 0 {
		end, answered = find(NewMessage(true, reply).Digest), true
	}
	if end < 0 || answered && end == len(now)-1 { // a program that asks of an answer alone asks something else
		return nil
	}
	places := map[prompt.Digest][]int{}
	for i, m := range old {
		places[m.Digest] = append(places[m.Digest], i)
	}
	e := &edit{forms: forms{}}
	next := 0 // of the old ones
	var added []*Message
	gap := func(to int) {
		gone := old[next:to]
		for i, m := range added {
			if n := len(gone); n > 0 {
				e.forms[m.Digest] = gone[min(i, n-1):][:1]
			}
		}
		if len(added) > 0 && len(added) < len(gone) {
			e.forms[added[len(added)-1].Digest] = gone[len(added)-1:]
		}
		e.dropped, e.added = append(e.dropped, gone...), append(e.added, added...)
		added = nil
	}
	ahead := now[:end]
	if !answered {
		ahead = now[:end+1]
	}
	for i, m := range ahead {
		at := len(old) - 1
		if i < end {
			if at = later(places[m.Digest], next); at < 0 || at == len(old)-1 {
				added = append(added, m)
				continue
			}
		}
		if gap(at); len(e.added) > 0 && e.moved == nil {
			e.moved = m
		}
		e.stayed, next = append(e.stayed, m), at+1
	}
	gap(len(old))
	rest := now[len(ahead):]
	for len(e.answer) < len(rest) && rest[len(e.answer)].Assistant {
		e.answer = rest[:len(e.answer)+1]
	}
	e.fresh = rest[len(e.answer):]
	return e
}

// inPlace compares two lists of messages of which the second has results of tools, the newest one among them, in another form at the same
// places: shorter ones, as programs make of results that have been answered. It is nil where anything else differs.
func inPlace(old, now []*Message) *edit {
	e, saved := &edit{forms: forms{}}, 0
	for i, m := range old {
		switch n := now[i]; {
		case n.Digest == m.Digest:
			e.stayed = append(e.stayed, m)
		case len(m.Blocks) == 0 || len(n.Blocks) != len(m.Blocks):
			return nil
		default:
			for k := range m.Blocks {
				if a, b := &m.Blocks[k], &n.Blocks[k]; a.Kind != prompt.KindToolResult || b.Kind != a.Kind || a.ID != b.ID {
					return nil
				}
				saved += int(m.Blocks[k].Bytes) - int(n.Blocks[k].Bytes)
			}
			e.dropped, e.added, e.forms[n.Digest] = append(e.dropped, m), append(e.added, n), []*Message{m}
		}
	}
	if len(e.dropped) == 0 || saved <= 0 {
		return nil
	}
	rest := now[len(old):]
	for len(e.answer) < len(rest) && rest[len(e.answer)].Assistant {
		e.answer = rest[:len(e.answer)+1]
	}
	e.fresh = rest[len(e.answer):]
	return e
}

// later returns the first place from one on, -1 for none.
func later(places []int, from int) int {
	if i, _ := slices.BinarySearch(places, from); i < len(places) {
		return places[i]
	}
	return -1
}

// edited adds a request that goes on from the last call, or from the call that this one summarised, with other messages.
func (h *history) edited(r *Request) bool {
	last := len(h.calls) - 1
	from := &h.calls[last]
	if r.Start < from.End {
		return false
	}
	e := editOf(from.Messages, r.Messages, from.Reply)
	if e != nil && len(e.answer) == 0 && len(e.dropped) > 0 && len(e.stayed) == 1 {
		e = nil // the same question of other messages, as programs ask for each summary
	}
	switch same := from.Head == r.Head; {
	case e != nil && (same || e.answers(from.Reply)):
		h.edit(last, e, r, nil)
		return true
	case !same:
		return false
	}
	if up := from.parent; up >= 0 && up < int32(last) {
		e := editOf(h.calls[up].Messages, r.Messages, nil)
		if e != nil && len(e.added) > 0 && from.wrote(e.added[0]) {
			made := from.Request
			h.calls = h.calls[:last]
			h.edit(int(up), e, r, made)
			return true
		}
	}
	return false
}

// answers reports whether a reply follows messages that stayed. It shows under another head that a request goes on from the call before: a
// program that writes its summaries into the system prompt has another one behind each.
func (e *edit) answers(reply []Block) bool {
	return len(reply) > 0 && len(e.stayed) > 0 && len(e.answer) > 0 && e.answer[0].Digest == NewMessage(true, reply).Digest
}

// edit adds a request behind a call whose messages it edited.
func (h *history) edit(i int, e *edit, r *Request, made *Request) {
	c := h.calls[i].Request
	if len(c.Reply) == 0 {
		for _, m := range e.answer {
			c.Reply = append(c.Reply, m.Blocks...)
		}
	}
	p := placed{Request: r, parent: int32(i), stayed: e.stayed, fresh: e.fresh, cleared: h.forms.first(e.dropped), added: e.added}
	switch {
	case made != nil || r.Compacted:
		p.summarise(made)
	case len(e.dropped) == 0 && e.moved != nil: // a program that takes messages out of the middle put some back
		p.cleared, p.added = []*Message{e.moved}, nil
	default:
		for d, list := range e.forms {
			if h.forms == nil {
				h.forms = forms{}
			}
			h.forms[d] = h.forms.first(list)
		}
	}
	if r.Whole {
		p.part(c)
	}
	h.calls = append(h.calls, p)
}

// summarise makes an edit a compaction, whose summary a call wrote.
func (p *placed) summarise(by *Request) {
	p.compact, p.made = true, by
	if len(p.added) > 0 {
		p.summary, p.fresh, p.added = p.added[0], slices.Concat(p.added[1:], p.fresh), nil
	}
}

// mostWrapped is how many bytes a program puts around a summary at most.
const mostWrapped = 2048

// wrote reports whether a call can have written a summary: its reply is a text of that length, but for what is around it.
func (r *Request) wrote(summary *Message) bool {
	said, in := texts(r.Reply), bytesOf([]*Message{summary})
	return said > 0 && said <= in && in-said <= mostWrapped && in <= 4*said
}

// texts returns the bytes of a reply that calls no tool, 0 for one that does.
func texts(reply []Block) (n int) {
	for i := range reply {
		switch b := &reply[i]; b.Kind {
		case prompt.KindToolUse:
			return 0
		case prompt.KindText:
			n += int(b.Bytes)
		}
	}
	return n
}

// bytesOf returns the bytes of messages.
func bytesOf(list []*Message) (n int) {
	for _, m := range list {
		for i := range m.Blocks {
			n += int(m.Blocks[i].Bytes)
		}
	}
	return n
}

// isResult reports whether the first of some messages is the result of a tool: another form of that result, and no summary.
func isResult(added []*Message) bool {
	return len(added) > 0 && len(added[0].Blocks) > 0 && added[0].Blocks[0].Kind == prompt.KindToolResult
}

// summarised finds the calls that wrote the summaries of compactions among the conversations of one call, and takes
// them out of the list: a call between the last one and the compaction whose answer is as long as the summary, or the only
// one there if it sent more than the summary holds. Its summary may be the same text as the one before. Calls beside it that ask the same of
// other messages wrote pieces of the summary.
func summarised(all []*history) []*history {
	taken := map[*history]bool{}
	for _, h := range all {
		for k := range h.calls {
			p := &h.calls[k]
			if p.made != nil || p.parent < 0 || !p.compact && (len(p.cleared) == 0 || isResult(p.added)) {
				continue
			}
			var summary []*Message // one, or none
			if summary = p.added[:min(1, len(p.added))]; p.summary != nil {
				summary = []*Message{p.summary}
			}
			var made, only *history
			var between []*history
			for _, o := range all {
				c := o.calls[0].Request
				if o == h || taken[o] || len(o.calls) > 1 || c.Start < h.calls[p.parent].End || c.End > p.Start || texts(c.Reply) == 0 {
					continue
				}
				if between = append(between, o); c.Head != p.Head && bytesOf(c.Messages) > bytesOf(summary) {
					only = o
				}
				if len(summary) > 0 && c.wrote(summary[0]) {
					made = o
				}
			}
			if made == nil && len(between) == 1 {
				made = only
			}
			if made == nil {
				continue
			}
			taken[made] = true
			p.summarise(made.calls[0].Request)
			for _, o := range between {
				if c := o.calls[0].Request; o != made && c.Head == p.made.Head && c.Head != p.Head {
					taken[o], p.pieces = true, append(p.pieces, c)
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(h *history) bool { return taken[h] })
}

// part says how a request differs from the one before it.
func (p *placed) part(before *Request) {
	p.verdict = p.compare(before)
	p.parted = p.parts(before)
	n := headBytes(p.Request) - headBytes(before)
	if p.verdict != signs.VerdictSystem {
		return
	}
	if n <= -bytesPerToken {
		p.shrunk = -float64(n) / float64(headBytes(before))
	}
	if n >= bytesPerToken {
		b := Derived(prompt.KindSystem, p.Head, int64(n/bytesPerToken))
		b.Bytes = int32(n)
		p.grown = []Block{{Block: b}}
	}
}

// compare says what a request changed of the one before it.
func (p *placed) compare(before *Request) signs.Verdict {
	switch {
	case p.Model != before.Model:
		return signs.VerdictModel
	case p.Head != before.Head:
		same := slices.EqualFunc(tools(p.Ahead), tools(before.Ahead), func(a, b Block) bool { return a.Digest == b.Digest })
		if same {
			return signs.VerdictSystem
		}
		return signs.VerdictTools
	case common(p.Messages, before.Messages) < len(before.Messages):
		return signs.VerdictMessages
	}
	return signs.VerdictSame
}

// parts returns where a request parts from the one before it: the message, or the byte of the system prompt, from 1.
func (p *placed) parts(before *Request) int32 {
	if p.verdict != signs.VerdictSystem {
		return int32(common(p.Messages, before.Messages)) + 1
	}
	n := 0
	for n < min(len(p.System), len(before.System)) && p.System[n] == before.System[n] {
		n++
	}
	return int32(n) + 1
}

// tools returns the blocks of tools at the beginning of a head.
func tools(head []Block) []Block {
	n := 0
	for n < len(head) && head[n].Kind == prompt.KindTools {
		n++
	}
	return head[:n]
}

// common returns how many messages two lists begin with.
func common(a, b []*Message) int {
	n := 0
	for n < min(len(a), len(b)) && a[n].Digest == b[n].Digest {
		n++
	}
	return n
}

// apart reports whether two requests begin with different tools, or with different system prompts where they have none: they share no prefix.
func (r *Request) apart(o *Request) bool {
	return len(r.Ahead) > 0 && len(o.Ahead) > 0 && r.Ahead[0].Digest != o.Ahead[0].Digest
}

// beside reports whether a request has neither the tools nor any of the system prompt of another: the program asks something else of the model.
func (r *Request) beside(o *Request) bool {
	same := func(a, b Block) bool { return a.Digest == b.Digest }
	return r.Whole && o.Whole && r.Head != o.Head && !slices.ContainsFunc(r.Ahead, func(a Block) bool {
		return slices.ContainsFunc(o.Ahead, func(b Block) bool { return same(a, b) })
	})
}
