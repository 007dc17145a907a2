package synthetic

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Tools that a mix may name besides the tools of MCP servers.
const (
	toolRead  = "Read"
	toolEdit  = "Edit"
	toolWrite = "Write"
	toolBash  = "Bash"
	toolGrep  = "Grep"
	toolGlob  = "Glob"
	toolTask  = "Task"
)

// knownTools lists the tools by name; the input of those from AskUserQuestion on
// is free text.
var knownTools = []string{
	toolRead, toolEdit, toolWrite, toolBash, toolGrep, toolGlob, toolTask,
	"AskUserQuestion", "ExitPlanMode", "KillShell", "Skill", "TaskCreate", "TaskOutput", "TaskUpdate", "TodoWrite",
	"WebFetch", "WebSearch",
}

// worksOnFiles reports whether calls of the tool name a file of the working set.
func worksOnFiles(name string) bool { return name == toolRead || name == toolEdit || name == toolWrite }

// toolInput is what is fixed in a tool's input, and text that fills the planned
// bytes.
type toolInput struct {
	name, path  string
	from, limit int
	agentType   string
	free        string
}

// fields returns the arguments of a tool, as Claude Code's schemas name them.
func (f toolInput) fields() fields {
	const description = "what the call is to find"
	switch f.name {
	case toolRead:
		in := fields{"file_path", f.path}
		if f.from != 0 {
			in = append(in, "offset", f.from)
		}
		if f.limit != 0 {
			in = append(in, "limit", f.limit)
		}
		return in
	case toolEdit:
		n := replaced(int32(len(f.free)))
		return fields{"replace_all", false, "file_path", f.path, "old_string", f.free[:n], "new_string", f.free[n:]}
	case toolWrite:
		return fields{"file_path", f.path, "content", f.free}
	case toolBash:
		return fields{"command", f.free, "description", description}
	case toolGrep:
		return fields{"pattern", f.free, "path", f.path, "output_mode", "content"}
	case toolGlob:
		return fields{"pattern", "**/" + f.free}
	case toolTask:
		return fields{"subagent_type", f.agentType, "description", description, "prompt", f.free}
	}
	return fields{"query", f.free}
}

// bytes returns the length of the arguments as JSON.
func (f toolInput) bytes() int { return len(appendJSON(nil, f.fields())) }

// toolInput makes the arguments of a tool use, whose JSON has the length of the
// block.
func (x *scribe) toolInput(b *prompt.Block) fields {
	f := toolInput{name: x.s.Tools[b.Tool], path: x.path(b), from: int(b.RangeFrom), limit: int(b.RangeLen)}
	switch f.name {
	case toolTask:
		f.agentType, f.free = x.agentType, exactly(&x.s.Blocks[x.agents[b.Call].Rounds[0].Input.From], request)
	case toolRead:
	default:
		n := int(b.Bytes) - f.bytes()
		text := prose(dice(b.Digest.Hi), b.Digest.Lo, max(0, n))
		f.free = strings.NewReplacer(`"`, "'", `\`, "/").Replace(text)
	}
	return f.fields()
}

func (x *scribe) path(b *prompt.Block) string {
	if b.Object < 0 {
		return ""
	}
	return x.s.Objects[b.Object]
}

// promptContent returns the content of a prompt: bare text, or text and images.
func promptContent(blocks []prompt.Block) any {
	if blocks[0].Flags&prompt.FlagString != 0 {
		return exactly(&blocks[0], request)
	}
	var list []any
	for i := range blocks {
		switch b := &blocks[i]; b.Kind {
		case prompt.KindPrompt:
			list = append(list, textContent(exactly(b, request)))
		case prompt.KindImage:
			source := fields{"type", "base64", "media_type", "image/png", "data", imageText(b)}
			list = append(list, fields{"type", "image", "source", source})
		}
	}
	return list
}

func textContent(text string) fields { return fields{"type", "text", "text", text} }

// content returns a block of a response in the API's form.
func (x *scribe) content(b *prompt.Block) fields {
	switch b.Kind {
	case prompt.KindThinking:
		signature := fmt.Sprintf("ErUBCkYIChgCKkCx0f3Yb8mVd1nQ2sT7%016x==", b.Digest.Hi)
		return fields{"type", "thinking", "thinking", exactly(b, prose), "signature", signature}
	case prompt.KindToolUse:
		id := x.d.apiID(toolUsePrefix, uint64(b.Call))
		return fields{"type", "tool_use", "id", id, "name", x.s.Tools[b.Tool], "input", x.toolInput(b)}
	}
	return textContent(exactly(b, prose))
}

// resultContent makes the content of a result, and the detail that the client
// keeps beside it.
func (x *scribe) resultContent(b *prompt.Block) (content fields, detail any) {
	content = fields{"tool_use_id", x.d.apiID(toolUsePrefix, uint64(b.Call)), "type", "tool_result"}
	if b.Flags&prompt.FlagError != 0 {
		text := errorText(b)
		return append(content, "content", text, "is_error", true), "Error: " + text
	}
	path := x.path(b)
	with := func(text string) fields { return append(content, "content", text) }
	switch x.s.Tools[b.Tool] {
	case toolTask:
		return x.taskResult(content, b)
	case toolRead:
		d := prompt.DigestString(path).ExtendInt(uint64(b.RangeFrom))
		text := code(dice(d.Hi), d.Lo, int(b.Bytes))
		lines := 1 + strings.Count(text, "\n")
		return with(text), fields{"type", "text", "file", fields{
			"filePath", path, "content", text, "numLines", lines, "startLine", max(1, int(b.RangeFrom)), "totalLines", lines,
		}}
	case toolEdit:
		return with(exactly(b, code)), fields{
			"filePath", path, "oldString", "", "newString", "", "structuredPatch", []any{},
			"userModified", false, "replaceAll", false,
		}
	case toolWrite:
		return with(exactly(b, code)), fields{"type", "create", "filePath", path, "content", "", "structuredPatch", []any{}}
	case toolGrep:
		return with(exactly(b, code)), fields{
			"mode", "content", "numFiles", 0, "filenames", []any{}, "content", "", "numLines", 0,
		}
	case toolGlob:
		return with(exactly(b, prose)), fields{"filenames", []any{}, "durationMs", 12, "numFiles", 0, "truncated", false}
	case toolBash:
		return append(with(exactly(b, shell)), "is_error", false), fields{
			"stdout", "", "stderr", "", "interrupted", false, "isImage", false,
		}
	}
	return with(exactly(b, prose)), "done"
}

// taskResult makes the result of a Task: the agent's report and its bill.
func (x *scribe) taskResult(content fields, b *prompt.Block) (fields, any) {
	t := x.agents[b.Call]
	first, last := &t.Rounds[0], &t.Rounds[len(t.Rounds)-1]
	report := textContent(exactly(&x.s.Blocks[last.Reply.To-1], prose))
	uses := 0
	for i := range t.Rounds {
		for k := t.Rounds[i].Reply.From; k < t.Rounds[i].Reply.To; k++ {
			if x.s.Blocks[k].Kind == prompt.KindToolUse {
				uses++
			}
		}
	}
	return append(content, "content", []any{report, textContent(agentBill(t.ID))}), fields{
		"status", "completed", "prompt", exactly(&x.s.Blocks[first.Input.From], request), "agentId", t.ID,
		"content", []any{report}, "totalDurationMs", (last.At + last.Stream - first.At) / millisecond,
		"totalTokens", last.Usage.Input() + last.Usage.Output,
		"totalToolUseCount", uses, "usage", x.usage(last, true),
	}
}

// The filler is written for this package: few templates and few words, so that
// transcripts compress well.
var (
	//go:embed filler/code.txt
	codeText string
	//go:embed filler/prose.txt
	proseText string
	//go:embed filler/prompts.txt
	promptText string
	//go:embed filler/shell.txt
	shellText string
	//go:embed filler/words.txt
	wordText string

	nouns, verbs = wordLists()
	functions    = strings.SplitAfter(codeText, "\n\n")
	sentences    = strings.Split(strings.TrimSpace(proseText), "\n")
	requests     = strings.Split(strings.TrimSpace(promptText), "\n")
	shellLines   = strings.SplitAfter(shellText, "\n")
)

func wordLists() (nouns, verbs []string) {
	first, second, _ := strings.Cut(wordText, "\n\n")
	return strings.Fields(first), strings.Fields(second)
}

// manner is a way to write n bytes of text; id keeps one text from another.
type manner func(d dice, id uint64, n int) string

func prose(d dice, id uint64, n int) string   { return newFiller(d, id, n).pieces(sentences, " ", n) }
func request(d dice, id uint64, n int) string { return newFiller(d, id, n).pieces(requests, " ", n) }
func shell(d dice, id uint64, n int) string   { return newFiller(d, id, n).pieces(shellLines, "", n) }

// code returns n bytes of source. Each template keeps to one verb, so that the
// same text comes back within a compressor's window.
func code(d dice, id uint64, n int) string {
	f := newFiller(d, id, n)
	for f.Len() < n {
		noun := nouns[f.below(len(nouns))]
		j := f.below(len(functions))
		f.fill(functions[j], noun, verbs[j%len(verbs)])
	}
	return f.String()[:n]
}

// filler writes text: one stream of draws for one block.
type filler struct {
	strings.Builder
	dice dice
	id   uint64
	step uint64
}

func newFiller(d dice, id uint64, size int) *filler {
	f := &filler{dice: d, id: id}
	f.Grow(size + 512)
	return f
}

func (f *filler) below(n int) int {
	f.step++
	return f.dice.below(forWords, mix(f.id)+f.step, n)
}

// pieces writes templates drawn from a list, each followed by sep, until there
// are n bytes, and returns exactly the first n.
func (f *filler) pieces(list []string, sep string, n int) string {
	noun := nouns[f.below(len(nouns))]
	for f.Len() < n {
		if f.below(4) == 0 {
			noun = nouns[f.below(len(nouns))]
		}
		j := f.below(len(list))
		f.fill(list[j], noun, verbs[j%len(verbs)])
		f.WriteString(sep)
	}
	return f.String()[:n]
}

// fill writes a template: $N and $n become a noun, $V and $v a verb, # a digit.
func (f *filler) fill(template, noun, verb string) {
	for i := 0; i < len(template); i++ {
		c := template[i]
		if c == '#' {
			f.WriteString(strconv.Itoa(1 + f.below(9)))
			continue
		}
		if c != '$' || i+1 == len(template) {
			f.WriteByte(c)
			continue
		}
		i++
		switch template[i] {
		case 'N':
			f.WriteString(strings.ToUpper(noun[:1]) + noun[1:])
		case 'n':
			f.WriteString(noun)
		case 'V':
			f.WriteString(strings.ToUpper(verb[:1]) + verb[1:])
		case 'v':
			f.WriteString(verb)
		}
	}
}

// exactly returns the text of a block in a manner, of exactly the block's
// length. It begins with the block's number in the session: few templates would
// make short texts alike.
func exactly(b *prompt.Block, text manner) string {
	tag := "#" + strconv.FormatUint(b.Digest.Lo&numberMask, 36) + " "
	return pad(tag+text(dice(b.Digest.Hi), b.Digest.Lo, int(b.Bytes)), int(b.Bytes))
}

// errorText returns the result of a call that failed.
func errorText(b *prompt.Block) string {
	const open, end = "<tool_use_error>", "</tool_use_error>"
	return open + pad("The call failed. ", int(b.Bytes)-len(open)-len(end)) + end
}

// imageText returns letters in place of an image. They begin with a number of the
// block, so that no two images are alike.
func imageText(b *prompt.Block) string {
	return pad(fmt.Sprintf("iVBORw0KGgo%016x", b.Digest.Hi)+strings.Repeat("A", int(b.Bytes)), int(b.Bytes))
}

func pad(text string, n int) string {
	if len(text) < n {
		text += strings.Repeat(".", n-len(text))
	}
	return text[:n]
}
