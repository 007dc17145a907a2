package synthetic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// File is one file of a session in Claude Code's layout.
type File struct {
	// Name is relative to the project's folder, with slashes:
	// "<session>.jsonl" or "<session>/subagents/agent-<id>.jsonl".
	Name   string
	s      *Session
	thread int
}

// Files returns the session's files, the main one first. Agents have files of
// their own if the profile says so.
func (s *Session) Files() []File {
	files := []File{{Name: s.id + ".jsonl", s: s}}
	if s.profile.Agent.OwnFiles {
		for i := range s.threads[1:] {
			name := s.id + "/subagents/agent-" + s.threads[i+1].agent + ".jsonl"
			files = append(files, File{Name: name, s: s, thread: i + 1})
		}
	}
	return files
}

// WriteClaudeCode writes the file as Claude Code's JSONL.
func (f File) WriteClaudeCode(w io.Writer) error {
	if err := newTranscript(w, f.s, f.thread, !f.s.profile.Agent.OwnFiles).write(); err != nil {
		return fmt.Errorf("write %s: %w", f.Name, err)
	}
	return nil
}

// WriteClaudeCode writes the whole session as one stream of Claude Code's JSONL:
// the messages of sub-agents are agent_progress lines, whatever the profile says.
func WriteClaudeCode(w io.Writer, s *Session) error {
	if err := newTranscript(w, s, 0, true).write(); err != nil {
		return fmt.Errorf("write session %s: %w", s.id, err)
	}
	return nil
}

// transcript writes the lines of one thread.
type transcript struct {
	s      *Session
	t      *thread
	head   head
	index  int  // of the thread
	inline bool // agents' messages as progress lines
	buf    *bufio.Writer
	enc    *json.Encoder
	err    error
	leaf   *string // uuid of the last line, parent of the next
	lines  uint64
	asked  int64 // unix ns of the last prompt
	final  bool  // outputs are final on the last line of a call
	source map[int]string
}

func newTranscript(w io.Writer, s *Session, index int, inline bool) *transcript {
	buf := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	p := &s.profile
	x := &transcript{
		s: s, t: &s.threads[index], index: index, inline: inline, buf: buf, enc: enc,
		final:  finalOutputs(p.Version),
		source: map[int]string{},
		head: head{
			IsSidechain: index > 0, UserType: "external", Cwd: p.Project, SessionID: s.id,
			Version: p.Version, GitBranch: p.Branch, AgentID: s.threads[index].agent,
		},
	}
	if index == 0 {
		x.head.Slug = "steady-" + nouns[s.dice.below(forSession, 2, len(nouns))] + "-" + nouns[s.dice.below(forSession, 3, len(nouns))]
	}
	return x
}

// timed is a line with its time, to be put in order among others.
type timed struct {
	at   int64
	line any
}

func (x *transcript) write() error {
	if x.index == 0 && x.s.profile.Hooks {
		x.hook("SessionStart", "SessionStart:startup", x.t.calls[0].at-second)
	}
	for i := range x.t.calls {
		c := &x.t.calls[i]
		if i == 0 || x.t.calls[i-1].endTurn {
			x.prompt(&c.input[0])
		}
		if c.compact != nil {
			x.compaction(c.compact)
		}
		group := x.response(c)
		if i+1 < len(x.t.calls) && !c.endTurn {
			group = append(group, x.results(x.t.calls[i+1].input)...)
		}
		slices.SortStableFunc(group, func(a, b timed) int { return int(min(1, max(-1, a.at-b.at))) })
		for _, l := range group {
			x.emit(l.line)
		}
		if c.endTurn && x.index == 0 {
			x.turnEnd(c)
		}
	}
	if x.err != nil {
		return x.err
	}
	return x.buf.Flush()
}

// emit writes a line; the first error stops everything after it.
func (x *transcript) emit(line any) {
	if x.err == nil {
		x.err = x.enc.Encode(line)
	}
}

// uuid returns the id of the thread's next line.
func (x *transcript) uuid() string {
	x.lines++
	return uuid(x.s.dice.bits(forSession, 4), uint64(x.index)<<32|x.lines)
}

// next returns the head of a line that follows the leaf and makes the line with
// the given id the new leaf.
func (x *transcript) next(id string) head {
	h := x.head
	h.ParentUUID = x.leaf
	x.leaf = &id
	return h
}

const second = 1_000_000_000 // ns

// prompt writes the line of a person's prompt or of an agent's task.
func (x *transcript) prompt(b *block) {
	id := x.uuid()
	if x.index == 0 {
		x.emit(snapshotLine{
			Type: "file-history-snapshot", MessageID: id,
			Snapshot: snapshot{MessageID: id, Backups: map[string]struct{}{}, Timestamp: timestamp(b.at)},
		})
	}
	l := userLine{
		head: x.next(id), Type: "user", UUID: id, Timestamp: timestamp(b.at),
		Message: userMessage{Role: "user", Content: request(x.s.dice, b.words, b.bytes)},
	}
	if x.index == 0 {
		l.ThinkingMetadata = &thinkingMeta{MaxThinkingTokens: 31999}
		l.Todos = &[]string{}
		l.PermissionMode = "default"
	}
	x.asked = b.at
	x.emit(l)
}

// response returns the lines of a call: one for each block, with the same
// usage but for the output.
func (x *transcript) response(c *call) []timed {
	var group []timed
	for i := range c.reply {
		b := &c.reply[i]
		id := x.uuid()
		m := assistantMessage{
			Model: x.t.model, ID: x.s.messageID(c.id), Type: "message", Role: "assistant",
			Content: []any{x.content(b)},
			Usage:   x.usage(c, i == len(c.reply)-1),
		}
		if x.final && i == len(c.reply)-1 {
			m.StopReason = stopReason(c.endTurn)
		}
		h := x.next(id)
		if b.kind == prompt.KindToolUse {
			x.source[b.call] = id
		}
		group = append(group, timed{b.at, assistantLine{
			head: h, Message: m, RequestID: x.s.requestID(c.id), Type: "assistant", UUID: id, Timestamp: timestamp(b.at),
		}})
		if b.agent > 0 && x.inline {
			group = append(group, x.progress(b, c, id)...)
		}
	}
	return group
}

func stopReason(endTurn bool) *string {
	reason := "tool_use"
	if endTurn {
		reason = "end_turn"
	}
	return &reason
}

// usage returns the usage a line logs.
func (x *transcript) usage(c *call, last bool) usage {
	u := usage{
		Input: c.usage.Uncached, Read: c.usage.Read, Creation: c.usage.Writes(),
		CacheCreation: cacheCreation{Write5m: c.usage.Write5m, Write1h: c.usage.Write1h},
		Output:        int64(c.logged),
		ServiceTier:   "standard", InferenceGeo: "not_available",
	}
	if x.final && last {
		u.Output = c.usage.Output
		u.ServerTools = &serverToolUse{}
		u.Iterations = &[]string{}
		u.Speed = "standard"
		u.InferenceGeo = ""
	}
	return u
}

// content returns a block of a response in the API's form.
func (x *transcript) content(b *block) any {
	d := x.s.dice
	switch b.kind {
	case prompt.KindThinking:
		return thinkingContent{"thinking", prose(d, b.words, b.bytes), "ErUBCkYIChgCKkCx0f3Yb8mVd1nQ2sT7" + fmt.Sprintf("%08x", uint32(b.words*0x9e3779b1)) + "=="}
	case prompt.KindToolUse:
		return toolUseContent{"tool_use", x.s.toolUseID(b.call), x.t.tools[b.tool].Name, x.s.toolInput(x.t.tools[b.tool].Name, b)}
	}
	return textContent{"text", prose(d, b.words, b.bytes)}
}

// results returns the lines of tool results: each is a child of the line of its
// tool use, and the last one continues the conversation.
func (x *transcript) results(input []block) []timed {
	var group []timed
	for i := range input {
		b := &input[i]
		id := x.uuid()
		source := x.source[b.call]
		delete(x.source, b.call)
		h := x.head
		h.ParentUUID = &source
		x.leaf = &id
		content, detail := x.s.toolResult(x.t.tools[b.tool].Name, b)
		l := userLine{
			head: h, Type: "user", UUID: id, Timestamp: timestamp(b.at), ToolUseResult: detail, SourceAssistant: source,
			Message: userMessage{Role: "user", Content: []any{content}},
		}
		if x.index > 0 {
			l.ToolUseResult = nil
		}
		group = append(group, timed{b.at, l})
	}
	return group
}

// compaction writes the boundary and the summary that replaces everything
// before it. What the client restores beside the summary is in no line.
func (x *transcript) compaction(m *compaction) {
	id, no := x.uuid(), false
	h := x.next(id)
	h.LogicalParent, h.ParentUUID = h.ParentUUID, nil
	x.emit(systemLine{
		head: h, Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted", IsMeta: &no,
		Timestamp: timestamp(m.at), UUID: id, Level: "info",
		CompactMetadata: &compactMetadata{Trigger: "auto", PreTokens: m.preTokens},
	})
	id = x.uuid()
	x.emit(userLine{
		head: x.next(id), Type: "user", UUID: id, Timestamp: timestamp(m.summary.at), VisibleOnly: true, IsCompactSummary: true,
		Message: userMessage{Role: "user", Content: summaryText(x.s.dice, &m.summary)},
	})
}

const (
	summaryHead = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\nAnalysis:\n"
	summaryTail = "\n\nPlease continue the conversation from where we left off without asking the user any further questions. Continue with the last task that you were asked to work on."
)

func summaryText(d dice, b *block) string {
	return summaryHead + prose(d, b.words, max(0, b.bytes-len(summaryHead)-len(summaryTail))) + summaryTail
}

// turnEnd writes what the client logs when a turn is over.
func (x *transcript) turnEnd(c *call) {
	no, reason := false, ""
	if x.s.profile.Hooks {
		x.hook("Stop", "Stop", c.end+10*millisecond)
		id := x.uuid()
		x.emit(systemLine{
			head: x.next(id), Type: "system", Subtype: "stop_hook_summary", HookCount: 1,
			HookInfos: []hookInfo{{Command: hookCommand}}, HookErrors: &[]string{}, PreventedContinuation: &no, StopReason: &reason,
			HasOutput: &no, Level: "suggestion", Timestamp: timestamp(c.end + 60*millisecond), UUID: id, ToolUseID: uuid(x.s.dice.bits(forSession, 5), x.lines),
		})
	}
	id, took := x.uuid(), (c.end-x.asked)/millisecond
	x.emit(systemLine{
		head: x.next(id), Type: "system", Subtype: "turn_duration", DurationMs: &took, IsMeta: &no,
		Timestamp: timestamp(c.end + 70*millisecond), UUID: id,
	})
}

const hookCommand = "make check"

func (x *transcript) hook(event, name string, at int64) {
	id := x.uuid()
	of := uuid(x.s.dice.bits(forSession, 5), x.lines)
	x.emit(progressLine{
		head: x.next(id), Type: "progress", Data: hookProgress{"hook_progress", event, name, hookCommand},
		ToolUseID: of, ParentToolUseID: of, UUID: id, Timestamp: timestamp(at),
	})
}
