package devserver

import (
	"net/http"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// answer is what a request is answered with.
type answer struct {
	id, model  string
	blocks     []outBlock
	stop       string
	usage      usage // of the message: a compaction's is in its iteration only
	thinking   int64 // tokens of output that were thinking
	iterations []iteration
	edits      []applied
	managed    bool // edits were declared
	writes     *pending
}

// outBlock is a content block of an answer.
type outBlock struct {
	Type    string         `json:"type"`
	Text    *string        `json:"text,omitzero"`
	Content *string        `json:"content,omitzero"`  // of a compaction
	Thought *string        `json:"thinking,omitzero"` // of thinking
	Sign    string         `json:"signature,omitzero"`
	ID      string         `json:"id,omitzero"`
	Name    string         `json:"name,omitzero"`
	Input   jsontext.Value `json:"input,omitzero"`
}

// iteration is one pass over the prompt.
type iteration struct {
	kind  string
	usage usage
}

// answer works out what a valid request is answered with.
func (c *call) answer(q *request) (*answer, *apiError) {
	a := &answer{id: "msg_" + c.digest, model: q.Model, managed: q.ContextManagement != nil}
	messages := since(q.Messages)
	list := positionsOf(c.org, q, messages)
	messages, a.edits = q.clear(messages, total(list))
	if len(a.edits) > 0 {
		list = positionsOf(c.org, q, messages)
	}
	if n, window := total(list), c.server.options.Window; n > window {
		return nil, tooLong(n, window, c.server.options.HideExcess)
	} else if n+int64(*q.MaxTokens) > window {
		return nil, invalid("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", n, *q.MaxTokens, window)
	}
	instruction := lastText(messages)
	if e := q.compacts(total(list)); e != nil || q.Compaction != nil {
		messages, list = c.compact(a, q, messages, list)
		if q.Compaction != nil || e.Pause {
			a.stop = "compaction"
			return a, nil
		}
	}
	u, w := c.server.cache.begin(c.server.options.Now(), q.Model, list)
	a.writes = w
	c.speak(a, q, messages, instruction)
	u.Output = a.output()
	a.usage = u
	if len(a.iterations) > 0 {
		a.iterations = append(a.iterations, iteration{"message", u})
	}
	return a, nil
}

func total(list []position) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].tokens
}

// lastText returns the last text of the last message.
func lastText(messages []message) string {
	last := messages[len(messages)-1].Content
	for i := len(last) - 1; i >= 0; i-- {
		if last[i].Type == "text" {
			return last[i].Text
		}
	}
	return ""
}

// compacts returns the edit by which a prompt is compacted, nil for none.
func (q *request) compacts(tokens int64) *edit {
	if q.ContextManagement == nil {
		return nil
	}
	for i := range q.ContextManagement.Edits {
		e := &q.ContextManagement.Edits[i]
		if e.Type != editCompact {
			continue
		}
		if e.Trigger == nil && tokens >= compactTrigger || e.Trigger != nil && tokens >= e.Trigger.Value {
			return e
		}
	}
	return nil
}

// compact makes a pass of its own over the prompt and returns what takes its
// place.
func (c *call) compact(a *answer, q *request, messages []message, list []position) ([]message, []position) {
	u, w := c.server.cache.begin(c.server.options.Now(), q.Model, list)
	t := template{titles: nine, notes: make([]string, len(nine))}
	text := t.write(gather(messages), int64(c.server.options.SummaryTokens))
	u.Output = tokensOf(len(text))
	w.available() // the pass over what takes its place comes after it
	a.iterations = append(a.iterations, iteration{"compaction", u})
	b := outBlock{Type: "compaction", Content: &text}
	if q.Compaction != nil {
		b.Sign = "dev" + c.digest
	}
	a.blocks = append(a.blocks, b)
	messages = []message{{Role: "assistant", Content: content{{Type: "compaction", Content: content{{Type: "text", Text: text}}}}}}
	return messages, positionsOf(c.org, q, messages)
}

// speak adds what the model says.
func (c *call) speak(a *answer, q *request, messages []message, instruction string) {
	a.stop = "end_turn"
	switch {
	case *q.MaxTokens == 0:
		a.stop = "max_tokens"
	case c.fault.is(FaultEmpty):
	case c.fault.is(FaultRefusal):
		a.stop = "refusal"
	case c.fault.is(FaultToolCall):
		name := "Read"
		if len(q.Tools) > 0 {
			name = q.Tools[0].Name
		}
		a.blocks = append(a.blocks, outBlock{Type: "tool_use", ID: "toolu_" + c.digest, Name: name, Input: jsontext.Value(`{"path":"README.md"}`)})
		a.stop = "tool_use"
	default:
		text, room := c.words(messages, instruction), int64(*q.MaxTokens)
		if q.thinks() && room > thoughtTokens {
			said := thought
			a.blocks = append(a.blocks, outBlock{Type: "thinking", Thought: &said, Sign: "dev" + c.digest})
			a.thinking = thoughtTokens
			room -= thoughtTokens
		}
		if limit := bytesOf(room); len(text) > limit {
			for limit > 0 && !utf8.RuneStart(text[limit]) {
				limit--
			}
			text, a.stop = text[:limit], "max_tokens"
		}
		a.blocks = append(a.blocks, outBlock{Type: "text", Text: &text})
	}
}

// words returns a summary when the instruction asks for one.
func (c *call) words(messages []message, instruction string) string {
	t := templateOf(instruction)
	if t == nil {
		return "This server has no model and has read the request " + c.digest + "."
	}
	// The instruction is no part of what is summarised.
	last := messages[len(messages)-1]
	var rest content
	for _, b := range last.Content {
		if b.Type != "text" || b.Text != instruction {
			rest = append(rest, b)
		}
	}
	messages = append(append([]message{}, messages[:len(messages)-1]...), message{Role: last.Role, Content: rest})
	return t.write(gather(messages), int64(c.server.options.SummaryTokens))
}

// output returns the tokens of what the model said; a compaction counts with its
// own pass. An answer without content takes a token.
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

// available makes what the answer's prompt wrote readable.
func (a *answer) available() {
	if a.writes != nil {
		a.writes.available()
	}
}

// messages answers POST /v1/messages.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	c := s.begin(w, r, r.Header.Get("X-Api-Key"), failMessages)
	if c == nil {
		return
	}
	q, e := parse(c.body)
	if e == nil {
		e = s.validate(r.Header, q)
	}
	if e != nil {
		failMessages(c, e)
		return
	}
	c.body = nil
	a, e := c.answer(q)
	if e != nil {
		failMessages(c, e)
		return
	}
	if !c.delay(s.options.Latency) {
		return
	}
	a.available()
	s.counts.bill(a)
	if q.Stream {
		c.stream(a)
		return
	}
	c.whole(a)
}
