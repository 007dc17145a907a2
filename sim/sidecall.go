package sim

import (
	"context"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
)

// imagePlaceholder is the size of "[image]" instead of an image or a document, tokens.
const imagePlaceholder = 3

// build puts the input of an intent into a context of its own: the thread's prefix
// or a head of the call's own, what stands for messages cut off, the messages,
// and the instruction.
func (l *Loop) build(t *thread, side *prompt.Context, in *prompt.Intent) {
	side.Reset(t.replay.session.Blocks, &t.replay.arena)
	from, to := int(in.From), int(in.To)
	if to == 0 || to > t.context.Len() {
		to = t.context.Len()
	}
	body := strategies.Body(&t.context)
	kept, shared := body, !in.Own
	if shared && in.Whole() && in.Lead == 0 && from <= body {
		kept = max(to, body) // as it is, with its ids, which deletions refer to
	}
	if shared {
		side.CopyFrom(&t.context)
		side.Truncate(kept, prompt.CauseNone)
		if in.Rekey {
			side.SetKey(prompt.LevelMessages, prompt.DigestString(in.Source).ExtendInt(uint64(in.MaxOutput)))
		}
		t.head.Fork(side)
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
		from = newest(&t.context, from, to, in)
	}
	cut := shownShare{in: in}
	for i := from; i < to; i++ {
		if in.Whole() {
			side.AppendSame(*t.context.At(i))
		} else {
			include(side, cut.scale(*t.context.At(i), t.context.BlockAt(i)), in)
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

// callModel returns the model of a call that a layer asks for: the round's, or
// the one the layer names.
func (l *Loop) callModel(t *thread, in *prompt.Intent) int32 {
	if in.Model == "" {
		return t.model()
	}
	i := t.replay.models.named(in.Model, l.config.known(t.replay.client, t.replay.session, in.Model), t.replay.session.StartTime())
	t.replay.nameModels()
	return i
}

// refuse lets a call end without an answer: the server takes its time to say
// so, reads and writes nothing, and bills nothing.
func (l *Loop) refuse(t *thread, layer int, answer prompt.Answer) {
	i := l.newFlight()
	l.flights[i] = flight{
		thread: t.id, layer: int32(layer), refused: true, start: l.clock.now, answer: answer,
	}
	l.clock.schedule(l.clock.now+max(answer.First, answer.Total), eventEnd, i)
}

// Composer is a Summarizer that makes real calls, and for that gets all that a call
// sends. An error ends the simulation, as no later call can be answered either. Several
// loops call it at once.
type Composer interface {
	Compose(ctx context.Context, c *summarizer.Call) (prompt.Answer, error)
}

// summarize asks the summariser for the answer of a call that sends side.
func (l *Loop) summarize(t *thread, side *prompt.Context, in *prompt.Intent, event uint64, span prompt.Digest, marks client.Marks) prompt.Answer {
	in.Denser = t.replay.dense
	if l.composer == nil || in.Known != nil {
		t.replay.wrote.of(in, t.replay)
		return l.config.Summarizer.Summarize(in, t.replay.draws, event, span)
	}
	m := t.replay.models.of(l.callModel(t, in))
	entries := side.Seal()
	marks.Head = t.head.Marks(entries)
	l.markers = t.replay.client.Mark(l.markers[:0], entries, marks)
	if t.replay.heads.Assembly.Variables.Uncached(m.name) {
		l.markers = l.markers[:0]
	}
	answer, err := l.composer.Compose(l.context(), &summarizer.Call{
		Intent: in, Session: t.replay.session, Thread: t.index, Round: t.round, Context: side, Markers: l.markers,
		Model: m.name, Window: m.window, Draws: t.replay.draws, Event: event, Span: span,
	})
	if err != nil && l.err == nil {
		l.failing = t.replay.session
		l.err = err
		return prompt.Answer{Failed: prompt.FailAPI}
	}
	t.replay.measure(answer.Measured)
	return answer
}

// context returns the context that ends calls that block.
func (l *Loop) context() context.Context {
	if l.ctx == nil {
		return context.Background()
	}
	return l.ctx
}

// measure adds what a real server said of a call to the row.
func (s *replay) measure(m *prompt.Measured) {
	if m == nil {
		return
	}
	n := &s.row.Figures
	n[results.LiveCalls]++
	n[results.LiveAttempts] += float64(m.Attempts)
	n[results.LiveIterations] += float64(m.Iterations)
	n[results.LiveUncachedTokens] += float64(m.Usage.Uncached)
	n[results.LiveReadTokens] += float64(m.Usage.Read)
	n[results.LiveWriteTokens] += float64(m.Usage.Writes())
	n[results.LiveOutputTokens] += float64(m.Usage.Output)
	n[results.SectionsMissing] += float64(m.Missing)
	n[results.SectionsCut] += float64(m.Cut)
}

// event is the stable id of a call that a layer makes at the round under way.
func (l *Loop) event(t *thread, layer int, ordinal uint8) uint64 {
	return draws.Event(t.index, t.round, t.hooks.keys[layer], ordinal)
}
