package codex

import (
	"bytes"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
)

// responseItem is the payload of a response_item line: an item of the
// conversation as the API has it.
type responseItem struct {
	typ, role, id, callID, name, namespace, encrypted string
	// JSON, which belongs to the line
	content, summary, arguments, input, action, output, tools []byte

	maker   assembly.Maker
	scratch *[]byte // a text of the item
}

func newItem(maker assembly.Maker) responseItem {
	return responseItem{maker: maker, scratch: new([]byte)}
}

// read reads the item at the cursor and replaces the previous one.
func (r *responseItem) read(s *jsonscan.Scanner) {
	*r = responseItem{maker: r.maker, scratch: r.scratch}
	s.Object(
		jsonscan.To("type", &r.typ), jsonscan.To("role", &r.role), jsonscan.To("id", &r.id),
		jsonscan.To("call_id", &r.callID), jsonscan.To("name", &r.name), jsonscan.To("namespace", &r.namespace),
		jsonscan.To("encrypted_content", &r.encrypted), jsonscan.To("content", &r.content),
		jsonscan.To("summary", &r.summary), jsonscan.To("arguments", &r.arguments), jsonscan.To("input", &r.input),
		jsonscan.To("action", &r.action), jsonscan.To("output", &r.output), jsonscan.To("tools", &r.tools))
}

// fill sets the kind and blocks of a step from an item of the conversation and
// reports whether the item's type is known.
func (r *responseItem) fill(it *assembly.Step) (known bool, err error) {
	it.Kind, it.ID = assembly.StepReply, r.id
	switch r.typ {
	case "message":
		if it.Blocks, err = r.message(); r.role != "assistant" {
			it.Kind = assembly.StepInput
		}
	case "reasoning":
		// What counts is the encrypted content. Its length says little about its
		// tokens, which the usage has.
		b := newBlock(prompt.KindThinking, []byte(r.id), []byte(r.encrypted), jsonscan.Plain(r.summary))
		if r.maker.Keep { // listeners do not hear thinking
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
		it.Blocks[0], err = r.result()
	case "compaction", "compaction_summary":
		b := newBlock(prompt.KindSummary, []byte(r.id), []byte(r.encrypted))
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
func (r *responseItem) parts(v []byte) (texts [][]byte, images int, err error) {
	switch kind(v) {
	case '[':
	case 0, 'n':
		return nil, 0, nil
	default:
		return [][]byte{r.text(v)}, 0, nil
	}
	s := jsonscan.New(v)
	for range s.Elements {
		var typ, said string
		if s.Object(jsonscan.To("type", &typ), jsonscan.To("text", &said)); s.Err() != nil {
			break
		}
		if typ == "input_image" || typ == "image" {
			images++
			continue
		}
		texts = append(texts, []byte(said))
	}
	return texts, images, s.Err()
}

// kind returns the first byte of a value, 0 for none.
func kind(v []byte) byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

// text returns the text of a JSON string, or the JSON of another value. It is
// valid until the next call.
func (r *responseItem) text(v []byte) []byte {
	if kind(v) != '"' {
		return jsonscan.Plain(v)
	}
	return jsonscan.Unquote(v, r.scratch)
}

// summaries returns the summary texts of a reasoning item.
func (r *responseItem) summaries() string {
	if kind(r.summary) != '[' {
		return ""
	}
	texts, _, _ := r.parts(r.summary)
	return string(bytes.Join(texts, []byte("\n")))
}

// message returns the blocks of a message.
func (r *responseItem) message() ([]assembly.Block, error) {
	texts, images, err := r.parts(r.content)
	if err != nil {
		return nil, err
	}
	kind := prompt.KindText
	if r.role != "assistant" {
		kind = prompt.KindPrompt
	}
	b := newBlock(kind, texts...)
	if kind == prompt.KindPrompt && (r.role != "user" || injected(texts)) {
		b.Kind, b.Flags = prompt.KindAttachment, prompt.FlagMeta
	}
	list := []assembly.Block{r.withText(b, false, texts...)}
	for range images {
		list = append(list, r.withText(newBlock(prompt.KindImage, []byte(r.id), []byte{byte(len(list))}), false))
	}
	return list, nil
}

// withText returns a block with its text, if texts are kept or heard.
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
	name := r.name
	if name == "" {
		name = strings.TrimSuffix(r.typ, "_call")
	}
	args := r.arguments
	for _, v := range [][]byte{r.input, r.action} {
		if len(args) == 0 {
			args = v
		}
	}
	content := r.text(args)
	b := newBlock(prompt.KindToolUse, []byte(r.callID), []byte(name), content)
	b.Bytes = int32(min(len(content)+len(name), 1<<31-1))
	b.Tool, b.ID = name, assembly.CallID(r.callID)
	if r.namespace != "" || strings.HasPrefix(name, "mcp__") {
		b.Flags |= prompt.FlagMCP
	}
	b.Op = opOf(name)
	if b.Op == op.Edit {
		b.Object = readPatch(content)
	}
	return r.withText(b, kind(args) == '"', content)
}

// result returns the block of a tool's result.
func (r *responseItem) result() (assembly.Block, error) {
	v := r.output
	if len(v) == 0 {
		v = r.tools
	}
	if kind(v) == '[' && len(r.tools) > 0 {
		v = jsonscan.Plain(v)
		b := newBlock(prompt.KindToolResult, v)
		b.ID = assembly.CallID(r.callID)
		return r.withText(b, false, v), nil
	}
	texts, images, err := r.parts(v)
	if err != nil {
		return assembly.Block{}, err
	}
	b := newBlock(prompt.KindToolResult, texts...)
	b.ID = assembly.CallID(r.callID)
	b.Flags = b.Flags.WithImages(images)
	if len(texts) > 0 && failed(texts[0]) {
		b.Flags |= prompt.FlagError
	}
	return r.withText(b, false, texts...), nil
}

// opOf returns what a tool of Codex does to its object.
func opOf(name string) op.Op {
	switch name {
	case "read_file", "view_image":
		return op.Read
	case "apply_patch":
		return op.Edit
	case "exec_command", "exec", "write_stdin", "shell", "shell_command", "local_shell", "container.exec",
		"unified_exec", "wait":
		return op.Exec
	case "grep_files", "list_dir", "tool_search":
		return op.Search
	case "web_search":
		return op.Fetch
	case "spawn_agent":
		return op.Agent
	}
	return op.None
}

// readPatch returns the first file a patch touches, or "".
func readPatch(patch []byte) string {
	for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
		if _, after, ok := bytes.Cut(patch, []byte(head)); ok {
			path, _, _ := bytes.Cut(after, []byte("\n"))
			return string(bytes.TrimSpace(path))
		}
	}
	return ""
}

// failed reports whether the first lines of a tool's output, as the client
// writes it, name an exit code other than 0.
func failed(out []byte) bool {
	const headBytes = 200
	head := out[:min(len(out), headBytes)]
	for _, mark := range []string{"Process exited with code ", "Exit code: "} {
		if _, after, ok := bytes.Cut(head, []byte(mark)); ok {
			code, _, _ := bytes.Cut(after, []byte("\n"))
			return !bytes.Equal(bytes.TrimSpace(code), []byte("0"))
		}
	}
	return false
}
