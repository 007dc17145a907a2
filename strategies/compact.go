package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
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
	failures int // automatic compactions failed in a row
	carried  carried
	call     summaryCall
}

func (l *compact) Name() string { return CompactName }

func (l *compact) Clone() Layer {
	c := *l
	c.carried.skills = slices.Clone(l.carried.skills)
	return &c
}

func (l *compact) Reset() {
	*l = compact{params: l.params, carried: carried{skills: l.carried.skills[:0]}}
}

func (l *compact) BeforeRequest(t *Turn) Outcome {
	if l.params.Manual && askedByHand(t.Events) {
		return l.start(t, endOfPast(t), true)
	}
	switch {
	case !l.params.Auto:
		return Outcome{Declined, "automatic compaction is off"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	case !t.Check(CompactName, &l.params.Trigger):
		return Outcome{Declined, "below the trigger"}
	}
	return l.start(t, t.Context.Len(), false)
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
	return l.start(t, t.Context.Len(), false)
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
func (l *compact) start(t *Turn, to int, manual bool) Outcome {
	l.call = summaryCall{from: Body(t.Context), to: to, manual: manual}
	if l.call.from >= to {
		return Outcome{Failed, "not enough messages to compact"}
	}
	if !slices.Contains(l.params.Barred, sourceCompact) && t.Check(CompactName, &l.params.Trigger) {
		return l.fail("the summary call waits for a compaction of its own")
	}
	return l.ask(t)
}

// fail ends a compaction without a summary. Those asked for by hand do not
// count for the breaker.
func (l *compact) fail(reason string) Outcome {
	if !l.call.manual {
		l.failures++
	}
	return Outcome{Failed, reason}
}

// apply puts the message set in place of the messages.
func (l *compact) apply(t *Turn, r *prompt.Result) Outcome {
	l.failures = 0
	c := t.Context
	from, to := Body(c), l.call.to
	b := Boundary{
		Manual: l.call.manual, Before: int64(c.Tokens()), Chained: holdsSummary(c, from, to),
		Calls: l.call.made, Retries: l.call.retries, Fallbacks: l.call.fallbacks,
	}
	refs, files := l.messageSet(t, from, to, &r.Answer)
	c.Replace(from, to, refs, prompt.CauseCompaction)
	t.InputAt = from + len(refs)
	b.After, b.Restored = int64(c.Tokens()), files
	if l.params.Report == ReportCall {
		b.Reported = r.Usage.Input() + r.Usage.Output
	}
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// messageSet returns what stands for the entries [from, to), in the client's
// order: summary, attachments, what hooks inject; and the number of restored
// files. A full compaction keeps no messages (002:133-142).
func (l *compact) messageSet(t *Turn, from, to int, a *prompt.Answer) ([]prompt.Ref, int) {
	arena := t.Context.Arena()
	refs := []prompt.Ref{arena.Add(l.summary(a))}
	l.carried.gather(t, from, to)
	attached, files := l.params.Attachments.attach(t, from, to, &l.carried)
	refs = append(refs, attached...)
	if n := l.params.Hooks.SessionStart; n > 0 {
		refs = append(refs, arena.Add(reminder("SessionStart hooks", n)))
	}
	return refs, files
}

// summary is the user message that carries the summary, with the client's own
// words around it.
func (l *compact) summary(a *prompt.Answer) prompt.Block {
	b := summaryBlock(a)
	if l.params.Analysis == AnalysisKeep && a.Output > a.Summary {
		b.Bytes = int32(int64(b.Bytes) * int64(a.Output) / int64(max(1, a.Summary)))
		b.Tokens = a.Output
	}
	text := l.params.Summary.Header + l.params.Summary.Pointer
	if !l.call.manual {
		text += l.params.Summary.Continuation
	}
	b.Tokens += text
	b.Bytes += text * bytesPerToken
	return b
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
