package claudecode

import (
	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/traces"
)

// round makes a round with its intervals. The request is not logged: it is
// taken to start with the last line of its input. before is the end of the
// previous response, or the thread's start.
func (e *emitter) round(t *thread, r int, before int64, events []event) traces.Round {
	rd := &t.rounds[r]
	c := rd.call
	out := traces.Round{
		ID: c.id, Logged: c.usage.Output, At: rd.inputAt, Line: c.entry.line, File: e.files[c.entry.src],
		Model: reading.Intern(e.models, &e.s.Models, c.model), Trigger: traces.TriggerOther,
	}
	if c.usage.ok {
		out.Usage = c.usage.Usage
		out.Tail = int32(c.tail())
	}
	out.Usage.Output = rd.output
	out.Input = e.span(rd.input)
	out.Reply = e.span(rd.reply)
	switch {
	case rd.answered:
		out.Trigger = traces.TriggerToolResult
	case rd.prompted:
		out.Trigger = traces.TriggerPrompt
	}
	e.flags(rd, &out)
	reading.Intervals(&out, reading.Moments{
		Input: rd.inputAt, First: rd.call.first, Last: rd.call.last, Before: before, Compaction: waits(events),
	})
	if r > 0 && rd.inputAt != 0 && rd.inputAt < t.rounds[r-1].call.first {
		e.b.problem(c.entry, "time runs back: the request is older than the response before it")
	}
	return out
}

func (e *emitter) flags(rd *round, out *traces.Round) {
	q := &e.b.quality
	if rd.derived {
		out.Flags |= traces.RoundOutputDerived
		q.DerivedOutputs++
	}
	if rd.unknown {
		out.Flags |= traces.RoundOutputUnknown
		q.UnknownOutputs++
	}
	if rd.call.usage.assumed && rd.call.usage.ok {
		out.Flags |= traces.RoundTierAssumed
		q.AssumedTiers++
	}
	if !rd.call.usage.ok {
		e.b.problem(rd.call.entry, "call %s has no usable token counts; its size is estimated", rd.call.id)
	}
}

// waits sums up how long compactions made the recording wait, ns.
func waits(events []event) int64 {
	var ns int64
	for i := range events {
		ns += events[i].Wait
	}
	return ns
}

// delay is the time from the end of the response that started a thread, or
// from the start of what it belongs to.
func (e *emitter) delay(t *thread) int64 {
	from := e.s.Start
	if t.parent != nil {
		from = t.parent.start
		if t.ParentRound >= 0 {
			from = t.parent.rounds[t.ParentRound].call.last
		}
	}
	if t.start == 0 || from == 0 {
		return 0
	}
	return max(0, t.start-from)
}
