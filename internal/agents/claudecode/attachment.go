package claudecode

import (
	"bytes"

	"github.com/compactsim/compactsim/sim/prompt"
)

// attachment is text that the client puts into the conversation by itself:
// memory files, hook output, reminders, and prompts queued during a turn.
type attachment struct {
	typ      []byte
	rendered []byte // the text as it was sent, in newer versions
	body     []byte // what the text was made from
	prompt   []byte // of a queued command
}

// attached reads an attachment, or its rendered text beside it.
func (p *parser) attached(a *attachment, rendered bool) {
	if rendered {
		p.gather(&a.rendered)
		return
	}
	for name := range p.members {
		switch string(name) {
		case "type":
			a.typ = p.str()
		case "rendered":
			p.gather(&a.rendered)
		case "prompt":
			p.gather(&a.prompt)
		case "content", "text":
			p.gather(&a.body)
		default:
			p.skip()
		}
	}
}

// gather appends the texts of a string, a list, or an object's own text:
// content, text, or the file inside.
func (p *parser) gather(to *[]byte) {
	switch p.peek() {
	case '"':
		*to = append(*to, p.text(&p.scratch)...)
	case '[':
		for range p.elements {
			p.gather(to)
		}
	case '{':
		for name := range p.members {
			switch string(name) {
			case "content", "text", "file":
				p.gather(to)
			default:
				p.skip()
			}
		}
	default:
		p.skip()
	}
}

// sent returns the text that went to the model, nil for what is only noted.
func (a *attachment) sent() []byte {
	switch {
	case len(a.rendered) > 0:
		return a.rendered
	case string(a.typ) == "queued_command":
		return a.prompt
	case bytes.HasPrefix(a.typ, []byte("hook_")) && string(a.typ) != "hook_additional_context":
		return nil
	}
	return a.body
}

// flags returns what layers ask for about an attachment of this type.
func (a *attachment) flags() prompt.Flags {
	switch string(a.typ) {
	case "skill_listing", "skill_discovery":
		return prompt.FlagListing
	case "nested_memory", "relevant_memories":
		return prompt.FlagMemory
	}
	return 0
}

// injected adds an attachment line.
func (p *parser) injected(h *header) {
	text := h.attachment.sent()
	if len(text) == 0 {
		p.pass(h)
		return
	}
	r := h.record
	r.kind = recordAttachment
	r.flags |= flagSoft
	kind := prompt.KindAttachment
	if string(h.attachment.typ) == "queued_command" {
		kind = prompt.KindPrompt
	}
	r.from = int32(len(p.src.pieces))
	p.src.pieces = append(p.src.pieces, piece{Block: prompt.Block{
		Kind: kind, Object: -1, Bytes: int32(len(text)), Digest: prompt.DigestBytes(text), Flags: h.attachment.flags(),
	}})
	r.to = r.from + 1
	p.seal(&r, kind == prompt.KindAttachment)
	p.src.records = append(p.src.records, r)
}
