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
	System    bool // part of the system prompt
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
// that of Vercel's AI SDK. An item of OpenAI's newer interface is a part by itself.
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
	Reasoning string `json:"reasoning_content"`
}

// part is one part of a message.
type part struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Thinking string         `json:"thinking"`
	Content  jsontext.Value `json:"content"`
	Summary  jsontext.Value `json:"summary"`

	ID      string `json:"id"`
	CallID  string `json:"call_id"`
	UseID   string `json:"tool_use_id"`
	ReplyID string `json:"tool_call_id"`
	VercelI string `json:"toolCallId"`

	Name      string         `json:"name"`
	ToolName  string         `json:"toolName"`
	Arguments jsontext.Value `json:"arguments"`
	Args      jsontext.Value `json:"args"`
	Input     jsontext.Value `json:"input"`

	Response jsontext.Value `json:"response"`
	Result   jsontext.Value `json:"result"`
	Output   jsontext.Value `json:"output"`
	IsError  bool           `json:"is_error"`

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
	if s.Reasoning != "" {
		out.Blocks = append(out.Blocks, m.Text(prompt.KindThinking, s.Reasoning))
	}
	switch {
	case s.Role == "" && s.Type != "":
		out.Blocks = m.part(out.Blocks, &s.part, text)
	case s.ReplyID != "" || s.Role == "tool" && s.Content.Kind() == '"':
		out.Blocks = append(out.Blocks, m.Result(CallID(s.ReplyID), textOf(s.Content), false, false))
	default:
		out.Blocks = m.parts(out.Blocks, s.Content, text)
		out.Blocks = m.parts(out.Blocks, s.Parts, text)
	}
	for i := range s.Uses {
		u := &s.Uses[i]
		out.Blocks = append(out.Blocks, m.Use(CallID(u.ID), u.Function.Name, unquoted(u.Function.Arguments)))
	}
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
func (m Maker) parts(list []Block, v jsontext.Value, text prompt.Kind) []Block {
	switch v.Kind() {
	case '"':
		var s string
		if Decode(v, &s) == nil && s != "" {
			list = append(list, m.Text(text, s))
		}
	case '[':
		var parts []jsontext.Value
		if Decode(v, &parts) != nil {
			m.Skip("parts")
		}
		for _, raw := range parts {
			var p part
			if raw.Kind() == '"' {
				list = m.parts(list, raw, text)
			} else if Decode(raw, &p) != nil {
				m.Skip("parts")
			} else {
				list = m.part(list, &p, text)
			}
		}
	}
	return list
}

// part appends the blocks of a part.
func (m Maker) part(list []Block, p *part, text prompt.Kind) []Block {
	id := CallID(cmp.Or(p.CallID, p.UseID, p.ReplyID, p.VercelI, p.ID))
	switch p.Type {
	case "tool_call", "tool_use", "tool-call", "function_call", "custom_tool_call":
		return append(list, m.Use(id, cmp.Or(p.Name, p.ToolName), unquoted(present(p.Arguments, p.Input, p.Args))))
	case "tool_call_response", "tool_result", "tool-result", "function_call_output", "custom_tool_call_output":
		v := present(p.Response, p.Result, p.Output, p.Content)
		return append(list, m.Result(id, textOf(v), p.IsError, bytes.Contains(v, []byte(`"image`))))
	case "reasoning", "thinking":
		if t := p.Thinking + p.Text + textOf(p.Content) + textOf(p.Summary); t != "" {
			list = append(list, m.Text(prompt.KindThinking, t))
		}
		return list
	case "text", "input_text", "output_text", "":
		if t := p.Text + textOf(p.Content); t != "" {
			list = append(list, m.Text(text, t))
		}
		return list
	case "image", "image_url", "input_image":
		return append(list, m.Text(prompt.KindImage, string(p.Image)+string(p.Source)+textOf(p.Content)))
	case "document", "blob", "file", "uri", "input_file":
		kind := prompt.KindDocument
		if strings.HasPrefix(p.Mime, "image/") {
			kind = prompt.KindImage
		}
		return append(list, m.Text(kind, string(p.Source)+p.URI+textOf(p.Content)))
	}
	m.Skip(p.Type)
	return list
}

// present returns the first value that is there.
func present(list ...jsontext.Value) jsontext.Value {
	for _, v := range list {
		if len(v) > 0 && v.Kind() != 'n' {
			return v
		}
	}
	return nil
}

// unquoted returns the JSON that a string holds, or the value itself.
func unquoted(v jsontext.Value) jsontext.Value {
	var s string
	if v.Kind() == '"' && Decode(v, &s) == nil && jsontext.Value(s).IsValid() {
		return jsontext.Value(s)
	}
	return v
}

// textOf returns the text of a value: a string, the texts of a list of parts, or
// the JSON of anything else.
func textOf(v jsontext.Value) string {
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
