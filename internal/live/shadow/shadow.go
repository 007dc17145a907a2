// Package shadow models the cache that real calls leave behind, so that what the
// model predicts of a call can be compared with what the server reports.
package shadow

import (
	"cmp"
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

	mu    sync.Mutex
	calls []call   // by when they began
	names []string // of models
}

// call is a call as the cache model takes it.
type call struct {
	times   [3]int64 // of its request, first token and end, ns since 1970
	request prompt.Request
	output  int64
}

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
	c := call{
		times:   [3]int64{began, began + int64(reply.First), began + int64(reply.Total)},
		request: s.request(r), output: reply.Usage.Output,
	}
	c.request.Thread = uint32(len(s.calls)) + 1
	i, _ := slices.BinarySearchFunc(s.calls, began, func(c call, t int64) int {
		if c.times[0] > t {
			return 1
		}
		return -1 // behind those of the same time
	})
	s.calls = slices.Insert(s.calls, i, c)
	return serve(s.calls[:i+1])
}

// serve plays calls to an empty cache and returns how the last one is served.
func serve(calls []call) prompt.Usage {
	type event struct {
		at          int64
		call, phase int
	}
	var events []event
	for i := range calls {
		for phase, at := range calls[i].times {
			events = append(events, event{at, i, phase})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.call, b.call), cmp.Compare(a.phase, b.phase))
	})
	server, tickets := promptcache.New(promptcache.Config{}), make([]int32, len(calls))
	for _, e := range events {
		switch c := &calls[e.call]; e.phase {
		case 0:
			out := server.Begin(e.at, &c.request)
			if tickets[e.call] = out.Ticket; e.call == len(calls)-1 {
				return out.Usage
			}
		case 1:
			server.FirstToken(e.at, tickets[e.call])
		default:
			server.End(e.at, tickets[e.call], c.output)
		}
	}
	return prompt.Usage{}
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
