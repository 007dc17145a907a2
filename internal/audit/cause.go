package audit

import (
	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Cause says why a call missed, by all that the recording tells: the events it
// logs, the model, and the pause against the lifetime that was billed.
type Cause string

// The causes. A call has the first that applies.
const (
	CauseCompaction Cause = "compaction"    // a summary took the place of the messages
	CauseEdit       Cause = "edit"          // the agent cleared results, or the context shrank and no line says why
	CauseModel      Cause = "model"         // another model
	CauseLongPause  Cause = "pause_over_1h" // longer than any lifetime on offer
	CauseShortPause Cause = "pause_over_5m" // an entry with 5 minutes to live; one with an hour would have held
	CauseInside     Cause = "inside"        // inside the lifetime that was paid for, for no visible reason
	CauseTail       Cause = "tail"          // inside the lifetime, and too small for the detector to call it a break
	CauseUnknown    Cause = "unknown"       // the recording does not say how long the pause was
	CauseNoLifetime Cause = "automatic"     // an automatic cache: it promises no lifetime
)

// cause returns why a call missed.
func (c *call) cause() Cause {
	switch {
	case c.acted.has(traces.EventCompact):
		return CauseCompaction
	case c.acted.edited():
		return CauseEdit
	case c.round > 0 && c.r().Model != c.thread.Rounds[c.round-1].Model:
		return CauseModel
	case c.automatic():
		return CauseNoLifetime
	case c.gap < 0 || c.back:
		return CauseUnknown
	case c.gap > breaks.Long:
		return CauseLongPause
	case c.gap > breaks.Short && c.tier == prompt.TTL5m:
		return CauseShortPause
	case c.missed <= breaks.MinDrop || float64(c.missed) <= breaks.MinDropShare*float64(c.left):
		return CauseTail
	}
	return CauseInside
}

// misses sums up the calls that missed by cause, and what the detector says.
type misses struct {
	byCause map[Cause]*Miss
	said    [breaks.NumReasons]Said
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
			m.said[i].Reason = breaks.Reason(i).String()
			r.Detector = append(r.Detector, m.said[i])
		}
	}
}
