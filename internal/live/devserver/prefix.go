package devserver

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// position is a block of a prompt together with all that stands ahead of it.
type position struct {
	sum    [sha256.Size]byte
	tokens int64  // up to it, itself included
	kind   string // of the block
	ttl    string // of the breakpoint here: "", "5m" or "1h"
}

// prefix builds the positions of a prompt: tools, then system, then messages.
// Each has a hash of everything up to it, whose it is and of which model.
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

// write adds fields to the hash, with their lengths, so that no two lists of
// fields look alike.
func (p *prefix) write(fields ...string) {
	var n [8]byte
	for _, f := range fields {
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		p.h.Write(n[:])
		p.h.Write([]byte(f))
	}
}

func (p *prefix) add(kind string, tokens int64, c *control) {
	p.tokens += tokens
	at := position{tokens: p.tokens, kind: kind}
	p.h.Sum(at.sum[:0])
	if c != nil {
		at.ttl = c.TTL
		if at.ttl == "" {
			at.ttl = "5m"
		}
	}
	p.list = append(p.list, at)
}

// block adds a block of a role; system is one.
func (p *prefix) block(role string, b *block) {
	p.write(role)
	p.hashBlock(b)
	p.add(b.Type, b.tokens(), b.CacheControl)
}

func (p *prefix) hashBlock(b *block) {
	failed := ""
	if b.IsError {
		failed = "error"
	}
	p.write(b.Type, b.Text, b.ID, b.Name, string(b.Input), b.ToolUseID, failed, string(b.Rest))
	for i := range b.Content {
		p.hashBlock(&b.Content[i])
	}
}

// positionsOf returns the positions of a request. What changes the messages'
// level only (tool_choice, thinking, effort) enters behind the system prompt.
func positionsOf(org string, q *request, messages []message) []position {
	p := newPrefix(org, q.Model)
	for i := range q.Tools {
		t := &q.Tools[i]
		p.write("tool", t.Name, string(t.Rest))
		p.add("tool", t.tokens(), t.CacheControl)
	}
	for i := range q.System {
		p.block("system", &q.System[i])
	}
	p.write("level", string(q.ToolChoice), string(q.Thinking), string(q.OutputConfig))
	for i := range messages {
		for k := range messages[i].Content {
			p.block(messages[i].Role, &messages[i].Content[k])
		}
	}
	if q.CacheControl != nil {
		automatic(p.list, q.CacheControl)
	}
	return p.list
}

// automatic puts the breakpoint that a request asks for as a whole at the last
// block that can have one.
func automatic(list []position, c *control) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].kind == "thinking" || list[i].kind == "redacted_thinking" {
			continue
		}
		if list[i].ttl == "" {
			list[i].ttl = c.TTL
			if c.TTL == "" {
				list[i].ttl = "5m"
			}
		}
		return
	}
}
