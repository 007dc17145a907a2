package live

import (
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// injected adds an entry whose block no recording has: a summary of an earlier
// call, what came back behind it, or the client's own words.
func (p *composer) injected(i int, e prompt.Entry, b *prompt.Block) error {
	role := wire.RoleUser
	if e.Kind.Assistant() {
		role = wire.RoleAssistant
	}
	text, err := p.words(i, e, b)
	if err != nil {
		return err
	}
	p.cover(i, b, text, nil)
	p.add(i, role, wire.Block{Kind: wire.KindText, Text: text})
	return nil
}

// words returns the text of a block that no recording has.
func (p *composer) words(i int, e prompt.Entry, b *prompt.Block) (string, error) {
	switch e.Kind {
	case prompt.KindSummary:
		w, ok := p.memory.find(b.Digest)
		if !ok || w.lost && w.words == "" {
			p.count.Lost++
		}
		if ok {
			return summaryHeader + w.message(e.Tokens), nil
		}
		return p.filler("a summary", e.Tokens), nil
	case prompt.KindPrompt:
		if p.call.Intent.Lead > 0 && e.Tokens == p.call.Intent.Lead && i == p.firstInjected() {
			return truncatedText, nil
		}
	case prompt.KindAttachment:
		if text, err := p.restored(e, b); err != nil || text != "" {
			return text, err
		}
	}
	return p.filler("text of the client", e.Tokens), nil
}

func (p *composer) filler(what string, tokens int32) string {
	text := stand(what, tokens)
	p.count.Filler += int64(len(text))
	return text
}

// firstInjected returns the position of the first prompt that the client put
// into the call: what stands for messages that were cut off.
func (p *composer) firstInjected() int {
	c := p.call.Context
	for i := c.Messages(); i < c.Len(); i++ {
		if e := c.At(i); e.Block < 0 && e.Kind == prompt.KindPrompt {
			return i
		}
	}
	return -1
}

// restored returns the text of what a client puts back behind a summary: a file
// as it was last read, a plan, todos, a skill; "" where that is not known. What
// was written to a file since is not in it.
func (p *composer) restored(e prompt.Entry, b *prompt.Block) (string, error) {
	s := p.call.Session
	at := p.origin(b)
	if at < 0 {
		return "", nil
	}
	content, err := p.texts.Block(int32(at))
	if err != nil || content.Filler {
		return "", err
	}
	text := clean(content.Text)
	if text == "" {
		text = clean(string(content.Input))
	}
	text = share(text, e, &s.Blocks[at])
	if text == "" {
		return "", nil
	}
	if b.Object >= 0 && int(b.Object) < len(s.Objects) {
		text = "The file " + clean(s.Objects[b.Object]) + " as it was read:\n" + text
	}
	return "<system-reminder>\n" + text + "\n</system-reminder>", nil
}

// origin returns the block of the session that a client's block was made from,
// by its digest; else the largest read of its file so far; -1 for none.
func (p *composer) origin(b *prompt.Block) int {
	at, size := -1, int32(0)
	blocks := p.call.Session.Blocks[:p.past()]
	for i := range blocks {
		o := &blocks[i]
		if o.Tokens >= b.Tokens && madeFrom(b.Digest, o.Digest, b.Tokens) {
			return i
		}
		if b.Object >= 0 && o.Object == b.Object && o.Kind == prompt.KindToolResult && o.Op == prompt.OpRead && o.Tokens > size {
			at, size = i, o.Tokens
		}
	}
	return at
}

// past returns the number of blocks of the session that are there at the call.
func (p *composer) past() int {
	s := p.call.Session
	if t := int(p.call.Thread); t < len(s.Threads) {
		if r := int(p.call.Round); r < len(s.Threads[t].Rounds) {
			return int(s.Threads[t].Rounds[r].Input.To)
		}
	}
	return len(s.Blocks)
}

// madeFrom reports whether a client's block of so many tokens was made from a
// block with a digest: a file that nobody wrote to, or another text.
func madeFrom(made, from prompt.Digest, tokens int32) bool {
	of := from.ExtendInt(uint64(tokens))
	return made == of || made == of.Extend(prompt.Digest{}) || made == (prompt.Digest{}).Extend(from).ExtendInt(uint64(tokens))
}
