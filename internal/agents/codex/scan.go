package codex

import (
	"context"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// rollout is one file as items.
type rollout struct {
	*reading.File
	id       string // of the session: that of the first session_meta line
	project  string
	versions []string
	window   int64 // largest context window logged, tokens
	head     head
	start    int64 // time of the first line with one, unix ns
	end      int64
	items    []item
	unknown  map[string]int // lines by type that are not understood
	totals   tokenUsage     // of the last token count
}

// head is what is known of the prefix ahead of the conversation.
type head struct {
	instructions int // bytes
	tools        int // bytes of the definitions the client adds, JSON
	digest       prompt.Digest
}

// scan reads one file into items.
func scan(ctx context.Context, opts traces.Options, in traces.Input) (*rollout, error) {
	ro := &rollout{File: reading.NewFile(Agent, in.Name, opts), unknown: map[string]int{}}
	return ro, ro.Read(ctx, opts, in, ro.parse)
}

// parse reads one line.
func (ro *rollout) parse(ln traces.Line) error {
	var r record
	if err := decode(ln.Text, &r); err != nil {
		return err
	}
	if r.Type == "" {
		return errNoRecord
	}
	at := reading.Time([]byte(r.Timestamp))
	if at != 0 {
		if ro.start == 0 {
			ro.start = at
		}
		ro.end = max(ro.end, at)
	}
	it := item{time: at, line: int32(ln.Number)}
	var err error
	switch r.Type {
	case "session_meta":
		err = ro.meta(r.Payload)
	case "turn_context":
		err = ro.turn(&it, r.Payload)
	case "response_item":
		err = ro.response(&it, r.Payload)
	case "event_msg":
		err = ro.event(&it, r.Payload)
	case "compacted":
		err = ro.compacted(&it, r.Payload)
	case "world_state":
	default:
		ro.unknown[r.Type]++
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.Type, err)
	}
	return nil
}

// add keeps an item; its blocks learn where they stand.
func (ro *rollout) add(it *item) {
	for i := range it.blocks {
		it.blocks[i].Line = it.line
	}
	ro.items = append(ro.items, *it)
}

// meta reads what the session is. Later lines repeat the first when a session
// is taken up again, and tell the parent's in a fork: the first is the file's own.
func (ro *rollout) meta(payload []byte) error {
	var m meta
	if err := decode(payload, &m); err != nil {
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

func (ro *rollout) turn(it *item, payload []byte) error {
	var t turnContext
	if err := decode(payload, &t); err != nil {
		return err
	}
	it.kind, it.model = itemModel, t.Model
	ro.add(it)
	return nil
}

// response reads an item of the conversation.
func (ro *rollout) response(it *item, payload []byte) error {
	var r responseItem
	if err := decode(payload, &r); err != nil {
		return err
	}
	known, err := r.fill(it)
	switch {
	case err != nil:
		return err
	case known:
		ro.add(it)
	case r.Type != "ghost_snapshot":
		ro.unknown["response_item/"+r.Type]++
	}
	return nil
}

// fill gives it the kind and blocks of an item of the conversation and reports
// whether its type is known.
func (r *responseItem) fill(it *item) (known bool, err error) {
	it.kind, it.id = itemReply, r.ID
	switch r.Type {
	case "message":
		if it.blocks, err = r.message(); r.Role != "assistant" {
			it.kind = itemInput
		}
	case "reasoning":
		it.blocks = []block{r.reasoning()}
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call", "image_generation_call":
		it.blocks = []block{r.use()}
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output", "mcp_tool_call_output":
		it.kind, it.blocks = itemOutput, make([]block, 1)
		it.blocks[0], err = r.output()
	case "compaction", "compaction_summary":
		it.kind, it.blocks = itemInput, []block{newBlock(prompt.KindSummary, []byte(r.ID), []byte(r.Encrypted))}
	default:
		return false, nil
	}
	return true, err
}

// event reads a token count. One that repeats the totals of the last is no call.
func (ro *rollout) event(it *item, payload []byte) error {
	var e eventMsg
	if err := decode(payload, &e); err != nil {
		return err
	}
	if e.Type != "token_count" || e.Info.Kind() != '{' {
		return nil
	}
	var info tokenInfo
	if err := decode(e.Info, &info); err != nil {
		return err
	}
	if info.Total == ro.totals {
		return nil
	}
	ro.totals = info.Total
	if info.Window > 0 && info.Window <= maxTokens {
		ro.window = max(ro.window, info.Window)
	}
	it.kind, it.count = itemCount, info.Last.count()
	ro.add(it)
	return nil
}

// count splits what the API reported into disjoint classes.
func (u tokenUsage) count() count {
	c := count{reasoning: u.Reasoning}
	for _, n := range [...]int64{u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > maxTokens {
			return c
		}
	}
	if u.Input == 0 || u.Cached+u.CacheWrite > u.Input || u.Reasoning > u.Output {
		return c
	}
	c.ok = true
	c.Usage = prompt.Usage{
		Uncached: u.Input - u.Cached - u.CacheWrite, Read: u.Cached, WriteOther: u.CacheWrite, Output: u.Output,
	}
	return c
}

// compacted reads what replaced the history: messages that stayed or came back,
// and a summary, which is either text or an item only the server can read.
func (ro *rollout) compacted(it *item, payload []byte) error {
	var c compacted
	if err := decode(payload, &c); err != nil {
		return err
	}
	it.kind = itemCompacted
	var summary []block
	if c.Message != "" {
		summary = append(summary, newBlock(prompt.KindSummary, []byte(c.Message)))
	}
	for i := range c.History {
		var kept item
		if _, err := c.History[i].fill(&kept); err != nil {
			return err
		}
		for _, b := range kept.blocks {
			if b.Kind == prompt.KindSummary {
				summary = append(summary, b)
			} else {
				it.blocks = append(it.blocks, b)
			}
		}
	}
	it.blocks = append(it.blocks, summary...)
	ro.add(it)
	return nil
}
