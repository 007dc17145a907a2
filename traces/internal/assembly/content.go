package assembly

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/jsonscan"
	"github.com/go-json-experiment/json/jsontext"
)

// Maker makes blocks of what formats of JSON objects hold.
type Maker struct {
	Keep    bool            // blocks keep their texts
	Ear     traces.Listener // hears texts; nil for none
	Unknown map[string]int  // counts types of content that make no block; nil to count none
}

// Say gives a block its text, if it is kept or heard.
func (m Maker) Say(b *Block, t traces.Text) {
	if m.Keep {
		b.Text = &t
	}
	if m.Ear != nil {
		b.Heard = m.Ear.Hear(b.Kind, &t)
	}
}

// Skip counts content of a type the reader does not know.
func (m Maker) Skip(typ string) {
	if m.Unknown != nil {
		m.Unknown["message/"+typ]++
	}
}

// Text returns a block of text.
func (m Maker) Text(k prompt.Kind, text string) Block {
	b := Block{Block: prompt.Block{
		Digest: BlockDigest(k, prompt.DigestString(text)), Bytes: int32(min(len(text), 1<<31-1)), Object: -1, Kind: k,
	}}
	m.Say(&b, traces.Text{Text: text})
	return b
}

// Added returns a block of text that the client added.
func (m Maker) Added(text string) Block {
	b := m.Text(prompt.KindAttachment, text)
	b.Flags |= prompt.FlagMeta
	return b
}

// Use returns a tool call, whose id pairs it with its result.
func (m Maker) Use(id prompt.Digest, name string, input jsontext.Value) Block {
	b := m.Text(prompt.KindToolUse, string(jsonscan.Plain(input)))
	b.Digest = b.Digest.Extend(prompt.DigestString(name)).Extend(id)
	b.Tool, b.ID, b.Op = name, id, opOf(name)
	b.Bytes += int32(len(name))
	var args struct {
		Path     string `json:"path"`
		FilePath string `json:"filePath"`
		Snake    string `json:"file_path"`
		Agent    string `json:"subagent_type"`
		Prompt   string `json:"prompt"`
	}
	if Decode(input, &args) == nil {
		b.Object = args.Path + args.FilePath + args.Snake
		if b.Op == op.Agent {
			b.Task = &Task{AgentType: args.Agent, Prompt: Maker{}.Text(prompt.KindPrompt, args.Prompt).Digest}
		}
	}
	if strings.HasPrefix(name, "mcp__") {
		b.Flags |= prompt.FlagMCP
	}
	return b
}

// Arguments returns the input of a tool call where a text holds its JSON.
func Arguments(v jsontext.Value) jsontext.Value {
	var text string
	if v.Kind() == '"' && Decode(v, &text) == nil && jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
		return jsontext.Value(text)
	}
	return v
}

// Inline returns a value of an indented document as a client sends it: without the indentation, which would count as bytes.
func Inline(v jsontext.Value) jsontext.Value {
	if bytes.IndexByte(v, '\n') < 0 { // a string has none
		return v
	}
	v = v.Clone()
	_ = v.Compact() // what is no JSON stays as it is
	return v
}

// Literal returns a value as a client sends it as text: a text as it is, all else as JSON.
func Literal(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	var text string
	_ = Decode(v, &text) // a text of a line that was read
	return text
}

// Result returns the result of a tool call.
func (m Maker) Result(id prompt.Digest, text string, failed, image bool) Block {
	b := m.Text(prompt.KindToolResult, text)
	b.Digest = b.Digest.Extend(id)
	b.ID = id
	if failed {
		b.Flags |= prompt.FlagError
	}
	if image {
		b.Flags |= prompt.FlagImage
	}
	return b
}

// CallID returns the digest that pairs a tool call with its result, zero for a
// call without an id.
func CallID(id string) (d prompt.Digest) {
	if id != "" {
		d = prompt.DigestString(id)
	}
	return d
}

// opOf returns what a tool does to its object, by the names that most agents use.
func opOf(name string) op.Op {
	switch strings.ToLower(name) {
	case "read", "read_file", "view":
		return op.Read
	case "edit", "multiedit", "patch", "apply_patch", "replace", "editor":
		return op.Edit
	case "write", "write_file", "create":
		return op.Write
	case "bash", "shell", "run_shell_command", "run_commands":
		return op.Exec
	case "grep", "glob", "find", "ls", "list", "search", "grep_search", "list_directory":
		return op.Search
	case "webfetch", "websearch", "web_search", "fetch", "web_fetch", "google_web_search":
		return op.Fetch
	case "task", "subagent", "subagent_fork":
		return op.Agent
	}
	return op.None
}

// PartsOf returns the parts of a content: a list, one part, or a text, which goes to where text says. One that
// cannot be read is counted.
func PartsOf[P any](m Maker, v jsontext.Value, text func(*P) *string) (parts []P) {
	var err error
	switch v.Kind() {
	case '[':
		err = Decode(v, &parts)
	case '"':
		parts = make([]P, 1)
		err = Decode(v, text(&parts[0]))
	case '{':
		parts = make([]P, 1)
		err = Decode(v, &parts[0])
	}
	if err != nil {
		m.Skip("parts")
	}
	return parts
}

// Count is a logged count of tokens. The zero Count is one that the log does not have.
type Count struct {
	N      int64 // -1 for null and all else that is no whole number
	Logged bool
}

// Scan implements jsonscan.Scannable.
func (c *Count) Scan(s *jsonscan.Scanner) {
	n, err := strconv.ParseInt(string(s.Raw()), 10, 64)
	if err != nil {
		n = -1
	}
	*c = Count{n, true}
}

// Counts makes the usage of a call from disjoint counts and their sum, which some
// versions log. Counts that are missing, negative, absurd or contradict each other make
// it unusable; where all are zero, no call was made.
// Writes are assumed to live five minutes: neither pi nor OpenCode logs their lifetime.
func Counts(input, read, write, output, sum Count, reasoning int64) Usage {
	u := Usage{Reasoning: reasoning}
	for _, c := range [...]Count{input, read, write, output} {
		if !c.Logged || c.N < 0 || c.N > MaxTokens {
			u.Bad = true
			return u
		}
	}
	empty := input.N+read.N+write.N == 0
	if u.Bad = reasoning > output.N || empty && output.N > 0; u.Bad || empty {
		return u
	}
	u.OK, u.Assumed = true, write.N > 0
	u.Usage = prompt.Usage{Uncached: input.N, Read: read.N, Write5m: write.N, Output: output.N}
	u.Doubt = sum.Logged && sum.N != u.Input()+u.Output
	return u
}

// Decode reads JSON that need not be UTF-8. Invalid bytes are reported as a
// defect of their own, after everything else has been read. JSON in v shares the bytes of b.
func Decode(b []byte, v any) error { return jsonscan.Decode(b, v) }

// Late is a member of a line whose type decides whether it must be readable.
type Late[T any] struct {
	value T
	err   error
	there bool
}

// Scan implements jsonscan.Scannable.
func (l *Late[T]) Scan(s *jsonscan.Scanner) {
	from := *s
	s.Decode(&l.value)
	if l.there, l.err = true, s.Err(); l.err != nil {
		*s = from
		s.Skip()
	}
}

// Value returns the value, or what is wrong with it.
func (l *Late[T]) Value() (*T, error) {
	if !l.there {
		return &l.value, errMissing
	}
	return &l.value, l.err
}

var errMissing = errors.New("it has no data")

// TextsOf returns the texts that blocks keep.
func TextsOf(blocks []Block) []traces.Text {
	var list []traces.Text
	for i := range blocks {
		if t := blocks[i].Text; t != nil {
			t.Digest = blocks[i].Digest
			list = append(list, *t)
		}
	}
	return list
}

// Logged are the counts of a call as interfaces of models and their instrumentation name them. Reads
// and writes that are left out are none.
type Logged struct {
	Input, Output, Read, Write, Reasoning, Sum Count
	Hour, HalfHour, HalfDay                    Count // of the writes, by how long they are kept

	Apart bool // the input leaves out what was read and written
}

// Usage splits the counts into disjoint classes. An input that is less than what was read and written
// leaves these out where the sum says so.
func (l Logged) Usage() Usage {
	bad := Usage{Reasoning: -1, Bad: true}
	if min(l.Read.N, l.Write.N, l.Hour.N) < 0 || l.Hour.N > l.Write.N {
		return bad
	}
	l.Read.Logged, l.Write.Logged = true, true
	cached := l.Read.N + l.Write.N
	if l.Sum.Logged && l.Input.N < cached && l.Sum.N == l.Input.N+cached+l.Output.N {
		l.Apart = true
	}
	if !l.Apart && l.Input.N >= 0 {
		if l.Input.N -= cached; l.Input.N < 0 {
			return bad
		}
	}
	thought := int64(-1)
	if l.Reasoning.Logged && l.Reasoning.N >= 0 {
		thought = l.Reasoning.N
	}
	u := Counts(l.Input, l.Read, l.Write, l.Output, l.Sum, thought)
	if u.OK && l.Hour.Logged {
		u.Write5m, u.Write1h, u.Assumed = u.Write5m-l.Hour.N, l.Hour.N, false
	}
	if stated := l.HalfHour.N + l.HalfDay.N; u.OK && stated > 0 && stated == l.Write.N {
		u.Assumed, u.HalfDay = false, l.HalfDay.N > 0
	}
	return u
}

// ModelName returns the name of a model without its provider's name.
func ModelName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// CacheByModel returns the kind of cache of a model's provider, for clients
// that call several: Anthropic's cache for Anthropic's models, whoever sells
// them, else one that needs no markers.
func CacheByModel(model string) facts.Cache {
	if strings.Contains(model, "claude") {
		return facts.CacheMarked
	}
	return facts.CacheAutomatic
}

// FunctionCall is a tool call among the parts of a content of Google's interface, as Gemini CLI and Qwen Code log it.
type FunctionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

// FunctionResponse is the result of a tool among the parts of such a content.
type FunctionResponse struct {
	ID    string         `json:"id"`
	Said  FunctionOutput `json:"response"`
	Parts jsontext.Value `json:"parts"`
}

// FunctionOutput is what a tool said: its output, an error, or anything else.
type FunctionOutput struct {
	Output, Error string
	JSON          string // of the whole value, where it has no output that is a text
}

// Scan implements jsonscan.Scannable.
func (o *FunctionOutput) Scan(s *jsonscan.Scanner) {
	from, output := s.Offset(), false
	for name := range s.Members {
		switch {
		case string(name) == "output" && s.Peek() == '"':
			s.Decode(&o.Output)
			output = true
		case string(name) == "error" && s.Peek() == '"':
			s.Decode(&o.Error)
		default:
			s.Skip()
		}
	}
	if !output {
		o.JSON = string(s.From(from))
	}
}

// Text returns the output, or the whole value as JSON.
func (o *FunctionOutput) Text() string { return cmp.Or(o.JSON, o.Output) }
