// Package shadow models the cache that real calls leave behind, so that what the
// model predicts of a call can be compared with what the server reports.
package shadow

import (
	"slices"
	"sync"
	"time"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// Cache is the modelled cache behind real calls. Sizes of blocks are estimated
// from their texts. The zero value has seen no call. It is safe for concurrent use.
type Cache struct {
	// MinTokens returns the shortest prefix that a model caches, tokens; nil for
	// 1,024 (platform.claude.com, prompt caching).
	MinTokens func(model string) int32

	mu      sync.Mutex
	settled *promptcache.Anthropic // served all calls that nothing can come ahead of any more; nil for none
	open    []call                 // of these, those whose responses had not ended
	calls   []call                 // the others, by when they began
	told    uint32                 // calls so far
	names   []string               // of models
}

// call is a call as the cache model takes it. Times are ns since 1970.
type call struct {
	at, first, end int64
	request        prompt.Request // nothing any more once it has begun
	output         int64
	ticket         int32
	begun          bool // its first token has come
}

// late is how much later a call may be reported than one that began behind it: longer than a request may take.
// Older calls are played once and forgotten.
const late = 2 * time.Hour

// Predict returns what the server should have read, written and processed of the
// input of a request that began at a time and got a reply, given the calls told
// of so far that began ahead of it. Of calls under way at the same time it knows
// those that were answered before.
func (s *Cache) Predict(at time.Time, r *wire.Request, reply *wire.Reply) prompt.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The wall clock alone, for order and lifetimes: a monotonic reading may say
	// something else.
	began := at.UnixNano()
	c := call{at: began, first: began + int64(reply.First), end: began + int64(reply.Total), request: s.request(r), output: reply.Usage.Output}
	s.told++
	c.request.Thread = s.told
	i, _ := slices.BinarySearchFunc(s.calls, began, func(c call, t int64) int {
		if c.at > t {
			return 1
		}
		return -1 // behind those of the same time
	})
	s.calls = slices.Insert(s.calls, i, c)
	server := promptcache.New(promptcache.Config{})
	if s.settled != nil {
		server = s.settled.Clone()
	}
	_, usage := serveAll(server, slices.Clone(s.open), s.calls[:i+1])
	s.settle()
	return usage
}

// settle plays the calls that nothing can come ahead of any more.
func (s *Cache) settle() {
	until := s.calls[len(s.calls)-1].at - int64(late)
	n := 0
	for n < len(s.calls) && s.calls[n].at < until {
		n++
	}
	if n == 0 {
		return
	}
	if s.settled == nil {
		s.settled = promptcache.New(promptcache.Config{})
	}
	s.open, _ = serveAll(s.settled, s.open, s.calls[:n])
	s.calls = slices.Delete(s.calls, 0, n)
}

// serveAll plays calls to a cache, and returns those still under way and how the last one was served.
func serveAll(server *promptcache.Anthropic, open, calls []call) ([]call, prompt.Usage) {
	var out prompt.Outcome
	for _, c := range calls {
		open = progress(server, open, c.at)
		out = server.Begin(c.at, &c.request)
		c.ticket, c.request = out.Ticket, prompt.Request{}
		open = append(open, c)
	}
	return open, out.Usage
}

// progress plays what happens to the calls under way by a time, and returns those still under way.
func progress(server *promptcache.Anthropic, open []call, until int64) []call {
	for {
		next, at := -1, until
		for i := range open {
			t := open[i].first
			if open[i].begun {
				t = open[i].end
			}
			if t <= at {
				next, at = i, t
			}
		}
		if next < 0 {
			return open
		}
		if o := &open[next]; !o.begun {
			o.begun = true
			server.FirstToken(at, o.ticket)
		} else {
			server.End(at, o.ticket, o.output)
			open = slices.Delete(open, next, next+1)
		}
	}
}

// request returns a request as the cache model takes it.
func (s *Cache) request(r *wire.Request) prompt.Request {
	var b builder
	b.context.Reset(nil, &b.arena)
	for p := range r.Parts() {
		b.add(&p)
	}
	// Thinking and effort are part of the key of what follows the system prompt
	// (platform.claude.com, prompt caching, what invalidates the cache).
	b.context.SetKey(prompt.LevelMessages, prompt.DigestString(r.Thinking.String()+"\x00"+r.Effort))
	min := int32(1024)
	if s.MinTokens != nil {
		min = s.MinTokens(r.Model)
	}
	model := slices.Index(s.names, r.Model)
	if model < 0 {
		model = len(s.names)
		s.names = append(s.names, r.Model)
	}
	return prompt.Request{
		Owner: 1, Model: uint32(model + 1), MinTokens: min,
		Entries: slices.Clone(b.context.Seal()), Markers: b.markers, Change: prompt.NoChange,
	}
}

// builder lays out the blocks of a request.
type builder struct {
	context prompt.Context
	arena   prompt.Arena
	markers []prompt.Marker
}

func (b *builder) add(p *wire.Part) {
	rates := traces.DefaultRates()
	block := prompt.Block{Kind: kindOf(p), Object: -1, Bytes: int32(p.Size())}
	texts := p.Texts[:]
	if block.Kind != prompt.KindTools && block.Kind != prompt.KindSystem {
		texts = append(texts, p.Who, p.ID)
		block.Bytes += int32(len(p.Who) + len(p.ID))
	}
	for _, t := range texts {
		block.Digest = block.Digest.Extend(prompt.DigestString(t))
	}
	block.Tokens = max(1, int32(rates.Tokens(block.Kind, int(block.Bytes))))
	b.context.Add(block)
	if p.Cache == wire.CacheNone {
		return
	}
	m := prompt.Marker{Position: int32(b.context.Len() - 1), TTL: prompt.TTL5m, Scope: prompt.ScopeOrg}
	if p.Cache == wire.Cache1h {
		m.TTL = prompt.TTL1h
	}
	b.markers = append(b.markers, m)
}

// kindOf returns the kind of a part for the cache model.
func kindOf(p *wire.Part) prompt.Kind {
	switch {
	case p.Who == "tool":
		return prompt.KindTools
	case p.Who == "system":
		return prompt.KindSystem
	case p.Kind == wire.KindToolUse:
		return prompt.KindToolUse
	case p.Kind == wire.KindToolResult:
		return prompt.KindToolResult
	case p.Who == string(wire.RoleAssistant):
		return prompt.KindText
	}
	return prompt.KindPrompt
}
