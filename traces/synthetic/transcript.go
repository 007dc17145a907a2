package synthetic

import (
	"bufio"
	"bytes"
	"cmp"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
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
			list = append(list, Transcript{Name: s.ID + "/subagents/agent-" + s.Threads[i].ID + ".jsonl", w: w, s: s, thread: i})
		}
	}
	return list
}

// Write writes the file.
func (f Transcript) Write(w io.Writer) error {
	x := newScribe(w, f.w, f.s, f.thread)
	x.thread(f.thread)
	return x.buf.Flush()
}

// scribe writes the lines of one file, with the fields of versions 2.1.x in the
// order the client writes them. The first error of a write stays in buf.
type scribe struct {
	s         *traces.Session
	d         dice
	main      int // thread of the file; its branches are in it too
	final     bool
	buf       *bufio.Writer
	line      []byte
	slug      string
	leaf      string // uuid of the last line, parent of the next
	lines     uint64
	asked     int64                    // unix ns of the last prompt
	lineOf    map[int32]string         // uuid of the line of a tool use, by call
	agents    map[int32]*traces.Thread // by the call that started them
	agentType string
}

func newScribe(w io.Writer, load *Workload, s *traces.Session, thread int) *scribe {
	x := &scribe{
		s: s, d: dice(prompt.DigestString(s.ID).Lo), main: thread, final: finalOutputs(s.Version()),
		buf: bufio.NewWriterSize(w, 1<<16), lineOf: map[int32]string{},
		agents: agentsByTask(s), agentType: load.Agents.Type,
	}
	first, second := x.d.below(forSession, 2, len(nouns)), x.d.below(forSession, 3, len(nouns))
	x.slug = "steady-" + nouns[first] + "-" + nouns[second]
	return x
}

// agentsByTask pairs the agents of a session with the tool uses that started
// them: both are in the same order.
func agentsByTask(s *traces.Session) map[int32]*traces.Thread {
	agents := map[int32]*traces.Thread{}
	next := 0
	for i := range s.Threads[0].Rounds {
		reply := s.Threads[0].Rounds[i].Reply
		for k := reply.From; k < reply.To; k++ {
			if s.Blocks[k].Op != op.Agent {
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

func (x *scribe) emit(f fields) {
	x.line = append(appendJSON(x.line[:0], f), '\n')
	x.buf.Write(x.line) //nolint:errcheck // Flush returns the error
}

func (x *scribe) uuid() string {
	x.lines++
	return uuid(x.d.bits(forSession, 4), uint64(x.main)<<32|x.lines)
}

// head returns the fields that every line of a conversation begins with. A
// parent of "" is none.
func (x *scribe) head(parent any, more ...any) fields {
	if parent == "" {
		parent = nil
	}
	f := append(make(fields, 0, 48), "parentUuid", parent)
	f = append(f, more...)
	f = append(f, "isSidechain", x.main > 0, "userType", "external", "cwd", x.s.Project, "sessionId", x.s.ID,
		"version", x.s.Version(), "gitBranch", "main")
	if x.main > 0 {
		return append(f, "agentId", x.s.Threads[x.main].ID)
	}
	return append(f, "slug", x.slug)
}

// next returns the head of a line that follows the leaf and makes the line with
// the given id the new leaf.
func (x *scribe) next(id string) fields {
	parent := x.leaf
	x.leaf = id
	return x.head(parent)
}

// thread writes the rounds of a thread, and after each the branches that leave
// it there.
func (x *scribe) thread(i int) {
	t := &x.s.Threads[i]
	next := 0
	for r := range t.Rounds {
		rd := &t.Rounds[r]
		at := rd.At
		var ev *traces.Event
		if next < len(t.Events) && int(t.Events[next].Round) == r {
			ev = &t.Events[next]
			at = ev.At - ev.Wait
			next++
		}
		x.input(rd, at)
		if ev != nil {
			x.compaction(ev)
		}
		x.response(rd)
		over := r+1 == len(t.Rounds) || t.Rounds[r+1].Trigger == traces.TriggerPrompt
		if over && x.main == 0 {
			// Write what the client logs when a turn is over.
			end, id := rd.At+rd.Stream, x.uuid()
			x.emit(append(x.next(id), "type", "system", "subtype", "turn_duration", "durationMs", (end-x.asked)/millisecond,
				"isMeta", false, "timestamp", timestamp(end+turnEndDelay), "uuid", id))
		}
		x.branches(i, r)
	}
}

// branches writes the threads that leave a round for a prompt that was taken
// back later.
func (x *scribe) branches(parent, round int) {
	for i := range x.s.Threads {
		t := &x.s.Threads[i]
		if t.Kind == traces.ThreadBranch && int(t.Parent) == parent && int(t.ParentRound) == round {
			leaf := x.leaf
			x.thread(i)
			x.leaf = leaf
		}
	}
}

// input writes what a call answers: a prompt or tool results.
func (x *scribe) input(rd *traces.Round, at int64) {
	blocks := x.s.Blocks[rd.Input.From:rd.Input.To]
	if rd.Trigger == traces.TriggerPrompt {
		// Write the line of a person's prompt or of an agent's task.
		id, time := x.uuid(), timestamp(at)
		if x.main == 0 {
			snapshot := fields{"messageId", id, "trackedFileBackups", fields{}, "timestamp", time}
			x.emit(fields{"type", "file-history-snapshot", "messageId", id, "snapshot", snapshot, "isSnapshotUpdate", false})
		}
		l := append(x.next(id), "type", "user", "message", fields{"role", "user", "content", promptContent(blocks)},
			"uuid", id, "timestamp", time)
		if x.main == 0 {
			l = append(l, "thinkingMetadata", fields{"maxThinkingTokens", 31999}, "todos", []any{}, "permissionMode", "default")
		}
		x.asked = at
		x.emit(l)
		return
	}
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult {
			x.result(&blocks[i], at)
		}
	}
}

// response writes the lines of a call: one for each block, at times between the first and the
// last.
func (x *scribe) response(rd *traces.Round) {
	blocks := x.s.Blocks[rd.Reply.From:rd.Reply.To]
	for i := range blocks {
		b := &blocks[i]
		last := i == len(blocks)-1
		at := rd.First
		if i > 0 {
			at += (rd.Stream - rd.First) * int64(i) / int64(len(blocks)-1) / millisecond * millisecond
		}
		var stop any
		if x.final && last {
			stop = "end_turn"
			if b.Kind == prompt.KindToolUse {
				stop = "tool_use"
			}
		}
		id := x.uuid()
		if b.Kind == prompt.KindToolUse {
			x.lineOf[b.Call] = id
		}
		message := fields{
			"model", x.s.Models[rd.Model], "id", rd.ID, "type", "message", "role", "assistant",
			"content", []any{x.content(b)}, "stop_reason", stop, "stop_sequence", nil, "usage", x.usage(rd, last),
		}
		x.emit(append(x.next(id), "message", message, "requestId", requestPrefix+rd.ID[len(messagePrefix):],
			"type", "assistant", "uuid", id, "timestamp", timestamp(rd.At+at)))
	}
}

// usage returns the usage a line logs. Only the last line of a call has the
// final output, and only in versions that log it.
func (x *scribe) usage(rd *traces.Round, last bool) fields {
	u := &rd.Usage
	out := rd.Logged
	if x.final && !last {
		out = min(out, 1)
	}
	f := fields{
		"input_tokens", u.Uncached, "cache_creation_input_tokens", u.Writes(), "cache_read_input_tokens", u.Read,
		"cache_creation", fields{"ephemeral_5m_input_tokens", u.Write5m, "ephemeral_1h_input_tokens", u.Write1h},
		"output_tokens", out,
	}
	if !x.final || !last {
		return append(f, "service_tier", "standard", "inference_geo", "not_available")
	}
	return append(f, "server_tool_use", fields{"web_search_requests", 0, "web_fetch_requests", 0},
		"service_tier", "standard", "inference_geo", "", "iterations", []any{}, "speed", "standard")
}

// result writes the line of a tool result, a child of the line of its use.
func (x *scribe) result(b *prompt.Block, at int64) {
	id := x.uuid()
	source := x.lineOf[b.Call]
	delete(x.lineOf, b.Call)
	x.leaf = id
	content, detail := x.resultContent(b)
	l := append(x.head(source), "type", "user", "message", fields{"role", "user", "content", []any{content}},
		"uuid", id, "timestamp", timestamp(at))
	if x.main == 0 {
		l = append(l, "toolUseResult", detail)
	}
	x.emit(append(l, "sourceToolAssistantUUID", source))
}

// compaction writes the boundary and the summary that replaces everything
// before it.
func (x *scribe) compaction(ev *traces.Event) {
	id, time := x.uuid(), timestamp(ev.At)
	boundary := x.head(nil, "logicalParentUuid", x.leaf)
	x.leaf = id
	x.emit(append(boundary, "type", "system", "subtype", "compact_boundary", "content", "Conversation compacted",
		"isMeta", false, "timestamp", time, "uuid", id, "level", "info",
		"compactMetadata", fields{"trigger", "auto", "preTokens", int(ev.PreTokens)}))
	id = x.uuid()
	summary := exactly(&x.s.Blocks[ev.Summary.From], prose)
	x.emit(append(x.next(id), "type", "user", "message", fields{"role", "user", "content", summary},
		"isVisibleInTranscriptOnly", true, "isCompactSummary", true, "uuid", id, "timestamp", time))
}

// fields are the members of a JSON object in order: names and values in turn.
type fields []any

// MarshalJSONTo implements json.MarshalerTo.
func (f fields) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for _, v := range f {
		if text, ok := v.(string); ok { // as most are: MarshalEncode is slower
			err = cmp.Or(err, e.WriteToken(jsontext.String(text)))
		} else {
			err = cmp.Or(err, json.MarshalEncode(e, v))
		}
	}
	return cmp.Or(err, e.WriteToken(jsontext.EndObject))
}

// appendJSON appends a value as the client writes it, without escaping HTML. Invalid UTF-8 becomes U+FFFD.
func appendJSON(b []byte, v any) []byte {
	to := bytes.NewBuffer(b)
	if err := json.MarshalWrite(to, v, jsontext.AllowInvalidUTF8(true)); err != nil {
		panic(err) // strings, numbers, booleans and their lists have a JSON
	}
	return to.Bytes()
}
