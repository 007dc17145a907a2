package devserver

import (
	"maps"
	"sync"
)

// Counts tells what was asked, by the digest of a request's body.
type Counts struct {
	Requests int              `json:"requests"`
	Answered int              `json:"answered"`
	Billed   Billed           `json:"billed"`
	Digests  map[string]Count `json:"digests"`
}

// Billed is what all prompts that were worked on are billed, tokens by class, with
// the whole of what was said, also where the response broke off in the middle of
// it.
type Billed struct {
	Uncached int64 `json:"uncached"`
	Read     int64 `json:"read"`
	Write5m  int64 `json:"write_5m"`
	Write1h  int64 `json:"write_1h"`
	Output   int64 `json:"output"`
}

func (b *Billed) add(u usage) {
	b.Uncached += u.Uncached
	b.Read += u.Read
	b.Write5m += u.Write5m
	b.Write1h += u.Write1h
	b.Output += u.Output
}

// Count tells how often a request came, and how often it was answered in full.
type Count struct {
	Requests int `json:"requests"`
	Answered int `json:"answered"`
}

type counter struct {
	mu sync.Mutex
	Counts
}

// begin counts a request and returns its ordinal, from 1.
func (c *counter) begin(digest string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(digest, 1, 0)
	return c.Requests
}

// answered counts a complete answer.
func (c *counter) answered(digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(digest, 0, 1)
}

// bill counts what an answer is billed.
func (c *counter) bill(a *answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(a.iterations) == 0 {
		c.Billed.add(a.usage)
	}
	for _, it := range a.iterations {
		c.Billed.add(it.usage)
	}
}

func (c *counter) add(digest string, requests, answered int) {
	c.Requests += requests
	c.Answered += answered
	if c.Digests == nil {
		c.Digests = map[string]Count{}
	}
	n := c.Digests[digest]
	c.Digests[digest] = Count{n.Requests + requests, n.Answered + answered}
}

func (c *counter) snapshot() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.Counts
	s.Digests = maps.Clone(c.Digests)
	return s
}
