package backend_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/serving/live/backend"
	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// canary is a key that must show up nowhere.
const canary = "dev-acme-canary5f1b9c7e2d"

func anthropicAt(t testing.TB, url string, l backend.Limits) *backend.Client {
	t.Helper()
	b, err := backend.NewAnthropic(backend.Config{Key: backend.NewKey(canary), BaseURL: url, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openAIAt(t testing.TB, url string, l backend.Limits) *backend.Client {
	t.Helper()
	b, err := backend.NewOpenAI(backend.Config{Key: backend.NewKey(canary), BaseURL: url + "/v1/", Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// both returns a backend of each kind that asks the same server.
func both(t testing.TB, url string, l backend.Limits) map[string]backend.Backend {
	return map[string]backend.Backend{"anthropic": anthropicAt(t, url, l), "openai": openAIAt(t, url, l)}
}

// says answers every request with a status, headers and a body.
func says(t testing.TB, status int, body string, headers ...string) string {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		w.Write([]byte(body))
	}))
	t.Cleanup(h.Close)
	return h.URL
}

const instruction = `Summarise this conversation. In <summary>, write these sections:
1. Primary Request and Intent: everything asked for
2. Key Technical Concepts: what the work rests on
3. Files and Code Sections: each file
4. Errors and Fixes: each error
5. Pending Tasks: what is not done
`

// conversation is a request with a tool call, a summary's instruction at its
// end, and breakpoints at the system prompt (1h) and the instruction (5m).
func conversation() *wire.Request {
	return &wire.Request{
		Model: "claude-sonnet-4-5", MaxTokens: 4000, ToolsDenied: true,
		System: []wire.Block{{Kind: wire.KindText, Text: strings.Repeat("You write code with care. ", 300), Cache: wire.Cache1h}},
		Tools:  []wire.Tool{{Name: "Read", Description: "Reads a file", InputSchema: jsontext.Value(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}},
		Messages: []wire.Message{
			{Role: wire.RoleUser, Blocks: []wire.Block{{Kind: wire.KindText, Text: "Please find out why the parser in src/parser/lexer.go loses the last line."}}},
			{Role: wire.RoleAssistant, Blocks: []wire.Block{
				{Kind: wire.KindText, Text: "I look at the lexer first, since it decides where lines end."},
				{Kind: wire.KindToolUse, ID: "t1", Name: "Read", Input: jsontext.Value(`{"path":"src/parser/lexer.go"}`)},
			}},
			{Role: wire.RoleUser, Blocks: []wire.Block{
				{Kind: wire.KindToolResult, ID: "t1", Text: strings.Repeat("func (l *lexer) next() rune { return l.src[l.pos] }\n", 60)},
				{Kind: wire.KindText, Text: instruction, Cache: wire.Cache5m},
			}},
		},
	}
}

// failure returns the failure that an error is.
func failure(t testing.TB, err error) *wire.Failure {
	t.Helper()
	var f *wire.Failure
	if !errors.As(err, &f) {
		t.Fatalf("error %v is no failure", err)
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the key stands in the error %q", err)
	}
	return f
}

// sleeps are waits that took no time.
type sleeps []time.Duration

func (s *sleeps) sleep(ctx context.Context, d time.Duration) error {
	*s = append(*s, d)
	return ctx.Err()
}

// quick are waits that nobody looks at.
func quick(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// fake is a backend that answers with what a function returns.
type fake struct {
	mu    sync.Mutex
	calls int
	do    func(n int) (*wire.Reply, error)
}

func (f *fake) Do(context.Context, *wire.Request) (*wire.Reply, error) {
	f.mu.Lock()
	f.calls++
	n := f.calls
	f.mu.Unlock()
	return f.do(n)
}

// refusing starts a server that answers nothing, and returns what it was sent last.
func refusing(t *testing.T) (url string, body func() string) {
	t.Helper()
	var mu sync.Mutex
	var last []byte
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		last = b
		mu.Unlock()
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(h.Close)
	return h.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return string(last)
	}
}
