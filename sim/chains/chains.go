// Package chains says of every compaction of a run what led to it, what it
// cost, and whether the calls after it paid it back.
package chains

import (
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Observer follows the compactions of one cohort of sessions: it is a
// sim.PaybackObserver for one run.
type Observer struct{ sessions []*session }

// NewObserver returns an observer for the sessions of a cohort, in its order.
func NewObserver(cohort []*traces.Session) *Observer {
	o := &Observer{}
	for _, s := range cohort {
		o.sessions = append(o.sessions, newSession(s))
	}
	return o
}

// Compactions returns the compactions of a session of the cohort in the order
// they happened, with spirals flagged. Call it at the end of the run.
func (o *Observer) Compactions(session int) []studies.Compaction {
	s := o.sessions[session]
	// Mark compactions that are part of a spiral. A compaction that a person asked for ends one.
	refills, unpaid := make([]int, len(s.list)), make([]int, len(s.list))
	for i := range s.list {
		c, last := &s.list[i], s.before[i]
		if last < 0 || c.Trigger == triggerManual {
			continue
		}
		if c.Since <= refillWithin {
			refills[i] = refills[last] + 1
		}
		if s.list[last].PaidAfter == 0 {
			unpaid[i] = unpaid[last] + 1
		}
		if unpaid[i] >= unpaidTimes {
			s.mark(i, unpaid[i], studies.SpiralUnpaid)
		}
		if refills[i] >= refillTimes {
			s.mark(i, refills[i], studies.SpiralRefill)
		}
	}
	return s.list
}

// Checked records the trigger that fired last.
func (o *Observer) Checked(p sim.Point, c strategies.Check) {
	if c.Fired {
		o.sessions[p.Session].thread(p.Thread).fired = c
	}
}

// Answered records in which hook a layer began to act.
func (o *Observer) Answered(p sim.Point, _, hook string, out strategies.Outcome) {
	acts := out.Verdict == strategies.Done || out.Verdict == strategies.Pending
	if acts && hook != "intent_result" && hook != "background_result" {
		o.sessions[p.Session].thread(p.Thread).hook = hook
	}
}

// Changed records a compaction.
func (o *Observer) Changed(p sim.Point, layer string, b strategies.Boundary) {
	if b.Kind.Compacts() {
		o.sessions[p.Session].addCompaction(p, layer, &b)
	}
}

// Served counts the requests of a conversation.
func (o *Observer) Served(p sim.Point, layer string, _ *exchange.Request, _ *exchange.Outcome) {
	if layer != "" {
		return
	}
	t := o.sessions[p.Session].thread(p.Thread)
	t.since++
	t.fired, t.hook = strategies.Check{}, ""
}

// Paid completes a compaction with its payback.
func (o *Observer) Paid(session, compaction int, p *studies.Payback) {
	c := &o.sessions[session].list[compaction]
	c.Payback = *p
	if p.Calls > 0 {
		c.Source = measures.SourceCompact.String()
	}
}

// session is the history of one session so far.
type session struct {
	trace   *traces.Session
	list    []studies.Compaction
	before  []int // by compaction: the previous one in its conversation, -1 for none
	threads []thread
	chains  int
}

// thread is the state of one conversation.
type thread struct {
	begun bool
	from  place // where a branch left its parent
	own   []int // its compactions
	since int   // requests since the last one

	// What preceded the next request.
	fired strategies.Check
	hook  string
}

// place is a point of a conversation: its last compaction, -1 for none, and the
// requests since.
type place struct{ last, since int }

func newSession(s *traces.Session) *session {
	return &session{trace: s, threads: make([]thread, len(s.Threads))}
}

// thread returns the state of a conversation. A branch begins with the state of
// its parent at that point.
func (s *session) thread(i int32) *thread {
	t := &s.threads[i]
	if t.begun {
		return t
	}
	t.begun, t.from = true, place{last: -1}
	if of := &s.trace.Threads[i]; of.Kind == traces.ThreadBranch && of.Parent >= 0 {
		t.from = s.at(of.Parent, int(of.ParentRound))
	}
	t.since = t.from.since
	return t
}

// at returns the place of a conversation after the response of a round.
func (s *session) at(i int32, round int) place {
	t := s.thread(i)
	for k := len(t.own) - 1; k >= 0; k-- {
		if c := &s.list[t.own[k]]; c.Round <= round {
			return place{t.own[k], round - c.Round + 1}
		}
	}
	return place{t.from.last, t.from.since + round + 1}
}

// addCompaction records a compaction of a conversation.
func (s *session) addCompaction(p sim.Point, layer string, b *strategies.Boundary) {
	t := s.thread(p.Thread)
	last := t.from.last
	if n := len(t.own); n > 0 {
		last = t.own[n-1]
	}
	of := &s.trace.Threads[p.Thread]
	c := studies.Compaction{
		Session: s.trace.ID, Thread: of.ID, Round: int(p.Round), At: float64(p.Now) / 1e9,
		Layer: layer, What: b.Kind.String(), Trigger: triggerOf(t, b),
		Before: b.Before, After: b.After, Since: t.since, Recompaction: b.Chained,
	}
	if b.Reported != b.After {
		c.Reported = b.Reported
	}
	if int(p.Round) < len(of.Rounds) {
		r := &of.Rounds[p.Round]
		c.Line = int(r.Line)
		if int(r.File) < len(s.trace.Files) {
			c.File = s.trace.Files[r.File]
		}
	}
	if t.fired.Layer == layer {
		c.Measure, c.Measured, c.Value = t.fired.Measure.String(), t.fired.Measured, t.fired.Value
	}
	if last < 0 {
		s.chains++
		c.Chain, c.Place = s.chains, 1
	} else {
		c.Chain, c.Place = s.list[last].Chain, s.list[last].Place+1
	}
	t.own = append(t.own, len(s.list))
	s.list, s.before = append(s.list, c), append(s.before, last)
	t.since, t.fired = 0, strategies.Check{}
}

// Names of what started a compaction.
const (
	triggerAuto     = "auto"
	triggerManual   = "manual"
	triggerRecorded = "recorded"
)

// hookTriggers names what started a compaction after the hook it began in.
var hookTriggers = map[string]string{
	"before_request": triggerAuto, "prompt_too_long": "refused", "timer": "idle", "server_hint": "hint",
}

func triggerOf(t *thread, b *strategies.Boundary) string {
	switch {
	case b.Manual:
		return triggerManual
	case b.Replayed:
		return triggerRecorded
	case hookTriggers[t.hook] != "":
		return hookTriggers[t.hook]
	}
	return triggerAuto
}

// Conditions of a spiral. Rapid refills follow the client's own breaker: three within three
// requests each.
const (
	refillWithin = 3 // requests after a compaction
	refillTimes  = 3
	unpaidTimes  = 2 // compactions followed by the next one before they had paid
)

// mark flags a compaction and the n before it.
func (s *session) mark(i, n int, spiral string) {
	for ; n >= 0 && i >= 0; n-- {
		s.list[i].Spiral = spiral
		i = s.before[i]
	}
}
