package claudecode

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// call is one API call, joined from the lines of its response.
type call struct {
	id      string
	model   string
	version string
	usage   usage
	stopped bool
	foreign bool // owned by an earlier session
	blocks  []block
	first   int64 // time of the first line, 0 if unknown
	last    int64 // time of the last line
	entry   entry
}

// block is a content block on its way into the session, with its names.
type block struct {
	prompt.Block
	id     prompt.Digest // pairs a tool call with its result
	tool   string
	object string
	src    *source
	task   *task
}

// blocksOf returns the blocks of a line.
func blocksOf(e entry) []block {
	list := make([]block, 0, e.to-e.from)
	for i := e.from; i < e.to; i++ {
		p := &e.src.pieces[i]
		b := block{Block: p.Block, id: p.id, tool: e.src.names.at(p.tool), object: e.src.names.at(p.object), src: e.src}
		if p.task > 0 {
			b.task = &e.src.tasks[p.task-1]
		}
		list = append(list, b)
	}
	return list
}

func newCall(id string, e entry) *call {
	c := &call{id: id, entry: e, version: e.src.names.at(e.version), blocks: blocksOf(e), first: e.at, last: e.at}
	a := &e.src.answers[e.answer]
	c.model, c.usage, c.stopped = e.src.names.at(a.model), a.usage, a.stopped
	return c
}

// join adds another line of the response. Input and cache counts are the same
// on every line; output grows as the response streams.
func (c *call) join(e entry) {
	for _, b := range blocksOf(e) {
		same := func(o block) bool { return o.Digest == b.Digest && o.id == b.id && o.Line != b.Line }
		if !slices.ContainsFunc(c.blocks, same) {
			c.blocks = append(c.blocks, b)
		}
	}
	a := &e.src.answers[e.answer]
	if !c.usage.ok {
		c.usage = a.usage
	}
	c.usage.Output = max(c.usage.Output, a.usage.Output)
	c.stopped = c.stopped || a.stopped
	c.first, c.last = earlier(c.first, e.at), max(c.last, e.at)
}

// tail is the part of the uncached input that stands behind the last cache
// breakpoint (traces.Round.Tail).
func (c *call) tail() int64 {
	if u := c.usage.Usage; c.usage.ok && u.Uncached <= traces.MaxTail && u.Uncached < u.Input() {
		return u.Uncached
	}
	return 0
}

// context returns the recorded input tokens of the call without its tail.
func (c *call) context() int64 { return c.usage.Input() - c.tail() }

// final reports whether the logged output is the final count. Before 2.1.59 it
// is the value at the start of the stream (recorded: at most 10 tokens in 63 %
// of calls) unless the end of the response was logged with a stop reason.
func (c *call) final() bool {
	return c.usage.ok && c.usage.Output > 0 && (c.stopped || !versionLess(c.version, finalOutputVersion))
}

const finalOutputVersion = "2.1.59"

// versionLess compares dotted versions number by number. An empty version is
// the oldest.
func versionLess(a, b string) bool {
	for a != "" || b != "" {
		var x, y int
		x, a = leadingNumber(a)
		y, b = leadingNumber(b)
		if x != y {
			return x < y
		}
	}
	return false
}

// leadingNumber returns the number before the first dot and what follows it.
func leadingNumber(v string) (n int, rest string) {
	i := 0
	for ; i < len(v) && v[i] != '.'; i++ {
		if c := v[i]; c >= '0' && c <= '9' && n < 1e6 {
			n = n*10 + int(c-'0')
		}
	}
	return n, v[min(i+1, len(v)):]
}
