package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// imagePlaceholder is what "[image]" weighs in the place of an image or a
// document, tokens.
const imagePlaceholder = 3

// build puts the input of an intent into the side context: the thread's prefix
// or a head of the call's own, what stands for messages cut off, the messages,
// and the instruction.
func (l *Loop) build(t *thread, in *prompt.Intent) {
	l.side.Reset(l.session.Blocks, &l.arena)
	from, to := int(in.From), int(in.To)
	if to == 0 || to > t.context.Len() {
		to = t.context.Len()
	}
	body := strategies.Body(&t.context)
	if in.Prefix == prompt.PrefixShared {
		l.side.CopyKeys(&t.context)
		for i := range body {
			l.side.AppendEntry(t.context.At(i))
		}
	} else if in.Head > 0 {
		l.side.Add(l.injected(prompt.KindSystem, in.Source, in.Head))
	}
	if in.Lead > 0 {
		l.side.Add(l.injected(prompt.KindPrompt, "earlier conversation truncated", in.Lead))
	}
	for i := max(from, body); i < to; i++ {
		if in.Strip == 0 {
			l.side.AppendEntry(t.context.At(i))
		} else {
			l.include(t.context.At(i), in.Strip)
		}
	}
	l.side.Add(l.injected(prompt.KindPrompt, in.Source, in.Instruction))
}

// injected is a block the client writes itself: the same text at every call.
func (l *Loop) injected(k prompt.Kind, text string, tokens int32) prompt.Block {
	b := prompt.Block{
		Digest: prompt.DigestString(text).ExtendInt(uint64(tokens)),
		Kind:   k, Tokens: tokens, Object: -1,
	}
	if k.Level() == prompt.LevelMessages {
		b.Flags = prompt.FlagMeta
	}
	return b
}

// include adds an entry of the conversation to the side context, less what the
// call leaves out.
func (l *Loop) include(e prompt.Entry, strip prompt.Strip) {
	b := l.side.Block(e.Block)
	switch {
	case strip&prompt.StripListings != 0 && b.Flags&prompt.FlagListing != 0,
		strip&prompt.StripThinking != 0 && e.Kind == prompt.KindThinking:
	case strip&prompt.StripMedia != 0 && (e.Kind == prompt.KindImage || e.Kind == prompt.KindDocument):
		l.side.AppendAs(e, prompt.FormPointer, min(e.Tokens, imagePlaceholder))
	case strip&prompt.StripMedia != 0 && b.Flags&prompt.FlagImage != 0 && e.Form == prompt.FormVerbatim:
		l.side.AppendAs(e, prompt.FormRange, min(e.Tokens, imagePlaceholder+b.Bytes/3))
	default:
		l.side.AppendEntry(e)
	}
}

// callModel returns the model of a call that a layer asks for: the round's, or
// the one the layer names.
func (l *Loop) callModel(t *thread, in *prompt.Intent) int32 {
	if in.Model == "" {
		return int32(t.current().Model)
	}
	i := l.models.named(in.Model, l.client.Window(in.Model), l.session.StartTime())
	l.nameModels()
	return i
}

// refuse lets a call end without an answer: the server takes its time to say
// so, reads and writes nothing, and bills nothing.
func (l *Loop) refuse(t *thread, layer int, answer prompt.Answer) {
	i := l.newFlight()
	l.flights[i] = flight{
		thread: t.index, layer: int32(layer), refused: true, start: l.clock.now, answer: answer,
	}
	l.clock.schedule(l.clock.now+max(answer.First, answer.Total), eventEnd, i)
}
