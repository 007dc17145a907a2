package devserver

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
)

// leastBudget is the smallest budget of thinking, tokens, as documented.
const leastBudget = 1024

// thinking is what a request says of thinking.
type thinking struct {
	Type   string `json:"type"`
	Budget *int64 `json:"budget_tokens"`
}

// thinks reports whether a request asks for thinking.
func (q *request) thinks() bool {
	t := q.thinking()
	return t.Type == "enabled" || t.Type == "adaptive"
}

// thinking returns what a request says of it, zero for nothing or nonsense.
func (q *request) thinking() thinking {
	var t thinking
	if len(q.Thinking) > 0 && json.Unmarshal(q.Thinking, &t) != nil {
		return thinking{}
	}
	return t
}

// effort returns the effort that a request asks for.
func (q *request) effort() string {
	var c struct {
		Effort string `json:"effort"`
	}
	if len(q.OutputConfig) > 0 && json.Unmarshal(q.OutputConfig, &c) != nil {
		return ""
	}
	return c.Effort
}

// efforts are those that the API takes.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// checkThinking checks what a request says of thinking and effort. Thinking that
// adapts itself came with the models of 4.6, budgets went with those of 4.7; effort
// came with Opus 4.5.
func checkThinking(q *request) *apiError {
	version, known := versionOf(q.Model)
	t := q.thinking()
	switch t.Type {
	case "enabled":
		switch {
		case known && version >= 4.7:
			return invalid(`"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`)
		case t.Budget == nil:
			return invalid("thinking.enabled.budget_tokens: Field required")
		case *t.Budget < leastBudget:
			return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to %d", leastBudget)
		case *t.Budget >= int64(*q.MaxTokens):
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
		if len(q.Thinking) > 0 {
			return invalid("thinking: Input tag %q does not match any of the expected tags", t.Type)
		}
	}
	switch e := q.effort(); {
	case e != "" && !slices.Contains(efforts, e):
		return invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case e != "" && known && version < 4.6 && !opus45.MatchString(q.Model):
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
		calls := slices.ContainsFunc(m.Content, func(b block) bool { return b.Type == "tool_use" })
		if first := m.Content[0].Type; calls && first != "thinking" && first != "redacted_thinking" {
			return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", i, first)
		}
		return nil
	}
	return nil
}

var (
	modelVersion = regexp.MustCompile(`^claude-(?:[a-z]+-)?([0-9]+)(?:-([0-9]{1,2}))?(?:-|$)`)
	opus45       = regexp.MustCompile(`^claude-opus-4-5(-|$)`)
)

// versionOf returns the version in the name of one of the provider's models.
func versionOf(model string) (float64, bool) {
	m := modelVersion.FindStringSubmatch(model)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1]+"."+m[2]+"0", 64)
	return v, err == nil
}

// thought is what this server thinks, and thoughtTokens what it weighs.
const thought = "There is no model here, so nothing is thought: this stands for the thinking of one, and is as long as a short one may be, so that it can be told from the answer by what it weighs."

var thoughtTokens = tokensOf(len(thought))
