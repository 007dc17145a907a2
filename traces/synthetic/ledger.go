package synthetic

import "github.com/compactsim/compactsim/sim/prompt"

// Uncached tokens at the end of every request, as recorded from 2.1.33: three
// after a prompt, one after tool results.
const (
	tailPrompt  = 3
	tailResults = 1
)

// ledger is the true cache of one thread: a prefix chain that is never
// evicted and expires a lifetime after the end of the last response.
type ledger struct {
	lifetime int64 // ns
	ttl      prompt.TTL
	static   int   // tokens other prompts share
	cached   int   // tokens the previous call left readable
	end      int64 // unix ns of the previous response's end
	begun    bool
}

// bill returns the usage of a request of total tokens at a time. warm says that
// the static prefix is readable thanks to others; compacted that the messages
// were replaced since the previous call, whose compaction kept the static
// prefix readable.
func (l *ledger) bill(at int64, total, tail int, warm, compacted bool) prompt.Usage {
	read := 0
	switch {
	case compacted:
		read = l.static
	case l.begun && at-l.end <= l.lifetime:
		read = l.cached
	case warm:
		read = l.static
	}
	u := prompt.Usage{Uncached: int64(tail), Read: int64(read)}
	written := int64(total - tail - read)
	if l.ttl == prompt.TTL1h {
		u.Write1h = written
	} else {
		u.Write5m = written
	}
	l.cached, l.begun = total-tail, true
	return u
}
