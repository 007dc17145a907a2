package calls

import (
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// step is the unit of an automatic cache, tokens; a smaller difference is no miss (facts:
// every read is a multiple of 128, most end within 1,024 of what was sent).
const step = 1024

// miss sets how much of what the previous call had left, tokens, the call did not read, as far as it
// sent it again: a context that shrank has less to read.
func (c *Call) miss(left int64) {
	u := &c.Recorded.Usage
	c.Left = left
	c.Missed = max(0, min(c.Left, c.Leaves())-u.Read)
	if c.Automatic() && c.Missed <= step {
		c.Missed = 0
	}
	c.MissUSD = float64(c.Missed) * max(0, c.Fresh()-c.PerToken[results.ClassRead])
}

// verdicts are the causes that the server names.
var verdicts = map[traces.Verdict]Cause{
	traces.VerdictMessages: CauseMessages, traces.VerdictSystem: CauseSystem, traces.VerdictTools: CauseTools,
}

// Cause returns why a call missed. The server's verdict compares requests and ignores
// lifetimes, so an expiry counts before it. So does an edited context, unless the verdict
// names the system prompt or the tools: in the cache model it would have missed anyway.
func (c *Call) Cause() Cause {
	paused := c.Gap >= 0 && !c.Back
	named := verdicts[c.Recorded.Verdict]
	switch {
	case c.Acted.Has(traces.EventCompact):
		return CauseCompaction
	case c.Round > 0 && c.Switched(), c.Resumed && !c.Thread.Left.Model:
		return CauseModel
	case c.Automatic() && (c.Acted == 0 || c.shortAhead()):
		return c.likely(CauseNoLifetime)
	case !c.Automatic() && paused && c.Gap > breaks.Long:
		return CauseLongPause
	case !c.Automatic() && paused && c.Gap > breaks.Short && c.Tier == prompt.TTL5m:
		return CauseShortPause
	case c.Acted != 0 && (named == "" || named == CauseMessages):
		return CauseEdit
	case named != "":
		return named
	case c.think:
		return CauseThinking
	case !paused:
		return CauseUnknown
	case c.Missed <= breaks.MinDrop || float64(c.Missed) <= breaks.MinDropShare*float64(c.Left):
		return CauseTail
	}
	return c.likely(CauseInside)
}

// likely returns the cause that recordings make likely, else the one that is given.
func (c *Call) likely(none Cause) Cause {
	if l, ok := c.Likely(); ok {
		return Cause(l.Kind.String())
	}
	return none
}

// shortAhead reports whether most of what a call of an automatic cache missed
// lies before what was cleared. Such a cache reads up to the first change;
// others fall back to the marker before it, so that their reads say nothing.
func (c *Call) shortAhead() bool { return c.ahead >= 0 && 2*(c.ahead-c.Recorded.Usage.Read) > c.Missed }

// CountMisses counts, in the billed row of a session, the misses that its recording shows, and the calls that hit.
func (t *Table) CountMisses(row *results.Row) {
	for _, calls := range t.Threads {
		for i := range calls {
			if c := &calls[i]; !c.First() || c.Resumed {
				row.CountMiss(c.Class(), c.Missed)
			}
		}
	}
}
