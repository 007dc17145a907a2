package devserver

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/api"
)

// maxMarkers is how many breakpoints a request may have.
const maxMarkers = 4

// validate returns what the API would refuse.
func (s *Server) validate(h http.Header, q *request) *apiError {
	switch {
	case h.Get("Anthropic-Version") == "":
		return invalid("anthropic-version: header is required")
	case q.Model == "":
		return invalid("model: Field required")
	case !s.knows(q.Model):
		return &apiError{status: http.StatusNotFound, kind: "not_found_error", message: "model: " + q.Model}
	case q.MaxTokens == nil:
		return invalid("max_tokens: Field required")
	case *q.MaxTokens < 0, *q.MaxTokens == 0 && q.Stream:
		return invalid("max_tokens: %d is out of range", *q.MaxTokens)
	case *q.MaxTokens > s.options.MaxOutput:
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", *q.MaxTokens,
			s.options.MaxOutput, q.Model)
	case len(q.Messages) == 0:
		return invalid("messages: at least one message is required")
	}
	for i := range q.System {
		if e := checkBlock(&q.System[i], fmt.Sprintf("system.%d", i)); e != nil {
			return e
		}
	}
	for _, check := range []func(*request) *apiError{checkMessages, checkTools, checkMarkers, checkThinking} {
		if e := check(q); e != nil {
			return e
		}
	}
	return checkEdits(q, betas(h))
}

func betas(h http.Header) []string {
	all := strings.Join(h.Values("Anthropic-Beta"), ",")
	return strings.FieldsFunc(all, func(r rune) bool { return r == ',' || r == ' ' })
}

// checkMessages checks roles, content and the pairs of tool calls and results.
// Real servers join messages of one role; a client that makes such has lost
// track, so this one refuses them.
func checkMessages(q *request) *apiError {
	var open []string // ids of calls that the last message made
	for i, m := range q.Messages {
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return invalid("messages.%d.role: %q is neither user nor assistant", i, m.Role)
		case i == 0 && m.Role != "user" && (len(m.Content) == 0 || m.Content[0].Type != "compaction"):
			return invalid("messages: first message must use the user role")
		case i > 0 && m.Role == q.Messages[i-1].Role:
			return invalid("messages: roles must alternate between user and assistant, but found multiple %q roles in a "+
				"row at %d", m.Role, i)
		case len(m.Content) == 0:
			return invalid("messages.%d: all messages must have non-empty content", i)
		}
		for k := range m.Content {
			if e := checkBlock(&m.Content[k], fmt.Sprintf("messages.%d.content.%d", i, k)); e != nil {
				return e
			}
		}
		var e *apiError
		if open, e = pair(i, &m, open); e != nil {
			return e
		}
	}
	if len(open) > 0 {
		return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s",
			len(q.Messages)-1, strings.Join(open, ", "))
	}
	if q.Messages[len(q.Messages)-1].Role != "user" {
		return invalid("messages: the conversation must end with a user message")
	}
	return nil
}

func checkBlock(b *api.Block, at string) *apiError {
	switch b.Type {
	case "text":
		if b.TextOf() == "" {
			return invalid("%s: text content blocks must be non-empty", at)
		}
		if strings.TrimSpace(b.TextOf()) == "" {
			return invalid("%s: text content blocks must contain non-whitespace text", at)
		}
	case "tool_use":
		if b.ID == "" || b.Name == "" || len(b.Input) == 0 || b.Input.Kind() != '{' {
			return invalid("%s: tool_use needs an id, a name and an input that is an object", at)
		}
	case "tool_result":
		if b.ToolUseID == "" {
			return invalid("%s.tool_use_id: Field required", at)
		}
	case "image", "document", "compaction", "thinking", "redacted_thinking":
	default:
		return invalid("%s.type: unknown type %q", at, b.Type)
	}
	if b.CacheControl != nil && strings.HasSuffix(b.Type, "thinking") {
		return invalid("%s: cache_control cannot be set on %s blocks", at, b.Type)
	}
	return nil
}

// pair matches the results in a message with the calls of the one before, and
// returns the calls it makes itself.
func pair(i int, m *api.Message, open []string) (calls []string, e *apiError) {
	for k := range m.Content {
		switch b := &m.Content[k]; b.Type {
		case "tool_use":
			if m.Role != "assistant" || slices.Contains(calls, b.ID) {
				return nil, invalid("messages.%d.content.%d: misplaced or repeated `tool_use` %s", i, k, b.ID)
			}
			calls = append(calls, b.ID)
		case "tool_result":
			at := slices.Index(open, b.ToolUseID)
			if at < 0 || m.Role != "user" {
				return nil, invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message", i, k, b.ToolUseID)
			}
			if k > 0 && m.Content[k-1].Type != "tool_result" {
				return nil, invalid("messages.%d.content.%d: `tool_result` blocks must come first in the content", i, k)
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	if len(open) > 0 {
		return nil, invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i-1,
			strings.Join(open, ", "))
	}
	return calls, nil
}

// toolName is what the API takes for the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// checkTools checks names, and schemas where the tool is the client's own.
func checkTools(q *request) *apiError {
	seen := map[string]bool{}
	for i, t := range q.Tools {
		switch {
		case t.Name == "":
			return invalid("tools.%d.name: Field required", i)
		case !toolName.MatchString(t.Name):
			return invalid("tools.%d.name: String should match pattern '%s'", i, toolName)
		case !defined(&t):
			return invalid("tools.%d.input_schema: Input should be an object", i)
		case seen[t.Name]:
			return invalid("tools: Tool names must be unique: %s", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// defined reports whether a tool is one of the provider's or has a schema that is
// an object.
func defined(t *api.Tool) bool {
	var rest struct {
		Type string `json:"type"`
	}
	if len(t.Rest) > 0 && json.Unmarshal(t.Rest, &rest) != nil {
		return false
	}
	return len(t.InputSchema) > 0 && t.InputSchema.Kind() == '{' || rest.Type != "" && rest.Type != "custom"
}

// checkMarkers checks the number of breakpoints, their types, and that those of
// an hour come first.
func checkMarkers(q *request) *apiError {
	n, short := 0, false
	var wrong *apiError
	check := func(c *api.CacheControl, format string, args ...any) {
		if c == nil || wrong != nil {
			return
		}
		n++
		at := fmt.Sprintf(format, args...) + ".cache_control"
		switch {
		case c.Type != "ephemeral":
			wrong = invalid("%s.type: only ephemeral is known, not %q", at, c.Type)
		case c.TTL != "" && c.TTL != "5m" && c.TTL != "1h":
			wrong = invalid("%s.ttl: %q is neither 5m nor 1h", at, c.TTL)
		case c.TTL == "1h" && short:
			wrong = invalid("%s.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block", at)
		}
		short = short || c.TTL != "1h"
	}
	for i := range q.Tools {
		check(q.Tools[i].CacheControl, "tools.%d", i)
	}
	for i := range q.System {
		check(q.System[i].CacheControl, "system.%d", i)
	}
	for i := range q.Messages {
		for k := range q.Messages[i].Content {
			check(q.Messages[i].Content[k].CacheControl, "messages.%d.content.%d", i, k)
		}
	}
	if q.CacheControl != nil {
		n++
	}
	if wrong == nil && n > maxMarkers {
		wrong = invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarkers, n)
	}
	return wrong
}

// leastBudget is the smallest budget of thinking, tokens, as documented.
const leastBudget = 1024

// thinks reports whether a request asks for thinking.
func thinks(q *api.Request) bool {
	return q.Thinking != nil && (q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive")
}

// checkThinking checks what a request says of thinking and effort. Thinking that
// adapts itself came with the models of 4.6, budgets went with those of 4.7; effort
// came with Opus 4.5.
func checkThinking(q *request) *apiError {
	version, known := api.Version(q.Model)
	t := api.Thinking{}
	if q.Thinking != nil {
		t = *q.Thinking
	}
	switch t.Type {
	case "enabled":
		switch {
		case known && version >= 4.7:
			return invalid(`"thinking.type.enabled" is not supported for this model. ` +
				`Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`)
		case t.Budget == nil:
			return invalid("thinking.enabled.budget_tokens: Field required")
		case *t.Budget < leastBudget:
			return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to %d", leastBudget)
		case *t.Budget >= *q.MaxTokens:
			return invalid("`max_tokens` must be greater than `thinking.budget_tokens`")
		}
		if e := checkThought(q); e != nil {
			return e
		}
	case "adaptive":
		switch {
		case t.Budget != nil:
			return invalid("thinking.adaptive.budget_tokens: Extra inputs are not permitted")
		case known && version < 4.6:
			return invalid("adaptive thinking is not supported on this model")
		}
	case "disabled":
	default:
		if q.Thinking != nil {
			return invalid("thinking: Input tag %q does not match any of the expected tags", t.Type)
		}
	}
	e := ""
	if q.OutputConfig != nil {
		e = q.OutputConfig.Effort
	}
	switch {
	case e != "" && !slices.Contains(api.Efforts(), e):
		return invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case e != "" && known && version < 4.6 && !strings.HasPrefix(q.Model, "claude-opus-4-5"):
		return invalid("This model does not support the effort parameter.")
	}
	return nil
}

// checkThought refuses thinking with a budget where the tool calls that are
// answered last have lost the thinking that led to them.
func checkThought(q *request) *apiError {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		m := &q.Messages[i]
		if m.Role != "assistant" || len(m.Content) == 0 {
			continue
		}
		calls := slices.ContainsFunc(m.Content, func(b api.Block) bool { return b.Type == "tool_use" })
		if first := m.Content[0].Type; calls && first != "thinking" && first != "redacted_thinking" {
			return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
				"When `thinking` is enabled, a final `assistant` message must start with a thinking block", i, first)
		}
		return nil
	}
	return nil
}
