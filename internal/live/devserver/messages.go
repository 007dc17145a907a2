package devserver

import (
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
)

// request is a request to the Messages API with what is read out of it.
type request struct {
	api.Request `json:",embed"`
	edits       []api.Edit
}

// answer is what a request is answered with.
type answer struct {
	id, model  string
	blocks     []api.AnswerBlock
	stop       string
	usage      wire.Usage // of the message: a compaction's is in its iteration only
	thinking   int64      // tokens of output that were thinking
	iterations []wire.Iteration
	edits      []api.AppliedEdit
	managed    bool // edits were declared
	writes     *pending
}

// messages answers POST /v1/messages.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	c := s.begin(w, r, false)
	if c == nil {
		return
	}
	q := &request{}
	if err := json.Unmarshal(c.body, &q.Request); err != nil {
		c.fail(invalid("the request is not valid: %v", err))
		return
	}
	c.body = nil
	if e := s.validate(r.Header, q); e != nil {
		c.fail(e)
		return
	}
	a, e := c.answer(q)
	if e != nil {
		c.fail(e)
		return
	}
	c.finish(a, q.Stream, a.response)
}

// finish waits for the first token and answers.
func (c *call) finish(a *answer, stream bool, form func() *response) {
	if !c.delay(c.server.options.Latency) {
		return
	}
	if a.writes != nil {
		a.writes.available()
	}
	c.server.bill(a)
	c.respond(form(), stream)
}

// answer works out what a valid request is answered with.
func (c *call) answer(q *request) (*answer, *apiError) {
	o := &c.server.options
	a := &answer{id: "msg_" + c.digest, model: q.Model, managed: len(q.ContextManagement) > 0}
	list := positionsOf(c.org, q, q.Messages)
	messages, edits := q.clear(q.Messages, total(list))
	a.edits = edits
	if len(a.edits) > 0 {
		list = positionsOf(c.org, q, messages)
	}
	if n := total(list); n > o.Window {
		return nil, tooLong(n, o.Window)
	} else if n+int64(*q.MaxTokens) > o.Window {
		return nil, invalid("input length and `max_tokens` exceed context limit: %d + %d > %d, "+
			"decrease input length or `max_tokens` and try again", n, *q.MaxTokens, o.Window)
	}
	if q.Compaction != nil {
		c.compact(a, q, messages, list)
		return a, nil
	}
	a.usage, a.writes = c.server.cache.begin(o.Now(), q.Model, list)
	c.speak(a, &q.Request, messages, lastText(messages))
	a.usage.Output = a.output()
	return a, nil
}

// lastText returns the last text of the last message.
func lastText(messages []api.Message) string {
	last := messages[len(messages)-1].Content
	for i := len(last) - 1; i >= 0; i-- {
		if last[i].Type == "text" {
			return last[i].TextOf()
		}
	}
	return ""
}

// compact answers with a compaction, whose pass over the prompt is in no usage but its own.
func (c *call) compact(a *answer, q *request, messages []api.Message, list []position) {
	u, w := c.server.cache.begin(c.server.options.Now(), q.Model, list)
	t := template{titles: nine, notes: make([]string, len(nine))}
	text := t.write(gather(messages), int64(c.server.options.SummaryTokens))
	u.Output = tokensOf(len(text))
	w.available()
	a.stop, a.iterations = "compaction", []wire.Iteration{{Type: "compaction", Usage: u}}
	b := api.AnswerBlock{Type: "compaction", Signature: new("dev" + c.digest)}
	b.Content, _ = jsontext.AppendQuote(nil, text)
	a.blocks = append(a.blocks, b)
}

// speak adds what the model says.
func (c *call) speak(a *answer, q *api.Request, messages []api.Message, instruction string) {
	a.stop = "end_turn"
	switch {
	case *q.MaxTokens == 0:
		a.stop = "max_tokens"
	case c.fault.is("empty"):
	case c.fault.is("refusal"):
		a.stop = "refusal"
	case c.fault.is("tool-call"):
		name := "Read"
		if len(q.Tools) > 0 {
			name = q.Tools[0].Name
		}
		a.blocks = append(a.blocks, api.AnswerBlock{
			Type: "tool_use", ID: "toolu_" + c.digest, Name: name, Input: jsontext.Value(`{"path":"README.md"}`),
		})
		a.stop = "tool_use"
	default:
		text, room := c.words(messages, instruction), int64(*q.MaxTokens)
		if thinks(q) && room > thoughtTokens {
			a.blocks = append(a.blocks,
				api.AnswerBlock{Type: "thinking", Thinking: new(thought), Signature: new("dev" + c.digest)})
			a.thinking = thoughtTokens
			room -= thoughtTokens
		}
		if limit := bytesOf(room); len(text) > limit {
			for limit > 0 && !utf8.RuneStart(text[limit]) {
				limit--
			}
			text, a.stop = text[:limit], "max_tokens"
		}
		a.blocks = append(a.blocks, api.AnswerBlock{Type: "text", Text: &text})
	}
}

// thought is what this server thinks, and thoughtTokens what it weighs.
const thought = "There is no model here, so nothing is thought: this stands for the thinking of one, and is as " +
	"long as a " +
	"short one may be, so that it can be told from the answer by what it weighs."

var thoughtTokens = tokensOf(len(thought))

// words returns a summary when the instruction asks for one.
func (c *call) words(messages []api.Message, instruction string) string {
	t := templateOf(instruction)
	if t == nil {
		return "This server has no model and has read the request " + c.digest + "."
	}
	// The instruction is no part of what is summarised.
	last := messages[len(messages)-1]
	var rest api.Content
	for _, b := range last.Content {
		if b.Type != "text" || b.TextOf() != instruction {
			rest = append(rest, b)
		}
	}
	messages = append(append([]api.Message{}, messages[:len(messages)-1]...), api.Message{Role: last.Role, Content: rest})
	return t.write(gather(messages), int64(c.server.options.SummaryTokens))
}

// output returns the tokens of what the model said, without compactions, which have passes of their own; one at
// least.
func (a *answer) output() int64 {
	n := 0
	for _, b := range a.blocks {
		if b.Text != nil {
			n += len(*b.Text)
		}
		n += len(b.Name) + len(b.Input)
	}
	return max(tokensOf(n), 1) + a.thinking
}

// usageOf returns a usage in the form of the API.
func usageOf(u wire.Usage) api.Usage {
	return api.Usage{
		Input: new(u.Uncached), Creation: new(u.Write5m + u.Write1h), Read: new(u.Read), Output: new(u.Output),
		Split: &api.CacheCreation{Write5m: u.Write5m, Write1h: u.Write1h},
	}
}

// response returns the answer in the form of the Messages API.
func (a *answer) response() *response {
	full := usageOf(a.usage)
	if a.thinking > 0 {
		full.Details = &api.OutputDetails{Thinking: a.thinking}
	}
	for _, it := range a.iterations {
		full.Iterations = append(full.Iterations, api.Iteration{Type: it.Type, Usage: usageOf(it.Usage)})
	}
	var managed *api.AppliedEdits
	if a.managed {
		managed = &api.AppliedEdits{Edits: a.edits}
	}
	whole := api.Answer{
		ID: a.id, Type: "message", Role: "assistant", Model: a.model, Content: a.blocks, StopReason: &a.stop,
		Usage: full, ContextManagement: managed,
	}
	start := whole
	start.Content, start.StopReason, start.ContextManagement, start.Usage = nil, nil, nil, usageOf(a.usage)
	start.Usage.Output = new(min(1, a.usage.Output))
	r := &response{whole: whole, head: 2}
	add := func(e api.Event) { r.events = append(r.events, event{e.Type, e}) }
	add(api.Event{Type: "message_start", Message: &start})
	add(api.Event{Type: "ping"})
	for i := range a.blocks {
		begin, deltas := pieces(&a.blocks[i])
		add(api.Event{Type: "content_block_start", Index: &i, Block: begin})
		for k := range deltas {
			add(api.Event{Type: "content_block_delta", Index: &i, Delta: &deltas[k]})
		}
		add(api.Event{Type: "content_block_stop", Index: &i})
	}
	end := api.AnswerBlock{StopReason: &a.stop}
	add(api.Event{Type: "message_delta", Delta: &end, Usage: &full, ContextManagement: managed})
	add(api.Event{Type: "message_stop"})
	flood := api.Event{Type: "content_block_delta", Index: new(int),
		Delta: &api.AnswerBlock{Type: "text_delta", Text: &floodText}}
	r.flood = event{flood.Type, flood}
	r.broken = event{"error", (&apiError{kind: "overloaded_error", message: "Overloaded"}).body()}
	return r
}

// pieces returns a content block as it begins in a stream, and the rest of it.
func pieces(b *api.AnswerBlock) (begin *api.AnswerBlock, deltas []api.AnswerBlock) {
	begin = &api.AnswerBlock{Type: b.Type, ID: b.ID, Name: b.Name, Signature: b.Signature}
	switch b.Type {
	case "text":
		begin.Text = new("")
		for _, part := range parts(*b.Text) {
			deltas = append(deltas, api.AnswerBlock{Type: "text_delta", Text: &part})
		}
	case "thinking":
		begin.Thinking, begin.Signature = new(""), nil
		deltas = []api.AnswerBlock{{Type: "thinking_delta", Thinking: b.Thinking},
			{Type: "signature_delta", Signature: b.Signature}}
	case "compaction":
		deltas = []api.AnswerBlock{{Type: "compaction_delta", Content: b.Content}}
	case "tool_use":
		begin.Input = jsontext.Value("{}")
		deltas = []api.AnswerBlock{{Type: "input_json_delta", PartialJSON: new(string(b.Input))}}
	}
	return begin, deltas
}

// Documented defaults.
const (
	clearTrigger = 100_000
	clearKeep    = 3
)

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

// clearsInput reports whether the input of a tool's calls goes with their results.
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
