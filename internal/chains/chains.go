// Package chains tells of every compaction of a run what led to it, what it
// cost, and whether the calls behind it paid it back.
package chains

import (
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
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
// they happened, spirals flagged. It is for the end of the run.
func (o *Observer) Compactions(session int) []studies.Compaction {
	s := o.sessions[session]
	s.flag()
	return s.list
}

// Checked notes the trigger that fired last.
func (o *Observer) Checked(p sim.Point, c strategies.Check) {
	if c.Fired {
		o.sessions[p.Session].thread(p.Thread).fired = c
	}
}

// Answered notes in which hook a layer began to act.
func (o *Observer) Answered(p sim.Point, _, hook string, out strategies.Outcome) {
	acts := out.Verdict == strategies.Done || out.Verdict == strategies.Pending
	if acts && hook != "intent_result" && hook != "background_result" {
		o.sessions[p.Session].thread(p.Thread).hook = hook
	}
}

// Changed takes a compaction.
func (o *Observer) Changed(p sim.Point, layer string, b strategies.Boundary) {
	if b.Kind.Compacts() {
		o.sessions[p.Session].compacted(p, layer, &b)
	}
}

// Served counts the requests of a conversation.
func (o *Observer) Served(p sim.Point, layer string, _ *prompt.Request, _ *prompt.Outcome) {
	if layer != "" {
		return
	}
	t := o.sessions[p.Session].thread(p.Thread)
	t.since++
	t.fired, t.hook = strategies.Check{}, ""
}

// Paid completes a compaction with what became of it.
func (o *Observer) Paid(session, compaction int, p *studies.Payback) {
	c := &o.sessions[session].list[compaction]
	c.Payback = *p
	if p.Calls > 0 {
		c.Source = results.SourceCompact.String()
	}
}
