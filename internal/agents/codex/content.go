package codex

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/agents/assembly"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// responseItem is the payload of a response_item line: an item of the
// conversation as the API has it.
type responseItem struct {
	Type      string         `json:"type"`
	Role      string         `json:"role"`
	ID        string         `json:"id"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Content   jsontext.Value `json:"content"`
	Summary   jsontext.Value `json:"summary"`
	Encrypted string         `json:"encrypted_content"`
	Arguments jsontext.Value `json:"arguments"`
	Input     jsontext.Value `json:"input"`
	Action    jsontext.Value `json:"action"`
	Output    jsontext.Value `json:"output"`
	Tools     jsontext.Value `json:"tools"`

	maker assembly.Maker
}

// contentPart is one part of a message or of a tool's output.
type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// fill gives it the kind and blocks of an item of the conversation and reports
// whether its type is known.
func (r *responseItem) fill(it *assembly.Step) (known bool, err error) {
	it.Kind, it.ID = assembly.StepReply, r.ID
	switch r.Type {
	case "message":
		if it.Blocks, err = r.message(); r.Role != "assistant" {
			it.Kind = assembly.StepInput
		}
	case "reasoning":
		// What counts is the encrypted content; its length says little about
		// its tokens, which the usage has.
		b := newBlock(prompt.KindThinking, []byte(r.ID), []byte(r.Encrypted), r.Summary)
		if r.maker.Keep { // nobody listens to what was thought
			text := r.summaries()
			r.maker.Say(&b, traces.Text{Text: text, Withheld: text == ""})
		}
		it.Blocks = []assembly.Block{b}
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call",
		"image_generation_call":
		it.Blocks = []assembly.Block{r.use()}
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output",
		"mcp_tool_call_output":
		it.Kind, it.Blocks = assembly.StepResult, make([]assembly.Block, 1)
		it.Blocks[0], err = r.output()
	case "compaction", "compaction_summary":
		b := newBlock(prompt.KindSummary, []byte(r.ID), []byte(r.Encrypted))
		b.Text = &traces.Text{Withheld: true}
		it.Kind, it.Blocks = assembly.StepInput, []assembly.Block{b}
	default:
		return false, nil
	}
	return true, err
}

// newBlock returns a block of content.
func newBlock(k prompt.Kind, content ...[]byte) assembly.Block {
	d := prompt.DigestString(k.String())
	n := 0
	for _, c := range content {
		d = d.Extend(prompt.DigestBytes(c))
		n += len(c)
	}
	return assembly.Block{Block: prompt.Block{Digest: d, Bytes: int32(min(n, 1<<31-1)), Object: -1, Kind: k}}
}

// parts returns the text of content, a string or a list of parts, and the
// number of images in it.
func parts(v jsontext.Value) (texts [][]byte, images int, err error) {
	if v.Kind() != '[' {
		if len(v) == 0 || v.Kind() == 'n' {
			return nil, 0, nil
		}
		return [][]byte{text(v)}, 0, nil
	}
	var list []contentPart
	if err := assembly.Decode(v, &list); err != nil {
		return nil, 0, err
	}
	for _, p := range list {
		if p.Type == "input_image" || p.Type == "image" {
			images++
			continue
		}
		texts = append(texts, []byte(p.Text))
	}
	return texts, images, nil
}

// text returns the text of a JSON value: a string's own, else the JSON.
func text(v jsontext.Value) []byte {
	if v.Kind() != '"' {
		return v
	}
	b, err := jsontext.AppendUnquote(make([]byte, 0, len(v)), v)
	if err != nil {
		return v // invalid UTF-8: the raw text serves as well
	}
	return b
}

// summaries returns the texts that a reasoning item shows of itself.
func (r *responseItem) summaries() string {
	var list []contentPart
	if r.Summary.Kind() != '[' || assembly.Decode(r.Summary, &list) != nil {
		return ""
	}
	var texts []string
	for _, p := range list {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// message returns the blocks of a message.
func (r *responseItem) message() ([]assembly.Block, error) {
	texts, images, err := parts(r.Content)
	if err != nil {
		return nil, err
	}
	kind := prompt.KindText
	if r.Role != "assistant" {
		kind = prompt.KindPrompt
	}
	b := newBlock(kind, texts...)
	if kind == prompt.KindPrompt && (r.Role != "user" || injected(texts)) {
		b.Kind, b.Flags = prompt.KindAttachment, prompt.FlagMeta
	}
	list := []assembly.Block{r.withText(b, false, texts...)}
	for range images {
		list = append(list, r.withText(newBlock(prompt.KindImage, []byte(r.ID), []byte{byte(len(list))}), false))
	}
	return list, nil
}

// withText returns a block with its text where somebody wants it.
func (r *responseItem) withText(b assembly.Block, quoted bool, texts ...[]byte) assembly.Block {
	if r.maker.Keep || r.maker.Ear != nil {
		var text strings.Builder
		for _, t := range texts {
			text.Write(t)
		}
		r.maker.Say(&b, traces.Text{Text: text.String(), Quoted: quoted})
	}
	return b
}

// injectedHeads begin the messages of role user that the client writes itself.
var injectedHeads = []string{
	"<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<turn_aborted>",
	"<skill>", "<user_shell_command>", "<subagent_notification>", "<hook_prompt>",
}

// injected reports whether a message of role user is the client's.
func injected(texts [][]byte) bool {
	if len(texts) == 0 {
		return false
	}
	head := bytes.TrimSpace(texts[0])
	for _, h := range injectedHeads {
		if bytes.HasPrefix(head, []byte(h)) {
			return true
		}
	}
	return false
}

// use returns the block of a tool call.
func (r *responseItem) use() assembly.Block {
	name := r.Name
	if name == "" {
		name = strings.TrimSuffix(r.Type, "_call")
	}
	args := r.Arguments
	for _, v := range []jsontext.Value{r.Input, r.Action} {
		if len(args) == 0 {
			args = v
		}
	}
	content := text(args)
	b := newBlock(prompt.KindToolUse, []byte(r.CallID), []byte(name), content)
	b.Bytes = int32(min(len(content)+len(name), 1<<31-1))
	b.Tool, b.ID = name, assembly.CallID(r.CallID)
	if r.Namespace != "" || strings.HasPrefix(name, "mcp__") {
		b.Flags |= prompt.FlagMCP
	}
	b.Op = opOf(name)
	if b.Op == prompt.OpEdit {
		b.Object = patched(content)
	}
	return r.withText(b, args.Kind() == '"', content)
}

// output returns the block of a tool's result.
func (r *responseItem) output() (assembly.Block, error) {
	v := r.Output
	if len(v) == 0 {
		v = r.Tools
	}
	if v.Kind() == '[' && len(r.Tools) > 0 {
		b := newBlock(prompt.KindToolResult, v)
		b.ID = assembly.CallID(r.CallID)
		return r.withText(b, false, v), nil
	}
	texts, images, err := parts(v)
	if err != nil {
		return assembly.Block{}, err
	}
	b := newBlock(prompt.KindToolResult, texts...)
	b.ID = assembly.CallID(r.CallID)
	b.Flags = b.Flags.WithImages(images)
	if len(texts) > 0 && failed(texts[0]) {
		b.Flags |= prompt.FlagError
	}
	return r.withText(b, false, texts...), nil
}
