package live

import (
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Texts in a request for what is not sent in full. The texts are this package's own;
// their sizes are near the sizes of the simulated clients' texts.
const (
	clearedText   = "[Old tool result content cleared]"
	emptyResult   = "(no output)"
	unseenText    = "[Something stood here that the recording does not show.]"
	truncatedText = "[earlier conversation truncated for compaction retry]"
	leadingText   = "[The conversation begins with a response.]"
	summaryHeader = "The conversation before this point has been summarised, as it did not fit any more. What follows is the summary.\n\n"
	storedOpening = "<persisted-output>\nThe output was large and is stored in a file. It begins like this:\n"
	storedClosing = "\n</persisted-output>"
	storedPointer = "<persisted-output>\nThe output is stored in a file and can be read again there.\n</persisted-output>"
)

// stored returns what remains of a result stored on disk, within so many bytes: its beginning, or only a notice.
func stored(text string, size int) string {
	room := size - len(storedOpening) - len(storedClosing)
	if room <= 0 || text == "" {
		return storedPointer
	}
	return storedOpening + cut(text, room) + storedClosing
}

// withMedia returns a text with the placeholder of its image or document.
func withMedia(text, media string) string {
	if media == "" {
		return text
	}
	if text == "" {
		return "[" + media + "]"
	}
	return text + "\n[" + media + "]"
}

// clean returns a text that any server accepts: valid UTF-8.
func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// cut returns the first n bytes of a text, or fewer so as not to divide a rune.
func cut(text string, n int) string {
	if n >= len(text) {
		return text
	}
	n = max(n, 0)
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// injected adds an entry whose block is not in the recording: a summary, what
// returned after it, or the client's own words.
func (p *composer) injected(i int, e prompt.Entry, b *prompt.Block) (err error) {
	var text string
	switch {
	case e.Kind == prompt.KindSummary:
		if w, ok := p.memory.find(b.Digest); ok {
			text = summaryHeader + w.message(e.Tokens)
		} else {
			p.count.Lost++
		}
	case e.Kind == prompt.KindAttachment:
		if text, err = p.restored(e, b); err != nil {
			return err
		}
	case e.Kind == prompt.KindPrompt && p.call.Intent.Lead > 0 && e.Tokens == p.call.Intent.Lead && i == p.firstInjected():
		text = truncatedText
	}
	if text == "" {
		text = p.unseen(int64(e.Tokens) * bytesPerToken)
	}
	p.cover(i, text)
	p.add(i, roleOf(e), text)
	return nil
}

// unseen returns what is sent in place of so many bytes that no recording shows: filler of their size would cost money
// and tell nothing.
func (p *composer) unseen(bytes int64) string {
	p.count.Unseen += bytes
	return unseenText
}

// firstInjected returns the position of the client's first own prompt, which replaces messages that were cut off.
func (p *composer) firstInjected() int {
	c := p.call.Context
	for i := c.Messages(); i < c.Len(); i++ {
		if e := c.At(i); e.Block < 0 && e.Kind == prompt.KindPrompt {
			return i
		}
	}
	return -1
}

// restored returns what a client puts back after a summary: a file as last read, a plan,
// todos, a skill; "" if unknown. Later writes to a file are not included.
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

// origin returns the block that a client's block was made from, by digest; else the largest read of its file so
// far; -1 for none.
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

// past returns the number of blocks of the session that exist at the time of the call.
func (p *composer) past() int {
	s := p.call.Session
	if t := int(p.call.Thread); t < len(s.Threads) {
		if r := int(p.call.Round); r < len(s.Threads[t].Rounds) {
			return int(s.Threads[t].Rounds[r].Input.To)
		}
	}
	return len(s.Blocks)
}

// madeFrom reports whether a client's block of so many tokens was made from the
// block with a digest: an unchanged file, or a text.
func madeFrom(made, from prompt.Digest, tokens int32) bool {
	of := from.ExtendInt(uint64(tokens))
	return made == of || made == of.Extend(prompt.Digest{}) || made == (prompt.Digest{}).Extend(from).ExtendInt(uint64(tokens))
}
