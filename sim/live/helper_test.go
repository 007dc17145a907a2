package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/texts"
)

// script builds a session and the context of a call over it.
type script struct {
	session  traces.Session
	arena    prompt.Arena
	context  prompt.Context
	contents []texts.Content
	calls    int32
}

func newScript(id string) *script {
	s := &script{session: traces.Session{
		ID: id, Agent: "claude-code", Tools: []string{"", "Read", "Bash"}, Objects: []string{"/src/a.go", "/src/b.go"},
	}}
	s.block(prompt.Block{Kind: prompt.KindTools, Tokens: 200}, texts.Content{Filler: true})
	s.block(prompt.Block{Kind: prompt.KindSystem, Tokens: 300}, texts.Content{Filler: true})
	return s
}

// block adds a block of the recording; a text weighs a token for each four
// bytes unless the block says otherwise.
func (s *script) block(b prompt.Block, c texts.Content) {
	if b.Object == 0 && b.Op == op.None {
		b.Object = -1
	}
	b.Bytes = int32(len(c.Text) + len(c.Input))
	if b.Tokens == 0 {
		b.Tokens = b.Bytes/bytesPerToken + 1
	}
	b.Line = 1
	b.Digest = prompt.DigestString(fmt.Sprint(s.session.ID, len(s.contents), c.Text, string(c.Input)))
	s.session.Blocks = append(s.session.Blocks, b)
	s.contents = append(s.contents, c)
}

func (s *script) say(k prompt.Kind, text string) {
	s.block(prompt.Block{Kind: k}, texts.Content{Text: text})
}

// use adds a tool call and returns its number.
func (s *script) use(tool uint16, input string) int32 {
	s.calls++
	s.block(prompt.Block{Kind: prompt.KindToolUse, Call: s.calls, Tool: tool},
		texts.Content{Name: s.session.Tools[tool], Input: jsontext.Value(input)})
	return s.calls
}

func (s *script) result(call int32, text string) {
	s.block(prompt.Block{Kind: prompt.KindToolResult, Call: call, Tool: 1}, texts.Content{Text: text})
}

// fill puts all blocks into the context.
func (s *script) fill() *script {
	s.context.Reset(s.session.Blocks, &s.arena)
	for i := range s.session.Blocks {
		s.context.Append(prompt.Ref(i))
	}
	return s
}

// instruct ends the context with the client's instruction.
func (s *script) instruct(source string) {
	s.context.Add(prompt.Block{Kind: prompt.KindPrompt, Tokens: 1500, Object: -1, Flags: prompt.FlagMeta, Digest: prompt.DigestString(source)})
}

// call is a summary call over the context as it is.
func (s *script) call() *summarizer.Call {
	s.instruct(sourceCompact)
	in := &prompt.Intent{Source: sourceCompact, Way: "fork", Instruction: 1500, Number: 1}
	n := s.context.Len()
	for i := s.context.Messages(); i < n-1; i++ {
		in.Summarised += s.context.At(i).Tokens
	}
	return &summarizer.Call{
		Intent: in, Session: &s.session, Context: &s.context, Model: "claude-opus-4-6", Window: 200_000,
		Draws: draws.Source{Seed: 1, Session: 2}, Event: 7,
		Markers: []exchange.Marker{{Position: 1, TTL: exchange.TTL1h}, {Position: int32(n - 2)}},
	}
}

// conversation is a short session: a prompt, a file read, a command.
func conversation(id string) *script {
	s := newScript(id)
	s.say(prompt.KindPrompt, "Please fix the login of "+id+".")
	s.say(prompt.KindThinking, "I should look at the file.")
	s.say(prompt.KindText, "I look at the file.")
	n := s.use(1, `{"file_path":"/src/a.go"}`)
	s.block(prompt.Block{Kind: prompt.KindToolResult, Call: n, Tool: 1, Op: op.Read}, texts.Content{Text: "package a\n\nfunc Login() {}\n"})
	n = s.use(2, `{"command":"go test ./..."}`)
	s.result(n, strings.Repeat("ok  example.org/a\n", 40))
	s.say(prompt.KindText, "All tests pass.")
	s.say(prompt.KindPrompt, "Good. Now the logout.")
	return s.fill()
}

// fakeTexts are the texts of one session.
type fakeTexts struct{ of *script }

func (f fakeTexts) Block(i int32) (texts.Content, error) { return f.of.contents[i], nil }
func (fakeTexts) Close() error                           { return nil }

// library opens the texts of scripts by the session's id.
func library(scripts ...*script) func(context.Context, *traces.Session) (Texts, error) {
	byID := map[string]*script{}
	for _, s := range scripts {
		byID[s.session.ID] = s
	}
	return func(_ context.Context, s *traces.Session) (Texts, error) { return fakeTexts{byID[s.ID]}, nil }
}

// fakeServer answers by a function and keeps the requests.
type fakeServer struct {
	mu       sync.Mutex
	requests []*Request
	answer   func(n int, r *Request) (*Reply, error)
}

func (f *fakeServer) Do(_ context.Context, r *Request) (*Reply, error) {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	n := len(f.requests)
	f.mu.Unlock()
	if f.answer == nil {
		return good(), nil
	}
	return f.answer(n, r)
}

func (f *fakeServer) last() *Request { return f.requests[len(f.requests)-1] }

// full is a summary with all nine sections.
func full(text string) string {
	var b strings.Builder
	for i, s := range summarySections {
		fmt.Fprintf(&b, "%d. %s:\n%s\n", i+1, s.title, text)
	}
	return b.String()
}

// good is the reply of a model that does as it is told.
func good() *Reply {
	return &Reply{
		StopReason: "end_turn", Text: words("<analysis>\nIt went well.\n</analysis>\n<summary>\n" + full("/src/a.go") + "</summary>"),
		Usage: prompt.Usage{Uncached: 100, Read: 500, Output: 300}, Total: 5 * time.Second, Attempts: 1,
	}
}

// marked is a text with a breakpoint.
func marked(text, ttl string) Block {
	b := Text(text)
	b.CacheControl = &CacheControl{Type: "ephemeral", TTL: ttl}
	return b
}

// lifetime returns what a breakpoint asks for, "" for none.
func lifetime(c *CacheControl) string {
	if c == nil {
		return ""
	}
	return c.TTL
}

// newLive returns a summariser or ends the test.
func newLive(t *testing.T, o Options) *Summarizer {
	t.Helper()
	return New(o)
}

// compose answers a call or ends the test.
func compose(t *testing.T, s *Summarizer, c *summarizer.Call) prompt.Answer {
	t.Helper()
	a, err := s.Compose(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// thread is one whose call under way is made when so many blocks are there.
func thread(blocks int32) traces.Thread {
	return traces.Thread{Rounds: []traces.Round{{Input: traces.Span{To: blocks}}}}
}

// recorded returns all calls of a folder.
func recorded(t *testing.T, f *Folder) (list []*Record) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := decodeRecord(b, Key(strings.TrimSuffix(filepath.Base(name), ".json")))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}
