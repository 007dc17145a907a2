package claudecode

import (
	"bytes"

	"github.com/compactsim/compactsim/sim/prompt"
)

// toolInput is what is read from the arguments of a tool call.
type toolInput struct {
	raw       []byte // the JSON
	path      []byte
	pattern   []byte
	from, len int32
	agentType []byte
	prompt    prompt.Digest
}

// toolInput reads the arguments of a tool call.
func (p *parser) toolInput(in *toolInput) {
	p.space()
	from := p.pos
	for name := range p.members {
		switch string(name) {
		case "file_path", "notebook_path", "path":
			in.path = p.str()
		case "pattern":
			in.pattern = p.str()
		case "offset":
			in.from = p.small()
		case "limit":
			in.len = p.small()
		case "subagent_type":
			in.agentType = p.str()
		case "prompt":
			in.prompt = blockDigest(prompt.KindPrompt, prompt.DigestBytes(p.text(&p.scratch)))
		default:
			p.skip()
		}
	}
	if p.err == nil {
		in.raw = p.buf[from:p.pos]
	}
}

func (p *parser) small() int32 {
	if n, ok := p.integer(); ok && n > 0 && n < 1<<31 {
		return int32(n)
	}
	return 0
}

// describe gives a tool call its tool, object, operation and identity: calls
// with equal arguments differ by id.
func (p *parser) describe(pc *piece, b *rawBlock) {
	in := &b.input
	pc.id = b.id
	pc.tool = p.src.names.add(b.name)
	pc.Op = OpOf(string(b.name))
	if bytes.HasPrefix(b.name, []byte("mcp__")) {
		pc.Flags |= prompt.FlagMCP
	}
	if len(in.path) == 0 && !bytes.ContainsAny(in.pattern, "*?[{") && bytes.IndexByte(in.pattern, '/') >= 0 && string(b.name) == "Glob" {
		in.path = in.pattern
	}
	pc.object = p.src.names.add(in.path)
	if pc.Op == prompt.OpRead || pc.Op == prompt.OpEdit {
		pc.RangeFrom, pc.RangeLen = in.from, in.len
	}
	if pc.Op == prompt.OpAgent {
		p.src.tasks = append(p.src.tasks, task{p.src.names.add(in.agentType), in.prompt})
		pc.task = int32(len(p.src.tasks))
	}
}

// OpOf returns what a tool of Claude Code does to its object.
func OpOf(name string) prompt.Op {
	switch name {
	case "Read", "NotebookRead":
		return prompt.OpRead
	case "Edit", "MultiEdit", "NotebookEdit":
		return prompt.OpEdit
	case "Write":
		return prompt.OpWrite
	case "Bash":
		return prompt.OpExec
	case "Grep", "Glob", "LS":
		return prompt.OpSearch
	case "WebFetch", "WebSearch", "web_search", "web_fetch":
		return prompt.OpFetch
	case "Task", "Agent":
		return prompt.OpAgent
	}
	return prompt.OpNone
}
