// Package side builds what a call beside a conversation sends: the conversation's own prefix or a head of the call's own,
// the messages as far as the call shows them, and its instruction.
package side

import (
	"slices"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/strategies"
)

// imagePlaceholder is the size of "[image]" instead of an image or a document, tokens.
const imagePlaceholder = 3

// Head is what comes before a conversation's messages. Fork makes the head in a copy of the conversation what a call on
// the conversation's own prefix has there.
type Head interface{ Fork(c *prompt.Context) }

// Build makes side the input that an intent sends beside a conversation c of a session's blocks: the prefix of the
// conversation, whose head is h, or a head of the call's own, what stands for messages cut off, the messages, and the
// instruction.
func Build(side *prompt.Context, blocks []prompt.Block, c *prompt.Context, h Head, in *prompt.Intent) {
	side.Reset(blocks, c.Arena())
	from, to := int(in.From), int(in.To)
	if to == 0 || to > c.Len() {
		to = c.Len()
	}
	body := strategies.Body(c)
	kept, shared := body, !in.Own
	if shared && in.Whole() && in.Lead == 0 && from <= body {
		kept = max(to, body) // as it is, with its ids, which deletions refer to
	}
	if shared {
		side.CopyFrom(c)
		side.Truncate(kept, prompt.CauseNone)
		if in.Rekey {
			side.SetKey(prompt.LevelMessages, prompt.DigestString(in.Source).ExtendInt(uint64(in.MaxOutput)))
		}
		h.Fork(side)
		if in.NoTools {
			leaveOutTools(side, in.Source)
		}
	} else if a := in.Known; a != nil && a.Head[1] > 0 {
		side.AppendRange(a.Head[0], a.Head[1])
	} else if in.Head > 0 {
		side.Add(client.Injected(prompt.KindSystem, in.Source, in.Head))
	}
	if in.Lead > 0 {
		side.Add(client.Injected(prompt.KindPrompt, "earlier conversation truncated", in.Lead))
	}
	from = max(from, kept)
	if in.Newest > 0 {
		from = newest(c, from, to, in)
	}
	cut := shownShare{in: in}
	for i := from; i < to; i++ {
		switch {
		case in.Whole():
			side.AppendSame(*c.At(i))
		case in.Strip&ask.StripCalling != 0 && calls(c, i):
		default:
			include(side, cut.scale(*c.At(i), c.BlockAt(i)), in)
		}
	}
	if in.Instruction > 0 {
		b := client.Injected(prompt.KindPrompt, in.Source, in.Instruction)
		if in.Own && in.Known != nil { // what a recorded call said, and no other one as long
			b.Digest = b.Digest.ExtendInt(uint64(in.Ordinal)).ExtendInt(uint64(in.Summarised))
		}
		side.Add(b)
	}
}

// leaveOutTools takes the tools out of a call's context. As they come first, the call shares no prefix with the
// conversation, and with other such calls all that they have in common.
func leaveOutTools(side *prompt.Context, source string) {
	to := 0
	for to < side.Len() && side.At(to).Kind == prompt.KindTools {
		to++
	}
	side.Replace(0, to, nil, prompt.CauseNone)
	side.SetKey(prompt.LevelTools, prompt.DigestString("no tools "+source))
}

// calls reports whether an entry stands in a response that calls a tool.
func calls(c *prompt.Context, i int) bool {
	if !c.At(i).Kind.Assistant() {
		return false
	}
	message := c.BlockAt(i).Message
	for ; i < c.Len() && c.At(i).Kind.Assistant() && c.BlockAt(i).Message == message; i++ {
		if c.At(i).Kind == prompt.KindToolUse {
			return true
		}
	}
	return false
}

// shownShare follows how much of the input of a round a call shows, whose results it cuts.
type shownShare struct {
	in         *prompt.Intent
	had, shown int64 // tokens since the last response
}

// scale returns an entry, of an unseen block as many tokens as the call shows of the input that it came with: what the
// texts of a round weigh beyond their estimate is cut as they are.
func (s *shownShare) scale(e prompt.Entry, b *prompt.Block) prompt.Entry {
	switch {
	case s.in.Clip == 0:
	case e.Kind.Assistant():
		s.had, s.shown = 0, 0
	case e.Kind != prompt.KindUnseen:
		s.had, s.shown = s.had+int64(e.Tokens), s.shown+int64(showEntry(e, b, s.in).Tokens)
	case s.shown < s.had:
		e.Form, e.Tokens, e.Salt = prompt.FormRange, int32(int64(e.Tokens)*s.shown/s.had), uint16(prompt.FormRange)<<8|1
	}
	return e
}

// include adds an entry of the conversation to a call's context, less what the
// call leaves out.
func include(side *prompt.Context, e prompt.Entry, in *prompt.Intent) {
	switch was := showEntry(e, side.Block(e.Block), in); {
	case was.Tokens == 0 && e.Tokens > 0:
	case was.Form != e.Form || was.Tokens != e.Tokens:
		side.AppendAs(e, was.Form, was.Tokens)
	default:
		side.AppendSame(e)
	}
}

// newest returns the position from which a call sends the messages [from, to) that it has room
// for: the position of a response or a prompt, so that no result is sent without its call.
func newest(c *prompt.Context, from, to int, in *prompt.Intent) int {
	i, left := to, in.Newest
	for ; i > from; i-- {
		if left -= showEntry(*c.At(i - 1), c.BlockAt(i-1), in).Tokens; left < 0 {
			break
		}
	}
	for i > from && i < to && c.At(i).Kind != prompt.KindPrompt && (!c.At(i).Kind.Assistant() || c.At(i-1).Kind.Assistant()) {
		i++
	}
	return i
}

// showEntry returns an entry of a block as a call shows it, without tokens if the call leaves it out.
func showEntry(e prompt.Entry, b *prompt.Block, in *prompt.Intent) prompt.Entry {
	tool := e.Kind == prompt.KindToolUse || e.Kind == prompt.KindToolResult
	switch strip := in.Strip; {
	case strip&ask.StripListings != 0 && b.Flags&prompt.FlagListing != 0,
		strip&ask.StripThinking != 0 && e.Kind == prompt.KindThinking,
		strip&ask.StripTools != 0 && tool:
		e.Tokens = 0
	case strip&ask.StripMedia != 0 && (e.Kind == prompt.KindImage || e.Kind == prompt.KindDocument):
		e.Form, e.Tokens = prompt.FormPointer, min(e.Tokens, imagePlaceholder)
	case strip&ask.StripMedia != 0 && b.Flags&prompt.FlagImage != 0 && e.Form == prompt.FormVerbatim:
		e.Form, e.Tokens = prompt.FormRange, min(e.Tokens, imagePlaceholder+b.Bytes/3)
	}
	text := e.Kind == prompt.KindPrompt || e.Kind == prompt.KindText
	if in.Clip > 0 && (e.Kind == prompt.KindToolResult || e.Kind == prompt.KindThinking || text && in.Strip&ask.ClipTexts != 0) {
		clip(&e, b, in.Clip)
	}
	return e
}

// clip cuts an entry to a number of bytes of its block.
func clip(e *prompt.Entry, b *prompt.Block, bytes int32) {
	if e.Form == prompt.FormPointer || e.Form == prompt.FormCleared || b.Tokens <= 0 {
		return
	}
	has := int64(b.Bytes) * int64(e.Tokens) / int64(b.Tokens)
	if has > int64(bytes) {
		e.Form, e.Tokens = prompt.FormRange, max(1, int32(int64(e.Tokens)*int64(bytes)/has))
	}
}

// Asked is what a layer asks for.
type Asked struct {
	prompt.Intent
	Background    bool  // the conversation does not wait
	Thread, Layer int32 // who asked: indices of the loop's threads, and of the thread's layers
	Model         int32 // index of the session's models
	TTL           exchange.TTL
	Event         uint64        // stable id, by where the call began
	Span          prompt.Digest // of the conversation that it is about
}

// Call is a call beside a conversation, perhaps in several turns. It keeps what it sends: the conversation changes meanwhile.
type Call struct {
	Asked
	Context prompt.Context
	Answer  prompt.Answer
	Result  prompt.Result
	Turn    int32  // of the response under way, from 0
	Name    uint32 // to the server

	deleted course.Deletions
	running bool
}

// Begin builds what a call sends that is asked for beside a conversation with a head.
func (c *Call) Begin(a *Asked, of *course.Course, h Head) {
	c.Asked, c.Answer, c.Result, c.Turn = *a, prompt.Answer{}, prompt.Result{}, 0
	c.deleted.Reset()
	if !a.Own && a.Intent.Model == "" {
		c.deleted.Inherit(&of.Deleted) // the deletions in what the call sends as the conversation does
	}
	Build(&c.Context, of.Session.Blocks, &of.Context, h, &a.Intent)
}

// Deletions returns the deletions that the next request declares.
func (c *Call) Deletions() []exchange.Deletion { return c.deleted.Resolve(&c.Context) }

// Change returns what changed in the context since the call's last request.
func (c *Call) Change() prompt.Change {
	if !c.Background {
		return prompt.NoChange
	}
	return c.Context.MarkSent()
}

// Marks returns where the call's breakpoints are on its messages.
func (c *Call) Marks() client.Marks {
	return client.Marks{TTL: c.TTL, SecondToLast: c.SkipCacheWrite, None: c.Unmarked}
}

// Last reports whether no request follows the one of this turn.
func (c *Call) Last() bool { return !c.Background || c.Turn+1 >= c.Turns || c.Answer.Failed != "" }

// OwnPrefix reports whether the call sends what the conversation itself would send,
// so that its read shows what the conversation would have read.
func (c *Call) OwnPrefix() bool {
	return !c.Background && !c.Own && c.Intent.Model == "" && c.Whole() && !c.Rekey
}

// Respond takes the response of a turn, and its usage, nil for a refusal. It reports whether another turn follows, whose
// context has what the turn answered and the results of its tools; h, if not nil, is the head that each request renews.
func (c *Call) Respond(a *prompt.Answer, u *prompt.Usage, h Head) bool {
	c.Result.Answer = *a
	if u != nil {
		c.Result.Usage.Add(u)
	}
	if c.Turn++; a.Failed != "" || c.Turn >= c.Turns {
		return false
	}
	mark := uint64(c.Name)<<16 | uint64(c.Turn)
	reply := client.Injected(prompt.KindText, c.Source, max(1, a.Output))
	reply.Digest = reply.Digest.ExtendInt(mark)
	c.Context.Add(reply)
	results := client.Injected(prompt.KindPrompt, c.Source+" results", max(1, c.TurnInput))
	results.Digest = results.Digest.ExtendInt(mark)
	c.Context.Add(results)
	if !c.Own && h != nil {
		h.Fork(&c.Context)
	}
	return true
}

// Calls are calls by place. Places of calls that have ended are used again.
type Calls struct {
	list  []*Call
	names uint32
}

// Reset forgets all calls, keeping storage.
func (s *Calls) Reset() {
	s.names = 0
	for _, c := range s.list {
		c.running = false
	}
}

// New returns a call with a name of its own, at a place that is not in use.
func (s *Calls) New() (place int32, c *Call) {
	for int(place) < len(s.list) && s.list[place].running {
		place++
	}
	if int(place) == len(s.list) {
		s.list = append(s.list, &Call{})
	}
	s.names++
	c = s.list[place]
	c.Name, c.running = 1<<31|s.names, true
	return place, c
}

// At returns the call at a place.
func (s *Calls) At(place int32) *Call { return s.list[place] }

// End makes a place free.
func (s *Calls) End(place int32) { s.list[place].running = false }

// Of reports whether a call of a thread is running.
func (s *Calls) Of(thread int32) bool {
	return slices.ContainsFunc(s.list, func(c *Call) bool { return c.running && c.Thread == thread })
}

// Leave gives up what calls share with copies of them.
func (s *Calls) Leave() {
	for _, c := range s.list {
		c.Context.Leave()
	}
}

// CopyFrom makes s an independent copy, given the blocks that each thread's session adds.
func (s *Calls) CopyFrom(o *Calls, arena func(thread int32) *prompt.Arena) {
	for len(s.list) < len(o.list) {
		s.list = append(s.list, &Call{})
	}
	s.Reset()
	s.names = o.names
	for i, from := range o.list {
		c := s.list[i]
		context, deleted := c.Context, c.deleted
		if *c = *from; from.running {
			context.Become(&from.Context, arena(c.Thread))
			deleted.CopyFrom(&from.deleted)
		}
		c.Context, c.deleted = context, deleted
	}
}
