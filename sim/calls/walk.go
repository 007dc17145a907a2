package calls

import (
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/signs"
)

// sourceOf returns who made the calls of a thread.
func sourceOf(k traces.ThreadKind) measures.Source {
	switch k {
	case traces.ThreadAgent, traces.ThreadOrphan:
		return measures.SourceAgent
	case traces.ThreadBranch:
		return measures.SourceBranch
	}
	return measures.SourceMain
}

// Of returns the calls of a session, whose body is in memory, each at the prices of its date.
func Of(s *traces.Session, prices Prices) *Table {
	p, plain := newPricer(prices, s), agents.Unwritten(s)
	t := &Table{Session: s, Threads: make([][]Call, len(s.Threads))}
	for i := range s.Threads {
		thread := &s.Threads[i]
		t.Threads[i] = make([]Call, len(thread.Rounds))
		for r := range thread.Rounds {
			c := &t.Threads[i][r]
			*c = Call{Session: s, Thread: thread, Index: int32(i), Round: int32(r), Recorded: &thread.Rounds[r], Source: sourceOf(thread.Kind), Plain: plain}
			if r > 0 {
				c.Before = &t.Threads[i][r-1]
			}
		}
	}
	var detector breaks.Detector
	switches := switchesThinking(s)
	for i := range t.Threads {
		if len(t.Threads[i]) > 0 {
			t.Threads[i][0].Before = t.left(int32(i))
		}
		w := walker{thread: &s.Threads[i]}
		for r := range t.Threads[i] {
			c := &t.Threads[i][r]
			c.bill(p.of(c.Recorded))
			c.think = w.switched(s, c) && switches
			w.add(c)
			c.Reason = detector.See(w.seen(c)).Reason
		}
	}
	for i := range s.Searches {
		n := &s.Searches[i]
		c := &t.Threads[n.Thread][n.Round]
		c.Search = float64(n.Times) * c.Model.price.Search
	}
	t.apart(p)
	return t
}

// bill sets what the call cost.
func (c *Call) bill(m *Price) {
	c.Model, c.Cost, c.PerToken = m, m.Of(c.Recorded.Usage), m.perToken(c.Recorded.Usage.Input())
}

// left returns the call whose context a branch takes over, nil for other threads.
func (t *Table) left(i int32) *Call {
	for s := &t.Session.Threads[i]; s.Kind == traces.ThreadBranch && s.Parent >= 0; s = &t.Session.Threads[s.Parent] {
		if s.ParentRound >= 0 {
			return &t.Threads[s.Parent][s.ParentRound]
		}
	}
	return nil
}

// Cut takes the calls outside a period out of the bill. In reports whether a time, unix ns, 0
// for unknown, is in it.
func (t *Table) Cut(in func(at int64) bool) {
	for _, calls := range append(t.Threads[:len(t.Threads):len(t.Threads)], t.Apart) {
		for i := range calls {
			if c := &calls[i]; !in(c.At) {
				c.Out, c.Cost, c.PerToken, c.MissUSD, c.Search = true, results.Cost{}, results.Cost{}, 0, 0
			}
		}
	}
}

// switchesThinking reports whether recordings show that the client keeps
// messages with and without thinking apart.
func switchesThinking(s *traces.Session) bool {
	p, err := profile.Default()
	return err == nil && agents.ClaudeCode(s) && p.RulesFor(s.Version()).Has(profile.RuleThinking)
}

// apart sets the calls that belong to no thread.
func (t *Table) apart(p *pricer) {
	s := t.Session
	t.Apart = make([]Call, 0, len(s.Summaries)+len(s.Unshown)+len(s.Advice))
	add := func(thread int32, source measures.Source, model string, r traces.Round) {
		r.Logged, r.Model = r.Usage.Output, p.named(model, s.StartTime())
		c := Call{Session: s, Thread: &s.Threads[thread], Index: thread, Recorded: &r, Source: source,
			At: r.At, Untimed: r.At == 0, Gap: -1, ahead: -1}
		c.bill(p.of(&r))
		t.Apart = append(t.Apart, c)
	}
	for i := range s.Summaries {
		sum := &s.Summaries[i]
		ev := &s.Threads[sum.Thread].Events[sum.Event]
		add(sum.Thread, measures.SourceCompact, sum.Model, traces.Round{Usage: sum.Usage, At: ev.At, Line: ev.Line, File: ev.File})
	}
	for i := range s.Unshown {
		c := &s.Unshown[i]
		source := measures.SourceOther
		if c.Summary() {
			source = measures.SourceCompact
		}
		add(c.Thread, source, c.Model, traces.Round{Usage: c.Usage, At: c.At, Line: c.Line, File: c.File})
	}
	for i := range s.Advice {
		c := &s.Advice[i]
		asked := &s.Threads[c.Thread].Rounds[c.Round]
		add(c.Thread, measures.SourceAdvisor, c.Model, traces.Round{Usage: c.Usage, At: asked.At, Line: asked.Line, File: asked.File})
	}
}

// walker walks through one thread.
type walker struct {
	thread   *traces.Thread
	next     int   // event
	deleted  int64 // tokens cleared so far
	thinking signs.Thinking
	told     breaks.Call
}

// switched reports whether thinking was switched on or off just before a call.
func (w *walker) switched(s *traces.Session, c *Call) bool {
	off := w.thinking.Off()
	content := s.Content(c.Recorded)
	w.thinking.Hear(content, c.Recorded.Signs)
	now := w.thinking.Off()
	w.thinking.See(content)
	return !c.First() && off != now
}

// add sets what follows from the previous call.
func (w *walker) add(c *Call) {
	c.Gap, c.ahead = -1, -1
	w.clock(c)
	for ; w.next < len(w.thread.Events) && w.thread.Events[w.next].Round <= c.Round; w.next++ {
		ev := &w.thread.Events[w.next]
		c.Acted |= 1 << ev.Kind
		if len(ev.Cleared) > 0 {
			c.ahead = w.ahead(ev.Cleared[0], c.Round)
		}
		if ev.Kind == traces.EventMicrocompact || ev.Kind == traces.EventForget {
			w.deleted += int64(ev.Saved)
		}
	}
	if c.Before != nil {
		c.Tier = c.Before.Billed()
	}
	switch {
	case c.First() && c.Recorded.Counted() && w.thread.Left.Usage.Input() > 0:
		left := &w.thread.Left
		c.Resumed, c.Tier = true, left.TTL
		if !c.Untimed {
			c.Gap = left.Gap
		}
		c.miss(c.leaves(&left.Usage))
	case c.First():
	case c.Recorded.Counted():
		c.miss(c.Before.Leaves())
	default: // no usable counts of its own: keep what the previous call left
		c.Left = c.Before.Left
	}
}

// ahead returns the tokens before a block in the context of a round; −1 for a
// block outside the thread's own rounds.
func (w *walker) ahead(block, round int32) int64 {
	for i := round - 1; i >= 0; i-- {
		switch r := &w.thread.Rounds[i]; {
		case block >= r.Reply.From && block < r.Reply.To:
			return r.Usage.Input()
		case block >= r.Input.From && block < r.Input.To && i > 0:
			return w.thread.Rounds[i-1].Usage.Input()
		}
	}
	return -1
}

// clock sets the time of the call. A request without a line of its own, such as
// a retry, is assumed to follow at once.
func (w *walker) clock(c *Call) {
	r, before := c.Recorded, c.Before
	if c.First() {
		before = nil
	}
	c.At = r.At
	if c.At == 0 && before != nil && before.End != 0 {
		c.At = before.End + r.Wait
	}
	c.Untimed = c.At == 0 || r.Flags&signs.NoTime != 0
	if c.Untimed {
		return
	}
	c.End = c.At + r.Stream
	if before == nil || before.Untimed {
		return
	}
	c.Gap = r.Wait
	c.Back = r.At != 0 && before.Recorded.At != 0 && r.At < before.Recorded.At+before.Recorded.First
}

// seen returns the call in the form of the detector, which knows of results
// that the client cleared.
func (w *walker) seen(c *Call) *breaks.Call {
	u := &c.Recorded.Usage
	w.told = breaks.Call{
		Source: c.Source, Thread: c.Index, Model: c.Model.Name, Read: u.Read, Context: u.Input(), Deleted: w.deleted,
		Compacted: c.Acted.Has(traces.EventCompact),
	}
	if !c.Untimed {
		w.told.At, w.told.End = c.At, c.End
		if c.Back { // before the previous response: the pause is unknown
			w.told.At, w.told.End = 0, 0
		}
	}
	return &w.told
}
