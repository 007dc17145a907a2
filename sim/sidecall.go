package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// imagePlaceholder is what "[image]" weighs in the place of an image or a
// document, tokens.
const imagePlaceholder = 3

// build puts the input of an intent into a context of its own: the thread's prefix
// or a head of the call's own, what stands for messages cut off, the messages,
// and the instruction.
func (l *Loop) build(t *thread, side *prompt.Context, in *prompt.Intent) {
	side.Reset(t.live.session.Blocks, &t.live.arena)
	from, to := int(in.From), int(in.To)
	if to == 0 || to > t.context.Len() {
		to = t.context.Len()
	}
	body := strategies.Body(&t.context)
	kept, shared := body, in.Prefix == prompt.PrefixShared
	if shared && in.Strip == 0 && in.Lead == 0 && from <= body {
		kept = max(to, body) // as it is, with its ids, which deletions refer to
	}
	if shared {
		side.CopyFrom(&t.context)
		side.Truncate(kept, prompt.CauseNone)
		if in.Rekey {
			side.SetKey(prompt.LevelMessages, prompt.DigestString(in.Source).ExtendInt(uint64(in.MaxOutput)))
		}
		l.forkHead(t, side)
	} else if in.Head > 0 {
		side.Add(injected(prompt.KindSystem, in.Source, in.Head))
	}
	if in.Lead > 0 {
		side.Add(injected(prompt.KindPrompt, "earlier conversation truncated", in.Lead))
	}
	for i := max(from, kept); i < to; i++ {
		if in.Strip == 0 {
			side.AppendSame(t.context.At(i))
		} else {
			include(side, t.context.At(i), in.Strip)
		}
	}
	if in.Instruction > 0 {
		side.Add(injected(prompt.KindPrompt, in.Source, in.Instruction))
	}
}

// injected is a block the client writes itself: the same text at every call.
func injected(k prompt.Kind, text string, tokens int32) prompt.Block {
	b := prompt.Block{
		Digest: prompt.DigestString(text).ExtendInt(uint64(tokens)),
		Kind:   k, Tokens: tokens, Object: -1,
	}
	if k.Level() == prompt.LevelMessages {
		b.Flags = prompt.FlagMeta
	}
	return b
}

// include adds an entry of the conversation to a call's context, less what the
// call leaves out.
func include(side *prompt.Context, e prompt.Entry, strip prompt.Strip) {
	b := side.Block(e.Block)
	switch {
	case strip&prompt.StripListings != 0 && b.Flags&prompt.FlagListing != 0,
		strip&prompt.StripThinking != 0 && e.Kind == prompt.KindThinking:
	case strip&prompt.StripMedia != 0 && (e.Kind == prompt.KindImage || e.Kind == prompt.KindDocument):
		side.AppendAs(e, prompt.FormPointer, min(e.Tokens, imagePlaceholder))
	case strip&prompt.StripMedia != 0 && b.Flags&prompt.FlagImage != 0 && e.Form == prompt.FormVerbatim:
		side.AppendAs(e, prompt.FormRange, min(e.Tokens, imagePlaceholder+b.Bytes/3))
	default:
		side.AppendSame(e)
	}
}

// callModel returns the model of a call that a layer asks for: the round's, or
// the one the layer names.
func (l *Loop) callModel(t *thread, in *prompt.Intent) int32 {
	if in.Model == "" {
		return t.model()
	}
	i := t.live.models.named(in.Model, t.live.client.Window(in.Model), t.live.session.StartTime())
	t.live.nameModels()
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
