package texts

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// codexRecord is one line of a rollout.
type codexRecord struct {
	Type    string         `json:"type"`
	Payload jsontext.Value `json:"payload"`
}

// codexItem is an item of the conversation, or of the history that a compaction
// left.
type codexItem struct {
	Type      string         `json:"type"`
	Role      string         `json:"role"`
	ID        string         `json:"id"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Content   jsontext.Value `json:"content"`
	Summary   jsontext.Value `json:"summary"`
	Encrypted string         `json:"encrypted_content"`
	Arguments jsontext.Value `json:"arguments"`
	Input     jsontext.Value `json:"input"`
	Action    jsontext.Value `json:"action"`
	Output    jsontext.Value `json:"output"`
	Tools     jsontext.Value `json:"tools"`
}

type codexCompacted struct {
	Message string      `json:"message"`
	History []codexItem `json:"replacement_history"`
}

type codexPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// lenient is how rollouts are decoded: as their reader does.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// decodeCodex finds the blocks of a line of a rollout. A line that is not
// understood has none.
func decodeCodex(l *line) {
	var r codexRecord
	if json.Unmarshal(l.text, &r, lenient) != nil {
		return
	}
	switch r.Type {
	case "response_item":
		var it codexItem
		if json.Unmarshal(r.Payload, &it, lenient) == nil {
			it.offer(l)
		}
	case "compacted":
		var c codexCompacted
		if json.Unmarshal(r.Payload, &c, lenient) != nil {
			return
		}
		if c.Message != "" {
			offerCodex(l, prompt.KindSummary, piece{text: c.Message}, []byte(c.Message))
		}
		for i := range c.History {
			c.History[i].offer(l)
		}
	}
}

// offerCodex offers a block whose digest is made of a kind and parts.
func offerCodex(l *line, k prompt.Kind, p piece, parts ...[]byte) {
	d := prompt.DigestString(k.String())
	for _, part := range parts {
		d = d.Extend(prompt.DigestBytes(part))
	}
	l.offer(func(b *prompt.Block) bool { return b.Digest == d }, func() piece { return p })
}

// offer offers the blocks of an item.
func (it *codexItem) offer(l *line) {
	switch it.Type {
	case "message":
		it.message(l)
	case "reasoning":
		text := strings.Join(summaries(it.Summary), "\n")
		offerCodex(l, prompt.KindThinking, piece{text: text, withheld: text == ""}, []byte(it.ID), []byte(it.Encrypted), it.Summary)
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call", "image_generation_call":
		it.use(l)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output", "mcp_tool_call_output":
		it.output(l)
	case "compaction", "compaction_summary":
		offerCodex(l, prompt.KindSummary, piece{withheld: true}, []byte(it.ID), []byte(it.Encrypted))
	}
}

// message offers a message and its images.
func (it *codexItem) message(l *line) {
	texts, images := codexParts(it.Content)
	kind := prompt.KindText
	if it.Role != "assistant" {
		kind = prompt.KindPrompt
	}
	offerCodex(l, kind, joined(texts), texts...)
	for n := range images {
		offerCodex(l, prompt.KindImage, piece{}, []byte(it.ID), []byte{byte(n + 1)})
	}
}

// use offers a tool call.
func (it *codexItem) use(l *line) {
	name := it.Name
	if name == "" {
		name = strings.TrimSuffix(it.Type, "_call")
	}
	args := it.Arguments
	for _, v := range []jsontext.Value{it.Input, it.Action} {
		if len(args) == 0 {
			args = v
		}
	}
	content := codexText(args)
	offerCodex(l, prompt.KindToolUse, piece{text: string(content), quoted: args.Kind() == '"'},
		[]byte(it.CallID), []byte(name), content)
}

// output offers a tool's result.
func (it *codexItem) output(l *line) {
	v := it.Output
	if len(v) == 0 {
		v = it.Tools
	}
	texts := [][]byte{v}
	if v.Kind() != '[' || len(it.Tools) == 0 {
		texts, _ = codexParts(v)
	}
	offerCodex(l, prompt.KindToolResult, joined(texts), texts...)
}

func joined(texts [][]byte) piece {
	var b strings.Builder
	for _, t := range texts {
		b.Write(t)
	}
	return piece{text: b.String()}
}

// codexParts returns the texts of content, a string or a list of parts, and the
// number of images in it.
func codexParts(v jsontext.Value) (texts [][]byte, images int) {
	if v.Kind() != '[' {
		if len(v) == 0 || v.Kind() == 'n' {
			return nil, 0
		}
		return [][]byte{codexText(v)}, 0
	}
	var list []codexPart
	if json.Unmarshal(v, &list, lenient) != nil {
		return nil, 0
	}
	for _, p := range list {
		if p.Type == "input_image" || p.Type == "image" {
			images++
			continue
		}
		texts = append(texts, []byte(p.Text))
	}
	return texts, images
}

// summaries returns the texts that a reasoning item shows of itself.
func summaries(v jsontext.Value) []string {
	var list []codexPart
	if v.Kind() != '[' || json.Unmarshal(v, &list, lenient) != nil {
		return nil
	}
	var texts []string
	for _, p := range list {
		texts = append(texts, p.Text)
	}
	return texts
}

// codexText returns the text of a JSON value: a string's own, else the JSON.
func codexText(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return v
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return v // as the reader takes it: not UTF-8
	}
	return b
}
