package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// SessionMemoryName is the registry's name of the layer.
const SessionMemoryName = "session-memory"

var sessionMemoryDefinition = Define(SessionMemoryName,
	"keeps notes of the session by calls beside it, and puts them in the place of messages without a summary call",
	defaultSessionMemory(),
	func(p SessionMemoryParams) Layer { return &sessionMemory{params: p} })

// sessionMemory is the state of the layer on one thread.
type sessionMemory struct {
	params  SessionMemoryParams
	begun   bool  // the file is there, if only as a template
	notes   notes // what the file holds
	update  notes // what it will hold when the update under way ends well
	running bool
	stuck   bool  // the update waits for a compaction
	nested  int64 // how many updates the one under way stands within
	since   int64 // when it began, ns on the session's clock
	counted int64 // client's count at the last update
	calls   int   // tool calls since
	refused int   // compactions left to others since the last one succeeded
	until   int64 // time until which a compaction waits for the update; 0 for none
	answer  prompt.Answer
	carried Carried // used where the thread has none
}

// notes are the content of the memory.
type notes struct {
	summarised int64 // tokens of messages that went into it
	last       int32 // id of the last entry among them
	digest     prompt.Digest
	written    int64 // tokens of the file as a real model wrote it; 0 for one of modelled size
}

// size returns the tokens of the file.
func (n *notes) size(m *MemoryFile) int64 {
	if n.written > 0 {
		return n.written
	}
	return m.tokens(n.summarised)
}

// text identifies the file as a real model wrote it, zero for one of modelled
// size.
func (n *notes) text() prompt.Digest {
	if n.written == 0 {
		return prompt.Digest{}
	}
	return n.digest
}

func (l *sessionMemory) Name() string { return SessionMemoryName }

// Clone leaves an update under way to the thread that made it.
func (l *sessionMemory) Clone() Layer {
	c := *l
	c.running, c.stuck, c.until = false, false, 0
	c.carried.skills = slices.Clone(l.carried.skills)
	return &c
}

func (l *sessionMemory) Reset() {
	*l = sessionMemory{params: l.params, carried: Carried{skills: l.carried.skills[:0]}}
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

// callsOfResponse returns the tool calls of the response the context ends with.
func callsOfResponse(c *prompt.Context) int {
	n := 0
	for i := c.Len() - 1; i >= 0 && c.At(i).Kind.Assistant(); i-- {
		if c.At(i).Kind == prompt.KindToolUse {
			n++
		}
	}
	return n
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
	if !l.params.Extract.Barred && t.Check(SessionMemoryName, &l.params.Trigger) {
		l.stuck = true
		return Outcome{Failed, "the update waits for a compaction that waits for it"}
	}
	t.Background(l.intent(t))
	return Outcome{Declined, "an update has begun"}
}

// endOfAnswered returns the position behind the messages that can be sent: a
// response that calls tools comes with their results, which are not there yet.
func endOfAnswered(c *prompt.Context) int {
	if callsOfResponse(c) == 0 {
		return c.Len()
	}
	i := c.Len()
	for i > 0 && c.At(i-1).Kind.Assistant() {
		i--
	}
	return i
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
	if t.Draw(SessionMemoryName, ordinal) < p.Failure {
		l.answer.Failed = prompt.FailEmpty
	}
	return prompt.Intent{
		Source: sourceSessionMemory, Way: WayFork.String(), Prefix: prompt.PrefixShared, Lifetime: prompt.Lifetime(p.Lifetime),
		Instruction: int32(l.asked() + l.nested*l.own()), Turns: p.Turns, TurnInput: p.TurnInput,
		To: int32(endOfAnswered(t.Context)), Ordinal: ordinal, Known: &l.answer, Sized: true, Base: l.notes.text(),
	}
}

// asked returns the tokens an update puts behind the conversation: instruction,
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
	if r.Measured != nil { // a model wrote it
		l.notes.written, l.notes.digest = int64(r.Summary), r.Digest
	}
	t.Count(results.CountExtractions, 1)
	if p := &l.params.Extract; !p.Guard && l.own() >= p.Growth {
		l.nested++
		l.running, l.since = true, t.Now
		t.Background(l.intent(t))
		return Outcome{Declined, "the update starts another one"}
	}
	return Outcome{Declined, "the memory is up to date"}
}
