package claudecode

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
	"github.com/compactsim/compactsim/traces/signs"
)

// message is the API message of a line.
type message struct {
	present  bool
	listed   bool        // the content is a list of one block or more
	hollow   bool        // a block has no type, or lacks what its type has
	kind     prompt.Kind // kind of its texts: a person's message unless it is known to be an answer
	id       []byte
	model    []byte
	usage    assembly.Usage
	passes   passes
	stopped  bool
	from, to int32 // pieces of the source
	manner   recordFlags
	signs    signs.Set
	verdict  signs.Verdict
}

// message reads an API message; its blocks become pieces.
func (p *parser) message(m *message) {
	m.present, m.kind = p.Peek() == '{', prompt.KindPrompt
	p.terms = terms{}
	var seen jsonscan.Seen
	for name := range p.Members {
		switch string(name) {
		case "role":
			if string(p.Str()) == "assistant" {
				m.kind = prompt.KindText
			}
		case "id":
			p.Once(&seen, 0)
			m.id = p.Str()
		case "model":
			p.Once(&seen, 1)
			m.model = p.Str()
		case "stop_reason":
			m.stopped = stopReason(p.Str())
		case "usage":
			p.Once(&seen, 2)
			p.usage(&m.usage, &m.passes)
		case "content":
			p.Once(&seen, 3)
			m.from = int32(len(p.src.pieces))
			p.content(m)
			m.to = int32(len(p.src.pieces))
		case "diagnostics":
			m.verdict = p.diagnostics()
		default:
			p.Skip()
		}
	}
}

// content reads the content of a message: a bare string or a list of blocks.
func (p *parser) content(m *message) {
	switch p.Peek() {
	case '"':
		text := p.Text(&p.scratch)
		m.says(text)
		p.add(piece{Block: prompt.Block{
			Kind: prompt.KindText, Flags: prompt.FlagString, Object: -1,
			Bytes: int32(len(text)), Digest: prompt.DigestBytes(text),
		}, heard: p.hear(m.kind, text)}, text)
	case '[':
		for range p.Elements {
			m.listed = true
			p.block(m)
		}
	default:
		p.Skip()
	}
}

// manner says by the first words of a user's text what it is. Local commands
// and notices reach the model, but nobody typed them as a prompt.
func manner(text []byte) recordFlags {
	switch {
	case bytes.HasPrefix(text, []byte(interrupted)):
		return flagSoft
	case len(text) == 0 || text[0] != '<':
		return 0
	case bytes.HasPrefix(text, []byte("<command-name>")), bytes.HasPrefix(text, []byte("<bash-input>")):
		return flagSoft | flagCommand
	}
	for _, tag := range [...]string{"<local-command-", "<bash-stdout>", "<bash-stderr>", taskNotice} {
		if bytes.HasPrefix(text, []byte(tag)) {
			return flagSoft
		}
	}
	return 0
}

// rawBlock is a content block whose fields may come in any order.
type rawBlock struct {
	typ       []byte
	text      span
	thinking  span
	signature span
	result    span
	images    int   // in the result
	lines     int32 // of the result
	input     toolInput
	data      span // image or document
	raw       []byte
	id        prompt.Digest
	useID     prompt.Digest
	name      []byte
	failed    bool
}

// span is a text reduced to digest and length.
type span struct {
	digest prompt.Digest
	bytes  int
	text   []byte // where texts are kept
	heard  any    // of texts for the listener
}

func (p *parser) span(b []byte) span {
	if len(b) == 0 {
		return span{}
	}
	s := span{digest: prompt.DigestBytes(b), bytes: len(b)}
	if p.keep {
		s.text = bytes.Clone(b)
	}
	return s
}

// hear passes a text to the listener, if there is one.
func (p *parser) hear(k prompt.Kind, text []byte) any {
	if p.ear == nil {
		return nil
	}
	// The listener does not keep the text, which lives in a buffer.
	return p.ear.Hear(k, &traces.Text{Text: unsafe.String(unsafe.SliceData(text), len(text))})
}

// hearSpan returns the span of a text that the listener hears.
func (p *parser) hearSpan(k prompt.Kind, b []byte) span {
	s := p.span(b)
	s.heard = p.hear(k, b)
	return s
}

// add adds a piece with its text.
func (p *parser) add(pc piece, text []byte) {
	p.src.pieces = append(p.src.pieces, pc)
	if p.keep {
		p.texts = append(p.texts, traces.Text{Text: string(text), Withheld: text == nil && pc.Kind == prompt.KindThinking})
	}
}

// texts reads the texts of a line again.
func texts(line []byte) []traces.Text {
	p := &parser{src: &source{File: assembly.NewFile("", traces.Options{})}, keep: true}
	if p.parse(assembly.Line{Text: line, Number: 1}) != nil {
		return nil
	}
	for i := range p.texts {
		p.texts[i].Digest = p.src.pieces[i].Digest
	}
	return p.texts
}

// block reads one content block and adds its piece.
func (p *parser) block(m *message) {
	var b rawBlock
	from := p.Offset()
	for name := range p.Members {
		switch string(name) {
		case "type":
			b.typ = p.Str()
		case "text":
			text := p.Text(&p.scratch)
			m.says(text)
			b.text = p.hearSpan(m.kind, text)
		case "thinking":
			b.thinking = p.span(p.Text(&p.scratch))
		case "signature", "data":
			b.signature = p.span(p.Text(&p.scratch))
		case "id":
			b.id = p.key()
		case "tool_use_id":
			b.useID = p.key()
		case "name":
			b.name = p.Str()
		case "is_error":
			b.failed = p.Bool()
		case "input":
			p.toolInput(&b.input)
		case "source":
			b.data = p.mediaSource()
		case "content":
			p.resultContent(&b)
		default:
			p.Skip()
		}
	}
	if b.raw = p.From(from); p.Err() == nil {
		p.addPiece(m, &b)
	}
}

// hollow reports whether a block has no type, or not what the API gives every block of its type.
func (b *rawBlock) hollow() bool {
	switch string(b.typ) {
	case "":
		return true
	case "text":
		return b.text.bytes == 0
	case "tool_use":
		return len(b.input.raw) == 0 || b.input.raw[0] != '{'
	}
	return false
}

// addPiece turns a block into a piece. Unknown kinds are weighed by their JSON:
// server tools and their results are part of the response.
func (p *parser) addPiece(m *message, b *rawBlock) {
	pc := piece{Block: prompt.Block{Object: -1}}
	var s span
	m.hollow = m.hollow || b.hollow()
	switch string(b.typ) {
	case "text":
		pc.Kind, s = prompt.KindText, b.text
	case "thinking":
		pc.Kind, s = prompt.KindThinking, thinkingSpan(b)
	case "redacted_thinking":
		pc.Kind, s = prompt.KindThinking, thinkingSpan(b)
	case "tool_use", "server_tool_use":
		pc.Kind = prompt.KindToolUse
		s = p.hearSpan(prompt.KindToolUse, b.input.raw)
		s.digest = s.digest.Extend(prompt.DigestBytes(b.name)).Extend(b.id)
		p.describe(&pc, b)
	case "tool_result":
		pc.Kind, s = prompt.KindToolResult, b.result
		pc.id, pc.RangeLen = b.useID, b.lines
		s.digest = s.digest.Extend(b.useID)
		m.manner |= flagResult
		if b.failed {
			pc.Flags |= prompt.FlagError
		}
		pc.Flags = pc.Flags.WithImages(b.images)
	case "image":
		pc.Kind, pc.Flags, s = prompt.KindImage, prompt.FlagImage, b.data
	case "document":
		pc.Kind, s = prompt.KindDocument, b.data
	default:
		pc.Kind, s = prompt.KindText, p.hearSpan(m.kind, jsonscan.Plain(b.raw))
	}
	pc.Bytes, pc.Digest, pc.heard = int32(s.bytes), s.digest, s.heard
	if pc.Kind == prompt.KindImage || pc.Kind == prompt.KindDocument {
		s.text = nil
	}
	p.add(pc, s.text)
}

// thinkingSpan returns the text of a thinking block. When the text is withheld,
// the signature has it, encrypted and in base64: three of its bytes in four.
func thinkingSpan(b *rawBlock) span {
	s := b.thinking
	s.digest = s.digest.Extend(b.signature.digest)
	if s.bytes == 0 {
		s.bytes = b.signature.bytes / 4 * 3
	}
	return s
}

// resultContent reads the content of a tool result: a string, or parts, whose
// texts are joined, and counts the images and documents among them.
func (p *parser) resultContent(b *rawBlock) {
	if p.Peek() != '[' {
		b.shows(p, p.Text(&p.scratch))
		return
	}
	p.parts = p.parts[:0]
	for range p.Elements {
		for name := range p.Members {
			switch string(name) {
			case "type":
				if typ := string(p.Str()); typ == "image" || typ == "document" {
					b.images++
				}
			case "text":
				p.parts = append(p.parts, p.Text(&p.scratch)...)
			default:
				p.Skip()
			}
		}
	}
	b.shows(p, p.parts)
}

// shows sets the text of a result.
func (b *rawBlock) shows(p *parser, text []byte) {
	b.result, b.lines = p.hearSpan(prompt.KindToolResult, text), int32(bytes.Count(text, []byte{'\n'}))+1
}

// mediaSource reads the source of an image or document.
func (p *parser) mediaSource() (s span) {
	for name := range p.Members {
		switch string(name) {
		case "data", "url", "file_id":
			s = p.span(p.Text(&p.scratch))
		default:
			p.Skip()
		}
	}
	return s
}

// seal completes the pieces of a record: kinds by role, digests by identity,
// place, and the digest of the whole.
func (p *parser) seal(r *record, meta bool) {
	for i := r.from; i < r.to; i++ {
		pc := &p.src.pieces[i]
		if pc.Kind == prompt.KindText && r.kind == recordUser {
			pc.Kind = prompt.KindPrompt
		}
		if r.has(flagSummary) {
			pc.Kind = prompt.KindSummary
		}
		if meta {
			pc.Flags |= prompt.FlagMeta
		}
		pc.Digest = assembly.BlockDigest(pc.Kind, pc.Digest)
		pc.Line, pc.Place = r.line, r.place
		r.content = r.content.Extend(pc.Digest)
	}
}

// callID names the call of a response that its message id does not name; copies of the
// line give the same name.
func (r *record) callID() string {
	d := r.uuid
	if d.IsZero() {
		d = r.content.ExtendInt(uint64(r.at))
	}
	return fmt.Sprintf("line-%016x%016x", d.Hi, d.Lo)
}

// agentMessage is the message of a sub-agent in a progress line.
type agentMessage struct {
	typ     []byte // of the progress
	role    []byte // type of the inner line
	id      int32
	uuid    prompt.Digest
	at      int64
	message message
}

// progress reads the data of a progress line, which holds a message when it
// comes from a sub-agent.
func (p *parser) progress(h *header, line int32) {
	a := &h.agent
	for name := range p.Members {
		switch string(name) {
		case "hookName":
			h.hook = p.Str()
		case "type":
			a.typ = p.Str()
		case "agentId":
			a.id = p.src.names.add(p.Str())
		case "message":
			p.innerLine(a, line)
		default:
			p.Skip()
		}
	}
}

func (p *parser) innerLine(a *agentMessage, line int32) {
	for name := range p.Members {
		switch string(name) {
		case "type":
			a.role = p.Str()
		case "uuid":
			a.uuid = p.key()
		case "timestamp":
			a.at = p.stamp(line)
		case "message":
			p.message(&a.message)
		default:
			p.Skip()
		}
	}
}

// agentLine adds the message inside a progress line.
func (p *parser) agentLine(h *header) error {
	a := &h.agent
	if !a.message.present {
		return nil
	}
	r := record{
		place: h.place, line: h.line, at: a.at, uuid: a.uuid, tool: h.tool,
		session: h.session, agent: a.id, version: h.version, project: h.project,
		flags: flagProgress | flagSidechain,
	}
	if r.at == 0 {
		r.at = h.at
	}
	switch string(a.role) {
	case "assistant":
		if string(a.message.model) != "<synthetic>" {
			return p.response(r, &a.message)
		}
	case "user":
		r.kind = recordUser
		r.from, r.to = a.message.from, a.message.to
		r.flags |= a.message.manner
		p.seal(&r, false)
		p.src.keep(&r)
	}
	return nil
}
