package backend

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// messagesRequest is a request to the Messages API.
type messagesRequest struct {
	Model             string            `json:"model"`
	MaxTokens         int               `json:"max_tokens"`
	Stream            bool              `json:"stream"`
	System            []messageBlock    `json:"system,omitempty"`
	Tools             []messageTool     `json:"tools,omitempty"`
	ToolChoice        map[string]string `json:"tool_choice,omitempty"`
	ContextManagement jsontext.Value    `json:"context_management,omitzero"`
	Compaction        *summarize        `json:"compaction,omitzero"`
	Thinking          *thinking         `json:"thinking,omitzero"`
	OutputConfig      *outputConfig     `json:"output_config,omitzero"`
	Messages          []messageOut      `json:"messages"`
}

// summarize asks for a compaction on demand.
type summarize struct {
	Type         string `json:"type"`
	Instructions string `json:"instructions,omitzero"`
}

type thinking struct {
	Type   wire.Mode `json:"type"`
	Budget int       `json:"budget_tokens,omitzero"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// parameters puts into a request what is said beside its content.
func (q *messagesRequest) parameters(r *wire.Request) error {
	if r.Compaction != nil {
		if len(r.ContextManagement) > 0 {
			return errors.New("a compaction on demand and edits of the context: one request has one of them")
		}
		q.Compaction = &summarize{"summarize", r.Compaction.Instructions}
	}
	if r.Thinking.Mode != wire.ThinkingUnsaid {
		q.Thinking = &thinking{r.Thinking.Mode, r.Thinking.Budget}
	}
	if r.Effort != "" {
		q.OutputConfig = &outputConfig{r.Effort}
	}
	return nil
}

type messageOut struct {
	Role    wire.Role      `json:"role"`
	Content []messageBlock `json:"content"`
}

// messageBlock is a content block. Its zero fields are left out: text is a
// pointer for a block of that type must have one.
type messageBlock struct {
	Type      wire.Kind      `json:"type"`
	Text      *string        `json:"text,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitzero"`
	Content   []messageBlock `json:"content,omitempty"`
	IsError   bool           `json:"is_error,omitzero"`
	Cache     *cacheControl  `json:"cache_control,omitzero"`
}

type messageTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema"`
	Cache       *cacheControl  `json:"cache_control,omitzero"`
}

type cacheControl struct {
	Type string     `json:"type"`
	TTL  wire.Cache `json:"ttl"`
}

// marker returns the breakpoint that asks for a cache entry, nil for none.
func marker(c wire.Cache) *cacheControl {
	if c == wire.CacheNone {
		return nil
	}
	return &cacheControl{Type: "ephemeral", TTL: c}
}

// body returns the body of a request. Schemas and inputs go out as they stand:
// another order of their keys would be another prefix.
func (a *Anthropic) body(r *wire.Request) (*body, error) {
	q := messagesRequest{Model: r.Model, MaxTokens: r.MaxTokens, Stream: true, ContextManagement: r.ContextManagement}
	if err := q.parameters(r); err != nil {
		return nil, err
	}
	for i := range r.System {
		if k := r.System[i].Kind; k != wire.KindText {
			return nil, fmt.Errorf("a block of kind %q in the system prompt: only text stands there", k)
		}
	}
	var err error
	if q.System, err = contents(r.System); err != nil {
		return nil, fmt.Errorf("system prompt: %w", err)
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		q.Tools = append(q.Tools, messageTool{t.Name, t.Description, t.InputSchema, marker(t.Cache)})
	}
	for i, m := range r.Messages {
		blocks, err := contents(m.Blocks)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		q.Messages = append(q.Messages, messageOut{m.Role, blocks})
	}
	if r.ToolsDenied && a.config.ToolChoiceNone && len(r.Tools) > 0 {
		q.ToolChoice = map[string]string{"type": "none"}
	}
	return newBody(&q)
}

func contents(blocks []wire.Block) ([]messageBlock, error) {
	list := make([]messageBlock, len(blocks))
	for i := range blocks {
		b, out := &blocks[i], &list[i]
		out.Type, out.Cache = b.Kind, marker(b.Cache)
		switch b.Kind {
		case wire.KindText:
			out.Text = &b.Text
		case wire.KindToolUse:
			out.ID, out.Name, out.Input = b.ID, b.Name, input(b)
		case wire.KindToolResult:
			out.ToolUseID, out.IsError = b.ID, b.Error
			if b.Text != "" { // the API refuses empty text blocks
				out.Content = []messageBlock{{Type: wire.KindText, Text: &b.Text}}
			}
		default:
			return nil, fmt.Errorf("block %d: unknown kind %q", i+1, b.Kind)
		}
	}
	return list, nil
}

// input returns the input of a tool call, {} when it has none.
func input(b *wire.Block) jsontext.Value {
	if len(b.Input) == 0 {
		return jsontext.Value("{}")
	}
	return b.Input
}
