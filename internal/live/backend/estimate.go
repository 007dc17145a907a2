package backend

import (
	"bytes"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// bytesPerToken turns the bytes of an output that no server counted to its end
// into tokens: text of recorded sessions has 0.26 tokens a byte.
const bytesPerToken = 4

// tokensPerByte bounds the tokens of a request from above: recorded sessions
// have 0.26 to 0.33 tokens a byte by kind of content, and the newer models'
// tokenizer makes 30 % more of the same text.
const tokensPerByte = 0.4

// overhead is what a block, a message or a tool adds beside its text, in tokens;
// a tool call adds the most, 54 in recorded sessions.
const overhead = 60

// Estimate returns the most that a request is likely to be billed: no token of
// it is in the cache, all are written with the longest lifetime it asks for, and
// the output is as long as it may be. A server-side compaction is a second pass.
func Estimate(r *wire.Request) wire.Usage {
	size, blocks, longest := 0, 0, wire.CacheNone
	seen := func(b int, c wire.Cache) {
		size += b
		blocks++
		if c == wire.Cache1h || longest == wire.CacheNone {
			longest = c
		}
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		seen(len(t.Name)+len(t.Description)+len(t.InputSchema), t.Cache)
	}
	each := func(list []wire.Block) {
		for i := range list {
			b := &list[i]
			seen(len(b.Text)+len(b.Name)+len(b.Input), b.Cache)
		}
	}
	each(r.System)
	for i := range r.Messages {
		each(r.Messages[i].Blocks)
	}
	input := int64(float64(size)*tokensPerByte) + int64(blocks)*overhead
	u := wire.Usage{Output: mostOutput(r)}
	if compacts(r) {
		input *= 2
	}
	switch longest {
	case wire.Cache1h:
		u.Write1h = input
	case wire.Cache5m:
		u.Write5m = input
	default:
		u.Uncached = input
	}
	return u
}

// compacts reports whether a request may take a second pass of the model.
func compacts(r *wire.Request) bool { return bytes.Contains(r.ContextManagement, []byte(`"compact_`)) }

// mostOutput returns the most that a request allows a model to say, tokens: a server
// that sends more bytes than that sends something else.
func mostOutput(r *wire.Request) int64 {
	if compacts(r) {
		return 2 * int64(r.MaxTokens)
	}
	return int64(r.MaxTokens)
}

// outputOf estimates the output that so many bytes are, tokens, of a request that
// allows so many.
func outputOf(bytes, most int64) int64 {
	return min((bytes+bytesPerToken-1)/bytesPerToken, most)
}

// estimateUncounted fills in what a server has not counted of a complete answer:
// gateways leave out the usage of streams. The input is estimated as the most it
// is likely to be, the output from the bytes that came.
func estimateUncounted(r *wire.Request, reply *wire.Reply, bytes int64) {
	if len(reply.Iterations) > 0 {
		return
	}
	u := &reply.Usage
	if u.Prompt().Input() == 0 {
		output := u.Output
		*u = Estimate(r)
		u.Output, reply.Estimated = output, true
	}
	if u.Output == 0 && bytes > 0 {
		u.Output, reply.Estimated = outputOf(bytes, mostOutput(r)), true
	}
}
