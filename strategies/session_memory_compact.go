package strategies

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// BeforeRequest puts the memory in the place of the messages, if it can: else
// the layer behind it, a full compaction, takes its turn.
func (l *sessionMemory) BeforeRequest(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents keep no session memory"}
	case l.params.Breaker > 0 && l.refused >= l.params.Breaker:
		return Outcome{Declined, "stopped by the breaker"}
	case !t.Check(SessionMemoryName, &l.params.Trigger):
		return Outcome{Declined, "below the trigger"}
	case !l.params.Compact:
		return l.refuse(t, "disabled")
	case !l.begun:
		return l.refuse(t, "no memory file")
	case l.notes.summarised == 0 || l.params.Memory.Share == 0:
		return l.refuse(t, "the memory is an empty template")
	case l.waits(t):
		return t.Await(l.until)
	}
	l.until = 0
	from := t.Context.Index(l.notes.last) + 1
	if from == 0 {
		return l.refuse(t, "the last summarised message is not there")
	}
	return l.compact(t, l.keepFrom(t.Context, from))
}

// refuse leaves the compaction to the next layer. When no compaction follows, it
// has failed there, and the breaker holds for this layer too (002: the breaker is
// looked at ahead of both).
func (l *sessionMemory) refuse(t *Turn, reason string) Outcome {
	l.refused++
	l.until = 0
	return t.Refuse(SessionMemoryName, reason)
}

// waits reports whether the compaction waits for the update under way, and sets
// until when.
func (l *sessionMemory) waits(t *Turn) bool {
	if !l.running {
		return false
	}
	if l.until == 0 {
		if t.Now-l.since > l.params.Stale*int64(time.Second) {
			return false
		}
		l.until = t.Now + l.params.Wait*int64(time.Second)
	}
	return t.Now < l.until
}

// keepFrom returns the position of the first message that stays, given that of
// the first one the memory does not cover.
func (l *sessionMemory) keepFrom(c *prompt.Context, first int) int {
	p := &l.params.Keep
	floor := max(lastSummary(c)+1, Body(c))
	at := max(first, floor)
	tokens, texts := int64(0), 0
	for i := at; i < c.Len(); i++ {
		tokens += l.count(c, i)
		if startsText(c, i, at) {
			texts++
		}
	}
	for at > floor && tokens < p.MaxTokens && (tokens < p.MinTokens || texts < p.MinTexts) {
		start := startOfMessage(c, at-1, floor)
		for i := start; i < at; i++ {
			tokens += l.count(c, i)
			if startsText(c, i, start) {
				texts++
			}
		}
		at = start
	}
	return legalCut(c, at, floor)
}

// startsText reports whether the entry at position i is the first text of its
// message; the messages begin at position from.
func startsText(c *prompt.Context, i, from int) bool {
	if !isText(c.At(i).Kind) {
		return false
	}
	for j := i; j > from && sameMessage(c, j); j-- {
		if isText(c.At(j - 1).Kind) {
			return false
		}
	}
	return true
}

func isText(k prompt.Kind) bool { return k == prompt.KindText || k == prompt.KindPrompt }

// count returns the tokens of a message entry as the client sees them.
func (l *sessionMemory) count(c *prompt.Context, i int) int64 {
	e := c.At(i)
	if l.params.Count == CountTrue || e.Form != prompt.FormVerbatim {
		return int64(e.Tokens)
	}
	return padded(c.Block(e.Block))
}

// padded is the client's estimate of a block: a quarter of its bytes, an image
// or a document 2,000, and a third more (002, token counting).
func padded(b *prompt.Block) int64 {
	const mediaTokens = 2000
	n := int64(b.Bytes+2) / 4
	if b.Flags&prompt.FlagImage != 0 || b.Kind == prompt.KindImage || b.Kind == prompt.KindDocument {
		n = mediaTokens
	}
	return (n*4 + 2) / 3
}

// compact keeps the messages from position keep on behind the memory:
// [memory][kept][attachments][hooks].
func (l *sessionMemory) compact(t *Turn, keep int) Outcome {
	c, from := t.Context, Body(t.Context)
	carried := t.carriedOr(&l.carried)
	carried.gather(t, from, keep)
	attached, files := l.params.Attachments.attach(t, from, keep, keptFiles(t, keep, c.Len(), nil), carried)
	attached = l.params.Hooks.inject(c.Arena(), attached)
	memory := l.summary()
	if limit, ok := l.params.Trigger.Value(&t.Reading); l.params.Guard && ok && l.estimate(c, &memory, keep, attached) >= limit {
		return l.refuse(t, "the result would reach the trigger again")
	}
	b := Boundary{
		Before: int64(c.Tokens()), Chained: holdsSummary(c, from, keep), Restored: files,
		Summarised: countMessages(c, from, keep), Parent: c.At(c.Len() - 1).ID, Since: t.Reading.Values[MeasureRounds],
	}
	b.Threshold, _ = l.params.Trigger.Value(&t.Reading)
	if keep < c.Len() {
		b.PreservedFrom, b.PreservedTo = c.At(keep).ID, c.At(c.Len()-1).ID
	}
	c.Replace(c.Len(), c.Len(), attached, prompt.CauseCompaction)
	c.Replace(from, keep, []prompt.Ref{c.Arena().Add(memory)}, prompt.CauseCompaction)
	t.InputAt = max(from+1, t.InputAt+1-(keep-from))
	l.notes.last = c.At(from).ID // the memory stands for what it covers
	b.After = int64(c.Tokens())
	t.Count(results.CountRestored, int64(files))
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// summary is the user message that carries the memory.
func (l *sessionMemory) summary() prompt.Block {
	tokens, digest := int32(l.params.Memory.summary(l.notes.summarised)), l.notes.digest
	if l.notes.written > 0 {
		tokens = int32(l.notes.written)
	} else {
		digest = digest.ExtendInt(uint64(tokens))
	}
	return l.params.Summary.around(prompt.Block{
		Digest: digest, Kind: prompt.KindSummary, Tokens: tokens, Bytes: tokens * bytesPerToken,
		Object: -1, Flags: prompt.FlagMeta,
	}, startedByTrigger)
}

// estimate returns the client's count of a message set.
func (l *sessionMemory) estimate(c *prompt.Context, memory *prompt.Block, keep int, attached []prompt.Ref) int64 {
	n := l.countBlock(memory)
	for _, r := range attached {
		n += l.countBlock(c.Block(r))
	}
	for i := keep; i < c.Len(); i++ {
		n += l.count(c, i)
	}
	return n
}

func (l *sessionMemory) countBlock(b *prompt.Block) int64 {
	if l.params.Count == CountTrue {
		return int64(b.Tokens)
	}
	return padded(b)
}

// AfterCompaction takes the success of any layer: what the breaker counts begins
// anew, growth counts from the new context (assumed), and an update that had
// waited for the compaction is given up.
func (l *sessionMemory) AfterCompaction(t *Turn) {
	l.refused, l.until = 0, 0
	l.counted = int64(t.Context.Tokens())
	if l.stuck {
		l.stuck, l.running = false, false
	}
}
