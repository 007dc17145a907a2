package audit

import (
	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// call is one recorded call with what is made of it.
type call struct {
	session *traces.Session
	thread  *traces.Thread
	index   int32 // of the thread
	round   int32
	source  results.Source
	at, end int64 // unix ns of request and end of response; 0 when unknown
	back    bool  // the clock ran back before it
	untimed bool
	gap     int64 // ns of the person's and the tools' pause before it; −1 for first calls and when unknown
	tier    prompt.TTL
	acted   events // what the agent did to its context before the request
	model   *priced
	cost    results.Cost
	price   results.Cost // USD a token
	left    int64        // tokens the call before had left in the cache
	missed  int64        // of these, not read although they were sent again
	missUSD float64      // paid for writing them instead of reading
	reason  breaks.Reason
	changed breaks.Fields
}

// events is a set of kinds of event.
type events uint8

func (e events) has(k traces.EventKind) bool { return e&(1<<k) != 0 }

// edited reports whether the context was changed in any way.
func (e events) edited() bool { return e != 0 }

// r returns the recorded round.
func (c *call) r() *traces.Round { return &c.thread.Rounds[c.round] }

// first reports whether the call is the first of its thread.
func (c *call) first() bool { return c.round == 0 }

// automatic reports whether the provider caches on its own account, in steps,
// and bills no write.
func (c *call) automatic() bool { return agents.Automatic(c.session) }

// fresh returns the price of a token that was not read, USD, as the call paid it.
func (c *call) fresh() float64 {
	u := &c.r().Usage
	n := u.Uncached + u.Writes()
	if n == 0 {
		return c.price[results.ClassUncached]
	}
	paid := c.cost[results.ClassUncached] + c.cost[results.ClassWrite5m] + c.cost[results.ClassWrite1h] + c.cost[results.ClassWriteOther]
	return paid / float64(n)
}

// place returns where to look at the call.
func (c *call) place() Place {
	return placeOf(c.session, c.r().File, c.r().Line)
}

func placeOf(s *traces.Session, file uint16, line int32) Place {
	p := Place{Session: s.ID, Line: int(line)}
	if int(file) < len(s.Files) {
		p.File = s.Files[file]
	}
	return p
}

// step is what an automatic cache keeps in: less is no miss, tokens (facts:
// every read is a multiple of 128, most land within 1,024 of what was sent).
const step = 1024

// leave returns the tokens a call leaves in the cache.
func (c *call) leave() int64 {
	u := &c.r().Usage
	if c.automatic() {
		return u.Input()
	}
	return u.Read + u.Writes()
}

// miss sets what the call did not read of what the one before had left.
func (c *call) miss(before *call) {
	u := &c.r().Usage
	c.left = before.leave()
	c.missed = max(0, min(c.left, c.leave())-u.Read)
	if c.automatic() && c.missed <= step {
		c.missed = 0
	}
	c.missUSD = float64(c.missed) * max(0, c.fresh()-c.price[results.ClassRead])
}
