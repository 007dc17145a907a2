package texts

import (
	"github.com/compactsim/compactsim/sim/prompt"
)

// decodeClaudeCode finds the blocks of a line of Claude Code's JSONL: the
// content of its message, of the message of a sub-agent in a progress line, or
// the text of an attachment.
func decodeClaudeCode(l *line) {
	d := claudeLine{line: l, w: &l.walk}
	d.w.start(l.text)
	var rendered, body, queued []byte
	for name := range d.w.members {
		switch name {
		case "message":
			d.message()
		case "data":
			d.progress()
		case "rendered":
			d.gather(&rendered)
		case "attachment":
			for name := range d.w.members {
				switch name {
				case "rendered":
					d.gather(&rendered)
				case "prompt":
					d.gather(&queued)
				case "content", "text":
					d.gather(&body)
				default:
					d.w.value()
				}
			}
		default:
			d.w.value()
		}
	}
	for _, text := range [][]byte{rendered, queued, body} {
		if l.left > 0 && len(text) > 0 {
			d.text(prompt.DigestBytes(text), text)
		}
	}
}

type claudeLine struct {
	line *line
	w    *walker
}

// offer offers content by its digest without the kind: a line does not tell
// the kinds of its blocks alone. The walk ends when nothing is wanted any more.
func (d *claudeLine) offer(content prompt.Digest, p func() piece) {
	d.line.offer(func(b *prompt.Block) bool { return content.ExtendInt(uint64(b.Kind)) == b.Digest }, p)
	if d.line.left == 0 {
		d.w.stop()
	}
}

// text is offer for content that stands there as it is.
func (d *claudeLine) text(content prompt.Digest, text []byte) {
	d.offer(content, func() piece { return piece{text: string(text)} })
}

// progress reads the data of a progress line down to the API's message.
func (d *claudeLine) progress() {
	for name := range d.w.members {
		if name != "message" {
			d.w.value()
			continue
		}
		for name := range d.w.members {
			if name != "message" {
				d.w.value()
				continue
			}
			d.message()
		}
	}
}

// message reads an API message.
func (d *claudeLine) message() {
	for name := range d.w.members {
		switch {
		case name != "content":
			d.w.value()
		case d.w.peek() == '[':
			for range d.w.elements {
				d.block()
			}
		case d.w.peek() == '"':
			text := d.w.str()
			d.text(prompt.DigestBytes(text), text)
		default:
			d.w.value()
		}
	}
}

// claudeBlock is a content block: the JSON of its members, nil for those it
// does not have.
type claudeBlock struct {
	typ                       string
	text, thinking, signature []byte
	id, useID, name           []byte
	input, data, raw          []byte
	result                    []byte // text
}

// block reads one content block.
func (d *claudeLine) block() {
	var b claudeBlock
	if d.w.peek() != '{' {
		b.raw = d.w.value()
	} else {
		from := d.w.open()
		for name := range d.w.inside {
			d.member(&b, name)
		}
		if d.w.over {
			return
		}
		b.raw = d.w.text[from:d.w.dec.InputOffset()]
	}
	d.add(&b)
}

func (d *claudeLine) member(b *claudeBlock, name string) {
	switch name {
	case "type":
		b.typ = string(d.w.str())
	case "text":
		b.text = d.w.value()
	case "thinking":
		b.thinking = d.w.value()
	case "signature", "data":
		b.signature = d.w.value()
	case "id":
		b.id = d.w.value()
	case "tool_use_id":
		b.useID = d.w.value()
	case "name":
		b.name = d.w.value()
	case "input":
		b.input = d.w.value()
	case "source":
		d.source(b)
	case "content":
		d.result(b)
	default:
		d.w.value()
	}
}

// source reads the source of an image or document.
func (d *claudeLine) source(b *claudeBlock) {
	b.data = nil
	for name := range d.w.members {
		switch v := d.w.value(); name {
		case "data", "url", "file_id":
			b.data = v
		}
	}
}

// result reads the content of a tool result: a string, or the texts of its
// parts taken together.
func (d *claudeLine) result(b *claudeBlock) {
	b.result = b.result[:0]
	if d.w.peek() != '[' {
		b.result = append(b.result, d.w.str()...)
		return
	}
	for range d.w.elements {
		for name := range d.w.members {
			if v := d.w.value(); name == "text" {
				b.result = append(b.result, d.w.unquoted(v)...)
			}
		}
	}
}

// add offers a block that was read.
func (d *claudeLine) add(b *claudeBlock) {
	switch b.typ {
	case "text":
		text := d.w.unquoted(b.text)
		d.text(span(text), text)
	case "thinking", "redacted_thinking":
		d.thinking(b)
	case "tool_use", "server_tool_use":
		digest := span(b.input).Extend(prompt.DigestBytes(d.w.unquoted(b.name))).Extend(span(d.w.unquoted(b.id)))
		d.text(digest, b.input)
	case "tool_result":
		d.text(span(b.result).Extend(span(d.w.unquoted(b.useID))), b.result)
	case "image", "document":
		d.text(span(d.w.unquoted(b.data)), nil)
	default:
		d.text(span(b.raw), b.raw)
	}
}

// thinking offers a thinking block; of one whose text is withheld only the
// signature is there.
func (d *claudeLine) thinking(b *claudeBlock) {
	signature := span(d.w.unquoted(b.signature))
	text := d.w.unquoted(b.thinking)
	digest := span(text).Extend(signature)
	d.offer(digest, func() piece { return piece{text: string(text), withheld: len(text) == 0} })
}

// span is the digest of content, zero for none.
func span(b []byte) prompt.Digest {
	if len(b) == 0 {
		return prompt.Digest{}
	}
	return prompt.DigestBytes(b)
}

// gather appends the texts of a string, a list, or an object's own text:
// content, text, or the file inside.
func (d *claudeLine) gather(to *[]byte) {
	switch d.w.peek() {
	case '"':
		*to = append(*to, d.w.str()...)
	case '[':
		for range d.w.elements {
			d.gather(to)
		}
	case '{':
		for name := range d.w.members {
			switch name {
			case "content", "text", "file":
				d.gather(to)
			default:
				d.w.value()
			}
		}
	default:
		d.w.value()
	}
}
