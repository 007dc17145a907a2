package claudecode

import (
	"bytes"
	"fmt"
	"slices"
	"unsafe"

	"github.com/compactsim/compactsim/internal/reading/assembly"
	"github.com/compactsim/compactsim/internal/reading/jsonscan"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// message is the API message of a line.
type message struct {
	present  bool
	listed   bool        // the content is a list of blocks
	hollow   bool        // one of them has no type, or not what its type has
	kind     prompt.Kind // of its texts: that of a person's message unless it is known to be an answer
	id       []byte
	model    []byte
	usage    assembly.Usage
	passes   []assembly.Usage // before the last one, see parser.usage
	stopped  bool
	from, to int32 // pieces of the source
	manner   recordFlags
	signs    traces.Signs
	verdict  traces.Verdict
}

// message reads an API message; its blocks become pieces.
func (p *parser) message(m *message) {
	m.present, m.kind = p.Peek() == '{', prompt.KindPrompt
	p.terms = terms{}
	for name := range p.Members {
		switch string(name) {
		case "role":
			if string(p.Str()) == "assistant" {
				m.kind = prompt.KindText
			}
		case "id":
			m.id = p.Str()
		case "model":
			m.model = p.Str()
		case "stop_reason":
			m.stopped = len(p.Str()) > 0
		case "usage":
			m.passes = p.usage(&m.usage)
		case "content":
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
		m.listed = true
		for range p.Elements {
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
	images    int // in the result
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

// said returns the span of a text that the listener hears.
func (p *parser) said(k prompt.Kind, b []byte) span {
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
	p := &parser{src: &source{File: &assembly.File{Unknown: map[string]int{}}}, keep: true}
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
			b.text = p.said(m.kind, text)
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
			b.result, b.images = p.resultContent()
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
		s = p.said(prompt.KindToolUse, b.input.raw)
		s.digest = s.digest.Extend(prompt.DigestBytes(b.name)).Extend(b.id)
		p.describe(&pc, b)
	case "tool_result":
		pc.Kind, s = prompt.KindToolResult, b.result
		pc.id = b.useID
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
		pc.Kind, s = prompt.KindText, p.said(m.kind, jsonscan.Plain(b.raw))
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
func (p *parser) resultContent() (s span, media int) {
	if p.Peek() != '[' {
		return p.said(prompt.KindToolResult, p.Text(&p.scratch)), 0
	}
	p.parts = p.parts[:0]
	for range p.Elements {
		for name := range p.Members {
			switch string(name) {
			case "type":
				if typ := string(p.Str()); typ == "image" || typ == "document" {
					media++
				}
			case "text":
				p.parts = append(p.parts, p.Text(&p.scratch)...)
			default:
				p.Skip()
			}
		}
	}
	return p.said(prompt.KindToolResult, p.parts), media
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

// usage reads the token counts of a response. A response in which the model
// asked an advisor has several passes under one id; the counts at the top are
// their sums, though no request was that large. The usage is that of the last
// pass, and earlier ones are returned. The advisor, another model with its own
// context, is left out.
func (p *parser) usage(u *assembly.Usage) (ahead []assembly.Usage) {
	p.passes = p.passes[:0]
	p.counts(u, true)
	last := len(p.passes) - 1
	if last < 1 {
		return nil
	}
	searches := u.Searches
	*u = p.passes[last]
	u.Searches = searches
	return slices.Clone(p.passes[:last])
}

// counts reads token counts and reports whether they are those of a pass of the model.
// Those of a whole response have its passes in a list. Clients of all versions log the
// four counts: one that is missing, negative or absurd makes the usage unusable, but for
// that of output, which can be derived.
func (p *parser) counts(u *assembly.Usage, whole bool) (pass bool) {
	const none = -1
	input, output, read, created := int64(none), int64(none), int64(none), int64(none)
	split5m, split1h := int64(none), int64(none)
	if p.Peek() != '{' {
		p.Skip()
		return false
	}
	u.OK, u.Reasoning = true, -1
	for name := range p.Members {
		switch string(name) {
		case "input_tokens":
			input = p.count(u)
		case "output_tokens":
			ok := u.OK
			output = p.count(u)
			u.OK = ok
		case "cache_read_input_tokens":
			read = p.count(u)
		case "cache_creation_input_tokens":
			created = p.count(u)
		case "cache_creation":
			split5m, split1h = p.creation(u)
		case "speed":
			p.terms.speed = p.term("standard")
		case "inference_geo":
			p.terms.geo = p.term("not_available", "global")
		case "service_tier":
			p.terms.tier = p.term("standard")
		case "server_tool_use":
			u.Searches = p.searches()
		case "iterations":
			if !whole {
				p.Skip()
				continue
			}
			for range p.Elements {
				var one assembly.Usage
				if p.counts(&one, false) {
					p.passes = append(p.passes, one)
				}
			}
		case "type":
			pass = string(p.Str()) == "message"
		default:
			p.Skip()
		}
	}
	settle(u, input, output, read, created, split5m, split1h)
	return pass && u.OK
}

// settle makes a usage of counts, -1 for those that are not logged.
func settle(u *assembly.Usage, input, output, read, created, split5m, split1h int64) {
	zeroed := input == 0 && read == 0 && created == 0 // as in copies that 2.1.226 makes of earlier calls
	logged := max(split5m, 0) + max(split1h, 0)
	u.Doubt = (split5m >= 0 || split1h >= 0) && created >= 0 && created != logged
	if split5m >= 0 || split1h >= 0 {
		created = max(created, logged)
	}
	u.Bad = u.Bad || output < 0 || min(input, read, created) < 0
	u.OK = u.OK && min(input, read, created) >= 0 && !zeroed
	u.Uncached, u.Read, u.Output = max(input, 0), max(read, 0), max(output, 0)
	u.Write1h = max(split1h, 0)
	u.Write5m = max(created, 0) - u.Write1h
	u.Assumed = u.Write5m > max(split5m, 0)
	if total := u.Input(); total == 0 || total > assembly.MaxTokens {
		u.OK = false
	}
}

// terms are what a call was served under besides the usual, each as "[fast]", "" for the usual.
type terms struct{ speed, geo, tier string }

// term reads a term of service; what is usual is none.
func (p *parser) term(usual ...string) string {
	text := string(p.Str())
	if text == "" || slices.Contains(usual, text) {
		return ""
	}
	return "[" + text + "]"
}

// named returns the name of a model with terms of service, which have prices of their own.
func (t *terms) named(model []byte) []byte {
	all := t.speed + t.geo + t.tier
	if name, large := bytes.CutSuffix(model, []byte("[1m]")); large && all != "" {
		return append(append(bytes.Clone(name), all...), "[1m]"...)
	}
	return append(model[:len(model):len(model)], all...)
}

// searches returns how often the server searched the web.
func (p *parser) searches() (n int64) {
	for name := range p.Members {
		if string(name) == "web_search_requests" {
			n, _ = p.Int()
		} else {
			p.Skip()
		}
	}
	return min(max(n, 0), maxSearches)
}

// maxSearches is far above the number of searches that one call makes.
const maxSearches = 10_000

// creation reads what was written by lifetime, -1 for one that is not logged.
func (p *parser) creation(u *assembly.Usage) (split5m, split1h int64) {
	split5m, split1h = -1, -1
	for name := range p.Members {
		switch string(name) {
		case "ephemeral_5m_input_tokens":
			split5m = p.count(u)
		case "ephemeral_1h_input_tokens":
			split1h = p.count(u)
		default:
			p.Skip()
		}
	}
	return split5m, split1h
}

// count reads one token count, of which null is none.
func (p *parser) count(u *assembly.Usage) int64 {
	n, ok := p.Int()
	if !ok || n < 0 || n > assembly.MaxTokens {
		u.OK, u.Bad = false, true
		return 0
	}
	return n
}
