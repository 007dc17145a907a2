package assembly

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Message is one message of a request.
type Message struct {
	Digest    prompt.Digest // of its JSON
	Assistant bool
	System    bool   // part of the system prompt
	Marks     []Mark // cache markers in it
	JSON      []byte // of one of the system
	Blocks    []Block
}

// NewMessage returns a message that is the same as another one if its blocks are.
func NewMessage(assistant bool, blocks []Block) *Message {
	d := prompt.Digest{}.ExtendInt(map[bool]uint64{true: 1}[assistant])
	for i := range blocks {
		d = d.Extend(blocks[i].Digest)
	}
	return &Message{Digest: d, Assistant: assistant, Blocks: blocks}
}

// said is a message in any of the forms that interfaces of models and their
// instrumentation use: Anthropic's, OpenAI's two, OpenTelemetry's, Google's, and
// Vercel's AI SDK's. An item of OpenAI's newer interface is a part by itself.
type said struct {
	part
	Role  string         `json:"role"`
	Parts jsontext.Value `json:"parts"`
	Uses  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	Thoughts string `json:"reasoning_content"`
}

// part is one part of a message.
type part struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Thinking string         `json:"thinking"`
	Content  jsontext.Value `json:"content"`
	Summary  jsontext.Value `json:"summary"`

	ID      string `json:"id"`
	CallID  string `json:"call_id|tool_use_id|toolCallId"`
	ReplyID string `json:"tool_call_id"`

	Name      string         `json:"name|toolName"`
	Arguments jsontext.Value `json:"arguments|args|input"`
	Output    jsontext.Value `json:"response|result|output"`
	IsError   bool           `json:"is_error"`
	Cache     jsontext.Value `json:"cache_control|cachePoint"`

	// Google's interface and Bedrock's name what a part is by its member, not by a type.
	Use       jsontext.Value `json:"functionCall|function_call|toolUse"`
	Result    jsontext.Value `json:"functionResponse|function_response|toolResult"`
	Thought   bool           `json:"thought"`
	Reasoning jsontext.Value `json:"reasoningContent"`
	Inline    jsontext.Value `json:"inlineData|inline_data|fileData|file_data|image|video"`
	Document  jsontext.Value `json:"document"`

	Mime   string         `json:"mime_type"`
	Image  jsontext.Value `json:"image_url"`
	Source jsontext.Value `json:"source"`
	URI    string         `json:"uri"`
}

// Message reads a message.
func (m Maker) Message(raw []byte) (*Message, error) {
	var s said
	if err := Decode(raw, &s); err != nil {
		return nil, err
	}
	out := &Message{Digest: prompt.DigestBytes(raw)}
	switch s.Role {
	case "system", "developer":
		out.System = true
	case "assistant", "model":
		out.Assistant = true
	case "":
		out.Assistant = s.use() || s.Type == "reasoning"
	}
	text := prompt.KindPrompt
	if out.Assistant {
		text = prompt.KindText
	}
	if s.Thoughts != "" {
		out.Blocks = append(out.Blocks, m.Text(prompt.KindThinking, s.Thoughts))
	}
	switch {
	case s.Role == "" && s.Type != "":
		out.Blocks = m.part(out.Blocks, &s.part, text)
	case s.ReplyID != "" || s.Role == "tool" && s.Content.Kind() == '"':
		out.Blocks = append(out.Blocks, m.Result(CallID(s.ReplyID), TextOf(s.Content), false, false))
	default:
		out.parts(m, s.Content, text)
		out.parts(m, s.Parts, text)
	}
	for i := range s.Uses {
		u := &s.Uses[i]
		out.Blocks = append(out.Blocks, m.Use(CallID(u.ID), u.Function.Name, Arguments(u.Function.Arguments)))
	}
	out.mark(&s.part)
	return out, nil
}

// use reports whether a part is the call of a tool.
func (p *part) use() bool {
	switch p.Type {
	case "tool_call", "tool_use", "tool-call", "function_call", "custom_tool_call":
		return true
	}
	return false
}

// parts appends the blocks of a content: a string, or a list of parts. text is the kind of its texts.
func (out *Message) parts(m Maker, v jsontext.Value, text prompt.Kind) {
	switch v.Kind() {
	case '"':
		var s string
		if Decode(v, &s) == nil && s != "" {
			out.Blocks = append(out.Blocks, m.Text(text, s))
		}
	case '[':
		var parts []jsontext.Value
		if Decode(v, &parts) != nil {
			m.Skip("parts")
		}
		for _, raw := range parts {
			var p part
			if raw.Kind() == '"' {
				out.parts(m, raw, text)
			} else if Decode(raw, &p) != nil {
				m.Skip("parts")
			} else {
				out.Blocks = m.part(out.Blocks, &p, text)
				out.mark(&p)
			}
		}
	}
}

// mark adds the marker of a part, or of one in the content of a result, whose blocks are the last ones of the message.
func (out *Message) mark(p *part) {
	ttl, ok := Marker(p.Cache)
	if !ok && (p.ReplyID != "" || p.Type == "tool_result") {
		for _, m := range MarksIn(p.Content) {
			ttl, ok = m.TTL, true
		}
	}
	if ok && len(out.Blocks) > 0 {
		out.Marks = append(out.Marks, Mark{len(out.Blocks), ttl})
	}
}

// part appends the blocks of a part.
func (m Maker) part(list []Block, p *part, text prompt.Kind) []Block {
	id := CallID(cmp.Or(p.CallID, p.ReplyID, p.ID))
	switch p.Type {
	case "tool_call", "tool_use", "tool-call", "function_call", "custom_tool_call":
		return append(list, m.Use(id, p.Name, Arguments(p.Arguments)))
	case "tool_call_response", "tool_result", "tool-result", "function_call_output", "custom_tool_call_output":
		v := p.Output
		if len(v) == 0 {
			v = p.Content
		}
		return append(list, m.Result(id, TextOf(v), p.IsError, bytes.Contains(v, []byte(`"image`))))
	case "reasoning", "thinking":
		if t := p.Thinking + p.Text + TextOf(p.Content) + TextOf(p.Summary); t != "" {
			list = append(list, m.Text(prompt.KindThinking, t))
		}
		return list
	case "":
		return m.named(list, p, text)
	case "text", "input_text", "output_text":
		if t := p.Text + TextOf(p.Content); t != "" {
			list = append(list, m.Text(text, t))
		}
		return list
	case "compaction": // a summary by the server
		if t := p.Text + TextOf(p.Content); t != "" {
			list = append(list, m.Text(prompt.KindSummary, t))
		}
		return list
	case "image", "image_url", "input_image":
		return append(list, m.Text(prompt.KindImage, string(p.Image)+string(p.Source)+TextOf(p.Content)))
	case "document", "blob", "file", "uri", "input_file":
		kind := prompt.KindDocument
		if strings.HasPrefix(p.Mime, "image/") {
			kind = prompt.KindImage
		}
		return append(list, m.Text(kind, string(p.Source)+p.URI+TextOf(p.Content)))
	}
	m.Skip(p.Type)
	return list
}

// named appends the blocks of a part that has no type.
func (m Maker) named(list []Block, p *part, text prompt.Kind) []Block {
	var of struct { // a call of a tool, or its result
		ID      string         `json:"id|toolUseId"`
		Name    string         `json:"name"`
		Input   jsontext.Value `json:"args|input"`
		Content jsontext.Value `json:"response|content"`
		Status  string         `json:"status"`
		Text    struct {
			Text string `json:"text"`
		} `json:"reasoningText"`
	}
	for _, v := range [...]jsontext.Value{p.Use, p.Result, p.Reasoning} {
		if v.Kind() == '{' && Decode(v, &of) != nil {
			m.Skip("part")
		}
	}
	switch id := CallID(of.ID); {
	case p.Use.Kind() == '{':
		return append(list, m.Use(id, of.Name, of.Input))
	case p.Result.Kind() == '{':
		return append(list, m.Result(id, TextOf(of.Content), of.Status == "error", bytes.Contains(of.Content, []byte(`"image`))))
	case p.Inline.Kind() == '{':
		kind := prompt.KindDocument
		if bytes.Contains(p.Inline, []byte(`"image/`)) || bytes.Contains(p.Inline, []byte(`"format"`)) {
			kind = prompt.KindImage
		}
		return append(list, m.Text(kind, string(p.Inline)))
	case p.Document.Kind() == '{':
		return append(list, m.Text(prompt.KindDocument, string(p.Document)))
	case p.Thought || of.Text.Text != "":
		text = prompt.KindThinking
	}
	if t := p.Text + of.Text.Text + TextOf(p.Content); t != "" {
		list = append(list, m.Text(text, t))
	}
	return list
}

// TextOf returns the text of a value: a string, the texts of a list of parts, or
// the JSON of anything else.
func TextOf(v jsontext.Value) string {
	var s string
	switch v.Kind() {
	case 0, 'n':
		return ""
	case '"':
		if Decode(v, &s) == nil {
			return s
		}
	case '[':
		var parts []part
		if Decode(v, &parts) == nil {
			var b strings.Builder
			for i := range parts {
				b.WriteString(parts[i].Text)
			}
			if b.Len() > 0 {
				return b.String()
			}
		}
	}
	return string(v)
}
