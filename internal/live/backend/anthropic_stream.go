package backend

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// message is a reply while its events come in.
type message struct {
	began   time.Time
	reply   wire.Reply
	text    strings.Builder
	bytes   int64 // of output that came
	most    int64 // tokens of output that the request allows
	thought bool  // a block of thinking came
	started bool  // message_start came
	stopped bool  // message_stop came
	first   time.Duration
}

// take adds one event.
func (m *message) take(e *anthropic.BetaRawMessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		m.started = true
		m.reply.ID, m.reply.Model = e.Message.ID, e.Message.Model
		u := &e.Message.Usage
		m.reply.Usage = usage(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.CacheCreation, u.OutputTokens)
		m.iterations(u.Iterations)
	case "content_block_start":
		m.open(&e.ContentBlock)
	case "content_block_delta":
		if m.first == 0 {
			m.first = time.Since(m.began)
		}
		d := &e.Delta
		m.bytes += int64(len(d.Text) + len(d.PartialJSON) + len(d.Thinking) + len(d.Content))
		switch d.Type {
		case "text_delta":
			m.text.WriteString(d.Text)
		case "compaction_delta":
			m.reply.Compaction = d.Content
		}
	case "message_delta":
		m.delta(e)
	case "message_stop":
		m.stopped = true
	}
}

// open begins a content block.
func (m *message) open(b *anthropic.BetaRawContentBlockStartEventContentBlockUnion) {
	switch b.Type {
	case "text":
		m.text.WriteString(b.Text)
	case "tool_use", "server_tool_use", "mcp_tool_use":
		m.reply.ToolCalls = append(m.reply.ToolCalls, b.Name)
	case "thinking", "redacted_thinking":
		m.thought = true
	case "compaction":
		if s := b.Content.OfString; s != "" {
			m.reply.Compaction = s
		}
	}
}

// delta takes the last counts, which are totals of the whole message; those that
// did not change may be missing.
func (m *message) delta(e *anthropic.BetaRawMessageStreamEventUnion) {
	if s := string(e.Delta.StopReason); s != "" {
		m.reply.StopReason = s
	}
	u, d := &m.reply.Usage, &e.Usage
	if d.JSON.OutputTokens.Valid() {
		u.Output = d.OutputTokens
	}
	if d.JSON.InputTokens.Valid() {
		u.Uncached = d.InputTokens
	}
	if d.JSON.CacheReadInputTokens.Valid() {
		u.Read = d.CacheReadInputTokens
	}
	if d.JSON.CacheCreationInputTokens.Valid() {
		split := anthropic.BetaCacheCreation{Ephemeral5mInputTokens: u.Write5m, Ephemeral1hInputTokens: u.Write1h}
		u.Write5m, u.Write1h = writes(d.CacheCreationInputTokens, split)
	}
	if d.JSON.OutputTokensDetails.Valid() {
		m.reply.Thinking = d.OutputTokensDetails.ThinkingTokens
	}
	if d.JSON.Iterations.Valid() {
		m.iterations(d.Iterations)
	}
	m.cleared(e.ContextManagement.AppliedEdits)
}

// cleared adds up what edits took out.
func (m *message) cleared(list []anthropic.BetaContextManagementResponseAppliedEditUnion) {
	if len(list) == 0 {
		return
	}
	m.reply.Cleared = wire.Cleared{}
	for i := range list {
		m.reply.Cleared.ToolUses += list[i].ClearedToolUses
		m.reply.Cleared.Turns += list[i].ClearedThinkingTurns
		m.reply.Cleared.Input += list[i].ClearedInputTokens
	}
}

// thinking returns the part of the output that was thinking. The text that is
// shown of it may be shorter or none, so where the server does not count it, it is
// what the rest leaves of the output.
func (m *message) thinking() int64 {
	output := m.reply.Billed().Output
	switch {
	case m.reply.Thinking > 0:
		return min(m.reply.Thinking, output)
	case m.thought:
		return max(0, output-int64(len(m.reply.Text)+len(m.reply.Compaction)+bytesPerToken-1)/bytesPerToken)
	}
	return 0
}

func (m *message) iterations(list anthropic.BetaIterationsUsage) {
	if len(list) == 0 {
		return
	}
	m.reply.Iterations = make([]wire.Iteration, len(list))
	for i := range list {
		it := &list[i]
		m.reply.Iterations[i] = wire.Iteration{Type: it.Type,
			Usage: usage(it.InputTokens, it.CacheReadInputTokens, it.CacheCreationInputTokens, it.CacheCreation, it.OutputTokens)}
	}
}

func usage(input, read, written int64, split anthropic.BetaCacheCreation, output int64) wire.Usage {
	u := wire.Usage{Uncached: input, Read: read, Output: output}
	u.Write5m, u.Write1h = writes(written, split)
	return u
}

// writes returns what was written with each lifetime. What the split does not
// account for has five minutes, which is the API's default; a split that says
// more than the total is believed.
func writes(total int64, split anthropic.BetaCacheCreation) (fiveMinutes, hour int64) {
	fiveMinutes, hour = split.Ephemeral5mInputTokens, split.Ephemeral1hInputTokens
	return fiveMinutes + max(total-fiveMinutes-hour, 0), hour
}

// finish returns the reply when it is complete, and why it is not otherwise. A
// stream that was cut between two events ends without an error.
func (m *message) finish(ctx, attempt context.Context, err error, answered bool, k Key) (*wire.Reply, error) {
	if m.stopped {
		m.reply.Text = m.text.String()
		m.reply.Thinking = m.thinking()
		m.reply.First, m.reply.Total, m.reply.Attempts = m.first, time.Since(m.began), 1
		if m.first == 0 {
			m.reply.First = m.reply.Total
		}
		return &m.reply, nil
	}
	billed := m.billed()
	if ctx.Err() != nil {
		return nil, ended(ctx, 1, billed)
	}
	var api *anthropic.Error
	if errors.As(err, &api) {
		f := said(api).failure(k)
		f.Billed = billed
		return nil, f
	}
	if err == nil {
		err = errors.New("the stream ended before its last event")
	}
	if attempt.Err() != nil {
		err = causeOr(attempt, err)
	}
	f := unanswered(err, answered, k)
	f.Billed = billed
	return nil, f
}

// bytesPerToken turns the bytes of an output that no server counted to its end
// into tokens: text of recorded sessions has 0.26 tokens a byte.
const bytesPerToken = 4

// billed returns what a stream that broke off will be billed: the input as
// counted at its start, and the output that came.
func (m *message) billed() wire.Usage {
	u := m.reply.Billed()
	if m.started {
		u.Output = max(u.Output, outputOf(m.bytes, m.most))
	}
	return u
}
