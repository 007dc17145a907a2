package gemini

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// record is a line, or a message of a document.
type record struct {
	header
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Timestamp string         `json:"timestamp"`
	Content   jsontext.Value `json:"content"` // a string, or parts
	Model     string         `json:"model"`
	Thoughts  []thought      `json:"thoughts"`
	Calls     []toolCall     `json:"toolCalls"`
	Tokens    *tokens        `json:"tokens"`
	Set       *struct {
		Messages []record `json:"messages"`
	} `json:"$set"`
	Rewind   string         `json:"$rewindTo"`
	Messages jsontext.Value `json:"messages"` // of a whole session
}

// thought is a part of the model's thinking, as it was shown.
type thought struct {
	Subject     string `json:"subject"`
	Description string `json:"description"`
	Timestamp   string `json:"timestamp"`
}

// toolCall is the call of a tool with its result.
type toolCall struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Args      jsontext.Value `json:"args"`
	Result    jsontext.Value `json:"result"`
	Status    string         `json:"status"`
	Timestamp string         `json:"timestamp"` // of the result
	Agent     string         `json:"agentId"`   // of the sub-agent that the call started
}

// tokens are the counts of a call. Input holds what was read from the cache,
// output does not hold thoughts, and tool is input of the server's own tools.
type tokens struct {
	Input    assembly.Count `json:"input"`
	Output   assembly.Count `json:"output"`
	Cached   assembly.Count `json:"cached"`
	Thoughts assembly.Count `json:"thoughts"`
	Tool     assembly.Count `json:"tool"`
	Total    assembly.Count `json:"total"`
}

// part is one part of a content.
type part struct {
	Text     string                     `json:"text"`
	Inline   *blob                      `json:"inlineData"`
	File     *blob                      `json:"fileData"`
	Call     *assembly.FunctionCall     `json:"functionCall"`
	Response *assembly.FunctionResponse `json:"functionResponse"`
}

func (p *part) text() *string { return &p.Text }

// blob is a file that was sent.
type blob struct {
	Mime string `json:"mimeType"`
	Data string `json:"data"`
	URI  string `json:"fileUri"`
}

// mark is what tells a message from another one.
type mark struct {
	typ, timestamp uint64 // 64 bits of their digests, 0 for none
	tokens         *tokens
}

// digest returns 64 bits of the digest of a text, 0 for none.
func digest(text string) uint64 {
	if text == "" {
		return 0
	}
	return prompt.DigestString(text).Lo
}

// markOf returns the mark of an entry, a zero one for a copy.
func (f *file) markOf(i int32) (m mark) {
	if int(i) < len(f.latest) {
		m = f.latest[i]
	}
	return m
}

// repeats reports whether a record with the id of an earlier message is what that
// has become: they have one time, or the same counts.
func (r *record) repeats(m mark) bool {
	return digest(r.Type) == m.typ && (digest(r.Timestamp) == m.timestamp || r.Tokens != nil && m.tokens != nil && *r.Tokens == *m.tokens)
}

// steps returns the steps of a message, and whether its type is known.
func (r *record) steps(mk assembly.Maker, at int64) (steps []assembly.Step, known bool) {
	switch r.Type {
	case "user":
		return []assembly.Step{{Kind: assembly.StepInput, At: at, Blocks: blocksOf(mk, r.Content, prompt.KindPrompt)}}, true
	case "gemini":
		return r.answer(mk, at), true
	case "info", "error", "warning":
		return nil, true
	}
	return nil, false
}

// answer returns the steps of a message of the model, written when its text had ended. The results of its tools came later.
func (r *record) answer(mk assembly.Maker, at int64) []assembly.Step {
	reply := assembly.Step{Kind: assembly.StepReply, At: at, ID: r.ID, Model: r.Model}
	for _, t := range r.Thoughts {
		reply.Blocks = append(reply.Blocks, mk.Text(prompt.KindThinking, t.Subject+"\n"+t.Description))
		if begun := assembly.Time([]byte(t.Timestamp)); begun != 0 && begun < at {
			reply.First = assembly.Earlier(reply.First, begun)
		}
	}
	reply.Blocks = append(reply.Blocks, blocksOf(mk, r.Content, prompt.KindText)...)
	result := assembly.Step{Kind: assembly.StepResult}
	for i := range r.Calls {
		c := &r.Calls[i]
		id := assembly.CallID(c.ID)
		reply.Blocks = append(reply.Blocks, mk.Use(id, c.Name, assembly.Inline(c.Args)))
		if c.Result.Kind() == '[' {
			text, image := resultOf(mk, c.Result)
			result.Blocks = append(result.Blocks, mk.Result(id, text, c.Status == "error" || c.Status == "cancelled", image))
			result.At = max(result.At, assembly.Time([]byte(c.Timestamp)))
		}
	}
	steps := []assembly.Step{reply}
	if r.Tokens != nil {
		u := r.Tokens.usage()
		steps = append(steps, assembly.Step{Kind: assembly.StepCount, At: at, Model: r.Model, Usage: u, Final: u.OK})
	}
	if len(result.Blocks) > 0 {
		result.At = max(result.At, at)
		steps = append(steps, result)
	}
	return steps
}

// usage splits the counts of a call into disjoint classes.
func (t *tokens) usage() assembly.Usage {
	if t.Cached.N > t.Input.N || t.Tool.N < 0 || t.Thoughts.N < 0 {
		return assembly.Usage{Reasoning: -1, Bad: true}
	}
	input, output := t.Input, t.Output
	if input.N >= 0 {
		input.N += t.Tool.N - t.Cached.N
	}
	if output.N >= 0 {
		output.N += t.Thoughts.N
	}
	return assembly.Counts(input, t.Cached, assembly.Count{Logged: true}, output, t.Total, t.Thoughts.N)
}

// copies returns the blocks of a message of a new history, which has calls of tools and their results among its parts; kind is the
// kind of its texts, KindText where they are what they were: a person's or the model's.
func (r *record) copies(mk assembly.Maker, kind prompt.Kind) []assembly.Block {
	if kind == prompt.KindText && r.Type == "user" {
		kind = prompt.KindPrompt
	}
	var list []assembly.Block
	for _, p := range assembly.PartsOf(mk, r.Content, (*part).text) {
		switch {
		case p.Call != nil:
			list = append(list, mk.Use(assembly.CallID(p.Call.ID), p.Call.Name, p.Call.Args))
		case p.Response != nil:
			list = append(list, mk.Result(assembly.CallID(p.Response.ID), p.Response.Said.Text(), false, false))
		default:
			list = p.add(mk, list, kind)
		}
	}
	return list
}

// blocksOf returns the blocks of a content, a string or a list; kind is the kind of its texts. Calls of tools and their results
// stand outside a content too, and are read there.
func blocksOf(mk assembly.Maker, v jsontext.Value, kind prompt.Kind) (list []assembly.Block) {
	for _, p := range assembly.PartsOf(mk, v, (*part).text) {
		list = p.add(mk, list, kind)
	}
	return list
}

// add adds the block of a text, an image or a document.
func (p *part) add(mk assembly.Maker, list []assembly.Block, kind prompt.Kind) []assembly.Block {
	b := cmp.Or(p.Inline, p.File)
	switch {
	case p.Text != "":
		return append(list, mk.Text(kind, p.Text))
	case b == nil:
		return list
	case strings.HasPrefix(b.Mime, "image/"):
		kind = prompt.KindImage
	default:
		kind = prompt.KindDocument
	}
	return append(list, mk.Text(kind, b.Data+b.URI))
}

// resultOf returns the text of a tool's result and whether it has an image.
func resultOf(mk assembly.Maker, v jsontext.Value) (text string, image bool) {
	var texts []string // most have one, which is not copied
	for _, p := range assembly.PartsOf(mk, v, (*part).text) {
		image = image || p.Inline != nil && strings.HasPrefix(p.Inline.Mime, "image/")
		if p.Response == nil {
			texts = append(texts, p.Text)
			continue
		}
		_, more := resultOf(mk, p.Response.Parts)
		texts, image = append(texts, p.Response.Said.Text()), image || more
	}
	return strings.Join(texts, ""), image
}
