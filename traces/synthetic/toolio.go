package synthetic

import "fmt"

// The inputs of the tools, as Claude Code's schemas name them.
type (
	readInput struct {
		FilePath string `json:"file_path"`
		Offset   int    `json:"offset,omitempty"`
		Limit    int    `json:"limit,omitempty"`
	}
	editInput struct {
		ReplaceAll bool   `json:"replace_all"`
		FilePath   string `json:"file_path"`
		OldString  string `json:"old_string"`
		NewString  string `json:"new_string"`
	}
	writeInput struct {
		FilePath string `json:"file_path"`
		Content  string `json:"content"`
	}
	bashInput struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	grepInput struct {
		Pattern    string `json:"pattern"`
		Path       string `json:"path"`
		OutputMode string `json:"output_mode"`
	}
	globInput struct {
		Pattern string `json:"pattern"`
	}
	taskInput struct {
		SubagentType string `json:"subagent_type"`
		Description  string `json:"description"`
		Prompt       string `json:"prompt"`
	}
)

// toolInput makes the input of a tool use; its free text fills the planned
// bytes that the names leave.
func (s *Session) toolInput(name string, b *block) any {
	path := ""
	if b.object >= 0 {
		path = s.files[b.object].path
	}
	free := func(names int) int { return max(4, b.bytes-names-len(path)) }
	switch name {
	case toolRead:
		in := readInput{FilePath: path}
		if b.limit > 0 {
			in.Offset, in.Limit = b.from, b.limit
		}
		return in
	case toolEdit:
		n := free(80)
		return editInput{FilePath: path, OldString: code(s.dice, b.words, n*2/5), NewString: code(s.dice, b.words, n*3/5)}
	case toolWrite:
		return writeInput{FilePath: path, Content: code(s.dice, b.words, free(35))}
	case toolGrep:
		return grepInput{Pattern: prose(s.dice, b.words, min(24, free(60))), Path: s.profile.Project, OutputMode: "content"}
	case toolGlob:
		return globInput{Pattern: "**/" + nouns[s.dice.below(forWords, b.words, len(nouns))] + "*.go"}
	case toolTask:
		return taskInput{s.profile.Agent.Type, prose(s.dice, ^b.words, 30), request(s.dice, b.words, b.bytes)}
	}
	n := free(32)
	return bashInput{Command: "go test ./... 2>&1 | " + shellWord(s.dice, b.words, max(1, n-45)), Description: prose(s.dice, ^b.words, 24)}
}

// shellWord returns n bytes for a command line.
func shellWord(d dice, id uint64, n int) string {
	return cut("grep -n '"+prose(d, id, n), n)
}

// What the client keeps of a result beside the text the model sees.
type (
	readDetail struct {
		Type string   `json:"type"`
		File readFile `json:"file"`
	}
	readFile struct {
		FilePath   string `json:"filePath"`
		Content    string `json:"content"`
		NumLines   int    `json:"numLines"`
		StartLine  int    `json:"startLine"`
		TotalLines int    `json:"totalLines"`
	}
	bashDetail struct {
		Stdout      string `json:"stdout"`
		Stderr      string `json:"stderr"`
		Interrupted bool   `json:"interrupted"`
		IsImage     bool   `json:"isImage"`
	}
	editDetail struct {
		FilePath        string   `json:"filePath"`
		OldString       string   `json:"oldString"`
		NewString       string   `json:"newString"`
		StructuredPatch []string `json:"structuredPatch"`
		UserModified    bool     `json:"userModified"`
		ReplaceAll      bool     `json:"replaceAll"`
	}
	writeDetail struct {
		Type            string   `json:"type"`
		FilePath        string   `json:"filePath"`
		Content         string   `json:"content"`
		StructuredPatch []string `json:"structuredPatch"`
	}
	grepDetail struct {
		Mode      string   `json:"mode"`
		NumFiles  int      `json:"numFiles"`
		Filenames []string `json:"filenames"`
		Content   string   `json:"content"`
		NumLines  int      `json:"numLines"`
	}
	globDetail struct {
		Filenames  []string `json:"filenames"`
		DurationMs int      `json:"durationMs"`
		NumFiles   int      `json:"numFiles"`
		Truncated  bool     `json:"truncated"`
	}
	taskDetail struct {
		Status            string        `json:"status"`
		Prompt            string        `json:"prompt"`
		AgentID           string        `json:"agentId"`
		Content           []textContent `json:"content"`
		TotalDurationMs   int64         `json:"totalDurationMs"`
		TotalTokens       int64         `json:"totalTokens"`
		TotalToolUseCount int           `json:"totalToolUseCount"`
		Usage             usage         `json:"usage"`
	}
)

// toolResult makes the content of a result and the client's detail of it.
func (s *Session) toolResult(name string, b *block) (toolResultContent, any) {
	c := toolResultContent{ToolUseID: s.toolUseID(b.call), Type: "tool_result"}
	d := s.dice
	if b.failed {
		yes := true
		c.IsError = &yes
		c.Content = cut("<tool_use_error>The call failed. "+prose(d, b.words, b.bytes), b.bytes-17) + "</tool_use_error>"
		return c, "Error: " + c.Content.(string)
	}
	switch name {
	case toolTask:
		return s.taskResult(c, b)
	case toolRead:
		f := &s.files[b.object]
		text := source(d, b.object, b.version, f.bytes)
		shown, plain, lines := numbered(text, b.from, b.limit, b.bytes)
		c.Content = shown
		return c, readDetail{"text", readFile{f.path, plain, lines, b.from, countLines(text)}}
	case toolEdit:
		path := s.files[b.object].path
		c.Content = cut(fmt.Sprintf("The file %s has been updated. Here's the result of running `cat -n` on a snippet:\n%s", path, code(d, b.words, b.bytes)), b.bytes)
		return c, editDetail{FilePath: path, OldString: code(d, b.words, 40), NewString: code(d, b.words, 60), StructuredPatch: []string{}}
	case toolWrite:
		path := s.files[b.object].path
		c.Content = "File created successfully at: " + path
		return c, writeDetail{"create", path, code(d, b.words, 60), []string{}}
	case toolGrep:
		text := matches(d, b.words, s.files, b.bytes)
		c.Content = text
		return c, grepDetail{"content", 0, []string{}, text, countLines(text)}
	case toolGlob:
		c.Content = paths(d, b.words, s.files, b.bytes)
		return c, globDetail{Filenames: []string{}, DurationMs: 12}
	}
	text, no := shell(d, b.words, b.bytes), false
	c.Content, c.IsError = text, &no
	return c, bashDetail{Stdout: text}
}

// taskResult makes the result of a Task: the agent's report and its bill.
func (s *Session) taskResult(c toolResultContent, b *block) (toolResultContent, any) {
	t := &s.threads[b.agent]
	last := &t.calls[len(t.calls)-1]
	report := textContent{"text", prose(s.dice, b.words, b.bytes)}
	uses := 0
	for i := range t.calls {
		for j := range t.calls[i].reply {
			if t.calls[i].reply[j].call > 0 {
				uses++
			}
		}
	}
	took := (last.end - t.calls[0].input[0].at) / millisecond
	bill := textContent{"text", fmt.Sprintf("agentId: %s (for resuming to continue this agent's work if needed)\n<usage>total_tokens: %d\ntool_uses: %d\nduration_ms: %d</usage>", t.agent, last.context(), uses, took)}
	c.Content = []textContent{report, bill}
	x := transcript{final: finalOutputs(s.profile.Version)}
	return c, taskDetail{
		Status: "completed", Prompt: request(s.dice, t.calls[0].input[0].words, t.calls[0].input[0].bytes), AgentID: t.agent,
		Content: []textContent{report}, TotalDurationMs: took, TotalTokens: int64(last.context()), TotalToolUseCount: uses, Usage: x.usage(last, true),
	}
}

func countLines(text string) int {
	n := 1
	for i := range len(text) {
		if text[i] == '\n' {
			n++
		}
	}
	return n
}
