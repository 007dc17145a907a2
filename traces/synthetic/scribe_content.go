package synthetic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

type imageContent struct {
	Type   string      `json:"type"`
	Source imageSource `json:"source"`
}

type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// freeInput is the input of tools of which nothing but the length matters.
type freeInput struct {
	Query string `json:"query"`
}

// exactly returns text of a block in the manner of a filler, of exactly its
// length in bytes. It begins with the block's number in the session: few
// templates would make short texts alike.
func exactly(b *prompt.Block, manner func(d dice, id uint64, n int) string) string {
	tag := "#" + strconv.FormatUint(b.Digest.Lo&numberMask, 36) + " "
	return padded(tag+manner(dice(b.Digest.Hi), b.Digest.Lo, int(b.Bytes)), int(b.Bytes))
}

func padded(text string, n int) string {
	if len(text) < n {
		text += strings.Repeat(".", n-len(text))
	}
	return text[:n]
}

// base64Text returns letters that stand for an image. They begin with a number
// of the block, so that no two images are alike.
func base64Text(b *prompt.Block) string {
	return padded(fmt.Sprintf("iVBORw0KGgo%016x", b.Digest.Hi)+strings.Repeat("A", int(b.Bytes)), int(b.Bytes))
}

// content returns a block of a response in the API's form.
func (x *scribe) content(b *prompt.Block) any {
	switch b.Kind {
	case prompt.KindThinking:
		return thinkingContent{"thinking", exactly(b, prose), fmt.Sprintf("ErUBCkYIChgCKkCx0f3Yb8mVd1nQ2sT7%016x==", b.Digest.Hi)}
	case prompt.KindToolUse:
		return toolUseContent{"tool_use", x.useID(b.Call), x.s.Tools[b.Tool], x.toolInput(b)}
	}
	return textContent{"text", exactly(b, prose)}
}

func (x *scribe) useID(call int32) string {
	s := Session{dice: x.d}
	return s.toolUseID(int(call))
}

// shape is what is fixed in a tool's input.
type shape struct {
	name, path  string
	from, limit int
	agentType   string
	free        string // text that fills the planned bytes
}

// input makes the arguments of a tool.
func (f shape) input() any {
	const description = "what the call is to find"
	switch f.name {
	case toolRead:
		return readInput{f.path, f.from, f.limit}
	case toolEdit:
		n := len(f.free) * 2 / 5
		return editInput{FilePath: f.path, OldString: f.free[:n], NewString: f.free[n:]}
	case toolWrite:
		return writeInput{f.path, f.free}
	case toolBash:
		return bashInput{f.free, description}
	case toolGrep:
		return grepInput{f.free, f.path, "content"}
	case toolGlob:
		return globInput{"**/" + f.free}
	case toolTask:
		return taskInput{f.agentType, description, f.free}
	}
	return freeInput{f.free}
}

// bytes returns the length of the arguments as JSON, as the scribe writes it.
func (f shape) bytes() int {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f.input()); err != nil {
		return 0
	}
	return text.Len() - len("\n")
}

// inputOverhead returns the bytes of a tool's arguments without path and free
// text.
func inputOverhead(name string, w *Workload) int {
	return shape{name: name, agentType: w.Agents.Type}.bytes()
}

// toolInput makes the input of a tool use, whose JSON has the length of the
// block.
func (x *scribe) toolInput(b *prompt.Block) any {
	f := shape{name: x.s.Tools[b.Tool], from: int(b.RangeFrom), limit: int(b.RangeLen)}
	if b.Object >= 0 {
		f.path = x.s.Objects[b.Object]
	}
	if f.name == toolTask {
		f.agentType, f.free = x.agentType, exactly(&x.s.Blocks[x.agents[b.Call].Rounds[0].Input.From], request)
		return f.input()
	}
	if f.name != toolRead {
		f.free = plain(b, int(b.Bytes)-f.bytes())
	}
	return f.input()
}

// plain returns n bytes that JSON writes as they are.
func plain(b *prompt.Block, n int) string {
	text := padded(prose(dice(b.Digest.Hi), b.Digest.Lo, max(0, n)), max(0, n))
	return strings.NewReplacer(`"`, "'", `\`, "/").Replace(text)
}

// resultContent makes the content of a result and the client's detail of it.
func (x *scribe) resultContent(b *prompt.Block) (toolResultContent, any) {
	c := toolResultContent{ToolUseID: x.useID(b.Call), Type: "tool_result"}
	if b.Flags&prompt.FlagError != 0 {
		yes := true
		const open, end = "<tool_use_error>", "</tool_use_error>"
		text := open + padded(prose(dice(b.Digest.Hi), b.Digest.Lo, 0)+"The call failed. ", int(b.Bytes)-len(open)-len(end)) + end
		c.IsError, c.Content = &yes, text
		return c, "Error: " + text
	}
	path := ""
	if b.Object >= 0 {
		path = x.s.Objects[b.Object]
	}
	switch name := x.s.Tools[b.Tool]; name {
	case toolTask:
		return x.taskResult(c, b)
	case toolRead:
		text := fileText(path, b)
		c.Content = text
		return c, readDetail{"text", readFile{path, text, countLines(text), max(1, int(b.RangeFrom)), countLines(text)}}
	case toolEdit:
		c.Content = exactly(b, code)
		return c, editDetail{FilePath: path, StructuredPatch: []string{}}
	case toolWrite:
		c.Content = exactly(b, code)
		return c, writeDetail{"create", path, "", []string{}}
	case toolGrep:
		c.Content = exactly(b, code)
		return c, grepDetail{"content", 0, []string{}, "", 0}
	case toolGlob:
		c.Content = exactly(b, prose)
		return c, globDetail{Filenames: []string{}, DurationMs: 12}
	case toolBash:
		no := false
		c.IsError, c.Content = &no, exactly(b, shell)
		return c, bashDetail{}
	}
	c.Content = exactly(b, prose)
	return c, "done"
}

// fileText returns the text of a file that was read: the same for the same
// range of the same file.
func fileText(path string, b *prompt.Block) string {
	d := prompt.DigestString(path).ExtendInt(uint64(b.RangeFrom))
	return padded(code(dice(d.Hi), d.Lo, int(b.Bytes)), int(b.Bytes))
}

// taskResult makes the result of a Task: the agent's report and its bill.
func (x *scribe) taskResult(c toolResultContent, b *prompt.Block) (toolResultContent, any) {
	t := x.agents[b.Call]
	last := &t.Rounds[len(t.Rounds)-1]
	report := textContent{"text", exactly(&x.s.Blocks[last.Reply.To-1], prose)}
	c.Content = []textContent{report, {"text", agentBill(t.ID)}}
	uses := 0
	for i := range t.Rounds {
		for k := t.Rounds[i].Reply.From; k < t.Rounds[i].Reply.To; k++ {
			if x.s.Blocks[k].Kind == prompt.KindToolUse {
				uses++
			}
		}
	}
	return c, taskDetail{
		Status: "completed", Prompt: exactly(&x.s.Blocks[t.Rounds[0].Input.From], request), AgentID: t.ID, Content: []textContent{report},
		TotalDurationMs: (last.At + last.Stream - t.Rounds[0].At) / millisecond, TotalTokens: last.Usage.Input() + last.Usage.Output,
		TotalToolUseCount: uses, Usage: x.usage(last, true),
	}
}
