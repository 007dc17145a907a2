package main

import (
	"crypto/sha256"
	"slices"
)

// A request is one that a library sent, or that its preset would have sent.
type request struct {
	side   bool   // a call of the library's own: for a summary, for a digest
	system string // of a library's request
	head   string // what the system prompt and the tools are: requests that differ in it share nothing
	size   int    // tokens of the head
	items  []item
	output int // tokens of the response
}

// An item is a message of a request, or a part of one.
type item struct {
	key    string // what it says
	tokens int
	reply  bool // it may be a response of the model
}

// Figures are what a run comes to. An ideal prefix cache keeps every prefix, responses too.
type figures struct {
	Head     int   `json:"head"` // tokens of the first request's system prompt and tools
	Requests int   `json:"requests"`
	Edits    []int `json:"edits,omitempty"` // requests, from 1, that do not begin with all of the one before
	Before   int   `json:"before"`          // tokens of the request before the first of these
	Stays    int   `json:"stays"`           // tokens of these messages that are in the first edited request
	Sides    int   `json:"sides"`
	Reads    int   `json:"reads"` // tokens that side calls are given
	Peak     int   `json:"peak"`  // tokens of the largest request, side calls aside
	Cached   int   `json:"cached"`
	Fresh    int   `json:"fresh"` // tokens that no cache has
	Output   int   `json:"output"`
}

// cost returns USD at the prices of Claude Sonnet 4.5, per million tokens: $0.30 read, $3.75 written, $15 of output.
func (f *figures) cost() float64 {
	return (float64(f.Cached)*0.30 + float64(f.Fresh)*3.75 + float64(f.Output)*15) / 1e6
}

// measure returns what requests come to.
func measure(list []*request) *figures {
	var (
		f      figures
		before *request
		had    = map[[sha256.Size]byte]bool{} // prefixes that were sent
		whole  = map[[sha256.Size]byte]bool{} // the last request of the conversation, at which its response goes on, and parts of the response
	)
	for _, r := range list {
		chain, size, read, hit := sha256.Sum256([]byte(r.head)), r.size, 0, true
		if had[chain] {
			read = size
		}
		had[chain] = true
		for _, it := range r.items {
			next := sum(chain, it.key)
			if it.reply && whole[chain] {
				had[next], whole[next] = true, true
			}
			hit = hit && had[next]
			chain = next
			had[chain] = true
			if size += it.tokens; hit {
				read = size
			}
		}
		if !r.side {
			clear(whole)
			whole[chain] = true
		}
		f.Cached, f.Fresh, f.Output = f.Cached+read, f.Fresh+size-read, f.Output+r.output
		if r.side {
			f.Sides++
			f.Reads += size
			continue
		}
		if f.Requests++; f.Requests == 1 {
			f.Head = r.size
		}
		f.Peak = max(f.Peak, size)
		if before != nil && r.edits(before) {
			if f.Edits == nil {
				f.Before, f.Stays = before.stays(r)
			}
			f.Edits = append(f.Edits, f.Requests)
		}
		before = r
	}
	return &f
}

// sum returns the digest of a prefix and what follows.
func sum(prefix [sha256.Size]byte, key string) [sha256.Size]byte {
	return sha256.Sum256(append(prefix[:], key...))
}

// edits reports whether a request does not begin with all of the one before.
func (r *request) edits(before *request) bool {
	return r.head != before.head || len(r.items) < len(before.items) ||
		!slices.EqualFunc(before.items, r.items[:len(before.items)], func(a, b item) bool { return a.key == b.key })
}

// stays returns the tokens of a request's messages, and how many of these are in a later request.
func (r *request) stays(later *request) (all, kept int) {
	there := map[string]bool{}
	for _, it := range later.items {
		there[it.key] = true
	}
	for _, it := range r.items {
		if all += it.tokens; there[it.key] {
			kept += it.tokens
		}
	}
	return all, kept
}
