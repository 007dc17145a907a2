// Package course follows a conversation along its recording: the round under way, the events that are due, and the context so far.
package course

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
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
	TTL     exchange.TTL
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

// Deletions are the entries of a context that the client wants the server to leave
// out without changing the cached prefix.
type Deletions struct {
	list   []exchange.Deletion // in order of position
	ids    []int32             // of the entries, in the same order
	tokens int64               // of the list
	edits  uint32              // 1 + edits of the context when positions were last checked, 0 for never
}

// Tokens returns what the deletions leave out, tokens, as of the last time that they were resolved.
func (d *Deletions) Tokens() int64 { return d.tokens }

// Any reports whether a deletion is in force.
func (d *Deletions) Any() bool { return len(d.list) > 0 }

// Has reports whether the deletion of an entry is in force.
func (d *Deletions) Has(id int32) bool { return slices.Contains(d.ids, id) }

// Delete adds an entry of a context.
func (d *Deletions) Delete(c *prompt.Context, id int32) {
	if i := c.Index(id); i >= 0 && !d.Has(id) {
		d.add(c, i)
	}
}

// Undelete takes a deletion back.
func (d *Deletions) Undelete(id int32) {
	if i := slices.Index(d.ids, id); i >= 0 {
		d.tokens -= int64(d.list[i].Tokens)
		d.list, d.ids = slices.Delete(d.list, i, i+1), slices.Delete(d.ids, i, i+1)
	}
}

// Reset takes all deletions back, keeping storage.
func (d *Deletions) Reset() { *d = Deletions{list: d.list[:0], ids: d.ids[:0]} }

// add puts the entry at position i at its place in the list.
func (d *Deletions) add(c *prompt.Context, i int) {
	e := c.At(i)
	at := len(d.list)
	for at > 0 && d.list[at-1].Position > int32(i) {
		at--
	}
	d.list = slices.Insert(d.list, at, exchange.Deletion{Position: int32(i), Tokens: e.Tokens})
	d.ids = slices.Insert(d.ids, at, e.ID)
	d.tokens += int64(e.Tokens)
}

// Resolve brings positions up to date with the context; entries that are gone,
// or no longer whole, leave the list.
func (d *Deletions) Resolve(c *prompt.Context) []exchange.Deletion {
	if d.edits == c.Edits()+1 {
		return d.list
	}
	d.edits = c.Edits() + 1
	for i := range d.list {
		p := int(d.list[i].Position)
		if p < c.Len() && c.At(p).ID == d.ids[i] && c.At(p).Tokens == d.list[i].Tokens {
			continue
		}
		return d.rebuild(c)
	}
	return d.list
}

func (d *Deletions) rebuild(c *prompt.Context) []exchange.Deletion {
	ids, edits := slices.Clone(d.ids), d.edits
	d.Reset()
	d.edits = edits
	for i := range c.Len() {
		if e := c.At(i); (e.Form == prompt.FormVerbatim || e.Form == prompt.FormRange) && slices.Contains(ids, e.ID) {
			d.add(c, i)
		}
	}
	return d.list
}

// Inherit makes d the deletions of o in another context that has the same entries.
func (d *Deletions) Inherit(o *Deletions) {
	d.list, d.ids, d.tokens, d.edits = append(d.list[:0], o.list...), append(d.ids[:0], o.ids...), o.tokens, 0
}

// CopyFrom makes d the deletions of o in an independent copy of its context.
func (d *Deletions) CopyFrom(o *Deletions) {
	d.Inherit(o)
	d.edits = o.edits
}

// toolSearch is the tool that loads the descriptions of others.
const toolSearch = "ToolSearch"

// Score is what the lines of a round say whatever a strategy does. Conversations of several simulations may share the scores of one
// recording: nobody changes them.
type Score struct {
	signs.Content
	Searched bool  // the input has the result of a search for tools
	Behind   int32 // tokens of the input's results behind the one that the client marks
	Estimate int64 // the client's count of the input, tokens
}

// ScoresOf appends the scores of a thread's rounds to dst, with a client's count of a block, tokens.
func ScoresOf(dst []Score, s *traces.Session, t *traces.Thread, estimate func(*prompt.Block) int64) []Score {
	dst = slices.Grow(dst, len(t.Rounds))
	for i := range t.Rounds {
		r := &t.Rounds[i]
		in := s.Blocks[r.Input.From:r.Input.To]
		score := Score{Content: s.Content(r), Behind: behindMarked(in)}
		for k := range in {
			b := &in[k]
			score.Estimate += estimate(b)
			score.Searched = score.Searched || b.Kind == prompt.KindToolResult && b.Tool != 0 && s.Tools[b.Tool] == toolSearch
		}
		dst = append(dst, score)
	}
	return dst
}

// behindMarked returns the tokens of results behind the one that the client
// marks. Results of parallel calls stand in the order in which they came; the client marks the
// last result and then sends the results in the order of the calls, so that results of later calls
// stand behind the breakpoint. The recordings have
// 500 calls with several results: of 415 in order, and of 9 whose last call came
// last, none left more than the usual tail uncached; of 76 others all but 3 did.
func behindMarked(blocks []prompt.Block) int32 {
	last, behind := int32(0), int32(0)
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult {
			last = blocks[i].Call // its result came last
		}
	}
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult && blocks[i].Call > last {
			behind += blocks[i].Tokens
		}
	}
	return behind
}
