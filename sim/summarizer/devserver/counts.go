package devserver

import (
	"maps"
	"sync"
)

// Counts tells what was asked, by the digest of a request's body.
type Counts struct {
	Requests int              `json:"requests"`
	Answered int              `json:"answered"`
	Digests  map[string]Count `json:"digests"`
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
