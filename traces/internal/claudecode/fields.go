package claudecode

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// parser turns the lines of one source into records.
type parser struct {
	counter
	src     *source
	scratch []byte          // unescaped text of one string
	parts   []byte          // text of a tool result in several parts
	path    []byte          // of the file whose text was gathered last
	keep    bool            // texts are kept
	ear     traces.Listener // hears texts; nil for none
	texts   []traces.Text   // of the pieces of the source, where they are kept
}

var (
	errNoType    = errors.New("not a transcript line: it has no type")
	errNotObject = errors.New("not a transcript line: not a JSON object")
	errNoMessage = errors.New("no message")
	errNoID      = errors.New("response without a message id; its call is told by its token counts")
	errNoBlocks  = errors.New("response without a list of blocks; what it said is missing")
	errHollow    = errors.New("response with a block that lacks its type, text or input; what it said is missing")
)

// header is a line whose fields may come in any order, before its type is known.
type header struct {
	record
	typ, subtype []byte
	message      message
	agent        agentMessage
	attachment   attachment
	boundary     boundary
	synthetic    bool
	meta         bool
	hidden       bool   // shown to people only
	hook         []byte // name of the hook that ran
	total        total
	request      prompt.Digest // of an api-request line
	answers      prompt.Digest // the request that a response answers
	refused      bool          // the server refused the request, of an error
	state        state
	seen         jsonscan.Seen
}

// parse reads one line. Unless it returns an error, the source has the content
// of the line; a line that belongs to no conversation only adds to the counts.
func (p *parser) parse(ln assembly.Line) error {
	p.Scanner = jsonscan.New(ln.Text)
	mark := len(p.src.pieces)
	if p.Peek() != '{' {
		p.Skip()
		return cmp.Or(p.Err(), errNotObject)
	}
	h := header{record: record{place: ln.Place, line: int32(ln.Number)}}
	for name := range p.Members {
		p.field(&h, name)
	}
	p.End()
	err := p.Err()
	if err == nil {
		err = p.finish(&h)
	}
	if err != nil {
		p.src.pieces = p.src.pieces[:mark]
		if n := len(p.src.records) - 1; n >= 0 && p.src.records[n].kind == recordAssistant && assembly.Joined(ln.Text) == nil {
			p.src.answers[p.src.records[n].detail].broken = true
		}
	}
	return err
}

// field reads one member of a line.
func (p *parser) field(h *header, name []byte) {
	switch string(name) {
	case "type":
		p.Once(&h.seen, 1)
		h.typ = p.Str()
	case "subtype":
		h.subtype = p.Str()
	case "uuid":
		p.Once(&h.seen, 2)
		h.uuid = p.key()
	case "parentUuid":
		h.parent = p.key()
	case "logicalParentUuid":
		h.logical = p.key()
	case "parentToolUseID":
		h.tool = p.key()
	case "timestamp":
		h.at = p.stamp(h.line)
	case "sessionId":
		h.session = p.src.names.add(p.Str())
	case "agentId":
		h.record.agent = p.src.names.add(p.Str())
	case "version":
		h.version = p.src.names.add(p.Str())
	case "cwd":
		h.project = p.src.names.add(p.Str())
		p.src.folder = p.src.names.at(h.project)
	case "entrypoint":
		h.entry = p.src.names.add(p.Str())
	case "attributionSkill":
		h.skill = p.src.names.add(p.Str())
	case "attributionPlugin":
		h.plugin = p.src.names.add(p.Str())
	case "gitBranch":
		h.state[stateBranch] = p.src.names.add(p.Str())
	case "permissionMode":
		h.state[stateMode] = p.src.names.add(p.Str())
	case "effort":
		h.state[stateEffort] = p.src.names.add(p.Str())
	case "planContent", "thinkingMetadata", "origin":
		p.sign(h, string(name))
	case "isSidechain":
		p.flag(h, flagSidechain)
	case "isMeta":
		h.meta = p.Bool()
	case "isCompactSummary":
		p.flag(h, flagSummary)
	case "isVisibleInTranscriptOnly":
		h.hidden = p.Bool()
	case "isApiErrorMessage":
		h.synthetic = p.Bool()
	case "message":
		p.Once(&h.seen, 0)
		p.message(&h.message)
	case "data":
		p.progress(h, h.line)
	case "attachment", "rendered":
		p.readAttachment(&h.attachment, string(name) == "rendered")
	case "compactMetadata", "microcompactMetadata":
		p.metadata(&h.boundary)
	case "modelUsage":
		p.Once(&h.seen, 3)
		p.total(&h.total)
	case "startTime":
		h.total.start, _ = p.Int()
	case "id":
		h.request = p.key()
	case "requestRef":
		h.answers = p.key()
	case "error":
		h.refused = p.failed()
	default:
		p.Skip()
	}
}

func (p *parser) flag(h *header, f recordFlags) {
	if p.Bool() {
		h.flags |= f
	}
}

// key consumes a string and returns its digest, zero for none.
func (p *parser) key() prompt.Digest {
	if b := p.Str(); len(b) > 0 {
		return prompt.DigestBytes(b)
	}
	return prompt.Digest{}
}

func (p *parser) metadata(b *boundary) {
	for name := range p.Members {
		switch string(name) {
		case "trigger":
			b.manual = string(p.Str()) == "manual"
		case "preTokens":
			b.preTokens = p.tokens()
		case "durationMs":
			b.took = p.small()
		case "preservedMessages":
			b.preserved = p.preserved()
		case "compactedToolIds":
			for range p.Elements {
				b.cleared = append(b.cleared, p.key())
			}
		default:
			p.Skip()
		}
	}
}

// tokens returns a count of tokens, 0 for an impossible one.
func (p *counter) tokens() int32 {
	if n, ok := p.Int(); ok && n >= 0 && n <= assembly.MaxTokens {
		return int32(n)
	}
	return 0
}

// preserved returns how many messages a compaction left unchanged.
func (p *counter) preserved() (n int32) {
	for name := range p.Members {
		if string(name) != "uuids" {
			p.Skip()
			continue
		}
		for range p.Elements {
			p.Skip()
			n++
		}
	}
	return n
}

// finish gives the line its kind and adds it to the source.
func (p *parser) finish(h *header) error {
	p.src.compare(h)
	switch string(h.typ) {
	case "user":
		return p.user(h)
	case "assistant":
		return p.assistant(h)
	case "attachment":
		p.addAttachment(h)
		return nil
	case "system":
		p.system(h)
		return nil
	case "progress":
		p.pass(h)
		if string(h.agent.typ) == "agent_progress" {
			return p.agentLine(h)
		}
		return nil
	case "cost-state":
		p.pass(h)
		if len(h.total.models) == 0 {
			return errNoTotal
		}
		h.total.line = h.line
		p.src.totals = append(p.src.totals, h.total)
		return nil
	case "api-request":
		p.pass(h)
		p.src.requests = append(p.src.requests, request{id: h.request, line: h.line})
		return nil
	case "":
		return errNoType
	}
	if !knownType(h.typ) {
		p.src.Unknown[string(h.typ)]++
		if u := &h.message.usage; u.OK || u.Bad {
			return fmt.Errorf("line of type %.40q has the token counts of a call", h.typ)
		}
	}
	p.pass(h)
	return nil
}

// pass keeps a line for the chain of parents, dropping its content.
func (p *parser) pass(h *header) {
	r := h.record
	r.signs |= h.logged()
	r.kind = recordPass
	if r.uuid.IsZero() {
		r.kind = recordOther
	}
	if n := len(p.src.records); n > 1 && p.src.records[n-2].spans(&p.src.records[n-1]) && p.src.records[n-1].spans(&r) {
		p.src.records[n-1] = r
		return
	}
	p.src.keep(&r)
}

// spans reports whether a later line of the same session is in no conversation either. The first and the last of such lines say
// when the session was used: a log may have millions.
func (r *record) spans(later *record) bool {
	return r.kind == recordOther && later.kind == recordOther && r.session == later.session && r.at <= later.at
}

func (p *parser) system(h *header) {
	switch string(h.subtype) {
	case "compact_boundary":
		h.kind = recordCompact
	case "microcompact_boundary":
		h.kind = recordMicrocompact
	case "api_error":
		p.src.requests = append(p.src.requests, request{line: h.line, refused: h.refused})
		p.pass(h)
		return
	default:
		p.pass(h)
		return
	}
	r := h.record
	r.detail = int32(len(p.src.boundaries))
	p.src.boundaries = append(p.src.boundaries, h.boundary)
	p.src.keep(&r)
}

func (p *parser) user(h *header) error {
	m := &h.message
	if !m.present {
		return errNoMessage
	}
	if h.hidden && !h.has(flagSummary) {
		p.pass(h)
		return nil
	}
	r := h.record
	r.kind = recordUser
	r.from, r.to = m.from, m.to
	if h.meta {
		r.flags |= flagSoft
	}
	r.flags |= m.manner
	r.signs |= m.signs
	p.seal(&r, h.meta)
	p.src.keep(&r)
	return nil
}

func (p *parser) assistant(h *header) error {
	m := &h.message
	if !m.present {
		return errNoMessage
	}
	if h.synthetic || string(m.model) == "<synthetic>" {
		h.flags |= flagSynthetic
		p.pass(h)
		return nil
	}
	if !h.answers.IsZero() {
		if p.src.answered == nil {
			p.src.answered = map[prompt.Digest]bool{}
		}
		p.src.answered[h.answers] = true
	}
	return p.response(h.record, m)
}

// response adds one line of a call. What it lacks is a defect of the line, which is read all the same.
func (p *parser) response(r record, m *message) error {
	r.kind = recordAssistant
	r.from, r.to = m.from, m.to
	r.detail, r.verdict = int32(len(p.src.answers)), m.verdict
	p.seal(&r, false)
	var err error
	switch {
	case len(m.id) == 0:
		err = p.src.Refuse(int(r.line), errNoID)
	case !m.listed:
		err = p.src.Refuse(int(r.line), errNoBlocks)
	case m.hollow:
		err = p.src.Refuse(int(r.line), errHollow)
	}
	p.src.answers = append(p.src.answers, answer{
		id: p.src.names.add(m.id), model: p.src.names.add(p.terms.named(m.model)), usage: m.usage, passes: m.passes, stopped: m.stopped && m.usage.OK,
	})
	p.src.keep(&r)
	return err
}

// stamp reads the time stamp of a line. An empty one is no time that could be read.
func (p *parser) stamp(line int32) int64 {
	text := p.Str()
	if text != nil && len(text) == 0 {
		text = []byte(`""`)
	}
	return p.src.Stamp(int(line), text)
}
