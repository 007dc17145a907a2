package main

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// usage is what a call is billed, tokens.
type usage struct {
	Uncached, Read, Write5m, Write1h, Output int
}

// prompt returns the tokens of the request.
func (u usage) prompt() int { return u.Uncached + u.Read + u.Write5m + u.Write1h }

// A block is a part of a request that a breakpoint may follow.
type block struct {
	text   string // canonical, without markers
	tokens int
	ttl    time.Duration // of the marker on it, 0 for none
	run    byte          // of consecutive blocks of one kind that count as one place: 0 none, else the kind
}

// A key names a prefix: the hash of all blocks from the request's start.
type key [sha256.Size]byte

// An entry is a prefix that the server holds.
type entry struct {
	used time.Time // start of the last request that wrote or read it
	ttl  time.Duration
}

// A markedCache is the prompt cache that Anthropic documents ("Prompt caching"): it writes at breakpoints alone, looks back
// from each by at most 20 places, and bills what lies behind the last breakpoint in full. It knows every prefix by its hash and
// forgets nothing early.
type markedCache struct {
	entries map[key]*entry
}

// lookback is the number of places a breakpoint looks at, itself among them.
const lookback = 20

// leastTokens returns how many tokens a prefix must have to be cached, by model ("Cache limitations").
func leastTokens(model string) int {
	switch model {
	case "claude-opus-4-7":
		return 2048
	case "claude-opus-4-6", "claude-opus-4-5", "claude-haiku-4-5":
		return 4096
	}
	return 1024
}

// bill answers one request and returns its usage without the output.
func (c *markedCache) bill(model string, blocks []block, now time.Time) usage {
	if c.entries == nil {
		c.entries = map[key]*entry{}
	}
	keys, sums := make([]key, len(blocks)), make([]int, len(blocks)+1)
	chain := sha256.Sum256([]byte(model))
	for i, b := range blocks {
		h := sha256.New()
		h.Write(chain[:])
		h.Write([]byte(b.text))
		h.Sum(chain[:0])
		keys[i], sums[i+1] = chain, sums[i]+b.tokens
	}
	hit := 0 // blocks of the longest prefix that is held
	for m := len(blocks); m > 0 && hit == 0; m-- {
		if blocks[m-1].ttl == 0 || sums[m] < leastTokens(model) {
			continue
		}
		for at, places := m, 0; at > 0; at-- {
			if at == m || blocks[at-1].run == 0 || blocks[at-1].run != blocks[at].run {
				places++
			}
			if places > lookback {
				break
			}
			if e := c.entries[keys[at-1]]; e != nil && now.Sub(e.used) <= e.ttl {
				hit = at
				break
			}
		}
	}
	u := usage{Read: sums[hit]}
	for at := hit; at > 0; at-- { // a read uses the shorter prefixes too
		if e := c.entries[keys[at-1]]; e != nil && now.Sub(e.used) <= e.ttl {
			e.used = now
		}
	}
	hour, last := hit, hit
	for m := 1; m <= len(blocks); m++ {
		if blocks[m-1].ttl == 0 || sums[m] < leastTokens(model) {
			continue
		}
		if m <= hit { // a breakpoint within what was read costs nothing
			if e := c.entries[keys[m-1]]; e == nil || e.used != now {
				c.entries[keys[m-1]] = &entry{used: now, ttl: blocks[m-1].ttl}
			}
			continue
		}
		last = m
		if blocks[m-1].ttl > 5*time.Minute {
			hour = m
		}
		c.entries[keys[m-1]] = &entry{used: now, ttl: blocks[m-1].ttl}
	}
	u.Write1h, u.Write5m = sums[hour]-sums[hit], sums[last]-sums[hour]
	u.Uncached = sums[len(blocks)] - sums[last]
	return u
}

// A chunkedCache is the prompt cache that OpenAI documents ("Prompt caching"): it works without markers, on prefixes of 1,024
// tokens and more in steps of 128, and writes cost nothing more. It cuts the request's text into chunks of 128 tokens and holds the hash
// of each chunk and all before it.
type chunkedCache struct {
	chunks map[key]time.Time // last use
	idle   time.Duration     // after which a chunk is forgotten
}

const (
	chunkTokens = 128
	leastChunks = 1024 / chunkTokens
)

// bill answers one request of a cache key and returns its usage without the output.
func (c *chunkedCache) bill(model, cacheKey string, blocks []block, now time.Time) usage {
	if c.chunks == nil {
		c.chunks = map[key]time.Time{}
	}
	chain := sha256.Sum256([]byte(model + "\x00" + cacheKey))
	total, held, full := 0, 0, 0
	var pending []byte
	broken := false
	for _, b := range blocks {
		ends := []int{}
		pieces(b.text, func(end int) { ends = append(ends, end) })
		from := 0
		for t := range b.tokens { // the tokens of a block lie evenly over its pieces
			to := len(b.text)
			if n := len(ends); n > 0 && t+1 < b.tokens {
				to = ends[min((t+1)*n/b.tokens, n-1)]
			}
			pending = append(pending, b.text[from:to]...)
			pending = binary.AppendUvarint(pending, uint64(t))
			from = to
			if total++; total%chunkTokens != 0 {
				continue
			}
			h := sha256.New()
			h.Write(chain[:])
			h.Write(pending)
			h.Sum(chain[:0])
			pending = pending[:0]
			full++
			if used, ok := c.chunks[chain]; !broken && ok && now.Sub(used) <= c.idle {
				held = full
			} else {
				broken = true
			}
			c.chunks[chain] = now
		}
	}
	u := usage{Uncached: total}
	if held >= leastChunks {
		u.Read = held * chunkTokens
		u.Uncached -= u.Read
	}
	return u
}
