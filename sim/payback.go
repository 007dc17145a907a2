package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
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

// ownPrefix reports whether a layer's call sends what the conversation itself would send,
// so that its read shows what the conversation would have read.
func ownPrefix(in *prompt.Intent) bool {
	return !in.Own && in.Model == "" && in.Whole() && !in.Rekey
}

// payBack adds a finished call to the balance of the compaction before it, or of
// the one under way.
func (l *Loop) payBack(t *thread, f *flight, cost *results.Cost) {
	switch {
	case f.layer >= 0:
		if f.background == 0 && f.source == results.SourceCompact {
			t.summaries.add(f, cost)
		}
	case !f.hidden:
		t.summaries = summaries{}
		if t.payback > 0 {
			t.replay.paybacks[t.payback-1].land(t, f)
		}
	}
}

func (s *summaries) add(f *flight, cost *results.Cost) {
	if s.calls == 0 {
		s.start = f.start
	}
	if f.own && s.would == 0 {
		s.would = 1 + f.outcome.Usage.Read
	}
	s.calls++
	s.usage.Add(&f.outcome.Usage)
	s.cost.Add(cost)
}

// land adds a call of the conversation.
func (p *payback) land(t *thread, f *flight) {
	prices := t.replay.models.of(f.model).rate.PerToken(f.outcome.Usage.Input())
	c := studies.LaterCall{
		Read: f.outcome.Usage.Read, Context: f.context,
		ReadPrice: prices[results.ClassRead], WritePrice: prices[f.class],
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
		would = f.outcome.Expected
	}
	p.Next(&c, would)
}

// openPayback begins the balance of a compaction.
func (l *Loop) openPayback(t *thread, b *strategies.Boundary) {
	s, made := t.replay, &t.summaries
	start := l.clock.now
	if made.calls > 0 {
		start = made.start
	}
	p := payback{would: made.would, warm: t.Started && start-t.LastEnd <= lifeOf(t.TTL)}
	p.Saved, p.Calls, p.Usage, p.CallCost = b.Before-b.After, made.calls, made.usage, made.cost
	if p.warm && len(t.deleted.list) > 0 {
		p.Saved -= t.deleted.tokens // requests had left them out already
	}
	s.paybacks = append(s.paybacks, p)
	t.payback = int32(len(s.paybacks))
	*made = summaries{}
}

// notePayback notes of a request on its way what its balance needs to know: how
// tokens that are not read are billed, and what stayed ahead of the change.
func (l *Loop) notePayback(t *thread, f *flight) {
	if f.layer >= 0 || t.payback == 0 {
		return
	}
	f.class = unreadClass(&l.request, &f.outcome)
	p := &t.replay.paybacks[t.payback-1]
	if at := int(l.request.Change.At); p.Later == 0 && at > 0 {
		p.Front = int64(l.request.Entries[min(at, len(l.request.Entries))-1].Cum)
	}
}

// unreadClass returns the class in which most of a request is billed that is
// not read.
func unreadClass(r *prompt.Request, out *prompt.Outcome) results.Class {
	n := len(r.Markers)
	switch {
	case n > 0 && r.Markers[n-1].TTL == prompt.TTL1h:
		return results.ClassWrite1h
	case n > 0:
		return results.ClassWrite5m
	case out.Usage.WriteOther > 0:
		return results.ClassWriteOther
	}
	return results.ClassUncached
}

// closePaybacks counts the compactions that did not pay and tells the observer
// what became of each.
func (s *replay) closePaybacks(l *Loop) {
	o, told := l.config.Observer.(PaybackObserver)
	for i := range s.paybacks {
		p := &s.paybacks[i].Payback
		if p.NetUSD() < 0 {
			s.row.Figures[results.NetNegativeCompactions]++
		}
		if told {
			o.Paid(int(s.index), i, p)
		}
	}
}
