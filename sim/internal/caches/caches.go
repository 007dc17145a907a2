// Package caches keeps the servers that the sessions of a cohort call: one for each agent and provider, as neither share caches.
package caches

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces/facts"
)

// Server is a modelled prompt cache. Times are ns on the cohort's clock and never run back, except that the time of a first token
// may lie ahead: it is told as soon as the request has been served.
type Server interface {
	Begin(now int64, r *exchange.Request) exchange.Outcome
	FirstToken(now int64, ticket int32)
	End(now int64, ticket int32, output int64)
	Reset()
}

// Set is the servers of a cohort. It keeps them between cohorts, so that a steady run allocates none.
type Set struct {
	New       func(facts.Cache) Server
	Lifetimes promptcache.Lifetimes // of entries, where the server can be told

	list []server
}

// server is the server of an agent's sessions at a provider.
type server struct {
	agent, provider string
	cache           facts.Cache
	Server
}

// Of returns the server that sessions of an agent call at a provider.
func (s *Set) Of(agent, provider string, cache facts.Cache) Server {
	for i := range s.list {
		if v := &s.list[i]; v.agent == agent && v.cache == cache && v.provider == provider {
			return v.Server
		}
	}
	v := s.New(cache)
	s.live(v)
	s.list = append(s.list, server{agent, provider, cache, v})
	return v
}

// Reset empties all caches.
func (s *Set) Reset() {
	for i := range s.list {
		s.live(s.list[i].Server)
		s.list[i].Reset()
	}
}

// live gives the entries of a cache their lifetimes.
func (s *Set) live(v Server) {
	if a, ok := v.(*promptcache.Anthropic); ok {
		a.Live(s.Lifetimes)
	}
}

// Copyable reports whether all caches can be copied.
func (s *Set) Copyable() bool {
	return !slices.ContainsFunc(s.list, func(v server) bool {
		switch v.Server.(type) {
		case *promptcache.Anthropic, *promptcache.OpenAI:
			return false
		}
		return true
	})
}

// CopyFrom makes s an independent copy of caches that can be copied, keeping the storage of its own. Servers that o lacks are empty.
func (s *Set) CopyFrom(o *Set) {
	s.Lifetimes = o.Lifetimes
	for i := range o.list {
		from := &o.list[i]
		to := s.Of(from.agent, from.provider, from.cache)
		switch v := from.Server.(type) {
		case *promptcache.Anthropic:
			to.(*promptcache.Anthropic).CopyFrom(v)
		case *promptcache.OpenAI:
			to.(*promptcache.OpenAI).CopyFrom(v)
		}
	}
	for i := range s.list {
		if v := &s.list[i]; !slices.ContainsFunc(o.list, v.same) {
			v.Reset()
		}
	}
}

// same reports whether two servers are of one agent's sessions at one provider.
func (v *server) same(o server) bool {
	return v.agent == o.agent && v.cache == o.cache && v.provider == o.provider
}

// StandFor reports whether a run would have been the same under shorter lifetimes.
func (s *Set) StandFor(life promptcache.Lifetimes) bool {
	return life == s.Lifetimes || !slices.ContainsFunc(s.list, func(v server) bool {
		switch v := v.Server.(type) {
		case *promptcache.Anthropic:
			return !v.Oldest().Within(life)
		case *promptcache.OpenAI:
			return false
		}
		return true
	})
}
