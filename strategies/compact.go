package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// CompactName is the registry's name of the layer.
const CompactName = "full-compact"

var compactDefinition = Define(CompactName,
	"replaces the messages by a summary that one model call writes, and restores files and more",
	defaultCompact(),
	func(p CompactParams) Layer { return &compact{params: p} })

// compact is the state of full-compact on one thread.
type compact struct {
	params   CompactParams
	failures int     // automatic compactions failed in a row
	refills  refills // compactions whose context filled up again at once
	carried  Carried // used where the thread has none
	call     summaryCall
	beside   besideCall
}

func (l *compact) Name() string { return CompactName }

func (l *compact) Clone() Layer {
	c := *l
	c.carried.skills = slices.Clone(l.carried.skills)
	c.beside = besideCall{} // belongs to the thread that made it
	return &c
}

func (l *compact) Reset() {
	*l = compact{params: l.params, carried: Carried{skills: l.carried.skills[:0]}}
}

func (l *compact) BeforeRequest(t *Turn) Outcome {
	if l.params.Manual && askedByHand(t.Events) {
		return l.start(t, endOfPast(t), startedByHand)
	}
	if l.beside.ready && l.swap(t) {
		return Outcome{Verdict: Done}
	}
	switch {
	case !l.params.Auto:
		return Outcome{Declined, "automatic compaction is off"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	case l.refills.stopped:
		return Outcome{Declined, "stopped: the context refills at once"}
	case l.beside.running:
		return Outcome{Declined, "a compaction is under way beside the conversation"}
	case !t.Check(CompactName, &l.params.Trigger):
		return Outcome{Declined, "below the trigger"}
	case l.params.Refill.trips(t, &l.refills):
		return t.Refuse(CompactName, "stopped: the context refills at once")
	}
	return l.start(t, t.Context.Len(), startedByTrigger)
}

func (l *compact) PromptTooLong(t *Turn) Outcome {
	switch {
	case !l.params.Reactive:
		return Outcome{Declined, "reactive compaction is off"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	}
	return l.start(t, t.Context.Len(), startedByRefusal)
}

// AfterCompaction takes the success of any layer: it resets the breaker, that
// of session memory too, which is assumed. What is left above the window is no
// success.
func (l *compact) AfterCompaction(t *Turn) {
	l.refills.fresh = true
	if int64(t.Context.Tokens()) <= t.Reading.Window {
		l.failures = 0
	} else if l.call.by != startedByHand {
		l.strike(t)
	}
}

// stopped reports whether the breaker keeps automatic compaction off.
func (l *compact) stopped() bool {
	return l.params.Breaker > 0 && l.failures >= l.params.Breaker
}

// isAgent reports whether a thread is a sub-agent's.
func isAgent(k traces.ThreadKind) bool {
	return k == traces.ThreadAgent || k == traces.ThreadOrphan
}

// askedByHand reports whether a person asked for a compaction in the recording.
func askedByHand(events []traces.Event) bool {
	for i := range events {
		if events[i].Kind == traces.EventCompact && events[i].Manual {
			return true
		}
	}
	return false
}

// endOfPast returns the position of the first entry that a compaction by hand
// leaves as it is: the round's own input, less the results of calls that go
// into the summary.
func endOfPast(t *Turn) int {
	to := t.InputAt
	for i := to; i < t.Context.Len(); i++ {
		if t.Context.At(i).Kind == prompt.KindToolResult {
			to = i + 1
		}
	}
	return to
}

// start begins a compaction of the messages ahead of position to.
func (l *compact) start(t *Turn, to int, by startedBy) Outcome {
	l.call = summaryCall{by: by, began: t.Now}
	l.choose(t, to)
	if l.call.low >= l.call.high {
		return Outcome{Failed, "not enough messages to compact"}
	}
	if !slices.Contains(l.params.Barred, sourceCompact) && t.Check(CompactName, &l.params.Trigger) {
		return l.fail(t, "the summary call waits for a compaction of its own")
	}
	if l.params.Server.Beside && by == startedByTrigger {
		return l.startBeside(t)
	}
	return l.ask(t)
}

// fail ends a compaction without a summary. Those asked for by hand do not
// count for the breaker.
func (l *compact) fail(t *Turn, reason string) Outcome {
	l.call.count(t, l.params.Signal)
	if l.call.by != startedByHand {
		l.strike(t)
	}
	return Outcome{Failed, reason}
}

// strike counts a failure for the breaker.
func (l *compact) strike(t *Turn) {
	if l.failures++; l.failures == l.params.Breaker {
		t.Count(results.CountBreakerTrips, 1)
	}
}

// bytesPerToken turns the size of a client's own English text into bytes.
const bytesPerToken = 4

// summaryBlock is the user message that carries a summary.
func summaryBlock(a *prompt.Answer) prompt.Block {
	return prompt.Block{
		Digest: a.Digest, Kind: prompt.KindSummary, Tokens: a.Summary, Bytes: a.Bytes,
		Object: -1, Flags: prompt.FlagMeta,
	}
}
