package audit

import (
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// unread returns what a call wrote to the cache and nobody read, given the next call of its thread (nil
// for the last) and the largest read of the branches that leave it; and its cost beyond the price of plain
// input, USD. Other conversations may have read the tools and the system prompt in it; no log says so. Shares of what a log has for
// several calls together say nothing of single calls.
func unread(c, next *calls.Call, branches int64) (tokens int64, usd float64) {
	writes := c.Recorded.Usage.Writes()
	if writes == 0 || c.Automatic() || !c.Recorded.Counted() {
		return 0, 0
	}
	read := branches
	if next != nil {
		read = max(read, next.Recorded.Usage.Read)
	}
	tokens = writes - min(writes, max(0, read-c.Recorded.Usage.Read)) // less what someone read
	return tokens, float64(tokens) * max(0, c.WritePrice()-c.PerToken[results.ClassUncached])
}

// carried is a tool result and what it cost to send it: once as new, and again
// with every later call until a compaction or the end of its thread.
type carried struct {
	place  Place
	tool   string
	tokens int64
	calls  int // that carried it
	usd    float64
	first  int32 // line of the earlier read of a duplicate
	mcp    bool  // result of an MCP tool
}

// minDuplicate is the least size of a duplicate read, tokens. Notes that
// replace an unchanged file are smaller.
const minDuplicate = 100

// fares are the cost of sending one token from a round of a thread on, USD.
type fares struct {
	fresh  []float64 // as new in a round
	until  []int     // first round that does not carry it: that after the next compaction
	sums   []float64 // of the cost of carrying, over the rounds before
	counts []int     // calls of the period, over the rounds before
}

func newFares(calls []calls.Call) *fares {
	f := &fares{fresh: make([]float64, len(calls)), until: make([]int, len(calls)), sums: make([]float64, len(calls)+1),
		counts: make([]int, len(calls)+1)}
	end := len(calls)
	for i := len(calls) - 1; i >= 0; i-- {
		f.until[i] = end
		if calls[i].Acted.Has(traces.EventCompact) {
			end = i
		}
	}
	for i := range calls {
		f.fresh[i] = calls[i].Fresh()
		f.sums[i+1], f.counts[i+1] = f.sums[i]+carries(&calls[i]), f.counts[i]
		if !calls[i].Out {
			f.counts[i+1]++
		}
	}
	return f
}

// carries returns the cost in a call of a token that was sent before, USD: the
// price of reading it, or of writing it again for the share that was missed.
func carries(c *calls.Call) float64 {
	read := c.PerToken[results.ClassRead]
	if c.Left == 0 {
		return read
	}
	return read + float64(c.Missed)/float64(c.Left)*max(0, c.Fresh()-read)
}

// carry returns the cost of n tokens that are new in a round, and how many calls sent them.
func (f *fares) carry(n int64, round int) (usd float64, calls int) {
	end := f.until[round]
	return float64(n) * (f.fresh[round] + f.sums[end] - f.sums[round+1]), f.counts[end] - f.counts[round]
}

// reads remembers what a thread has read since the last compaction.
type reads struct {
	seen  map[readKey]readValue
	edits map[int32]int // edits of each object
}

type readKey struct {
	object     int32
	from, size int32
}

type readValue struct {
	bytes, line int32
	edits       int
}

// repeats reports whether a result repeats an earlier one, and remembers it:
// the same part of the same file, of the same size, with no edit of the file in
// between. It does not compare the content. The results of a thread must come
// in order.
func (k *reads) repeats(b *prompt.Block) (first int32, ok bool) {
	if b.Object < 0 || b.Flags&prompt.FlagError != 0 {
		return 0, false
	}
	if k.seen == nil {
		k.seen, k.edits = map[readKey]readValue{}, map[int32]int{}
	}
	switch {
	case b.Op == prompt.OpEdit, b.Op == prompt.OpWrite:
		k.edits[b.Object]++
		return 0, false
	case b.Op != prompt.OpRead || b.Tokens < minDuplicate:
		return 0, false
	}
	key := readKey{b.Object, b.RangeFrom, b.RangeLen}
	before, known := k.seen[key]
	if known && before.bytes == b.Bytes && before.edits == k.edits[b.Object] {
		return before.line, true
	}
	k.seen[key] = readValue{b.Bytes, b.Line, k.edits[b.Object]}
	return 0, false
}

// forget clears the memory: a compaction has removed what was read.
func (k *reads) forget() { clear(k.seen) }

// toolResults collects the results of all sessions.
type toolResults struct {
	all        []carried
	duplicates []carried
}

// thread lists the results of a thread, and returns which blocks are duplicates.
func (t *toolResults) thread(s *traces.Session, calls []calls.Call) map[int32]bool {
	f := newFares(calls)
	duplicates := map[int32]bool{}
	var known reads
	for i := range calls {
		if calls[i].Acted.Has(traces.EventCompact) {
			known.forget()
		}
		in := calls[i].Recorded.Input
		for b := in.From; b < in.To; b++ {
			bl := &s.Blocks[b]
			if bl.Kind != prompt.KindToolResult {
				continue
			}
			one := carriedResult(s, bl)
			one.usd, one.calls = f.carry(one.tokens, i)
			if one.calls > 0 {
				t.all = append(t.all, one)
			}
			if first, ok := known.repeats(bl); ok {
				duplicates[b] = true
				one.first = first
				if one.calls > 0 {
					t.duplicates = append(t.duplicates, one)
				}
			}
		}
	}
	return duplicates
}

func carriedResult(s *traces.Session, b *prompt.Block) carried {
	c := carried{place: placeOf(s, b.File, b.Line), tokens: int64(b.Tokens), mcp: b.Flags&prompt.FlagMCP != 0}
	if int(b.Tool) < len(s.Tools) {
		c.tool = s.Tools[b.Tool]
	}
	c.place.Text = c.tool
	if b.Object >= 0 && int(b.Object) < len(s.Objects) {
		c.place.Text += " " + s.Objects[b.Object]
	}
	return c
}
