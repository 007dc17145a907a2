package devserver

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/api"
)

// Documented limits.
const (
	maxMarkers      = 4      // breakpoints of a request
	leastBudget     = 1024   // tokens of thinking
	maxInstructions = 16_384 // characters, of a compaction on demand
)

// checker keeps the first rule that a request breaks.
type checker struct {
	err     *apiError
	markers int  // breakpoints so far
	short   bool // one of them asks for five minutes
}

func (c *checker) refuse(broken bool, format string, args ...any) {
	if broken && c.err == nil {
		c.err = invalid(format, args...)
	}
}

// validate returns what the API would refuse, and reads the declared edits.
func (s *Server) validate(h http.Header, q *request) *apiError {
	var c checker
	c.refuse(h.Get("Anthropic-Version") == "", "anthropic-version: header is required")
	c.refuse(q.Model == "", "model: Field required")
	if c.err == nil && !s.knows(q.Model) {
		return &apiError{status: http.StatusNotFound, kind: "not_found_error", message: "model: " + q.Model}
	}
	c.refuse(q.MaxTokens == nil, "max_tokens: Field required")
	c.refuse(len(q.Messages) == 0, "messages: at least one message is required")
	if c.err != nil {
		return c.err
	}
	n, most := *q.MaxTokens, s.options.MaxOutput
	c.refuse(n < 0 || n == 0 && q.Stream, "max_tokens: %d is out of range", n)
	c.refuse(n > most, "max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s",
		n, most, q.Model)
	c.tools(q.Tools)
	for i := range q.System {
		c.block(&q.System[i], fmt.Sprintf("system.%d", i))
	}
	c.messages(q.Messages)
	c.refuse(c.markers > maxMarkers, "A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarkers,
		c.markers)
	c.thinking(q)
	all := strings.Join(h.Values("Anthropic-Beta"), ",")
	c.edits(q, strings.FieldsFunc(all, func(r rune) bool { return r == ',' || r == ' ' }))
	return c.err
}

// messages checks roles, content and the pairs of tool calls and results. Unlike real servers it refuses
// neighbouring messages of one role: a client that sends them has lost track.
func (c *checker) messages(list []api.Message) {
	const unanswered = "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s"
	var open []string // ids of calls that the message before made
	for i, m := range list {
		c.refuse(m.Role != "user" && m.Role != "assistant", "messages.%d.role: %q is neither user nor assistant", i, m.Role)
		c.refuse(i == 0 && m.Role != "user", "messages: first message must use the user role")
		c.refuse(i > 0 && m.Role == list[max(i, 1)-1].Role, "messages: roles must alternate between user and assistant, "+
			"but found multiple %q roles in a row at %d", m.Role, i)
		c.refuse(len(m.Content) == 0, "messages.%d: all messages must have non-empty content", i)
		var calls []string
		for k := range m.Content {
			b, at := &m.Content[k], fmt.Sprintf("messages.%d.content.%d", i, k)
			c.block(b, at)
			switch b.Type {
			case "tool_use":
				c.refuse(m.Role != "assistant" || slices.Contains(calls, b.ID), "%s: misplaced or repeated `tool_use` %s", at, b.ID)
				calls = append(calls, b.ID)
			case "tool_result":
				call := slices.Index(open, b.ToolUseID)
				c.refuse(call < 0 || m.Role != "user", "%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each "+
					"`tool_result` block must have a corresponding `tool_use` block in the previous message", at, b.ToolUseID)
				c.refuse(k > 0 && m.Content[max(k, 1)-1].Type != "tool_result",
					"%s: `tool_result` blocks must come first in the content", at)
				if call >= 0 {
					open = slices.Delete(open, call, call+1)
				}
			}
		}
		c.refuse(len(open) > 0, unanswered, i-1, strings.Join(open, ", "))
		open = calls
	}
	last := len(list) - 1
	c.refuse(len(open) > 0, unanswered, last, strings.Join(open, ", "))
	c.refuse(list[last].Role != "user", "messages: the conversation must end with a user message")
}

func (c *checker) block(b *api.Block, at string) {
	c.marker(b.CacheControl, at)
	switch b.Type {
	case "text":
		c.refuse(b.TextOf() == "", "%s: text content blocks must be non-empty", at)
		c.refuse(strings.TrimSpace(b.TextOf()) == "", "%s: text content blocks must contain non-whitespace text", at)
	case "tool_use":
		c.refuse(b.ID == "" || b.Name == "" || b.Input.Kind() != '{',
			"%s: tool_use needs an id, a name and an input that is an object", at)
	case "tool_result":
		c.refuse(b.ToolUseID == "", "%s.tool_use_id: Field required", at)
	case "thinking", "redacted_thinking":
		c.refuse(b.CacheControl != nil, "%s: cache_control cannot be set on %s blocks", at, b.Type)
	case "image", "document":
	default:
		c.refuse(true, "%s.type: unknown type %q", at, b.Type)
	}
}

// toolName is what the API takes for the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// tools checks names, and schemas where the tool is the client's own.
func (c *checker) tools(list []api.Tool) {
	seen := map[string]bool{}
	for i, t := range list {
		var rest struct {
			Type string `json:"type"`
		}
		if len(t.Rest) > 0 {
			c.refuse(json.Unmarshal(t.Rest, &rest) != nil, "tools.%d.type: Input should be a string", i)
		}
		own := rest.Type == "" || rest.Type == "custom"
		c.refuse(!toolName.MatchString(t.Name), "tools.%d.name: String should match pattern '%s'", i, toolName)
		c.refuse(own && t.InputSchema.Kind() != '{', "tools.%d.input_schema: Input should be an object", i)
		c.marker(t.CacheControl, fmt.Sprintf("tools.%d", i))
		c.refuse(seen[t.Name], "tools: Tool names must be unique: %s", t.Name)
		seen[t.Name] = true
	}
}

// marker checks a breakpoint: its type, and that those of an hour come first.
func (c *checker) marker(m *api.CacheControl, at string) {
	if m == nil {
		return
	}
	_, known := lifetimes[m.TTL]
	c.refuse(m.Type != "ephemeral", "%s.cache_control.type: only ephemeral is known, not %q", at, m.Type)
	c.refuse(m.TTL != "" && !known, "%s.cache_control.ttl: %q is neither 5m nor 1h", at, m.TTL)
	c.refuse(m.TTL == "1h" && c.short, "%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a "+
		"ttl='5m' cache_control block", at)
	c.markers++
	c.short = c.short || m.TTL != "1h"
}

// thinks reports whether a request asks for thinking.
func thinks(q *api.Request) bool {
	return q.Thinking != nil && (q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive")
}

// thinking checks thinking and effort. Adaptive thinking came with the models of 4.6, budgets went with 4.7; effort
// came with Opus 4.5.
func (c *checker) thinking(q *request) {
	takes, _ := api.AbilityOf(q.Model)
	if t := q.Thinking; t != nil {
		switch t.Type {
		case "enabled":
			c.refuse(!takes.Budget, `"thinking.type.enabled" is not supported for this model. `+
				`Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`)
			c.refuse(t.Budget == nil, "thinking.enabled.budget_tokens: Field required")
			if t.Budget != nil {
				c.refuse(*t.Budget < leastBudget, "thinking.enabled.budget_tokens: Input should be greater than or equal to %d",
					leastBudget)
				c.refuse(*t.Budget >= *q.MaxTokens, "`max_tokens` must be greater than `thinking.budget_tokens`")
			}
			c.thought(q.Messages)
		case "adaptive":
			c.refuse(t.Budget != nil, "thinking.adaptive.budget_tokens: Extra inputs are not permitted")
			c.refuse(!takes.Adaptive, "adaptive thinking is not supported on this model")
		case "disabled":
		default:
			c.refuse(true, "thinking: Input tag %q does not match any of the expected tags", t.Type)
		}
	}
	if o := q.OutputConfig; o != nil && o.Effort != "" {
		c.refuse(!slices.Contains(api.Efforts(), o.Effort),
			"output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
		c.refuse(!takes.Effort, "This model does not support the effort parameter.")
	}
}

// thought refuses a budget where the tool calls answered last have lost the thinking that led to them.
func (c *checker) thought(list []api.Message) {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role != "assistant" || len(list[i].Content) == 0 {
			continue
		}
		first := list[i].Content[0].Type
		calls := slices.ContainsFunc(list[i].Content, func(b api.Block) bool { return b.Type == "tool_use" })
		c.refuse(calls && !strings.HasSuffix(first, "thinking"), "messages.%d.content.0.type: Expected `thinking` or "+
			"`redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a "+
			"thinking block", i, first)
		return
	}
}

// edits reads the declared edits, and checks them and a compaction on demand.
func (c *checker) edits(q *request, betas []string) {
	const extra = "%s: Extra inputs are not permitted"
	if o := q.Compaction; o != nil {
		c.refuse(!slices.Contains(betas, api.BetaOnDemand), extra, "compaction")
		c.refuse(utf8.RuneCountInString(o.Instructions) > maxInstructions,
			"compaction.instructions: String should have at most %d characters", maxInstructions)
		c.refuse(o.Type != "summarize", "compaction.type: unknown type %q", o.Type)
		c.refuse(len(q.ContextManagement) > 0, "compaction: cannot be combined with context_management")
	}
	var declared struct {
		Edits []api.Edit `json:"edits"`
	}
	if len(q.ContextManagement) == 0 {
		return
	}
	err := json.Unmarshal(q.ContextManagement, &declared)
	c.refuse(err != nil, "context_management: %v", err)
	q.edits = declared.Edits
	for i, e := range q.edits {
		switch e.Type {
		case api.EditTools:
		case api.EditThinking:
			c.refuse(i > 0, "context_management.edits.%d: %s must be listed first", i, e.Type)
			c.refuse(!thinks(&q.Request), "`%s` strategy requires `thinking` to be enabled or adaptive", e.Type)
		default:
			c.refuse(true, "context_management.edits.%d.type: unknown type %q", i, e.Type)
		}
		c.refuse(!slices.Contains(betas, api.BetaEditing), extra, "context_management")
	}
}
