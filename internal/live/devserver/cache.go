package devserver

import (
	"crypto/sha256"
	"strings"
	"sync"
	"time"
)

// lookBack is how many positions a breakpoint looks at, itself included.
const lookBack = 20

// lifetimes of entries.
var lifetimes = map[string]time.Duration{"5m": 5 * time.Minute, "1h": time.Hour}

// minimums are the shortest prompts in tokens that are cached, by parts of the
// model's name; the first that fits counts (platform.claude.com, prompt caching).
var minimums = []struct {
	part   string
	tokens int64
}{
	{"opus-5", 512}, {"fable-5", 512}, {"mythos-5", 512}, {"sonnet-5-5", 512}, {"haiku-5-5", 512},
	{"opus-4-7", 2048}, {"mythos-preview", 2048}, {"3-5-haiku", 2048}, {"haiku-3-5", 2048},
	{"opus-4-6", 4096}, {"opus-4-5", 4096}, {"haiku-4-5", 4096},
}

func minimum(model string) int64 {
	for _, m := range minimums {
		if strings.Contains(model, m.part) {
			return m.tokens
		}
	}
	return 1024
}

// cache is the prompt cache of all organisations. The zero value is empty.
type cache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]entry
	sweep   int // number of entries at which expired ones are looked for
}

// entry is a prefix that can be read.
type entry struct {
	used time.Time // start of the last request that wrote or read it
	ttl  time.Duration
}

func (e entry) alive(now time.Time) bool { return now.Before(e.used.Add(e.ttl)) }

// usage counts the tokens of a prompt by what the cache did for them.
type usage struct {
	Uncached, Read, Write5m, Write1h, Output int64
}

// pending are entries that a request will write; nobody reads them before its
// response begins.
type pending struct {
	cache   *cache
	at      time.Time // start of the request
	entries map[[sha256.Size]byte]time.Duration
}

// begin looks a prompt up at a request's start.
func (c *cache) begin(now time.Time, model string, list []position) (usage, *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shortest := minimum(model)
	hit := c.lookup(now, list, shortest)
	for i := 0; i <= hit; i++ { // reading a prefix keeps all entries on its way
		if e, ok := c.entries[list[i].sum]; ok && e.alive(now) && now.After(e.used) {
			e.used = now
			c.entries[list[i].sum] = e
		}
	}
	var read, hour, last int64
	if hit >= 0 {
		read = list[hit].tokens
	}
	hour, last = read, read
	w := &pending{cache: c, at: now, entries: map[[sha256.Size]byte]time.Duration{}}
	for i := hit + 1; i < len(list); i++ {
		p := &list[i]
		if p.ttl == "" || p.tokens < shortest {
			continue
		}
		w.entries[p.sum] = lifetimes[p.ttl]
		last = p.tokens
		if p.ttl == "1h" {
			hour = p.tokens
		}
	}
	total := int64(0)
	if len(list) > 0 {
		total = list[len(list)-1].tokens
	}
	return usage{Read: read, Write1h: hour - read, Write5m: last - hour, Uncached: total - last}, w
}

// lookup returns the position of the longest prefix to read, -1 for none. Every
// breakpoint, the last one first, looks back over its positions; a run of tool
// calls is one position, and so is a run of results.
func (c *cache) lookup(now time.Time, list []position, shortest int64) int {
	for at := len(list) - 1; at >= 0; at-- {
		if list[at].ttl == "" || list[at].tokens < shortest {
			continue
		}
		seen := 0
		for i := at; i >= 0; i-- {
			if run := i < at && list[i].kind == list[i+1].kind && (list[i].kind == "tool_use" || list[i].kind == "tool_result"); !run {
				seen++
			}
			if seen > lookBack {
				break
			}
			if e, ok := c.entries[list[i].sum]; ok && e.alive(now) {
				return i
			}
		}
	}
	return -1
}

// available makes the entries of a request readable.
func (w *pending) available() {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[[sha256.Size]byte]entry{}
	}
	for sum, ttl := range w.entries {
		e := c.entries[sum]
		if e.alive(w.at) {
			ttl = max(ttl, e.ttl)
		}
		if w.at.After(e.used) {
			e.used = w.at
		}
		e.ttl = ttl
		c.entries[sum] = e
	}
	if len(c.entries) > max(c.sweep, 1024) {
		for sum, e := range c.entries {
			if !e.alive(w.at) {
				delete(c.entries, sum)
			}
		}
		c.sweep = 2 * len(c.entries)
	}
}
