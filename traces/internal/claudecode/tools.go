package claudecode

import (
	"bytes"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
	"github.com/compactsim/compactsim/traces/signs"
)

// toolInput is what is read from the arguments of a tool call.
type toolInput struct {
	raw       []byte // the JSON
	path      []byte
	pattern   []byte
	from, len int32
	grows     int32 // bytes that an edit adds, or that a write leaves
	lines     int32 // the same in lines
	agentType []byte
	command   []byte
	prompt    prompt.Digest
}

// toolInput reads the arguments of a tool call.
func (p *parser) toolInput(in *toolInput) {
	from := p.Offset()
	for name := range p.Members {
		switch string(name) {
		case "file_path", "notebook_path", "path":
			in.path = p.Str()
		case "pattern":
			in.pattern = p.Str()
		case "offset":
			in.from = p.small()
		case "limit":
			in.len = p.small()
		case "old_string":
			in.grow(p.Text(&p.scratch), -1)
		case "new_string", "content":
			in.grow(p.Text(&p.scratch), 1)
		case "edits":
			p.edits(in)
		case "command":
			in.command = p.Str()
		case "subagent_type":
			in.agentType = p.Str()
		case "prompt":
			in.prompt = assembly.BlockDigest(prompt.KindPrompt, prompt.DigestBytes(p.Text(&p.scratch)))
		default:
			p.Skip()
		}
	}
	in.raw = jsonscan.Plain(p.From(from))
}

// grow counts what a call puts into a file, or with sign −1 takes out.
func (in *toolInput) grow(text []byte, sign int32) {
	in.grows += sign * int32(len(text))
	in.lines += sign * int32(bytes.Count(text, []byte{'\n'}))
}

// edits adds up the edits of one call. An edit of all occurrences counts once:
// only the file shows how many there are.
func (p *parser) edits(in *toolInput) {
	if p.Peek() != '[' {
		p.Skip()
		return
	}
	for range p.Elements {
		for name := range p.Members {
			switch string(name) {
			case "old_string":
				in.grow(p.Text(&p.scratch), -1)
			case "new_string":
				in.grow(p.Text(&p.scratch), 1)
			default:
				p.Skip()
			}
		}
	}
}

func (p *parser) small() int32 {
	if n, ok := p.Int(); ok && n > 0 && n < 1<<31 {
		return int32(n)
	}
	return 0
}

// describe sets the tool, object, operation and identity of a tool call: calls
// with equal arguments differ by id.
func (p *parser) describe(pc *piece, b *rawBlock) {
	in := &b.input
	pc.id = b.id
	pc.tool = p.src.names.add(b.name)
	pc.Op = OpOf(string(b.name))
	if bytes.HasPrefix(b.name, []byte("mcp__")) {
		pc.Flags |= prompt.FlagMCP
	}
	plain := !bytes.ContainsAny(in.pattern, "*?[{") && bytes.IndexByte(in.pattern, '/') >= 0
	if len(in.path) == 0 && plain && string(b.name) == "Glob" {
		in.path = in.pattern
	}
	if path := shownBy(in.command); len(path) > 0 && string(b.name) == "Bash" {
		in.path = p.src.whole(path)
	}
	pc.object = p.src.names.add(in.path)
	switch pc.Op {
	case op.Read:
		if pc.RangeFrom, pc.RangeLen = in.from, in.len; in.len > 0 {
			pc.RangeFrom = max(1, in.from) // a limit alone is a part too
		}
	case op.Edit, op.Write:
		pc.RangeFrom, pc.RangeLen = in.lines, in.grows
	}
	if pc.Op == op.Agent {
		p.src.tasks = append(p.src.tasks, assembly.Task{AgentType: string(in.agentType), Prompt: in.prompt})
		pc.task = int32(len(p.src.tasks))
	}
}

// shownBy returns the one file that a command shows whole and alone (cat FILE), nil for other commands.
func shownBy(command []byte) []byte {
	words := bytes.Fields(command)
	if len(words) == 3 && string(words[1]) == "-n" {
		words = append(words[:1], words[2])
	}
	if len(words) != 2 || string(words[0]) != "cat" {
		return nil
	}
	path := bytes.Trim(words[1], `"'`)
	if len(path) == 0 || path[0] == '-' || bytes.ContainsAny(path, "*?[{$`|;&<>()~") {
		return nil
	}
	return path
}

// whole returns a path below the folder in which the client works.
func (s *source) whole(path []byte) []byte {
	if path[0] == '/' || len(s.folder) == 0 {
		return path
	}
	return []byte(s.folder + "/" + string(bytes.TrimPrefix(path, []byte("./"))))
}

// OpOf returns what a tool of Claude Code does to its object.
func OpOf(name string) op.Op {
	switch name {
	case "Read", "NotebookRead":
		return op.Read
	case "Edit", "MultiEdit", "NotebookEdit":
		return op.Edit
	case "Write":
		return op.Write
	case "Bash":
		return op.Exec
	case "Grep", "Glob", "LS":
		return op.Search
	case "WebFetch", "WebSearch", "web_search", "web_fetch":
		return op.Fetch
	case "Task", "Agent":
		return op.Agent
	}
	return op.None
}

// attachment is text that the client adds to the conversation by itself: memory
// files, hook output, reminders, and prompts queued during a turn.
type attachment struct {
	typ      []byte
	rendered []byte // the text as it was sent, in newer versions
	body     []byte // what the text was made from
	prompt   []byte // of a queued command
	hook     []byte // name of the hook it comes from
	path     []byte // of the file of memory that it holds
	file     []byte // path of the file that it holds or names
	event    []byte // and what it ran at
	added    []byte // what an announcement adds to earlier ones
}

// announcements are the types of attachments whose text is what they add.
var announcements = map[string]signs.Announcement{
	"deferred_tools_delta":   signs.AnnouncedTools,
	"agent_listing_delta":    signs.AnnouncedAgents,
	"mcp_instructions_delta": signs.AnnouncedServers,
}

// readAttachment reads an attachment, or its rendered text beside it.
func (p *parser) readAttachment(a *attachment, rendered bool) {
	if rendered {
		p.gather(&a.rendered)
		return
	}
	for name := range p.Members {
		switch string(name) {
		case "type":
			a.typ = p.Str()
		case "rendered":
			p.gather(&a.rendered)
		case "prompt":
			p.gather(&a.prompt)
		case "content", "text":
			p.path = nil
			if p.gather(&a.body); p.path != nil {
				a.file = p.path
			}
		case "addedLines", "addedBlocks":
			p.lines(&a.added)
		case "hookName":
			a.hook = p.Str()
		case "hookEvent":
			a.event = p.Str()
		case "path":
			a.path = p.Str()
		case "filename":
			if path := p.Str(); a.file == nil {
				a.file = path
			}
		default:
			p.Skip()
		}
	}
}

// gather appends the texts of a string, a list, or an object's own text:
// content, text, or the file inside, whose path it keeps.
func (p *parser) gather(to *[]byte) {
	switch p.Peek() {
	case '"':
		*to = append(*to, p.Text(&p.scratch)...)
	case '[':
		for range p.Elements {
			p.gather(to)
		}
	case '{':
		for name := range p.Members {
			switch string(name) {
			case "content", "text", "file":
				p.gather(to)
			case "filePath":
				p.path = p.Str()
			default:
				p.Skip()
			}
		}
	default:
		p.Skip()
	}
}

// lines appends the strings of a list, each with the end of its line.
func (p *parser) lines(to *[]byte) {
	if p.Peek() != '[' {
		p.Skip()
		return
	}
	for range p.Elements {
		p.gather(to)
		*to = append(*to, '\n')
	}
}

// announces returns what an attachment announces and its text, if the client sent it when
// the conversation opened. Later ones belong to a compaction, or stand in the growth of the
// context that no line shows.
func (p *parser) announces(a *attachment) (what signs.Announcement, text []byte, ok bool) {
	if len(p.src.answers) > 0 {
		return 0, nil, false
	}
	if what, ok = announcements[string(a.typ)]; ok {
		if len(a.rendered) > 0 {
			return what, a.rendered, true
		}
		return what, a.added, true
	}
	return signs.AnnouncedHooks, a.body, string(a.typ) == "hook_success" && string(a.event) == "SessionStart"
}

// announce notes an announcement of so many bytes. It takes the place of an earlier one;
// hooks add to each other.
func (s *source) announce(what signs.Announcement, n int) {
	if what == signs.AnnouncedHooks {
		n += s.announced[what]
	}
	s.announced[what] = n
}

// sent returns the text that went to the model, nil if none did.
func (a *attachment) sent() []byte {
	switch {
	case len(a.rendered) > 0:
		return a.rendered
	case string(a.typ) == "queued_command":
		return a.prompt
	case bytes.HasPrefix(a.typ, []byte("hook_")) && string(a.typ) != "hook_additional_context":
		return nil
	}
	return a.body
}

// flags returns the flags of attachments of this type that layers look for.
func (a *attachment) flags() prompt.Flags {
	switch string(a.typ) {
	case "skill_listing", "skill_discovery":
		return prompt.FlagListing
	case "nested_memory", "relevant_memories":
		return prompt.FlagMemory
	}
	return 0
}

// op returns what the client did to have the attachment: it reads a file that a prompt names, or that comes back behind a compaction.
func (a *attachment) op() op.Op {
	if string(a.typ) == "file" {
		return op.Read
	}
	return op.None
}

// object returns the path of the file that the attachment has or names, nil for none.
func (a *attachment) object() []byte {
	if a.op() == op.Read || string(a.typ) == "compact_file_reference" {
		return a.file
	}
	return nil
}

// name returns what the attachment is the output or the text of, as traces.Session.Named tells it; nil for nothing with a name.
func (a *attachment) name() []byte {
	switch {
	case bytes.HasPrefix(a.typ, []byte("hook_")):
		return []byte(signs.NameHook.Of(string(a.hook)))
	case a.flags()&prompt.FlagMemory != 0:
		return []byte(signs.NameMemory.Of(string(a.path)))
	}
	return nil
}

// addAttachment adds an attachment line.
func (p *parser) addAttachment(h *header) {
	if len(p.src.answers) == 0 && string(h.attachment.typ) == "environment" {
		p.src.opens = true
	}
	text := h.attachment.sent()
	what, news, ok := p.announces(&h.attachment)
	if ok {
		text = news
	}
	if len(text) == 0 {
		p.pass(h)
		return
	}
	r := h.record
	r.signs |= h.logged()
	r.kind = recordAttachment
	r.flags |= flagSoft
	kind := prompt.KindAttachment
	if string(h.attachment.typ) == "queued_command" {
		kind = prompt.KindPrompt
	}
	r.from = int32(len(p.src.pieces))
	p.add(piece{tool: p.src.names.add(h.attachment.name()), object: p.src.names.add(h.attachment.object()), Block: prompt.Block{
		Kind: kind, Op: h.attachment.op(), Object: -1, Bytes: int32(len(text)), Digest: prompt.DigestBytes(text), Flags: h.attachment.flags(),
	}, heard: p.hear(kind, text)}, text)
	r.to = r.from + 1
	if ok {
		p.src.announce(what, len(text))
	}
	p.seal(&r, kind == prompt.KindAttachment)
	p.src.keep(&r)
}
