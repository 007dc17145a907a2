package devserver

import (
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/api"
)

// Documented defaults.
const (
	clearTrigger   = 100_000
	clearKeep      = 3
	compactTrigger = 150_000
	compactLeast   = 50_000
)

// maxInstructions is the longest text of instructions for a compaction on demand,
// characters.
const maxInstructions = 16_384

// checkEdits reads the edits that a request declares, and returns what the API
// would refuse of them and of a compaction on demand.
func checkEdits(q *request, betas []string) *apiError {
	if q.Compaction != nil {
		switch {
		case !slices.Contains(betas, api.BetaOnDemand):
			return invalid("compaction: Extra inputs are not permitted")
		case utf8.RuneCountInString(q.Compaction.Instructions) > maxInstructions:
			return invalid("compaction.instructions: String should have at most %d characters", maxInstructions)
		case q.Compaction.Type != "summarize":
			return invalid("compaction.type: unknown type %q", q.Compaction.Type)
		case len(q.ContextManagement) > 0:
			return invalid("compaction: cannot be combined with context_management")
		}
	}
	var declared struct {
		Edits []api.Edit `json:"edits"`
	}
	if len(q.ContextManagement) == 0 {
		return nil
	}
	if err := json.Unmarshal(q.ContextManagement, &declared); err != nil {
		return invalid("context_management: %v", err)
	}
	q.edits = declared.Edits
	for i, e := range q.edits {
		need := api.BetaEditing
		switch e.Type {
		case api.EditTools:
		case api.EditThinking:
			if i > 0 {
				return invalid("context_management.edits.%d: %s must be listed first", i, e.Type)
			}
			if !thinks(&q.Request) {
				return invalid("`%s` strategy requires `thinking` to be enabled or adaptive", e.Type)
			}
		case api.EditCompact:
			need = api.BetaCompact
			if e.Trigger != nil && (e.Trigger.Type != "input_tokens" || e.Trigger.Value < compactLeast) {
				return invalid("context_management.edits.%d.trigger: want input_tokens of at least %d", i, compactLeast)
			}
		default:
			return invalid("context_management.edits.%d.type: unknown type %q", i, e.Type)
		}
		if !slices.Contains(betas, need) {
			return invalid("context_management: Extra inputs are not permitted")
		}
	}
	return nil
}

// compacts returns the edit by which a prompt is compacted, nil for none.
func (q *request) compacts(tokens int64) *api.Edit {
	for i := range q.edits {
		e := &q.edits[i]
		trigger := int64(compactTrigger)
		if e.Trigger != nil {
			trigger = e.Trigger.Value
		}
		if e.Type == api.EditCompact && tokens >= trigger {
			return e
		}
	}
	return nil
}

// since returns the messages from the newest compaction on: the API ignores
// everything ahead of it. A compaction without content is no compaction.
func since(messages []api.Message) []api.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		for k := len(messages[i].Content) - 1; k >= 0; k-- {
			if b := &messages[i].Content[k]; b.Type == "compaction" && len(b.Content) > 0 {
				rest := append([]api.Message{{Role: messages[i].Role, Content: messages[i].Content[k:]}}, messages[i+1:]...)
				return rest
			}
		}
	}
	return messages
}

// clear makes the edits that clear, and returns the messages that are left.
func (q *request) clear(messages []api.Message, tokens int64) ([]api.Message, []api.AppliedEdit) {
	var done []api.AppliedEdit
	for i := range q.edits {
		e := &q.edits[i]
		var a *api.AppliedEdit
		switch e.Type {
		case api.EditTools:
			messages, a = clearTools(e, messages, tokens)
		case api.EditThinking:
			messages, a = clearThinking(e, messages)
		}
		if a != nil {
			done = append(done, *a)
			tokens -= a.InputTokens
		}
	}
	return messages, done
}

// cleared is what a cleared tool result holds.
const cleared = "[cleared to save context]"

func clearTools(e *api.Edit, messages []api.Message, tokens int64) ([]api.Message, *api.AppliedEdit) {
	names, ids := map[string]string{}, []string{} // of tool calls, and those that have results
	for i := range messages {
		for k := range messages[i].Content {
			switch b := &messages[i].Content[k]; b.Type {
			case "tool_use":
				names[b.ID] = b.Name
			case "tool_result":
				if !slices.Contains(e.ExcludeTools, names[b.ToolUseID]) && b.Content.Joined() != cleared {
					ids = append(ids, b.ToolUseID)
				}
			}
		}
	}
	if !triggered(e, tokens, int64(len(names))) {
		return messages, nil
	}
	ids = ids[:max(len(ids)-int(kept(e, clearKeep)), 0)]
	out, freed := make([]api.Message, len(messages)), int64(0)
	for i := range messages {
		out[i] = api.Message{Role: messages[i].Role, Content: slices.Clone(messages[i].Content)}
		for k := range out[i].Content {
			b := &out[i].Content[k]
			before := tokensOfBlock(b)
			switch {
			case b.Type == "tool_result" && slices.Contains(ids, b.ToolUseID):
				b.Content = api.Text(cleared)
			case b.Type == "tool_use" && clearsInput(e, b.Name) && slices.Contains(ids, b.ID):
				b.Input = jsontext.Value("{}")
			}
			freed += before - tokensOfBlock(b)
		}
	}
	if len(ids) == 0 || e.ClearAtLeast != nil && freed < e.ClearAtLeast.Value {
		return messages, nil
	}
	n := int64(len(ids))
	return out, &api.AppliedEdit{Type: e.Type, ToolUses: &n, InputTokens: freed}
}

// clearsInput reports whether the input of a tool's calls goes with their
// results.
func clearsInput(e *api.Edit, tool string) bool {
	var names []string
	if json.Unmarshal(e.ClearToolInputs, &names) == nil {
		return slices.Contains(names, tool)
	}
	return string(e.ClearToolInputs) == "true"
}

func triggered(e *api.Edit, tokens, uses int64) bool {
	switch {
	case e.Trigger == nil:
		return tokens > clearTrigger
	case e.Trigger.Type == "tool_uses":
		return uses > e.Trigger.Value
	}
	return tokens > e.Trigger.Value
}

// kept returns how many to keep; all is as many as there may be.
func kept(e *api.Edit, otherwise int64) int64 {
	var a api.Amount
	switch {
	case len(e.Keep) == 0:
		return otherwise
	case json.Unmarshal(e.Keep, &a) != nil:
		return 1 << 30
	}
	return a.Value
}

// clearThinking drops thinking from all but the last turns of the assistant.
func clearThinking(e *api.Edit, messages []api.Message) ([]api.Message, *api.AppliedEdit) {
	keep, turns := kept(e, 1<<30), int64(0)
	out, n, freed := slices.Clone(messages), int64(0), int64(0)
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != "assistant" {
			continue
		}
		var left api.Content
		lost := int64(0)
		for _, b := range messages[i].Content {
			if b.Type == "thinking" || b.Type == "redacted_thinking" {
				lost += tokensOfBlock(&b)
				continue
			}
			left = append(left, b)
		}
		if lost == 0 {
			continue
		}
		if turns++; turns > keep {
			out[i].Content = left
			n++
			freed += lost
		}
	}
	if n == 0 {
		return messages, nil
	}
	return out, &api.AppliedEdit{Type: e.Type, Turns: &n, InputTokens: freed}
}
