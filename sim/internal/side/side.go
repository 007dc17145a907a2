// Package side builds what a call beside a conversation sends: the conversation's own prefix or a head of the call's own,
// the messages as far as the call shows them, and its instruction.
package side

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
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
		if in.Whole() {
			side.AppendSame(*c.At(i))
		} else {
			include(side, cut.scale(*c.At(i), c.BlockAt(i)), in)
		}
	}
	if in.Instruction > 0 {
		side.Add(client.Injected(prompt.KindPrompt, in.Source, in.Instruction))
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
	case strip&prompt.StripListings != 0 && b.Flags&prompt.FlagListing != 0,
		strip&prompt.StripThinking != 0 && e.Kind == prompt.KindThinking,
		strip&prompt.StripTools != 0 && tool:
		e.Tokens = 0
	case strip&prompt.StripMedia != 0 && (e.Kind == prompt.KindImage || e.Kind == prompt.KindDocument):
		e.Form, e.Tokens = prompt.FormPointer, min(e.Tokens, imagePlaceholder)
	case strip&prompt.StripMedia != 0 && b.Flags&prompt.FlagImage != 0 && e.Form == prompt.FormVerbatim:
		e.Form, e.Tokens = prompt.FormRange, min(e.Tokens, imagePlaceholder+b.Bytes/3)
	}
	if in.Clip > 0 && (e.Kind == prompt.KindToolResult || e.Kind == prompt.KindThinking) {
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
