package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Scheduled returns the strategy that compacts as p says before the requests for which
// due answers true, given the indices of thread and round, and at no other time. It draws
// what full-compact draws there.
func Scheduled(p CompactParams, due func(thread, round int32) bool) *Strategy {
	return NewStrategy("schedule", "full-compact on a schedule", &compact{params: p.Unscheduled(), due: due})
}

// WithoutFiles returns the parameters with no files that come back: which ones do depends
// on every compaction before.
func (p CompactParams) WithoutFiles() CompactParams {
	p.Attachments.Files.Count = 0
	return p
}

// Unscheduled returns the parameters without the parameters that say when to compact.
func (p CompactParams) Unscheduled() CompactParams {
	p.Auto, p.Manual, p.Reactive, p.Beside.Enabled, p.Idle.Enabled = false, false, false, false, false
	p.Trigger, p.When, p.Breaker, p.Refill, p.Rent = Trigger{}, unconditional, 0, refillParams{}, rentParams{}
	p.MinGain, p.Smaller, p.Worth = 0, false, worthParams{}
	return p
}

// KeepsNothing reports whether an automatic compaction replaces all messages.
func (p CompactParams) KeepsNothing() bool { return p.Keep == (keepParams{}) && !p.Partial.Auto }

// onSchedule compacts when the schedule says so.
func (l *compact) onSchedule(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case !l.due(t.Thread, t.Round):
		return Outcome{Declined, "not due"}
	}
	return l.start(t, t.Context.Len(), startedByTrigger)
}

// ScheduledClear returns the strategy that clears results that an earlier request has
// sent, of the tools that time-microcompact clears, before the requests for which due
// answers true and at no other time.
func ScheduledClear(due func(thread, round int32) bool) *Strategy {
	p := *timeClearDefinition.Params().(*timeClearParams)
	l := timeClearDefinition.Build(&p).(*timeClear)
	l.due = due
	return NewStrategy("schedule", "clearing on a schedule", l)
}

// onSchedule clears when the schedule says so.
func (l *timeClear) onSchedule(t *Turn) Outcome {
	if !l.due(t.Thread, t.Round) {
		return Outcome{Declined, "not due"}
	}
	l.results.relist(t)
	seen := slices.DeleteFunc(l.results.list, func(r clearable) bool { return r.at >= t.InputAt })
	b := clearResults(t, seen, prompt.FormCleared, l.params.Placeholder)
	if b.Cleared == 0 {
		return Outcome{Declined, "nothing to clear"}
	}
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// SchedulesAlone reports whether the strategy is one that Scheduled makes of its
// parameters with some schedule: full-compact alone, of all messages, not by hand or in a
// gap. A strategy without layers is one too.
func (s *Strategy) SchedulesAlone() bool {
	if s.own != nil {
		return false // another client for each session
	}
	for _, c := range s.active() {
		p, ok := c.params.(*CompactParams)
		if !ok || p.Manual || p.Idle.Enabled || p.Beside.Enabled || !p.KeepsNothing() {
			return false
		}
	}
	return true
}
