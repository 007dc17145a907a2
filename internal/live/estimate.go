package live

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Estimate returns what a call would take, from its sizes alone: a cold one, as
// what a server has in its cache is not known ahead. A call that is not live or
// that the recording answers takes nothing.
func (s *Summarizer) Estimate(c *summarizer.Call) Estimate {
	if !s.opts.made(c.Intent) {
		return Estimate{}
	}
	p := s.opts.plan(c)
	if p.kind == kindServer && s.opts.NoCompaction {
		return Estimate{}
	}
	if s.opts.Calls != nil && s.opts.Calls.Has(s.about(c, &p)) {
		return Estimate{Calls: 1, Stored: 1}
	}
	u := coldUsage(c)
	u.Output = int64(s.opts.Stub.Summarize(c.Intent, c.Draws, c.Event, c.Span).Output)
	if p.kind == kindMemory {
		u.Output = max(u.Output, s.memorySize(c))
	}
	u.Output = min(u.Output, int64(p.maxOutput))
	most := u
	most.Output = int64(p.maxOutput + p.room)
	return Estimate{Calls: 1, Usage: u, USD: s.opts.Prices(p.model, u), MostUSD: s.opts.Prices(p.model, most)}
}

// memorySize returns what a session memory weighs that is brought up to date,
// tokens: a call writes all of it again. One whose text is not there stands in the
// instruction.
func (s *Summarizer) memorySize(c *summarizer.Call) int64 {
	size := int64(c.Intent.Instruction)
	if w, ok := s.memory.find(c.Intent.Base); ok {
		size = int64(w.tokens)
	}
	return min(size, memoryTokens)
}

// coldUsage returns the input of a call that reads nothing: what stands ahead of
// a marker is written for the marker's lifetime, the rest is not.
func coldUsage(c *summarizer.Call) prompt.Usage {
	var u prompt.Usage
	entries, done := c.Context.Seal(), int64(0)
	for _, m := range c.Markers {
		if m.Position < 0 || int(m.Position) >= len(entries) {
			continue
		}
		n := int64(entries[m.Position].Cum) - done
		if n <= 0 {
			continue
		}
		done += n
		if m.TTL == prompt.TTL1h {
			u.Write1h += n
		} else {
			u.Write5m += n
		}
	}
	u.Uncached = int64(c.Context.Tokens()) - done
	return u
}
