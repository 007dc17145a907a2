package claudecode

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

// node is a message of the tree: a response with all its lines, a line of a
// user message, or a boundary.
type node struct {
	entry        // the first line
	call   *call // of a response
	parent int32 // -1 for none; always an earlier node
	thread int32 // -1: off every path
	// behind are the signs of the following lines that are not nodes.
	behind signs.Set
}

// isPrompt reports whether the node is a person's prompt, the only kind of
// node whose siblings can be a rewind.
func (n *node) isPrompt() bool {
	return n.kind == recordUser && !n.has(flagSoft|flagResult|flagSummary) && n.from < n.to
}

// soft reports whether the node is skipped in the search for what a prompt
// answers.
func (n *node) soft() bool { return n.kind == recordAttachment || n.has(flagSoft) }

// tree is the lines of a stream as the conversation had them: lines of a
// response are joined by message id, boundaries by their logical parent, and
// lines whose parent is missing by their place in the file. A parent is always
// an earlier line, so there are no cycles, whatever the file says.
type tree struct {
	nodes  []node
	place  map[prompt.Digest]int32 // node of a line; for a skipped line, the node before it
	copies map[copyKey]int32
	calls  map[string][]int32 // by message id, several where different calls have one id
	ahead  signs.Set          // signs before the first node
	twice  int                // lines with the uuid of an earlier one that says something else
}

// copyKey identifies a line that was written again under another id: a resumed
// session repeats its history with the original times.
type copyKey struct {
	at      int64
	content prompt.Digest
}

// plant builds the tree of a stream, without calls that another stream has
// claimed, so that each call is in exactly one.
func (b *builder) plant(st *stream) *tree {
	t := &tree{place: map[prompt.Digest]int32{}, copies: map[copyKey]int32{}, calls: map[string][]int32{}}
	t.nodes = make([]node, 0, len(st.entries))
	for _, e := range st.entries {
		b.grow(t, e, st)
	}
	if t.twice > 0 {
		s := b.session
		s.Problems.Add(s.Files[0].Name, 0, "session %s: %s the uuid of an earlier line that says something else; all are read", s.ID,
			numbers.Counted(t.twice, "line has", "lines have"))
	}
	return t
}

func (b *builder) grow(t *tree, e entry, st *stream) {
	if _, known := t.place[e.uuid]; known && !e.uuid.IsZero() {
		if !t.another(e) {
			return
		}
		t.twice++
	}
	if e.kind == recordPass {
		if e.has(flagSynthetic) {
			b.session.Quality.Synthetic++
		}
		up := b.parentOf(t, e)
		t.set(e, up)
		if up >= 0 {
			t.nodes[up].behind |= e.signs
		} else {
			t.ahead |= e.signs
		}
		return
	}
	key := copyKey{e.at, e.content}
	if e.kind == recordAssistant {
		b.growCall(t, e, st, key)
		return
	}
	if e.at != 0 && e.from < e.to {
		if i, ok := t.copies[key]; ok {
			t.set(e, i)
			return
		}
	}
	t.add(node{entry: e, parent: b.parentOf(t, e)}, key)
}

// another reports whether a line with the uuid of an earlier line says something else: a log in which uuids were replaced by
// one value keeps its lines.
func (t *tree) another(e entry) bool {
	if e.from == e.to || e.at == 0 {
		return false
	}
	_, copied := t.copies[copyKey{e.at, e.content}]
	return !copied
}

// growCall adds a line of a response to its call, or starts the call.
func (b *builder) growCall(t *tree, e entry, st *stream, key copyKey) {
	a := &e.src.answers[e.detail]
	id := e.src.names.at(a.id)
	known := t.calls[id]
	for _, i := range slices.Backward(known) {
		c := t.nodes[i].call
		if !assembly.SameInput(&c.Usage, &a.usage) {
			continue
		}
		t.set(e, i)
		if _, copied := t.copies[key]; !copied || e.at == 0 {
			c.join(e)
			t.copies[key] = i
		}
		return
	}
	for _, o := range b.claimed[id] {
		if o.by != st && assembly.SameInput(&o.usage, &a.usage) {
			t.set(e, t.last())
			return
		}
	}
	b.claimed[id] = append(b.claimed[id], claim{st, a.usage})
	if len(known) > 0 && id != "" {
		b.problem(e, "a call with other token counts has message id %.40q, too; they are two calls", id)
	}
	c := newCall(cmp.Or(id, e.callID()), e)
	c.Doubt = c.Doubt || len(known) > 0 && id != ""
	up := b.parentOf(t, e)
	if up >= 0 && t.nodes[up].call != nil {
		// A call that writes and says nothing is followed by one that reads what it wrote.
		before := &t.nodes[up].call.Usage
		c.Doubt = c.Doubt || before.OK && c.OK && c.Writes() > 0 && assembly.SameInput(before, &c.Usage)
	}
	t.calls[id] = append(known, t.add(node{entry: e, parent: up, call: c}, key))
}

func (t *tree) add(n node, key copyKey) int32 {
	i := int32(len(t.nodes))
	t.nodes = append(t.nodes, n)
	t.set(n.entry, i)
	if n.at != 0 {
		t.copies[key] = i
	}
	return i
}

// set gives a line its node, and those that are read as one with it.
func (t *tree) set(e entry, i int32) {
	if !e.uuid.IsZero() {
		t.place[e.uuid] = i
	}
	for _, uuid := range e.src.joined[e.joinedFrom:e.joinedTo] {
		if _, known := t.place[uuid]; !known {
			t.place[uuid] = i
		}
	}
}

func (t *tree) last() int32 { return int32(len(t.nodes)) - 1 }

// parentOf finds the node that a line follows. After the first line only
// prompts can be roots: they take a conversation back to its beginning.
func (b *builder) parentOf(t *tree, e entry) int32 {
	up := e.parent
	if up.IsZero() && (e.kind == recordCompact || e.kind == recordMicrocompact) {
		up = e.logical
	}
	if up.IsZero() {
		if n := (node{entry: e}); n.isPrompt() && !e.has(flagProgress) {
			return -1
		}
		return t.last()
	}
	if i, ok := t.place[up]; ok {
		return i
	}
	if up == e.logical {
		return t.last() // the line before a boundary is often not written
	}
	b.problem(e, "its parent is not in the recording before it; the line before it is taken instead")
	return t.last()
}

// call is one API call, joined from the lines of its response.
type call struct {
	assembly.Call
	passes  []assembly.Usage // of the model ahead of the last one
	stopped bool             // a line with counts has a stop reason
	lacking bool             // a line has no counts
	broken  bool             // a line that cannot be read follows the last one
}

// blocksOf returns the blocks of a line.
func blocksOf(e entry) []assembly.Block {
	list := make([]assembly.Block, 0, e.to-e.from)
	for i := e.from; i < e.to; i++ {
		p := &e.src.pieces[i]
		b := assembly.Block{
			Block: p.Block, ID: p.id, Tool: e.src.names.at(p.tool), Object: e.src.names.at(p.object), Source: e.src.File,
			Heard: p.heard,
		}
		if p.task > 0 {
			b.Task = &e.src.tasks[p.task-1]
		}
		list = append(list, b)
	}
	return list
}

// lifetimesFrom is the first version in recordings that logs for how long it writes
// to the cache, with every call (24,414 lines of 2.0.64 to 2.1.286; 1.0.17 does not).
var lifetimesFrom = [3]int{2, 0, 64}

func newCall(id string, e entry) *call {
	a := &e.src.answers[e.detail]
	release := e.src.names.at(e.version)
	if a.usage.Assumed && len(a.passes.ahead) == 0 && version.AtLeast(release, lifetimesFrom[:]...) {
		a.usage.Doubt = true
	}
	return &call{passes: a.passes.ahead, stopped: a.stopped, lacking: a.lacks(), broken: a.broken, Call: assembly.Call{
		Advice: a.passes.advice, Summaries: a.passes.summaries, Fallback: a.passes.fallback,
		ID: id, Model: e.src.names.at(a.model), Version: e.src.names.at(e.version), Project: e.src.names.at(e.project),
		Place: e.where(), Verdict: e.verdict, Skill: e.src.names.at(e.skill), Plugin: e.src.names.at(e.plugin), Usage: a.usage, Blocks: blocksOf(e), First: e.at, Last: e.at,
	}}
}

// join adds another line of the response. Input and cache counts are the same
// on every line; output grows as the response streams.
func (c *call) join(e entry) {
	for _, b := range blocksOf(e) {
		same := func(o assembly.Block) bool { return o.Digest == b.Digest && o.ID == b.ID && o.Line != b.Line }
		if !slices.ContainsFunc(c.Blocks, same) {
			c.Blocks = append(c.Blocks, b)
		}
	}
	a := &e.src.answers[e.detail]
	bad := c.Bad || a.usage.Bad
	if !c.OK || len(a.passes.ahead) > len(c.passes) {
		c.Usage, c.passes = a.usage, a.passes.ahead
	}
	if len(a.passes.advice) > len(c.Advice) {
		c.Advice = a.passes.advice
	}
	if len(a.passes.summaries) > len(c.Summaries) {
		c.Summaries = a.passes.summaries
	}
	c.Fallback = c.Fallback || a.passes.fallback
	c.Skill, c.Plugin = cmp.Or(c.Skill, e.src.names.at(e.skill)), cmp.Or(c.Plugin, e.src.names.at(e.plugin))
	c.Bad = bad
	c.Output, c.Searches = max(c.Output, a.usage.Output), max(c.Searches, a.usage.Searches)
	c.stopped, c.lacking, c.broken = c.stopped || a.stopped, c.lacking || a.lacks(), a.broken
	c.First, c.Last = assembly.Earlier(c.First, e.at), max(c.Last, e.at)
}

// final reports whether the logged output is the final count. Before 2.1.59 it
// is the value at the start of the stream (recorded: at most 10 tokens in 63 %
// of calls) unless the end of the response was logged with a stop reason. With an
// impossible count on one of its lines it is not known, nor where the line that would end it cannot be read or has no counts.
func (c *call) final() bool {
	if !c.stopped && c.broken {
		return false
	}
	c.Bad = c.Bad || !c.stopped && c.lacking
	return c.OK && !c.Bad && c.Output > 0 && (c.stopped || version.AtLeast(c.Version, 2, 1, 59))
}
