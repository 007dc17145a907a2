package devserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
)

// lookBack is how many positions a breakpoint looks at, itself included.
const lookBack = 20

// lifetimes of entries.
var lifetimes = map[string]time.Duration{"5m": 5 * time.Minute, "1h": time.Hour}

// minimums are the shortest cached prompts, tokens, by parts of the model's name; the first match counts
// (platform.claude.com, prompt caching).
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

// pending are entries that a request will write; they cannot be read before its response begins.
type pending struct {
	cache   *cache
	at      time.Time // start of the request
	entries map[[sha256.Size]byte]time.Duration
}

// begin looks a prompt up at a request's start.
func (c *cache) begin(now time.Time, model string, list []position) (wire.Usage, *pending) {
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
	return wire.Usage{Read: read, Write1h: hour - read, Write5m: last - hour, Uncached: total(list) - last}, w
}

// lookup returns the position of the longest prefix to read, -1 for none. Every breakpoint, the last first, looks
// back over its positions; a run of tool calls, or of results, is one position.
func (c *cache) lookup(now time.Time, list []position, shortest int64) int {
	for at := len(list) - 1; at >= 0; at-- {
		if list[at].ttl == "" || list[at].tokens < shortest {
			continue
		}
		seen := 0
		for i := at; i >= 0; i-- {
			tool := list[i].kind == "tool_use" || list[i].kind == "tool_result"
			if run := tool && i < at && list[i].kind == list[i+1].kind; !run {
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

// position is a block of a prompt together with everything ahead of it.
type position struct {
	sum    [sha256.Size]byte
	tokens int64  // up to it, itself included
	kind   string // of the block
	ttl    string // of the breakpoint here: "", "5m" or "1h"
}

// prefix builds the positions of a prompt: tools, system, messages. Each has a hash of everything up to it, with
// organisation and model.
type prefix struct {
	h      hash.Hash
	tokens int64
	list   []position
}

func newPrefix(org, model string) *prefix {
	p := &prefix{h: sha256.New()}
	p.write("org", org, "model", model)
	return p
}

// write hashes fields with their lengths, so that no two lists of fields look alike.
func (p *prefix) write(fields ...string) {
	var n [8]byte
	for _, f := range fields {
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		p.h.Write(n[:])
		p.h.Write([]byte(f))
	}
}

func (p *prefix) add(kind string, tokens int64, c *api.CacheControl) {
	p.tokens += tokens
	at := position{tokens: p.tokens, kind: kind}
	p.h.Sum(at.sum[:0])
	if c != nil {
		at.ttl = cmp.Or(c.TTL, "5m")
	}
	p.list = append(p.list, at)
}

// block adds a block of a role; system is one.
func (p *prefix) block(role string, b *api.Block) {
	p.write(role)
	p.hashBlock(b)
	p.add(b.Type, tokensOfBlock(b), b.CacheControl)
}

func (p *prefix) hashBlock(b *api.Block) {
	failed := ""
	if b.IsError {
		failed = "error"
	}
	p.write(b.Type, b.TextOf(), b.ID, b.Name, string(b.Input), b.ToolUseID, failed, string(b.Rest))
	for i := range b.Content {
		p.hashBlock(&b.Content[i])
	}
}

// positionsOf returns the positions of a request. What changes the messages' level alone (tool_choice, thinking,
// effort) enters behind the system prompt.
func positionsOf(org string, q *request, messages []api.Message) []position {
	p := newPrefix(org, q.Model)
	for i := range q.Tools {
		text := definition(&q.Tools[i])
		p.write("tool", text)
		p.add("tool", blockTokens+tokensOf(len(text)), q.Tools[i].CacheControl)
	}
	for i := range q.System {
		p.block("system", &q.System[i])
	}
	level, _ := json.Marshal([]any{q.ToolChoice, q.Thinking, q.OutputConfig}) // it was read from JSON
	p.write("level", string(level))
	for i := range messages {
		for k := range messages[i].Content {
			p.block(messages[i].Role, &messages[i].Content[k])
		}
	}
	return p.list
}

func total(list []position) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].tokens
}

// definition returns a tool definition as the model reads it, without its breakpoint.
func definition(t *api.Tool) string {
	bare := *t
	bare.CacheControl = nil
	text, _ := json.Marshal(bare) // it was read from JSON
	const member = len(`"name":"",`)
	return string(text[:1]) + string(text[1+member:])
}

// Tokens are estimated: 0.3 a byte, about what recorded sessions have over all
// kinds of content, and some for every block. The sum over blocks is the
// prompt's, so that every part of a prompt has its share.
const (
	tokensPerTenBytes = 3
	blockTokens       = 3
	imageTokens       = 2000 // of an image or a document, as clients estimate them
)

// tokensOf returns the tokens of n bytes of text.
func tokensOf(n int) int64 { return (int64(n)*tokensPerTenBytes + 9) / 10 }

// bytesOf returns how many bytes of text have the tokens, at most.
func bytesOf(tokens int64) int { return int(tokens * 10 / tokensPerTenBytes) }

// tokensOfBlock returns the tokens of a block.
func tokensOfBlock(b *api.Block) int64 {
	if b.Type == "image" || b.Type == "document" {
		return imageTokens
	}
	n := blockTokens + tokensOf(len(b.TextOf())+len(b.Name)+len(b.Input)+len(b.Rest))
	for i := range b.Content {
		n += tokensOfBlock(&b.Content[i])
	}
	return n
}
