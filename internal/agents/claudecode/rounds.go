package claudecode

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// filler walks over the nodes of a path and gathers input until a response.
type filler struct {
	b       *builder
	t       *tree
	th      *thread
	pending []block
	at      int64 // time of the last pending line
	text    bool
	answers bool
	usedBy  map[prompt.Digest]int // tool call → round
	results map[prompt.Digest]bool
}

// fill makes the rounds and events of a thread from the nodes of its path.
func (b *builder) fill(t *tree, th *thread, nodes []int32) {
	f := &filler{b: b, t: t, th: th, usedBy: map[prompt.Digest]int{}, results: map[prompt.Digest]bool{}}
	for _, i := range nodes {
		th.start = earlier(th.start, t.nodes[i].at)
	}
	if len(nodes) > 0 && t.nodes[nodes[0]].at != 0 {
		th.start = t.nodes[nodes[0]].at
	}
	f.replies(th.parent)
	for _, i := range th.inherited {
		f.node(i, nil)
	}
	for k, i := range nodes {
		f.node(i, nodes[k+1:])
	}
}

// replies remembers the tool calls a branch inherits.
func (f *filler) replies(parent *thread) {
	for ; parent != nil; parent = parent.parent {
		for r := range parent.rounds {
			for i := range parent.rounds[r].reply {
				if bl := &parent.rounds[r].reply[i]; bl.Kind == prompt.KindToolUse {
					f.usedBy[bl.id] = -1
				}
			}
		}
	}
}

func (f *filler) node(i int32, later []int32) {
	n := &f.t.nodes[i]
	switch {
	case n.call != nil:
		f.call(i, n.call)
	case n.kind == recordCompact, n.kind == recordMicrocompact:
		f.boundary(n, later)
	case n.has(flagSummary):
		f.summary(n)
	default:
		f.input(n)
	}
}

// input gathers a line. A result belongs to the request that follows its call,
// wherever its line stands; of several results of a call the first counts.
func (f *filler) input(n *node) {
	for _, bl := range blocksOf(n.entry) {
		if bl.Kind != prompt.KindToolResult {
			f.text = true
			f.pending = append(f.pending, bl)
			continue
		}
		if f.results[bl.id] {
			f.b.problem(n.entry, "second result of a tool call ignored")
			continue
		}
		f.results[bl.id] = true
		r, known := f.usedBy[bl.id]
		if !known {
			f.b.problem(n.entry, "tool result without its call")
		}
		if known && r >= 0 && r+1 < len(f.th.rounds) {
			late := &f.th.rounds[r+1]
			late.input, late.answered = append(late.input, bl), true
			continue
		}
		f.answers = true
		f.pending = append(f.pending, bl)
	}
	f.at = max(f.at, n.at)
}

// call closes a round.
func (f *filler) call(i int32, c *call) {
	r := len(f.th.rounds)
	for k := range c.blocks {
		if c.blocks[k].Kind == prompt.KindToolUse {
			f.usedBy[c.blocks[k].id] = r
		}
	}
	f.th.rounds = append(f.th.rounds, round{
		call: c, input: f.pending, reply: c.blocks, node: i, inputAt: f.at,
		prompted: f.text, answered: f.answers,
	})
	f.pending, f.at, f.text, f.answers = nil, 0, false, false
}

// boundary opens an event ahead of the next round.
func (f *filler) boundary(n *node, later []int32) {
	bd := &n.src.boundaries[n.record.boundary]
	ev := event{src: n.src, cleared: bd.cleared}
	ev.Kind = traces.EventMicrocompact
	if n.kind == recordCompact {
		ev.Kind = traces.EventCompact
		ev.Absorbed = int32(len(f.pending))
	}
	ev.Manual, ev.PreTokens = bd.manual, bd.preTokens
	ev.Round = int32(len(f.th.rounds))
	ev.At, ev.Line = n.at, n.line
	ev.Wait = f.waited(n, later)
	f.th.events = append(f.th.events, ev)
	f.at = max(f.at, n.at)
}

// waited returns how long a compaction took: from the last thing before it.
// The command that asks for one is logged behind the boundary, with the time
// it was typed.
func (f *filler) waited(n *node, later []int32) int64 {
	base := f.at
	if base == 0 && len(f.th.rounds) > 0 {
		base = f.th.rounds[len(f.th.rounds)-1].call.last
	}
	for _, i := range later {
		l := &f.t.nodes[i]
		if l.call != nil {
			break
		}
		if l.has(flagCommand) && l.at <= n.at {
			base = max(base, l.at)
		}
	}
	if base == 0 || n.at == 0 {
		return 0
	}
	return max(0, n.at-base)
}

// summary gives the blocks of a summary to the compaction before it; a summary
// without a boundary is one itself.
func (f *filler) summary(n *node) {
	k := len(f.th.events) - 1
	if k < 0 || f.th.events[k].Kind != traces.EventCompact || int(f.th.events[k].Round) != len(f.th.rounds) {
		ev := event{src: n.src}
		ev.Kind, ev.Round, ev.At, ev.Line = traces.EventCompact, int32(len(f.th.rounds)), n.at, n.line
		ev.Absorbed = int32(len(f.pending))
		f.th.events = append(f.th.events, ev)
		k++
	}
	f.th.events[k].summary = append(f.th.events[k].summary, blocksOf(n.entry)...)
	f.at = max(f.at, n.at)
}
