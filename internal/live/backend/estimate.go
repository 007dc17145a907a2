package backend

import (
	"bytes"
	"time"

	"github.com/compactsim/compactsim/internal/live/wire"
)

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

// bucket holds what may be taken in a minute, and fills up again evenly. The
// zero value has no limit.
type bucket struct {
	size  float64 // 0 for no limit
	level float64
	at    time.Duration // when level was right
}

func newBucket(perMinute int, now time.Duration) bucket {
	return bucket{size: float64(perMinute), level: float64(perMinute), at: now}
}

// wait returns how long it takes until n can be taken. More than the bucket
// holds can be taken from a full one, which is then in debt.
func (b *bucket) wait(n int64, now time.Duration) time.Duration {
	if b.size == 0 {
		return 0
	}
	if now > b.at { // a clock that was set back fills nothing
		b.level = min(b.size, b.level+b.size*(now-b.at).Minutes())
	}
	b.at = now
	missing := min(float64(n), b.size) - b.level
	if missing <= 1e-9*b.size {
		return 0
	}
	return max(time.Duration(missing/b.size*float64(time.Minute)), time.Microsecond)
}

// take takes n.
func (b *bucket) take(n int64) {
	if b.size > 0 {
		b.level -= float64(n)
	}
}
