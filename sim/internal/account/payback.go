package account

import (
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
)

// payback is what a compaction of a session cost and saved, as far as the
// session has come.
type payback struct {
	studies.Payback
	would int64 // 1 + tokens that its call read on the conversation's own prefix, 0 without one
	warm  bool  // the conversation's entries were within their lifetime when it began
}

// summaries are the calls of a compaction under way on a thread.
type summaries struct {
	calls int
	usage prompt.Usage
	cost  results.Cost
	start int64 // of the first, ns on the cohort's clock
	would int64 // as in payback
}

// payBack adds a finished call to the balance of the compaction before it, or of
// the one under way.
func (b *Book) payBack(t *Thread, c *Call, cost *results.Cost) {
	switch {
	case c.Kind.ByLayer():
		if c.Kind == Beside && c.Source == measures.SourceCompact {
			t.calls.add(c, cost)
		}
	case c.Kind != Hidden:
		t.calls = summaries{}
		if t.last > 0 {
			b.paybacks[t.last-1].land(b.Models.Of(c.Model), c)
		}
	}
}

func (s *summaries) add(f *Call, cost *results.Cost) {
	if s.calls == 0 {
		s.start = f.Start
	}
	if f.Own && s.would == 0 {
		s.would = 1 + f.Outcome.Usage.Read
	}
	s.calls++
	s.usage.Add(&f.Outcome.Usage)
	s.cost.Add(cost)
}

// land adds a call of the conversation.
func (p *payback) land(m *Model, f *Call) {
	prices := m.rate.PerToken(f.Outcome.Usage.Input())
	c := studies.LaterCall{
		Read: f.Outcome.Usage.Read, Context: f.Context,
		ReadPrice: prices[measures.ClassRead], WritePrice: prices[f.Class],
	}
	if p.Later > 0 {
		p.Add(&c)
		return
	}
	would := c.Read
	switch {
	case p.would > 0:
		would = p.would - 1
	case p.warm:
		would = f.Outcome.Expected
	}
	p.Next(&c, would)
}

// Compacted begins the balance of a compaction of a conversation, which counts in its chain already. deleted are the tokens
// that requests had left out.
func (b *Book) Compacted(t *Thread, of *course.Course, bd *strategies.Boundary, now, deleted int64) {
	b.Row.Most(measures.ChainMax, int64(of.Chain))
	made, start := &t.calls, now
	if made.calls > 0 {
		start = made.start
	}
	p := payback{would: made.would, warm: of.Started && start-of.LastEnd <= profile.Life(of.TTL)}
	p.Saved, p.Calls, p.Usage, p.CallCost = bd.Before-bd.After, made.calls, made.usage, made.cost
	if p.warm {
		p.Saved -= deleted
	}
	b.paybacks = append(b.paybacks, p)
	t.last = int32(len(b.paybacks))
	*made = summaries{}
}

// unreadClass returns the class in which most of a request is billed that is
// not read.
func unreadClass(r *prompt.Request, out *prompt.Outcome) measures.Class {
	n := len(r.Markers)
	switch {
	case n > 0 && r.Markers[n-1].TTL == prompt.TTL1h:
		return measures.ClassWrite1h
	case n > 0:
		return measures.ClassWrite5m
	case out.Usage.WriteOther > 0:
		return measures.ClassWriteOther
	}
	return measures.ClassUncached
}
