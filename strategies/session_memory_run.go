package strategies

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
)

var sessionMemoryDefinition = Define(standard.SessionMemory,
	"keeps notes of the session by calls beside it, and replaces messages with them without a summary call",
	defaultSessionMemory(),
	func(p sessionMemoryParams) Layer { return &sessionMemory{params: p} }).with(Traits{Draws: true, Compacts: true})

// sessionMemory is the state of the layer on one thread.
type sessionMemory struct {
	params  sessionMemoryParams
	begun   bool  // the file is there, if only as a template
	notes   notes // what the file holds
	update  notes // what it will hold when the update under way ends well
	running bool
	stuck   bool  // the update waits for a compaction
	nested  int64 // how many updates enclose the one under way
	since   int64 // when it began, ns on the session's clock
	counted int64 // client's count at the last update
	calls   int   // tool calls since
	refused int   // compactions left to others since the last one succeeded
	until   int64 // time until which a compaction waits for the update; 0 for none
	answer  prompt.Answer
	carried Carried  // used where the thread has none
	tools   []string // of the session, whose names count
}

var (
	_ BeforeRequest    = (*sessionMemory)(nil)
	_ AfterResponse    = (*sessionMemory)(nil)
	_ AfterCompaction  = (*sessionMemory)(nil)
	_ BackgroundResult = (*sessionMemory)(nil)
)

// notes are the content of the memory.
type notes struct {
	summarised int64 // tokens of messages that went into it
	last       int32 // id of the last entry among them
	digest     prompt.Digest
}

// size returns the tokens of the file.
func (n *notes) size(m *sessionMemoryFile) int64 {
	return m.tokens(n.summarised)
}

func (l *sessionMemory) Name() string { return standard.SessionMemory }

// Clone leaves an update under way to the thread that made it.
func (l *sessionMemory) Clone() Layer {
	c := *l
	c.running, c.stuck, c.until = false, false, 0
	c.carried = l.carried.clone()
	return &c
}

func (l *sessionMemory) Copy() Layer {
	c := l.Clone().(*sessionMemory)
	c.running, c.stuck, c.until = l.running, l.stuck, l.until
	return c
}

func (l *sessionMemory) Reset() {
	*l = sessionMemory{params: l.params, carried: l.carried.emptied()}
}

// AfterResponse updates the memory when the conversation has grown by enough
// and either the tools were called often enough or the response calls none, a
// natural break (003:2226: the growth is always required). Updates follow one
// another, never two at once.
func (l *sessionMemory) AfterResponse(t *Turn) Outcome {
	p := &l.params.Extract
	if isAgent(t.Kind) && !l.params.Subagents {
		return Outcome{Declined, "sub-agents keep no session memory"}
	}
	calls := callsOfResponse(t.Context)
	l.calls += calls
	count := t.Reading.Values[MeasureClientTokens]
	switch {
	case l.running:
		return Outcome{Declined, "an update is under way"}
	case !l.begun && count < p.Init:
		return Outcome{Declined, "too short for a session memory"}
	case count-l.counted < p.Growth:
		return Outcome{Declined, "too little growth"}
	case calls > 0 && l.calls < p.ToolCalls:
		return Outcome{Declined, "too few tool calls"}
	}
	return l.extract(t)
}

// extract starts an update with everything said and answered so far.
func (l *sessionMemory) extract(t *Turn) Outcome {
	c := t.Context
	from, to := max(c.Index(l.notes.last)+1, Body(c)), endOfAnswered(c)
	if from >= to {
		return Outcome{Declined, "nothing new is answered"}
	}
	l.update = notes{
		summarised: l.notes.summarised + tokensBetween(c, from, to),
		last:       c.At(to - 1).ID,
		digest:     l.notes.digest.Extend(c.BlockAt(to - 1).Digest),
	}
	l.begun, l.running, l.since = true, true, t.Now
	l.counted, l.calls, l.nested = t.Reading.Values[MeasureClientTokens], 0, 0
	in := l.intent(t)
	in.Compacts = !l.params.Extract.Barred && t.Check(standard.SessionMemory, &l.params.Trigger)
	l.stuck = in.Compacts
	t.Background(in)
	return Outcome{Declined, "an update has begun"}
}

// intent is the call of an update. An update within another sends what those
// around it have added to the conversation too.
func (l *sessionMemory) intent(t *Turn) prompt.Intent {
	p := &l.params.Extract
	l.answer = prompt.Answer{Output: p.Output}
	if p.Seconds > 0 {
		l.answer.Total = int64(p.Seconds * 1e9)
		l.answer.First = l.answer.Total
	}
	ordinal := uint8(l.nested)
	if t.Draw(standard.SessionMemory, ordinal) < p.Failure {
		l.answer.Failed = ask.FailEmpty
	}
	return prompt.Intent{
		Source: sourceSessionMemory, Way: wayFork.String(), Lifetime: ask.Lifetime(p.Lifetime),
		Instruction: int32(l.asked() + l.nested*l.own()), Turns: p.Turns, TurnInput: p.TurnInput,
		To: int32(endOfAnswered(t.Context)), Ordinal: ordinal, Known: &l.answer,
	}
}

// asked returns the tokens an update appends to the conversation: instruction,
// reminders, and the memory as it is.
func (l *sessionMemory) asked() int64 {
	m := &l.params.Memory
	return int64(l.params.Extract.Instruction) + m.reminders(l.notes.summarised) + l.notes.size(m)
}

// own returns the tokens by which an update is larger at its end than the
// conversation it began with.
func (l *sessionMemory) own() int64 {
	p := &l.params.Extract
	return l.asked() + int64(p.Turns)*int64(p.Output) + int64(p.Turns-1)*int64(p.TurnInput)
}

// BackgroundResult takes an update. With the guard off it is a conversation that
// has grown like any other, and ends with a response without tool calls: the
// next update begins inside it, until one no longer fits the window (002:28).
func (l *sessionMemory) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.running = false
	if r.Failed != "" {
		return Outcome{Failed, r.Failed}
	}
	l.notes = l.update
	t.Count(measures.MemoryUpdates, 1)
	if p := &l.params.Extract; !p.Guard && l.own() >= p.Growth {
		l.nested++
		l.running, l.since = true, t.Now
		t.Background(l.intent(t))
		return Outcome{Declined, "the update starts another one"}
	}
	return Outcome{Declined, "the memory is up to date"}
}

// BeforeRequest replaces the messages by the memory, if it can; otherwise the next layer,
// a full compaction, takes its turn.
func (l *sessionMemory) BeforeRequest(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents keep no session memory"}
	case l.params.Breaker > 0 && l.refused >= l.params.Breaker:
		return Outcome{Declined, "stopped by the breaker"}
	case !t.Check(standard.SessionMemory, &l.params.Trigger):
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
	l.until, l.tools = 0, t.Tools
	from := t.Context.Index(l.notes.last) + 1
	if from == 0 {
		return l.refuse(t, "the last summarised message is not there")
	}
	return l.compact(t, l.keepFrom(t.Context, from))
}

// refuse leaves the compaction to the next layer. When no compaction follows, it
// has failed there, and the breaker holds for this layer too (002: the breaker is
// looked at before both).
func (l *sessionMemory) refuse(t *Turn, reason string) Outcome {
	l.refused++
	l.until = 0
	return t.Refuse(standard.SessionMemory, reason)
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

// keepFrom returns the position of the first message that stays, given the position of the first
// message that the memory does not cover.
func (l *sessionMemory) keepFrom(c *prompt.Context, first int) int {
	p := &l.params.Keep
	floor := max(lastSummary(c)+1, Body(c))
	at := max(first, floor)
	var size measured
	texts := 0
	for i := at; i < c.Len(); i++ {
		size.add(l.count(c, i))
		if startsText(c, i, at) {
			texts++
		}
	}
	for at > floor && size.tokens() < p.MaxTokens && (size.tokens() < p.MinTokens || texts < p.MinTexts) {
		start := startOfMessage(c, at-1, floor)
		for i := start; i < at; i++ {
			size.add(l.count(c, i))
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

// measured is a sum of the client's: what is counted, and what is estimated, which is rounded
// and padded once for all blocks together.
type measured struct{ counted, estimated int64 }

func (m *measured) add(n measured) {
	m.counted, m.estimated = m.counted+n.counted, m.estimated+n.estimated
}

// tokens returns the sum, the estimated part a third larger (002:22).
func (m measured) tokens() int64 { return m.counted + (m.estimated*4+2)/3 }

// count returns the size of a message entry as the client sees it.
func (l *sessionMemory) count(c *prompt.Context, i int) measured {
	e := c.At(i)
	if e.Form != prompt.FormVerbatim {
		return measured{counted: int64(e.Tokens)}
	}
	return l.measure(c.Block(e.Block))
}

// measure returns the size of a block: its tokens, or the client's estimate, a quarter of its bytes,
// an image or a document 2,000, in a result beside its text, and a call with its name (002:22).
func (l *sessionMemory) measure(b *prompt.Block) measured {
	if l.params.Count == countTrue {
		return measured{counted: int64(b.Tokens)}
	}
	bytes := int(b.Bytes)
	if b.Kind == prompt.KindToolUse && int(b.Tool) < len(l.tools) {
		bytes += len(l.tools[b.Tool])
	}
	n := int64(bytes+2)/4 + int64(b.Flags.Images())*mediaTokens
	if b.Kind == prompt.KindImage || b.Kind == prompt.KindDocument {
		n = mediaTokens
	}
	return measured{estimated: n}
}

// compact keeps the messages from position keep on after the memory:
// [memory][kept][attachments][hooks].
func (l *sessionMemory) compact(t *Turn, keep int) Outcome {
	c, from := t.Context, Body(t.Context)
	carried := t.carriedOr(&l.carried)
	carried.gather(t, from, keep)
	attached, files := l.params.Attachments.attach(t, from, keep, keptFiles(t, keep, c.Len(), nil), carried)
	attached = l.params.Hooks.inject(t, attached)
	memory := l.summary()
	if limit, ok := t.value(&l.params.Trigger); l.params.Guard && ok && l.estimate(c, &memory, from, keep, attached) >= limit {
		return l.refuse(t, "the result would reach the trigger again")
	}
	b := Boundary{
		Before: int64(c.Tokens()), Chained: holdsSummary(c, from, keep), Restored: files,
		Summarised: countMessages(c, from, keep),
	}
	if keep < c.Len() {
		b.PreservedFrom, b.PreservedTo = c.At(keep).ID, c.At(c.Len()-1).ID
	}
	c.Replace(c.Len(), c.Len(), attached, prompt.CauseCompaction)
	c.Replace(from, keep, []prompt.Ref{c.Arena().Add(memory)}, prompt.CauseCompaction)
	t.InputAt = max(from+1, t.InputAt+1-(keep-from))
	l.notes.last = c.At(from).ID // the memory replaces what it covers
	b.After = int64(c.Tokens())
	t.Count(measures.RestoredFiles, int64(files))
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// summary is the user message that carries the memory.
func (l *sessionMemory) summary() prompt.Block {
	tokens := int32(l.params.Memory.summary(l.notes.summarised))
	return l.params.Summary.around(prompt.Block{
		Digest: l.notes.digest.ExtendInt(uint64(tokens)), Kind: prompt.KindSummary, Tokens: tokens, Bytes: tokens * bytesPerToken,
		Object: -1, Flags: prompt.FlagMeta,
	}, startedByTrigger)
}

// estimate returns the client's count of what would be sent: the head before position from, which
// is as the server counted it, and the message set behind it.
func (l *sessionMemory) estimate(c *prompt.Context, memory *prompt.Block, from, keep int, attached []prompt.Ref) int64 {
	var n measured
	for _, r := range attached {
		n.add(l.measure(c.Block(r)))
	}
	for i := keep; i < c.Len(); i++ {
		n.add(l.count(c, i))
	}
	n.add(l.measure(memory))
	return tokensBetween(c, 0, from) + n.tokens()
}

// AfterCompaction follows a compaction of any layer: the breaker counts from zero, growth
// counts from the new context (assumed), and an update that waited for the compaction is
// given up.
func (l *sessionMemory) AfterCompaction(t *Turn) {
	l.refused, l.until = 0, 0
	l.counted = int64(t.Context.Tokens())
	if l.stuck {
		l.stuck, l.running = false, false
	}
}
