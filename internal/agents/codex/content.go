package codex

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// newBlock returns a block of content.
func newBlock(k prompt.Kind, content ...[]byte) block {
	d := prompt.DigestString(k.String())
	n := 0
	for _, c := range content {
		d = d.Extend(prompt.DigestBytes(c))
		n += len(c)
	}
	return block{Block: prompt.Block{Digest: d, Bytes: int32(min(n, 1<<31-1)), Object: -1, Kind: k}}
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
	if err := decode(v, &list); err != nil {
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

// message returns the blocks of a message.
func (r *responseItem) message() ([]block, error) {
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
	list := []block{b}
	for range images {
		list = append(list, newBlock(prompt.KindImage, []byte(r.ID), []byte{byte(len(list))}))
	}
	return list, nil
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

// reasoning returns the block of a reasoning item. What counts is the encrypted
// content; its length says little of its tokens, which the usage tells.
func (r *responseItem) reasoning() block {
	return newBlock(prompt.KindThinking, []byte(r.ID), []byte(r.Encrypted), r.Summary)
}

// use returns the block of a tool call.
func (r *responseItem) use() block {
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
	b.tool, b.call = name, r.CallID
	if r.Namespace != "" || strings.HasPrefix(name, "mcp__") {
		b.Flags |= prompt.FlagMCP
	}
	b.Op = opOf(name)
	if b.Op == prompt.OpEdit {
		b.object = patched(content)
	}
	return b
}

// output returns the block of a tool's result.
func (r *responseItem) output() (block, error) {
	v := r.Output
	if len(v) == 0 {
		v = r.Tools
	}
	if v.Kind() == '[' && len(r.Tools) > 0 {
		b := newBlock(prompt.KindToolResult, v)
		b.call = r.CallID
		return b, nil
	}
	texts, images, err := parts(v)
	if err != nil {
		return block{}, err
	}
	b := newBlock(prompt.KindToolResult, texts...)
	b.call = r.CallID
	if images > 0 {
		b.Flags |= prompt.FlagImage
	}
	if len(texts) > 0 && failed(texts[0]) {
		b.Flags |= prompt.FlagError
	}
	return b, nil
}
