package strategies

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// apply puts the message set in place of the messages.
func (l *compact) apply(t *Turn, r *prompt.Result) Outcome {
	s, c := &l.call, t.Context
	s.count(t, l.params.Signal)
	b := Boundary{
		Manual: s.by == startedByHand, Before: int64(c.Tokens()), Chained: holdsSummary(c, s.low, s.high),
		Calls: s.made, Retries: s.retries, Fallbacks: s.fallbacks,
		Summarised: countMessages(c, s.low, s.high), Parent: c.At(c.Len() - 1).ID,
		Since: t.Reading.Values[MeasureRounds],
	}
	if s.by == startedByTrigger {
		b.Threshold, _ = l.params.Trigger.Value(&t.Reading)
	}
	b.PreservedFrom, b.PreservedTo = s.preserved(c)
	b.Restored, b.Remainder = l.replace(t, &r.Answer)
	b.After = int64(c.Tokens())
	if l.vain = b.After >= b.Before; !l.vain && b.After <= t.Reading.Window {
		l.failures = 0
	}
	if l.params.Report == reportCall {
		b.Reported = r.Usage.Input() + r.Usage.Output
	}
	t.Count(measures.RestoredFiles, int64(b.Restored))
	if s.by == startedByIdleness {
		t.Count(measures.IdleCompactions, 1)
	}
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// replace puts the message set in place of the entries, in the client's order,
// and returns the number of restored files and the tokens of the remainder. A full compaction keeps no messages
// (002:133-142); up_to has [summary][kept][attachments][hooks], from has
// [kept][summary][attachments][hooks].
func (l *compact) replace(t *Turn, a *prompt.Answer) (files int, remainder int64) {
	s, c := &l.call, t.Context
	refs := []prompt.Ref{c.Arena().Add(l.params.summary(a, s.by))}
	if l.params.Keep.Persist == persistNever {
		l.undo.take(c, s.low, s.high)
	}
	carried := t.carriedOr(&l.carried)
	carried.gather(t, s.low, s.high)
	kept := keptFiles(t, Body(c), s.low, keptFiles(t, s.high, s.end, nil))
	attached, files := l.params.Attachments.attach(t, s.low, s.high, kept, carried)
	attached = l.params.Hooks.inject(t, attached)
	attached, remainder = l.remainder(t, attached)
	if l.params.Keep.User > 0 {
		summarised := s.high
		s.low = l.params.Keep.keepUser(c, s.low, s.high)
		s.end, s.high = s.end-(summarised-s.low), s.low
	}
	if s.high == s.end {
		refs, attached = append(refs, attached...), nil
	} else {
		c.Replace(s.end, s.end, attached, prompt.CauseCompaction)
	}
	c.Replace(s.low, s.high, refs, prompt.CauseCompaction)
	switch behind := s.low + len(refs); {
	case l.params.Keep.piles() && behind < c.Len():
		l.undo.mark(c, behind, 0)
	case l.params.Keep.Persist == persistNever:
		l.undo.mark(c, s.low, len(refs))
	}
	t.InputAt = s.low + len(refs) + (s.end - s.high) + len(attached)
	return files, remainder
}

// keptFiles appends the objects of the files that the entries [from, to) show.
func keptFiles(t *Turn, from, to int, list []int32) []int32 {
	for i := from; i < to; i++ {
		if isRead(t, i) {
			list = append(list, t.Context.BlockAt(i).Object)
		}
	}
	return list
}

// inject appends what hooks of the user put after a message set: SessionStart hooks, then
// PostCompact hooks.
func (h *hookSizes) inject(t *Turn, refs []prompt.Ref) []prompt.Ref {
	arena := t.Context.Arena()
	if n := t.announced(h.SessionStart, traces.AnnouncedHooks); n > 0 {
		refs = append(refs, arena.Add(reminder("SessionStart hooks", n)))
	}
	if h.PostCompact > 0 {
		refs = append(refs, arena.Add(reminder("PostCompact hooks", h.PostCompact)))
	}
	return refs
}

// summary returns the user message that carries the summary, with the client's own words
// around it. Unless a person asked for the compaction, they tell the model to go on
// without asking.
func (p *CompactParams) summary(a *prompt.Answer, by startedBy) prompt.Block {
	b := summaryBlock(a)
	if p.Analysis == analysisKeep && a.Output > a.Summary {
		b.Bytes = int32(int64(b.Bytes) * int64(a.Output) / int64(max(1, a.Summary)))
		b.Tokens = a.Output
	}
	if a.Around {
		return b
	}
	return p.Summary.around(b, by)
}

// besideParams are the parameters of compactions that run while the conversation goes on.
type besideParams struct {
	Enabled bool    `yaml:"enabled" doc:"they do"`
	Wait    float64 `yaml:"wait" doc:"share of the window, by the client's count, from which on the conversation waits for one under way, 0…1; 0 for never" unit:"share" min:"0" max:"1" off:"0" needs:"enabled"`
	Ahead   float64 `yaml:"ahead" doc:"share of the window by which the call comes ahead of the trigger, which the summary then waits for, 0…1; 0 for a summary that takes its place as soon as it is there" unit:"share" min:"0" below:"1" off:"0" needs:"enabled"`
}

// longestWait is the time after which a conversation goes on without a call that it waits
// for, ns: longer than any call takes.
const longestWait = int64(time.Hour)

// early returns the trigger at which a call ahead of the layer's trigger begins.
func (p *CompactParams) early(window int64) *Trigger {
	first := p.Trigger
	first.Less += int64(p.Beside.Ahead * float64(window))
	return &first
}

// begins reports whether an automatic compaction begins.
func (l *compact) begins(t *Turn) bool {
	p := &l.params
	if p.Beside.Ahead == 0 {
		return p.When.fires(t, standard.Compact, &p.Trigger, false)
	}
	if t.Kin != nil {
		poll(t.Kin, standard.Compact, func(p *CompactParams) bool {
			v, ok := p.early(t.Reading.Window).Value(&t.Reading)
			return ok && t.measure(p.Trigger.Measure) >= v
		})
	}
	return p.When.hold(t, standard.Compact, t.test(standard.Compact, p.early(t.Reading.Window)), false)
}

// waits reports whether the conversation is large enough to wait.
func (p *besideParams) waits(t *Turn) bool {
	return p.Wait > 0 && float64(t.Reading.Values[MeasureClientTokens]) >= p.Wait*float64(t.Reading.Window)
}

// besideCall is a compaction that is made while the conversation goes on, and its summary until it takes the place of the messages (B3: never two at
// once).
type besideCall struct {
	running bool
	ready   bool
	call    summaryCall
	last    int32 // id of the last entry that the summary replaces
	result  prompt.Result
}

// startBeside makes the summary call without waiting for it.
func (l *compact) startBeside(t *Turn) Outcome {
	in := l.intent(t)
	l.beside = besideCall{running: true, call: l.call, last: t.Context.At(l.call.high - 1).ID}
	t.Background(in)
	return Outcome{Declined, "a compaction has begun beside the conversation"}
}

// BackgroundResult takes the block. A request may be under way: the block waits
// for the next one.
func (l *compact) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.beside.running = false
	if r.Failed != "" {
		l.beside.call.count(t, l.params.Signal) // another compaction may be under way
		l.strike(t)
		return Outcome{Failed, r.Failed}
	}
	l.beside.ready, l.beside.result = true, *r
	return Outcome{Declined, "the block waits for the next request"}
}

// swap puts the block first, in place of exactly the messages it summarises;
// what was said meanwhile stays. It reports whether these are still there.
func (l *compact) swap(t *Turn) bool {
	l.beside.ready = false
	high := t.Context.Index(l.beside.last) + 1
	if high == 0 {
		t.Refuse(standard.Compact, "what the block stands for is not there")
		return false
	}
	l.call = l.beside.call
	l.call.low, l.call.high, l.call.end = l.params.Keep.start(t.Context, Body(t.Context), high), high, t.Context.Len()
	if l.grown(t, &l.beside.result) {
		t.Refuse(standard.Compact, "the summary is not smaller")
		return false
	}
	l.apply(t, &l.beside.result)
	return true
}
