// Package course follows a conversation along its recording: the round under way, the events that are due, and the context so far.
package course

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Course is how far a conversation has come. Trace has the recording, Context what a strategy has made of it.
type Course struct {
	Session *traces.Session
	Trace   *traces.Thread
	Scores  []Score // by round
	Index   int32   // in the session
	Context prompt.Context
	Round   int32 // the round under way
	InputAt int   // position of the first entry of its input
	Event   int   // first recorded event not yet due
	Started bool  // a response has been received
	Forked  bool  // it began with its parent's context
	Chain   int   // compactions in a row
	TTL     prompt.TTL
	LastEnd int64        // end of the last response, ns; the conversation's start before the first
	Usage   prompt.Usage // of the last response
	Since   int64        // responses since the start or the last compaction
	Deleted Deletions    // by the client, from what the server has cached
	Gone    int64        // tokens that the server has deleted so far
}

// Current returns the round under way.
func (c *Course) Current() *traces.Round { return &c.Trace.Rounds[c.Round] }

// noRound stands for the round of a conversation that has none.
var noRound traces.Round

// Recent returns the round under way, or the last one once it has ended.
func (c *Course) Recent() *traces.Round {
	if n := len(c.Trace.Rounds); n > 0 {
		return &c.Trace.Rounds[min(int(c.Round), n-1)]
	}
	return &noRound
}

// Agent reports whether the conversation is a sub-agent's.
func (c *Course) Agent() bool {
	return c.Trace.Kind == traces.ThreadAgent || c.Trace.Kind == traces.ThreadOrphan
}

// Score returns what the lines of the round under way say.
func (c *Course) Score() *Score { return &c.Scores[c.Round] }

// Answered reports whether the response under way calls no tool.
func (c *Course) Answered() bool { return !c.Score().Calls }

// AnswersPerson reports whether the round under way answers a person in the main conversation, and not the results of
// tools alone.
func (c *Course) AnswersPerson() bool {
	return !c.Agent() && (c.Current().Trigger != traces.TriggerToolResult || c.Score().Person)
}

// DueEvents returns the index after the recorded events of the round.
func (c *Course) DueEvents() int {
	i := c.Event
	for i < len(c.Trace.Events) && c.Trace.Events[i].Round <= c.Round {
		i++
	}
	return i
}

// Due returns the recorded events of the round.
func (c *Course) Due() []traces.Event { return c.Trace.Events[c.Event:c.DueEvents()] }

// Manual reports whether a person asked for a compaction before the round.
func (c *Course) Manual() bool {
	due := c.Due()
	for i := range due {
		if due[i].Manual && due[i].Kind == traces.EventCompact {
			return true
		}
	}
	return false
}

// Shrinks reports whether the recording's context shrinks before the round and no line says why.
func (c *Course) Shrinks() bool {
	due := c.Due()
	for i := range due {
		if due[i].Kind == traces.EventShrink {
			return true
		}
	}
	return false
}

// Ahead returns the tokens of the context before the round's input; 0 when a layer has since taken out so much that the
// input has moved.
func (c *Course) Ahead() int32 {
	entries := c.Context.Seal()
	if c.InputAt == 0 || c.InputAt > len(entries) {
		return 0
	}
	return entries[c.InputAt-1].Cum
}

// Opening returns the tokens of the head and of the client's reminders behind it, which stay as they are in every
// request of a conversation. Where one ends and the other begins is an estimate: the most that a static prefix can have.
func (c *Course) Opening() int64 { return OpeningOf(c.Context.Seal()) }

// OpeningOf returns the same of a request's entries.
func OpeningOf(entries []prompt.Entry) int64 {
	i := 0
	for i < len(entries) && (entries[i].Kind.Level() != prompt.LevelMessages || entries[i].Kind == prompt.KindReminder) {
		i++
	}
	if i == 0 {
		return 0
	}
	return int64(entries[i-1].Cum)
}
