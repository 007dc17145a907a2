package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces/signs"
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
	text := l.params.summary(a, s.by)
	if l.params.Beside.Every > 0 && s.low > Body(c) {
		text = summaryBlock(a) // it goes on with the ones before
	}
	refs := []prompt.Ref{c.Arena().Add(text)}
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
	if n := t.announcement(h.SessionStart, signs.AnnouncedHooks); n > 0 {
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
