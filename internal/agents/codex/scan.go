package codex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/agents/assembly"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// rollout is one file.
type rollout struct {
	*assembly.File
	*assembly.Rounds
	id       string // of the session: that of the first session_meta line
	project  string
	versions []string
	window   int64 // largest context window logged, tokens
	head     head
	start    int64 // time of the first line with one, unix ns
	end      int64
	model    string
	totals   tokenUsage // of the last token count
	called   string     // id of the last tool call
	maker    assembly.Maker
}

// head is what is known of the prefix ahead of the conversation.
type head struct {
	instructions int // bytes
	tools        int // bytes of the definitions the client adds, JSON
	digest       prompt.Digest
}

// record is one line of a rollout.
type record struct {
	Timestamp string         `json:"timestamp"`
	Type      string         `json:"type"`
	Payload   jsontext.Value `json:"payload"`
}

// meta is the payload of a session_meta line.
type meta struct {
	ID           string         `json:"id"`
	Cwd          string         `json:"cwd"`
	Version      string         `json:"cli_version"`
	Instructions jsontext.Value `json:"base_instructions"`
	Tools        jsontext.Value `json:"dynamic_tools"`
}

// eventMsg is the payload of an event_msg line, as far as it is read.
type eventMsg struct {
	Type string         `json:"type"`
	Info jsontext.Value `json:"info"`
}

type tokenInfo struct {
	Total tokenUsage `json:"total_token_usage"`
	Last  tokenUsage `json:"last_token_usage"`
	// Window is the context window the client works with, tokens.
	Window int64 `json:"model_context_window"`
}

// tokenUsage is what the API reported. Input includes what was read from the
// cache and what was written to it.
type tokenUsage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_output_tokens"`
	Total      int64 `json:"total_tokens"`
}

// compacted is the payload of a compacted line.
type compacted struct {
	Message string         `json:"message"`
	History []responseItem `json:"replacement_history"`
}

var errNoRecord = errors.New("line is no record of a rollout: it has no type")

// scan reads one file.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*rollout, error) {
	f := assembly.NewFile(in.Name, opts)
	ro := &rollout{File: f, Rounds: assembly.NewRounds(assembly.Main(), f), maker: assembly.Maker{Ear: opts.Listener}}
	return ro, ro.Read(ctx, opts, in, ro.parse)
}

// parse reads one line.
func (ro *rollout) parse(ln assembly.Line) error {
	if r, ok := usual(ln.Text); ok {
		start, end := ro.start, ro.end
		if ro.record(ln, &r) == nil {
			return nil
		}
		ro.start, ro.end = start, end // what is wrong with the line is found below
	}
	var r record
	if err := assembly.Decode(ln.Text, &r); err != nil {
		return err
	}
	return ro.record(ln, &r)
}

// usual takes a line apart that has the form in which the client writes most, without looking at its payload: who
// reads that finds out whether it is one valid value.
func usual(line []byte) (r record, ok bool) {
	const from, open, end = len(`{"timestamp":"`), `{"timestamp":"`, len("2026-03-25T02:17:20.880Z")
	if len(line) < from+end || string(line[:from]) != open || assembly.Time(line[from:from+end]) == 0 {
		return r, false
	}
	for _, typ := range [...]string{"response_item", "event_msg"} {
		payload, found := bytes.CutPrefix(line[from+end:], []byte(`","type":"`+typ+`","payload":`))
		if payload, whole := bytes.CutSuffix(payload, []byte("}")); found && whole {
			return record{Timestamp: string(line[from : from+end]), Type: typ, Payload: payload}, true
		}
	}
	return r, false
}

// record adds what a line says.
func (ro *rollout) record(ln assembly.Line, r *record) error {
	if r.Type == "" {
		return errNoRecord
	}
	at := ro.Stamp(ln.Number, []byte(r.Timestamp))
	if at != 0 {
		if ro.start == 0 {
			ro.start = at
		}
		ro.end = max(ro.end, at)
	}
	it := &assembly.Step{At: at, Line: int32(ln.Number)}
	var err error
	switch r.Type {
	case "session_meta":
		err = ro.meta(r.Payload)
	case "turn_context":
		var t struct {
			Model string `json:"model"`
		}
		if err = assembly.Decode(r.Payload, &t); err == nil {
			ro.model = t.Model
		}
	case "response_item":
		err = ro.response(it, r.Payload)
	case "event_msg":
		err = ro.event(it, r.Payload)
	case "compacted":
		if err = replaced(it, r.Payload, ro.maker, ro.unknown); err == nil {
			ro.Add(it)
		}
	case "world_state":
	default:
		ro.Unknown[r.Type]++
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Type, err)
	}
	return nil
}

// meta reads what the session is. Later lines repeat the first when a session
// is taken up again, and are the parent's in a fork: the first is the file's own.
func (ro *rollout) meta(payload []byte) error {
	var m meta
	if err := assembly.Decode(payload, &m); err != nil {
		return err
	}
	if m.Version != "" && !slices.Contains(ro.versions, m.Version) {
		ro.versions = append(ro.versions, m.Version)
	}
	if ro.id != "" {
		return nil
	}
	ro.id, ro.project = m.ID, m.Cwd
	ro.head = head{instructions: len(m.Instructions), tools: len(m.Tools)}
	ro.head.digest = prompt.DigestBytes(m.Instructions).Extend(prompt.DigestBytes(m.Tools))
	return nil
}

// response reads an item of the conversation.
func (ro *rollout) response(it *assembly.Step, payload []byte) error {
	r := responseItem{maker: ro.maker}
	if err := assembly.Decode(payload, &r); err != nil {
		return err
	}
	known, err := r.fill(it)
	switch {
	case err != nil:
		return err
	case known:
		if it.Kind == assembly.StepReply {
			ro.called = cmp.Or(r.CallID, ro.called)
		}
		ro.Add(it)
	default:
		ro.unknown(r.Type)
	}
	return nil
}

// unknown counts an item of a type that the reader does not know. Snapshots are
// known to say nothing to the model.
func (ro *rollout) unknown(typ string) {
	if typ != "ghost_snapshot" {
		ro.Unknown["response_item/"+typ]++
	}
}

// event reads a token count. One that repeats the totals of the last is no call.
func (ro *rollout) event(it *assembly.Step, payload []byte) error {
	var e eventMsg
	if err := assembly.Decode(payload, &e); err != nil {
		return err
	}
	if e.Type != "token_count" || e.Info.Kind() != '{' {
		return nil
	}
	var info tokenInfo
	if err := assembly.Decode(e.Info, &info); err != nil {
		return err
	}
	if info.Total == ro.totals {
		return nil
	}
	ro.totals = info.Total
	if info.Window > 0 && info.Window <= assembly.MaxTokens {
		ro.window = max(ro.window, info.Window)
	}
	it.Kind, it.Model, it.Usage = assembly.StepCount, ro.model, info.Last.usage()
	it.ID = fmt.Sprint(cmp.Or(ro.called, ro.id), info.Total)
	it.Final = it.Usage.OK
	ro.Add(it)
	return nil
}

// usage splits what the API reported into disjoint classes.
func (u tokenUsage) usage() assembly.Usage {
	c := assembly.Usage{Reasoning: u.Reasoning}
	for _, n := range [...]int64{u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > assembly.MaxTokens {
			return c
		}
	}
	if u.Input == 0 || u.Cached+u.CacheWrite > u.Input || u.Reasoning > u.Output {
		return c
	}
	c.OK = true
	c.Usage = prompt.Usage{
		Uncached: u.Input - u.Cached - u.CacheWrite, Read: u.Cached, WriteOther: u.CacheWrite, Output: u.Output,
	}
	return c
}

// replaced reads what replaced the history: messages that stayed or came back,
// and a summary, which is either text or an item only the server can read. It
// hands the types of items it does not know to unknown.
func replaced(it *assembly.Step, payload []byte, mk assembly.Maker, unknown func(typ string)) error {
	var c compacted
	if err := assembly.Decode(payload, &c); err != nil {
		return err
	}
	it.Kind = assembly.StepCompact
	var summary []assembly.Block
	if c.Message != "" {
		r := responseItem{maker: mk}
		text := []byte(c.Message)
		summary = append(summary, r.withText(newBlock(prompt.KindSummary, text), false, text))
	}
	for i := range c.History {
		var kept assembly.Step
		c.History[i].maker = mk
		known, err := c.History[i].fill(&kept)
		if err != nil {
			return err
		}
		if !known {
			unknown(c.History[i].Type)
		}
		for _, b := range kept.Blocks {
			if b.Kind == prompt.KindSummary {
				summary = append(summary, b)
			} else {
				it.Blocks = append(it.Blocks, b)
			}
		}
	}
	it.Blocks = append(it.Blocks, summary...)
	return nil
}

// texts reads a line of a rollout again.
func texts(line []byte) []traces.Text {
	keeping := assembly.Maker{Keep: true}
	var r record
	var it assembly.Step
	if assembly.Decode(line, &r) != nil {
		return nil
	}
	switch r.Type {
	case "response_item":
		item := responseItem{maker: keeping}
		if assembly.Decode(r.Payload, &item) != nil {
			return nil
		}
		_, _ = item.fill(&it) // what cannot be read has no blocks
	case "compacted":
		_ = replaced(&it, r.Payload, keeping, func(string) {})
	}
	return assembly.TextsOf(it.Blocks)
}

// opOf returns what a tool of Codex does to its object.
func opOf(name string) prompt.Op {
	switch name {
	case "read_file", "view_image":
		return prompt.OpRead
	case "apply_patch":
		return prompt.OpEdit
	case "exec_command", "exec", "write_stdin", "shell", "shell_command", "local_shell", "container.exec",
		"unified_exec", "wait":
		return prompt.OpExec
	case "grep_files", "list_dir", "tool_search":
		return prompt.OpSearch
	case "web_search":
		return prompt.OpFetch
	case "spawn_agent":
		return prompt.OpAgent
	}
	return prompt.OpNone
}

// patched returns the first file a patch touches, or "".
func patched(patch []byte) string {
	for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
		if _, after, ok := bytes.Cut(patch, []byte(head)); ok {
			path, _, _ := bytes.Cut(after, []byte("\n"))
			return string(bytes.TrimSpace(path))
		}
	}
	return ""
}

// failed reports whether a tool's output names an exit code that is not 0, in
// its first lines as the client writes it.
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
