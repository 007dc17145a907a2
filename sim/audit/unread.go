package audit

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
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
	return tokens, float64(tokens) * max(0, c.WritePrice()-c.PerToken[measures.ClassUncached])
}

// carried is a tool result and what it cost to send it: once as new, and again
// with every later call until it is cleared, a compaction, or the end of its thread.
type carried struct {
	place  Place
	tool   string
	tokens int64
	calls  int // that carried it
	usd    float64
	first  int32 // line of the earlier read of a duplicate
	mcp    bool  // result of an MCP tool
}

// minDuplicate is the least size of a duplicate read, tokens. Notes that replace an unchanged file are smaller.
const minDuplicate = 100

// stay is the rounds of a thread whose requests have a result: from the one that it is new in up to another, exclusive.
type stay struct {
	block       int32
	from, until int
}

// stays returns the results of a thread. One that a compaction absorbed before it was sent has none.
func stays(s *traces.Session, calls []calls.Call) (list []stay) {
	cleared, absorbed := map[int32]int{}, make([]int32, len(calls))
	if len(calls) > 0 {
		for _, ev := range calls[0].Thread.Events {
			if int(ev.Round) < len(calls) && ev.Kind == traces.EventCompact {
				absorbed[ev.Round] = ev.Absorbed
			}
			for _, b := range ev.Cleared {
				if _, before := cleared[b]; !before {
					cleared[b] = int(ev.Round)
				}
			}
		}
	}
	end := len(calls)
	for i := len(calls) - 1; i >= 0; i-- {
		in := calls[i].Recorded.Input
		for b := in.To - 1; b >= in.From+absorbed[i]; b-- {
			if s.Blocks[b].Kind != prompt.KindToolResult {
				continue
			}
			until := end
			if at, ok := cleared[b]; ok && at > i {
				until = min(until, at)
			}
			list = append(list, stay{b, i, until})
		}
		if calls[i].Acted.Has(traces.EventCompact) {
			end = i
		}
	}
	slices.Reverse(list)
	return list
}

// fares are the cost of sending one token of a result from a round of a thread on, USD.
type fares struct {
	fresh  []float64 // as new in a round
	sums   []float64 // of the cost of carrying, over the rounds before
	counts []int     // calls of the period, over the rounds before
}

// newFares prices the results of a thread. Priced is what a context still held of its results by the session's counts, for it may
// have lost some that no line names; and the results of a request together cost no more than the call paid for its input.
func newFares(s *traces.Session, calls []calls.Call, list []stay, contexts []mix) *fares {
	n := len(calls)
	f := &fares{fresh: make([]float64, n), sums: make([]float64, n+1), counts: make([]int, n+1)}
	added, gone := make([]int64, n+1), make([]int64, n+1)
	for _, r := range list {
		tokens := int64(s.Blocks[r.block].Tokens)
		added[r.from] += tokens
		gone[r.until] += tokens
	}
	held := int64(0) // results that came before
	for i := range calls {
		c := &calls[i]
		held -= gone[i]
		fresh, carry := c.Fresh(), carries(c)
		part := atMost(float64(held+added[i]), float64(contexts[i][partResults]+contexts[i][partDuplicates]))
		part *= atMost(part*(float64(added[i])*fresh+float64(held)*carry), c.Cost.Total()-c.Cost[measures.ClassOutput])
		held += added[i]
		f.fresh[i], f.sums[i+1], f.counts[i+1] = part*fresh, f.sums[i]+part*carry, f.counts[i]
		if !c.Out {
			f.counts[i+1]++
		}
	}
	return f
}

// atMost returns the share of n that a limit allows.
func atMost(n, limit float64) float64 {
	if n <= limit {
		return 1
	}
	return max(0, limit) / n
}

// carries returns the cost in a call of a token that was sent before, USD: the
// price of reading it, or of writing it again for the share that was missed.
func carries(c *calls.Call) float64 {
	read := c.PerToken[measures.ClassRead]
	if c.Left == 0 {
		return read
	}
	return read + float64(c.Missed)/float64(c.Left)*max(0, c.Fresh()-read)
}

// carry returns the cost of n tokens that stay, and how many calls sent them.
func (f *fares) carry(n int64, r stay) (usd float64, calls int) {
	return float64(n) * (f.fresh[r.from] + f.sums[r.until] - f.sums[r.from+1]), f.counts[r.until] - f.counts[r.from]
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
	case b.Op == op.Edit, b.Op == op.Write:
		k.edits[b.Object]++
		return 0, false
	case b.Op != op.Read || b.Tokens < minDuplicate:
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

// repeated returns the results that repeat an earlier one in the context, by block: the line of the earlier one.
func repeated(s *traces.Session, calls []calls.Call, list []stay) map[int32]int32 {
	lines := map[int32]int32{}
	var known reads
	at := 0 // rounds behind whose compactions nothing is known
	for _, r := range list {
		for ; at <= r.from; at++ {
			if calls[at].Acted.Has(traces.EventCompact) {
				known.forget()
			}
		}
		if first, ok := known.repeats(&s.Blocks[r.block]); ok {
			lines[r.block] = first
		}
	}
	return lines
}

// thread adds the results of a thread, of which some repeat earlier ones; contexts are what its calls ended with.
func (t *toolResults) thread(s *traces.Session, calls []calls.Call, list []stay, duplicates map[int32]int32, contexts []mix) {
	f := newFares(s, calls, list, contexts)
	for _, r := range list {
		one := carriedResult(s, &s.Blocks[r.block])
		if one.usd, one.calls = f.carry(one.tokens, r); one.calls == 0 {
			continue
		}
		one.place.Call = callPlace(&calls[r.from]).Call
		t.all = append(t.all, one)
		if first, ok := duplicates[r.block]; ok {
			one.first = first
			t.duplicates = append(t.duplicates, one)
		}
	}
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

// others adds up the parts of a bill that counters which add up the lines of logs lack. Parts do not overlap, but that outputs of
// sub-agents may be estimated.
type others struct {
	estimated, inside, unshown, searches float64 // USD
	insideCalls, unshownCalls            int
}

func (o *others) add(c *calls.Call) {
	r := c.Recorded
	if r.Usage.Output > 0 {
		o.estimated += c.Cost[measures.ClassOutput] * (1 - float64(r.Logged)/float64(r.Usage.Output))
	}
	o.searches += c.Search
	switch {
	case c.Source == measures.SourceCompact || c.Source == measures.SourceOther:
		o.unshown, o.unshownCalls = o.unshown+c.Cost.Total(), o.unshownCalls+1
	case c.Thread.Kind == traces.ThreadAgent && r.File == 0 && agents.ClaudeCode(c.Session):
		o.inside, o.insideCalls = o.inside+c.Cost.Total(), o.insideCalls+1
	}
}

// text says what others lack, "" if that is less than a cent.
func (o *others) text() string {
	var list []string
	add := func(usd float64, text string) {
		if usd >= 0.005 {
			list = append(list, cents(usd)+" "+text)
		}
	}
	add(o.estimated, measures.DerivedText)
	add(o.inside, "for "+document.Count(o.insideCalls, "call")+" of sub-agents in the files of their parents")
	add(o.unshown, "for "+document.Count(o.unshownCalls, "call")+" that no line of an answer shows")
	add(o.searches, "for searches of the web")
	if len(list) == 0 {
		return ""
	}
	return "Other counters may tell another sum. This one has " + strings.Join(list, ", ") + "; docs/totals.md says why."
}
