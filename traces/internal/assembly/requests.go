package assembly

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Request is a call of a log in which every call stands by itself and shows, or
// may show, all that was sent.
type Request struct {
	Place
	Nth               int // in the order of the files and their lines
	ID, Model         string
	Session           string // that names it, as far as is known with its project and the version of its client
	Project, Version  string
	USD               float64
	Start, First, End int64 // unix ns, 0 if unknown
	Usage             Usage
	Summaries         []Usage // usages of Call
	// Lane names the conversation of the session that the call belongs to: "" for
	// the main one, else the name of a sub-agent's, which Starter started.
	Lane    string
	Turn    string // that a person's prompt began, as far as is known
	Starter prompt.Digest
	Head    prompt.Digest // of tools and system prompt, zero if they are not shown
	// Ahead are blocks of tools and system prompt, without sizes; see Show.
	Ahead []Block
	// System is the text of the system prompt, to find where it changed; nil if it is not kept.
	System []byte
	// Messages are all that was sent, nil if they are not shown. Then Results are the results of the
	// tools of the call before.
	Messages []*Message
	Results  []Block
	Reply    []Block
	Signs
	// Breakpoints are what a whole request has of them, nil where the log does not show them.
	Breakpoints *traces.Breakpoints
}

// Signs is what a log says of a call beside its usage and content.
type Signs struct {
	Prompted  bool // where no messages are shown: a person's prompt preceded it
	Compacted bool // the log says that a compaction preceded it
	Open      bool // the log lacks the final count of its output
	Whole     bool // the log shows messages, and a head, as they were sent: what they changed is known
	// Says holds whether the counts say what was read, and what was written, if only that it was nothing.
	Says [2]bool
}

// Adopt takes from another report of the same call what this one lacks: lifetimes of writes, content,
// an id of the response and a cost.
func (r *Request) Adopt(o *Request) {
	if r.Usage.Assumed && !o.Usage.Assumed || o.Usage.Reasoning > r.Usage.Reasoning {
		r.Usage = o.Usage
	}
	if len(o.Model) > len(r.Model) { // with terms of service
		r.Model = o.Model
	}
	if r.Messages == nil {
		r.Messages, r.Head, r.Ahead = o.Messages, o.Head, o.Ahead
	}
	if len(r.Reply) == 0 {
		r.Reply = o.Reply
	}
	if len(r.Summaries) == 0 {
		r.Summaries = o.Summaries
	}
	if r.USD == 0 {
		r.USD = o.USD
	}
	r.Says = [2]bool{r.Says[0] || o.Says[0], r.Says[1] || o.Says[1]}
	if o.First > o.Start && o.First < o.End && r.First == r.End {
		r.First = o.First
	}
}

// placed is a request with what it goes on from.
type placed struct {
	*Request
	parent  int32      // index in the history, -1 for none
	fresh   []*Message // of the messages, those behind what the parent sent and its answer
	compact bool
	stayed  []*Message // of a compaction: messages that the history had
	summary *Message
	made    *Request   // the call that wrote it, nil where the log has none
	pieces  []*Request // calls that wrote pieces of the summary, made aside
	cleared []*Message // messages of the parent that it left out, or has in another form
	added   []*Message // what it has in their place
	verdict signs.Verdict
	parted  int32
	shrunk  float64 // share of the parent's tools and system prompt, by bytes, that a shorter system prompt lacks
	grown   []Block // what tools and system prompt have more than the parent's
	answers bool    // no messages are shown, and the reply before it calls tools
}

// history is the calls of one conversation, in their order.
type history struct {
	lane  string
	calls []placed
	forms forms           // of messages of earlier calls, by what later ones have in their place
	lists []prompt.Digest // of tools that were sent, in order
}

// maxLeft is how many calls back a request is looked for to go on from.
const maxLeft = 64

// Conversations divides the requests of a session into threads. A request goes on
// from the call whose messages it repeats. One that repeats none opens a
// conversation, or follows a compaction: if the conversation of the same head that
// ended last was longer, and is never gone on from. Requests that show no messages
// go on from the last call of their lane that had ended, and answer the tools that it called. One that begins with the task of a
// tool call is the sub-agent's that the call started.
func Conversations(session string, list []*Request) []*Thread {
	slices.SortStableFunc(list, func(a, b *Request) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	all := inOrder(list)
	slices.SortStableFunc(all, func(a, b *history) int { return cmp.Compare(a.calls[0].Start, b.calls[0].Start) })
	startedBy(all, list)
	return threads(session, summarised(join(all)))
}

// histories divides requests, in their order, into conversations. The one that was gone on from last comes first.
func histories(list []*Request) (all []*history) {
	for _, r := range list {
		at := slices.IndexFunc(all, func(h *history) bool { return h.lane == r.Lane && h.extend(r) })
		if at < 0 {
			h := &history{lane: r.Lane}
			h.calls = append(h.calls, placed{Request: r, parent: -1, fresh: r.Messages, compact: r.Compacted})
			all = append(all, h)
			continue
		}
		h := all[at] // the latest first, so that a request goes on from what was said last
		copy(all[1:at+1], all[:at])
		all[0] = h
	}
	return all
}

// startedBy names the tool calls that started conversations, by the tasks they gave.
func startedBy(all []*history, list []*Request) {
	tasks := map[prompt.Digest]prompt.Digest{}
	for _, r := range list {
		for i := range r.Reply {
			if t := r.Reply[i].Task; t != nil {
				tasks[t.Prompt] = r.Reply[i].ID
			}
		}
	}
	for _, h := range all {
		if r := h.calls[0].Request; r.Starter.IsZero() && len(r.Messages) > 0 {
			for _, b := range r.Messages[0].Blocks {
				if id, ok := tasks[b.Digest]; ok {
					r.Starter = id
				}
			}
		}
	}
}

// extend adds a request to the history if it goes on from one of its calls.
func (h *history) extend(r *Request) bool {
	last := len(h.calls) - 1
	if end := &h.calls[last]; r.Messages == nil || end.Messages == nil {
		if r.Messages != nil || end.Messages != nil || r.Start < end.End && !r.before(end.Request) {
			return false // it was made beside that one
		}
		h.calls = append(h.calls, placed{Request: r, parent: int32(last), compact: r.Compacted, answers: callsTool(end.Reply)})
		return true
	}
	if end := &h.calls[last]; common(end.Messages, r.Messages) < len(end.Messages) && h.edited(r) {
		return true
	}
	for i := last; i >= max(0, last-maxLeft); i-- {
		c := &h.calls[i]
		n, k := len(c.Messages), common(c.Messages, r.Messages)
		switch {
		case k == 0:
			return false
		case i < last && c.beside(r): // a call that reads the beginning of the conversation, as for a summary
		case k == n && k == len(r.Messages): // sent again
			h.calls = append(h.calls, placed{Request: r, parent: c.parent, fresh: c.fresh})
			return true
		case i < last && k == n && r.Messages[n].Assistant && !h.answered(n, r):
		case k == n && (i == last || r.Messages[n].Assistant),
			i == last && len(r.Messages) > n && r.Messages[n].Assistant: // something that was said before is another now
			if e := inPlace(c.Messages, r.Messages); e != nil {
				h.edit(i, e, r, nil)
			} else {
				h.follow(i, r)
			}
			return true
		}
	}
	return false
}

// answered reports whether a request has the answer that the last call has behind as many messages, or whether that has none.
func (h *history) answered(n int, r *Request) bool {
	end := h.end().Messages
	return n >= len(end) || end[n].Digest == r.Messages[n].Digest || common(end, r.Messages) < n
}

// callsTool reports whether a reply calls a tool.
func callsTool(reply []Block) bool {
	return slices.ContainsFunc(reply, func(b Block) bool { return b.Kind == prompt.KindToolUse })
}

// follow adds a request behind a call. Messages of the assistant right behind what
// that sent are its answer.
func (h *history) follow(i int, r *Request) {
	rest := r.Messages[len(h.calls[i].Messages):]
	answer := 0
	for answer < len(rest) && rest[answer].Assistant {
		answer++
	}
	if c := h.calls[i].Request; len(c.Reply) == 0 {
		for _, m := range rest[:answer] {
			c.Reply = append(c.Reply, m.Blocks...)
		}
	}
	p := placed{Request: r, parent: int32(i), fresh: rest[answer:], compact: r.Compacted}
	if r.Whole {
		p.part(h.calls[i].Request)
	}
	if p.verdict == signs.VerdictTools {
		p.parted = h.list(r)
	}
	h.calls = append(h.calls, p)
}

// list returns the number of a request's list of tools, from 1.
func (h *history) list(r *Request) int32 {
	number := func(r *Request) int32 {
		d := prompt.Digest{Hi: 1}
		for _, b := range tools(r.Ahead) {
			d = d.Extend(b.Digest)
		}
		if !slices.Contains(h.lists, d) {
			h.lists = append(h.lists, d)
		}
		return int32(slices.Index(h.lists, d)) + 1
	}
	number(h.calls[0].Request)
	return number(r)
}

// join appends histories to those that they go on from behind a compaction.
func join(all []*history) (list []*history) {
	for _, h := range all {
		var before *history
		for _, b := range list {
			if b.compactedInto(h) && (before == nil || b.end().End > before.end().End) {
				before = b
			}
		}
		if before == nil {
			list = append(list, h)
			continue
		}
		first := &h.calls[0]
		first.replaces(before.end().Messages)
		if last := before.end(); last.parent >= 0 && first.summary != nil && last.wrote(first.summary) && asks(last.fresh) {
			first.made = last.Request // it sent the messages themselves, and asked for a summary
			before.calls = before.calls[:len(before.calls)-1]
			first.replaces(before.end().Messages)
		}
		n := int32(len(before.calls))
		for i := range h.calls {
			if h.calls[i].parent >= 0 {
				h.calls[i].parent += n
			}
		}
		first.parent = n - 1
		before.calls = append(before.calls, h.calls...)
	}
	return list
}

// asks reports whether the newest of some messages is no result of a tool: what answers a result ends a turn.
func asks(fresh []*Message) bool {
	return len(fresh) > 0 && !isResult(fresh[len(fresh)-1:])
}

// leastCompacted is the least number of messages that a summary takes the place of.
const leastCompacted = 4

func (h *history) end() *placed { return &h.calls[len(h.calls)-1] }

// compactedInto reports whether next is what a compaction made of a history. Two calls that nothing goes on from are no conversation: a
// program asks for each of its summaries by one call, of other messages.
func (h *history) compactedInto(next *history) bool {
	a, b := h.end(), &next.calls[0]
	return h.lane == next.lane && len(h.calls)+len(next.calls) > 2 && (b.Starter.IsZero() || b.Starter == h.calls[0].Starter && h.lane != "") && a.Head == b.Head && a.End <= b.Start && len(a.Messages) >= leastCompacted &&
		b.Messages != nil && len(b.Messages) < len(a.Messages) && b.Usage.Input() < a.Usage.Input()
}

// replaces says that the messages of a call take the place of a history. The first
// that is not from there is the summary.
func (p *placed) replaces(old []*Message) {
	had, has := map[prompt.Digest]bool{}, map[prompt.Digest]bool{}
	for _, m := range p.Messages {
		has[m.Digest] = true
	}
	p.compact, p.fresh, p.stayed, p.summary, p.cleared = true, nil, nil, nil, nil
	for _, m := range old {
		if had[m.Digest] = true; !has[m.Digest] {
			p.cleared = append(p.cleared, m)
		}
	}
	for _, m := range p.Messages {
		switch {
		case had[m.Digest]:
			p.stayed = append(p.stayed, m)
		case p.summary == nil:
			p.summary = m
		default:
			p.fresh = append(p.fresh, m)
		}
	}
}

// threads makes threads of histories: the main conversation first, then sub-agents and calls
// beside it.
func threads(session string, all []*history) (list []*Thread) {
	if i := slices.IndexFunc(all, func(h *history) bool { return h.lane == "" }); i > 0 {
		h := all[i]
		copy(all[1:i+1], all[:i])
		all[0] = h
	}
	var root *Thread
	for i, h := range all {
		tree := Tree{File: h.calls[0].Source}
		for k := range h.calls {
			tree.Add(h.calls[k].parent, h.calls[k].steps())
		}
		for _, t := range tree.Threads(session) {
			if t.Kind == traces.ThreadMain {
				t.Ahead = slices.Clone(h.calls[0].Ahead)
			}
			if i > 0 && t.Kind == traces.ThreadMain && len(t.Calls) > 0 {
				t.Kind, t.ID, t.Starter = traces.ThreadAgent, cmp.Or(h.lane, t.Calls[0].ID), h.calls[0].Starter
				if t.Starter.IsZero() && root != nil {
					t.Up, t.ParentRound = root, latestBefore(root, t.Began)
				}
			} else if root == nil {
				root = t
			}
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *Thread) int { return cmp.Compare(a.Kind, b.Kind) })
	return list
}

// digests returns the digests of the blocks of messages.
func digests(list []*Message) (all []prompt.Digest) {
	for _, m := range list {
		for i := range m.Blocks {
			all = append(all, m.Blocks[i].Digest)
		}
	}
	return all
}

// head returns a call's tools and system prompt with their share of what it sent.
func (r *Request) head() []Block {
	c := Round{Call: &Call{Usage: r.Usage, Breakpoints: r.Breakpoints}}
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			b.Tokens = b.Bytes / bytesPerToken
			c.Before = append(c.Before, b)
		}
	}
	return sizeHead(&Thread{Ahead: slices.Clone(r.Ahead), Calls: []Round{c}})
}

// steps returns the steps of a call.
func (p *placed) steps() []Step {
	var steps []Step
	add := func(s Step) {
		s.Line, s.Source = p.Line, p.Source
		steps = append(steps, s)
	}
	if p.compact {
		s := Step{Kind: StepCompact, At: p.Start, Uncalled: p.Whole && p.made == nil, Dropped: digests(p.cleared)}
		if c := p.made; c != nil {
			s.Model, s.Usage = c.Model, c.Usage
			for _, o := range p.pieces {
				s.Usage.Add(&o.Usage.Usage)
				s.Usage.OK = s.Usage.OK && o.Usage.OK
			}
			if n := len(p.pieces); n > 0 {
				s.Calls = int32(n) + 1
			}
			s.Usage.Bad, s.Aside = !c.Usage.OK, 2*c.Usage.Read < c.Usage.Input() || c.apart(p.Request)
			if s.Aside {
				s.Blocks = c.head()
			}
		}
		for _, m := range p.stayed {
			s.Blocks = append(s.Blocks, m.Blocks...)
		}
		if p.summary != nil {
			for _, b := range p.summary.Blocks {
				if b.Kind == prompt.KindPrompt {
					b.Kind = prompt.KindSummary
				}
				s.Blocks = append(s.Blocks, b)
			}
		}
		add(s)
	}
	if len(p.cleared) > 0 && !p.compact {
		add(Step{Kind: StepClear, At: p.Start, Dropped: digests(p.cleared), Gone: len(p.added) == 0})
	}
	if len(p.grown) > 0 {
		add(Step{Kind: StepInput, At: p.Start, Blocks: p.grown})
	}
	input, result := Step{Kind: StepInput, At: p.Start}, Step{Kind: StepResult, At: p.Start, Blocks: slices.Clone(p.Results)}
	for _, m := range p.fresh {
		for _, b := range m.Blocks {
			if b.Kind == prompt.KindToolResult {
				result.Blocks = append(result.Blocks, b)
			} else {
				input.Blocks = append(input.Blocks, b)
			}
		}
	}
	if p.Messages == nil && p.Prompted {
		input.Blocks = append(input.Blocks, Maker{}.Text(prompt.KindPrompt, ""))
	}
	if len(result.Blocks) > 0 || p.answers && !p.Prompted {
		add(result)
	}
	add(input)
	add(Step{Kind: StepReply, At: p.End, First: p.First, ID: p.ID, Blocks: slices.Clone(p.Reply)})
	add(Step{
		Kind: StepCount, At: p.End, ID: p.ID, Model: p.Model, Usage: p.Usage, Summaries: p.Summaries, Final: p.Usage.OK && !p.Open,
		Verdict: p.verdict, Parted: p.parted, Shrunk: p.shrunk, Breakpoints: p.Breakpoints,
	})
	return steps
}
