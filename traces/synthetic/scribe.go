package synthetic

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Transcript is one file of a generated session in Claude Code's layout.
type Transcript struct {
	// Name is relative to the project's folder, with slashes:
	// "<session>.jsonl" or "<session>/subagents/agent-<id>.jsonl".
	Name   string
	w      *Workload
	s      *traces.Session
	thread int
}

// Transcripts returns the files of a session that a Generator of the workload
// made, the main one first. The text in them is made from the blocks' digests,
// to their length.
func (w *Workload) Transcripts(s *traces.Session) []Transcript {
	list := []Transcript{{Name: s.ID + ".jsonl", w: w, s: s}}
	for i := range s.Threads {
		if s.Threads[i].Kind == traces.ThreadAgent {
			list = append(list, Transcript{s.ID + "/subagents/agent-" + s.Threads[i].ID + ".jsonl", w, s, i})
		}
	}
	return list
}

// Write writes the file as Claude Code's JSONL.
func (f Transcript) Write(w io.Writer) error {
	x := newScribe(w, f.w, f.s, f.thread)
	x.thread(f.thread)
	if x.err == nil {
		x.err = x.buf.Flush()
	}
	if x.err != nil {
		return fmt.Errorf("write %s: %w", f.Name, x.err)
	}
	return nil
}

// scribe writes the lines of one file.
type scribe struct {
	s         *traces.Session
	d         dice
	head      head
	main      int // thread of the file; its branches are in it too
	final     bool
	buf       *bufio.Writer
	enc       *json.Encoder
	err       error
	leaf      *string // uuid of the last line, parent of the next
	lines     uint64
	asked     int64                    // unix ns of the last prompt
	lineOf    map[int32]string         // uuid of the line of a tool use, by call
	agents    map[int32]*traces.Thread // by the call that started them
	agentType string
}

func newScribe(w io.Writer, load *Workload, s *traces.Session, thread int) *scribe {
	buf := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	x := &scribe{
		s: s, d: dice(prompt.DigestString(s.ID).Lo), main: thread, final: finalOutputs(s.Version()), buf: buf, enc: enc,
		lineOf: map[int32]string{}, agents: agentsByTask(s), agentType: load.Agents.Type,
		head: head{UserType: "external", Cwd: s.Project, SessionID: s.ID, Version: s.Version(), GitBranch: "main"},
	}
	if thread > 0 {
		x.head.IsSidechain, x.head.AgentID = true, s.Threads[thread].ID
	} else {
		x.head.Slug = "steady-" + nouns[x.d.below(forSession, 2, len(nouns))] + "-" + nouns[x.d.below(forSession, 3, len(nouns))]
	}
	return x
}

func (x *scribe) emit(line any) {
	if x.err == nil {
		x.err = x.enc.Encode(line)
	}
}

func (x *scribe) uuid() string {
	x.lines++
	return uuid(x.d.bits(forSession, 4), uint64(x.main)<<32|x.lines)
}

// next returns the head of a line that follows the leaf and makes the line with
// the given id the new leaf.
func (x *scribe) next(id string) head {
	h := x.head
	h.ParentUUID = x.leaf
	x.leaf = &id
	return h
}

// thread writes the rounds of a thread, and behind each the branches that leave
// it there.
func (x *scribe) thread(i int) {
	t := &x.s.Threads[i]
	next := 0
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		var ev *traces.Event
		if next < len(t.Events) && int(t.Events[next].Round) == r {
			ev = &t.Events[next]
			next++
		}
		x.input(rd, ev)
		if ev != nil {
			x.compaction(ev)
		}
		x.response(rd)
		over := r+1 == len(t.Rounds) || t.Rounds[r+1].Trigger == traces.TriggerPrompt
		if over && x.main == 0 {
			x.turnEnd(rd)
		}
		x.branches(i, r)
	}
}

// branches writes the threads that leave a round for a prompt that was taken
// back later.
func (x *scribe) branches(parent, round int) {
	for i := range x.s.Threads {
		if t := &x.s.Threads[i]; t.Kind == traces.ThreadBranch && int(t.Parent) == parent && int(t.ParentRound) == round {
			leaf := x.leaf
			x.thread(i)
			x.leaf = leaf
		}
	}
}

// input writes what a call answers.
func (x *scribe) input(rd *traces.Round, ev *traces.Event) {
	at := rd.At
	if ev != nil {
		at = ev.At - ev.Wait
	}
	blocks := x.s.Blocks[rd.Input.From:rd.Input.To]
	if rd.Trigger == traces.TriggerPrompt {
		x.prompt(blocks, at)
		return
	}
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult {
			x.result(&blocks[i], at)
		}
	}
}

// prompt writes the line of a person's prompt or of an agent's task.
func (x *scribe) prompt(blocks []prompt.Block, at int64) {
	id := x.uuid()
	if x.main == 0 {
		x.emit(snapshotLine{
			Type: "file-history-snapshot", MessageID: id,
			Snapshot: snapshot{MessageID: id, Backups: map[string]struct{}{}, Timestamp: timestamp(at)},
		})
	}
	l := userLine{
		head: x.next(id), Type: "user", UUID: id, Timestamp: timestamp(at),
		Message: userMessage{Role: "user", Content: promptContent(blocks)},
	}
	if x.main == 0 {
		l.ThinkingMetadata = &thinkingMeta{MaxThinkingTokens: 31999}
		l.Todos = &[]string{}
		l.PermissionMode = "default"
	}
	x.asked = at
	x.emit(l)
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
			list = append(list, textContent{"text", exactly(b, request)})
		case prompt.KindImage:
			list = append(list, imageContent{"image", imageSource{"base64", "image/png", base64Text(b)}})
		}
	}
	return list
}

// response writes the lines of a call: one for each block, at times between
// that of the first and that of the last.
func (x *scribe) response(rd *traces.Round) {
	blocks := x.s.Blocks[rd.Reply.From:rd.Reply.To]
	for i := range blocks {
		b := &blocks[i]
		last := i == len(blocks)-1
		at := rd.First
		if i > 0 {
			at += (rd.Stream - rd.First) * int64(i) / int64(len(blocks)-1) / millisecond * millisecond
		}
		id := x.uuid()
		m := assistantMessage{
			Model: x.s.Models[rd.Model], ID: rd.ID, Type: "message", Role: "assistant",
			Content: []any{x.content(b)}, Usage: x.usage(rd, last),
		}
		if x.final && last {
			m.StopReason = stopReason(b.Kind != prompt.KindToolUse)
		}
		if b.Kind == prompt.KindToolUse {
			x.lineOf[b.Call] = id
		}
		x.emit(assistantLine{
			head: x.next(id), Message: m, RequestID: "req_011C" + rd.ID[len("msg_01"):], Type: "assistant", UUID: id,
			Timestamp: timestamp(rd.At + at),
		})
	}
}

// usage returns the usage a line logs.
func (x *scribe) usage(rd *traces.Round, last bool) usage {
	u := &rd.Usage
	out := usage{
		Input: u.Uncached, Read: u.Read, Creation: u.Writes(),
		CacheCreation: cacheCreation{Write5m: u.Write5m, Write1h: u.Write1h},
		Output:        min(rd.Logged, 1), ServiceTier: "standard", InferenceGeo: "not_available",
	}
	if !x.final {
		out.Output = rd.Logged
	}
	if x.final && last {
		out.Output = rd.Logged
		out.ServerTools, out.Iterations, out.Speed, out.InferenceGeo = &serverToolUse{}, &[]string{}, "standard", ""
	}
	return out
}

// result writes the line of a tool result, a child of the line of its use.
func (x *scribe) result(b *prompt.Block, at int64) {
	id := x.uuid()
	source := x.lineOf[b.Call]
	delete(x.lineOf, b.Call)
	h := x.head
	h.ParentUUID = &source
	x.leaf = &id
	content, detail := x.resultContent(b)
	l := userLine{
		head: h, Type: "user", UUID: id, Timestamp: timestamp(at), SourceAssistant: source,
		Message: userMessage{Role: "user", Content: []any{content}},
	}
	if x.main == 0 {
		l.ToolUseResult = detail
	}
	x.emit(l)
}

// compaction writes the boundary and the summary that replaces everything
// before it.
func (x *scribe) compaction(ev *traces.Event) {
	id, no := x.uuid(), false
	h := x.next(id)
	h.LogicalParent, h.ParentUUID = h.ParentUUID, nil
	x.emit(systemLine{
		head: h, Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted", IsMeta: &no,
		Timestamp: timestamp(ev.At), UUID: id, Level: "info",
		CompactMetadata: &compactMetadata{Trigger: "auto", PreTokens: int(ev.PreTokens)},
	})
	id = x.uuid()
	x.emit(userLine{
		head: x.next(id), Type: "user", UUID: id, Timestamp: timestamp(ev.At), VisibleOnly: true, IsCompactSummary: true,
		Message: userMessage{Role: "user", Content: exactly(&x.s.Blocks[ev.Summary.From], prose)},
	})
}

// turnEnd writes what the client logs when a turn is over.
func (x *scribe) turnEnd(rd *traces.Round) {
	end := rd.At + rd.Stream
	no, took := false, (end-x.asked)/millisecond
	id := x.uuid()
	x.emit(systemLine{
		head: x.next(id), Type: "system", Subtype: "turn_duration", DurationMs: &took, IsMeta: &no,
		Timestamp: timestamp(end + turnEndDelay), UUID: id,
	})
}

// agentsByTask pairs the agents of a session with the tool uses that started
// them: both stand in the same order.
func agentsByTask(s *traces.Session) map[int32]*traces.Thread {
	agents := map[int32]*traces.Thread{}
	next := 0
	for i := range s.Threads[0].Rounds {
		reply := s.Threads[0].Rounds[i].Reply
		for k := reply.From; k < reply.To; k++ {
			if s.Blocks[k].Op != prompt.OpAgent {
				continue
			}
			for next < len(s.Threads) && s.Threads[next].Kind != traces.ThreadAgent {
				next++
			}
			if next < len(s.Threads) {
				agents[s.Blocks[k].Call] = &s.Threads[next]
				next++
			}
		}
	}
	return agents
}
