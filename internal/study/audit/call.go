package audit

import (
	"github.com/compactsim/compactsim/internal/serving/breaks"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/internal/study/confusion"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// call is one recorded call with the findings about it.
type call struct {
	session *traces.Session
	thread  *traces.Thread
	index   int32 // of the thread
	round   int32
	source  results.Source
	at, end int64 // unix ns of request and end of response; 0 when unknown
	back    bool  // the clock ran back just before it
	untimed bool
	gap     int64 // ns of the pause of people and tools before it; −1 for first calls and if unknown
	tier    prompt.TTL
	out     bool   // outside the reported period: it is compared, and costs nothing
	acted   events // what the agent did to its context before the request
	ahead   int64  // tokens before the first block that was cleared then; −1 if unknown
	model   *priced
	cost    results.Cost
	price   results.Cost // USD a token
	left    int64        // tokens the previous call had left in the cache
	missed  int64        // of these, sent again and not read
	missUSD float64      // paid for writing them instead of reading
	think   bool         // the client switched thinking on or off and keeps the messages of both apart
	reason  confusion.Reason
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

// automatic reports whether the provider caches by itself, in steps, and bills
// no writes.
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

// place returns the place of the call in the recording.
func (c *call) place() Place {
	return placeOf(c.session, c.r().File, c.r().Line)
}

func placeOf(s *traces.Session, file uint16, line int32) Place {
	p := Place{Call: traces.CallName(s.ID, file, line), Session: s.ID, Line: int(line)}
	if int(file) < len(s.Files) {
		p.File = s.Files[file]
	}
	return p
}

// step is the unit of an automatic cache, tokens; a smaller difference is no miss (facts:
// every read is a multiple of 128, most end within 1,024 of what was sent).
const step = 1024

// leave returns the tokens a call leaves in the cache.
func (c *call) leave() int64 {
	u := &c.r().Usage
	if c.automatic() {
		return u.Input()
	}
	return u.Read + u.Writes()
}

// miss sets how much of what the previous call had left the call did not read.
func (c *call) miss(before *call) {
	u := &c.r().Usage
	c.left = before.leave()
	c.missed = max(0, min(c.left, c.leave())-u.Read)
	if c.automatic() && c.missed <= step {
		c.missed = 0
	}
	c.missUSD = float64(c.missed) * max(0, c.fresh()-c.price[results.ClassRead])
}

// Cause says why a call missed, as far as the recording shows: by the logged
// events, the model, and the pause compared with the billed lifetime.
type Cause string

// The causes. If several apply, call.cause decides.
const (
	CauseCompaction Cause = "compaction"    // a summary replaced the messages
	CauseEdit       Cause = "edit"          // the agent cleared results, or the context shrank and no line says why
	CauseModel      Cause = "model"         // another model
	CauseLongPause  Cause = "pause_over_1h" // longer than any lifetime on offer
	CauseShortPause Cause = "pause_over_5m" // an entry that lived 5 minutes; one with an hour would have lasted
	CauseMessages   Cause = "messages"      // the server says that the client changed its messages
	CauseSystem     Cause = "system"        // or its system prompt
	CauseTools      Cause = "tools"         // or its tools
	CauseThinking   Cause = "thinking"      // thinking was switched on or off, in clients where that costs
	CauseInside     Cause = "inside"        // within the lifetime that was paid for, for no visible reason
	CauseTail       Cause = "tail"          // within the lifetime, and too small for the detector to call it a break
	CauseUnknown    Cause = "unknown"       // the recording does not say how long the pause was
	CauseNoLifetime Cause = "automatic"     // an automatic cache: it promises no lifetime
)

// verdicts are the causes that the server names.
var verdicts = map[traces.Verdict]Cause{
	traces.VerdictMessages: CauseMessages, traces.VerdictSystem: CauseSystem, traces.VerdictTools: CauseTools,
}

// cause returns why a call missed. The server's verdict compares requests and ignores
// lifetimes, so an expiry counts before it. So does an edited context, unless the verdict
// names the system prompt or the tools: in the cache model it would have missed anyway.
func (c *call) cause() Cause {
	paused := c.gap >= 0 && !c.back
	named := verdicts[c.r().Verdict]
	switch {
	case c.acted.has(traces.EventCompact):
		return CauseCompaction
	case c.round > 0 && c.r().Model != c.thread.Rounds[c.round-1].Model:
		return CauseModel
	case c.automatic() && (!c.acted.edited() || c.shortAhead()):
		return CauseNoLifetime
	case !c.automatic() && paused && c.gap > breaks.Long:
		return CauseLongPause
	case !c.automatic() && paused && c.gap > breaks.Short && c.tier == prompt.TTL5m:
		return CauseShortPause
	case c.acted.edited() && (named == "" || named == CauseMessages):
		return CauseEdit
	case named != "":
		return named
	case c.think:
		return CauseThinking
	case !paused:
		return CauseUnknown
	case c.missed <= breaks.MinDrop || float64(c.missed) <= breaks.MinDropShare*float64(c.left):
		return CauseTail
	}
	return CauseInside
}

// shortAhead reports whether most of what a call of an automatic cache missed
// lies before what was cleared. Such a cache reads up to the first change;
// others fall back to the marker before it, so that their reads say nothing.
func (c *call) shortAhead() bool { return c.ahead >= 0 && 2*(c.ahead-c.r().Usage.Read) > c.missed }

// misses sums up the calls that missed by cause, and the detector's verdicts.
type misses struct {
	byCause map[Cause]*Miss
	said    [confusion.NumReasons]Said
}

func (m *misses) add(c *call) {
	said := &m.said[c.reason]
	said.Calls++
	if c.missed == 0 {
		return
	}
	said.Missed++
	said.Tokens += c.missed
	said.USD += c.missUSD
	cause := c.cause()
	if said.Causes == nil {
		said.Causes = map[Cause]int{}
	}
	said.Causes[cause]++
	if m.byCause == nil {
		m.byCause = map[Cause]*Miss{}
	}
	if m.byCause[cause] == nil {
		m.byCause[cause] = &Miss{Cause: cause}
	}
	one := m.byCause[cause]
	one.Calls++
	one.Tokens += c.missed
	one.USD += c.missUSD
}

func (m *misses) report(r *Report) {
	for _, one := range m.byCause {
		r.Misses = append(r.Misses, *one)
	}
	sortBy(r.Misses, func(a *Miss) float64 { return a.USD }, func(a *Miss) string { return string(a.Cause) })
	for i := range m.said {
		if m.said[i].Calls > 0 {
			m.said[i].Reason = confusion.Reason(i).String()
			r.Detector = append(r.Detector, m.said[i])
		}
	}
}

// sourceOf returns who made the calls of a thread.
func sourceOf(k traces.ThreadKind) results.Source {
	switch k {
	case traces.ThreadAgent, traces.ThreadOrphan:
		return results.SourceAgent
	case traces.ThreadBranch:
		return results.SourceBranch
	}
	return results.SourceMain
}

// walk returns the calls of a session, thread by thread, in order.
func walk(s *traces.Session, prices Prices) [][]call {
	p := newPricer(prices, s)
	threads := make([][]call, len(s.Threads))
	var detector breaks.Detector
	switches := switchesThinking(s)
	for i := range s.Threads {
		t := &s.Threads[i]
		var thinking traces.Thinking
		w := walker{session: s, thread: t, calls: make([]call, len(t.Rounds))}
		for r := range t.Rounds {
			c := &w.calls[r]
			*c = call{session: s, thread: t, index: int32(i), round: int32(r), source: sourceOf(t.Kind)}
			c.model = p.of(&t.Rounds[r])
			c.cost = c.model.cost(t.Rounds[r].Usage)
			c.price = c.model.perToken(t.Rounds[r].Usage.Input())
			off := thinking.Off()
			content := s.Content(&t.Rounds[r])
			thinking.Hear(content, t.Rounds[r].Signs)
			c.think = switches && r > 0 && off != thinking.Off()
			thinking.See(content)
			w.add(c)
			verdict := detector.See(w.seen(c))
			c.reason, c.changed = verdict.Reason, verdict.Changed
		}
		threads[i] = w.calls
	}
	return threads
}

// switchesThinking reports whether recordings show that the client keeps
// messages with and without thinking apart.
func switchesThinking(s *traces.Session) bool {
	p, err := profile.Default()
	return err == nil && agents.ClaudeCode(s) && p.RulesFor(s.Version()).Has(profile.RuleThinking)
}

// summaries returns the logged summary calls of compactions, in the order of
// Session.Summaries. They belong to no thread.
func summaries(s *traces.Session, prices Prices) []call {
	var list []call
	p := newPricer(prices, s)
	for i := range s.Summaries {
		sum := &s.Summaries[i]
		ev := &s.Threads[sum.Thread].Events[sum.Event]
		r := traces.Round{Usage: sum.Usage, Logged: sum.Usage.Output, At: ev.At, Line: ev.Line, File: ev.File, Model: p.named(sum.Model, s)}
		c := call{
			session: s, thread: &traces.Thread{Rounds: []traces.Round{r}}, index: sum.Thread,
			source: results.SourceCompact, at: ev.At, untimed: ev.At == 0, gap: -1, model: p.of(&r),
		}
		c.cost, c.price = c.model.cost(sum.Usage), c.model.perToken(sum.Usage.Input())
		list = append(list, c)
	}
	return list
}

// walker walks through one thread.
type walker struct {
	session *traces.Session
	thread  *traces.Thread
	calls   []call
	next    int   // event
	deleted int64 // tokens cleared so far
	tier    prompt.TTL
	told    breaks.Call
}

// add sets what follows from the previous call.
func (w *walker) add(c *call) {
	r := c.r()
	c.gap, c.tier, c.ahead = -1, w.tier, -1
	var before *call
	if c.round > 0 {
		before = &w.calls[c.round-1]
	}
	w.clock(c, before)
	for ; w.next < len(w.thread.Events) && w.thread.Events[w.next].Round <= c.round; w.next++ {
		ev := &w.thread.Events[w.next]
		c.acted |= 1 << ev.Kind
		if len(ev.Cleared) > 0 {
			c.ahead = w.ahead(ev.Cleared[0], c.round)
		}
		if ev.Kind == traces.EventMicrocompact || ev.Kind == traces.EventForget {
			w.deleted += int64(ev.Saved)
		}
	}
	switch {
	case before == nil:
	case r.Usage.Input() > 0:
		c.miss(before)
	default: // no usable counts: keep what the previous call left
		c.left = before.left
	}
	switch {
	case r.Usage.Write1h > 0:
		w.tier = prompt.TTL1h
	case r.Usage.Writes() > 0:
		w.tier = prompt.TTL5m
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
func (w *walker) clock(c *call, before *call) {
	r := c.r()
	c.at = r.At
	if c.at == 0 && before != nil && before.end != 0 {
		c.at = before.end + r.Wait
	}
	c.untimed = c.at == 0 || r.Flags&traces.RoundNoTime != 0
	if c.untimed {
		return
	}
	c.end = c.at + r.Stream
	if before == nil || before.untimed {
		return
	}
	c.gap = r.Wait
	c.back = r.At != 0 && before.r().At != 0 && r.At < before.r().At+before.r().First
}

// seen returns the call in the form of the detector, which knows of results
// that the client cleared.
func (w *walker) seen(c *call) *breaks.Call {
	u := &c.r().Usage
	w.told = breaks.Call{
		Source: c.source, Thread: c.index, Model: c.model.name, Read: u.Read, Context: u.Input(), Deleted: w.deleted,
		Compacted: c.acted.has(traces.EventCompact),
	}
	if !c.untimed {
		w.told.At, w.told.End = c.at, c.end
		if c.back { // before the previous response: the pause is unknown
			w.told.At, w.told.End = 0, 0
		}
	}
	return &w.told
}
