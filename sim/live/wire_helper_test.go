package live

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// canary is a key that must show up nowhere.
const canary = "dev-acme-canary5f1b9c7e2d"

// newAnthropic and newOpenAI return clients of either interface.
func newAnthropic(c Config) (*Client, error) {
	c.Provider = Anthropic
	return NewClient(c)
}

func newOpenAI(c Config) (*Client, error) {
	c.Provider = OpenAI
	return NewClient(c)
}

func anthropicAt(t testing.TB, url string, timeout time.Duration) *Client {
	t.Helper()
	b, err := newAnthropic(Config{Key: NewSecret(canary), BaseURL: url, Settings: Settings{Timeout: timeout}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openAIAt(t testing.TB, url string, timeout time.Duration) *Client {
	t.Helper()
	b, err := newOpenAI(Config{Key: NewSecret(canary), BaseURL: url + "/v1/", Settings: Settings{Timeout: timeout}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// around returns a client that makes its single attempts through b.
func around(t testing.TB, b Backend, c Config) *Client {
	t.Helper()
	c.Key, c.Price = NewSecret(canary), price
	if c.Sleep == nil {
		c.Sleep = quick
	}
	client, err := newAnthropic(c)
	if err != nil {
		t.Fatal(err)
	}
	client.send = func(ctx context.Context, r *Request, _ []byte) (*Reply, error) {
		real, ok := b.(*Client)
		if !ok {
			reply, err := b.Do(ctx, r)
			if reply == nil {
				reply = &Reply{}
			}
			return reply, err
		}
		body, err := r.body(real.config.Provider, false)
		if err != nil {
			return nil, err
		}
		return real.once(ctx, r, body)
	}
	return client
}

// spent is what a gate has let through.
type spent struct {
	Calls, InFlight int
	USD             float64
}

func (g *gate) sum() spent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return spent{g.calls, g.inFlight, g.usd}
}

// estimate is the bill that a request has at most.
func estimate(r *Request) prompt.Usage {
	body, err := r.body(Anthropic, false)
	if err != nil {
		panic(err)
	}
	return r.most(body)
}

// gated makes each call once, within limits.
func gated(t testing.TB, b Backend, s Settings) *Client { return around(t, b, Config{Settings: s}) }

// retrying makes so many attempts, after waits that take no time.
func retrying(t testing.TB, b Backend, attempts int, sleep func(context.Context, time.Duration) error) *Client {
	return around(t, b, Config{Settings: Settings{Attempts: attempts}, Sleep: sleep})
}

// both returns a backend of each kind that asks the same server.
func both(t testing.TB, url string, timeout time.Duration) map[string]Backend {
	return map[string]Backend{"anthropic": anthropicAt(t, url, timeout), "openai": openAIAt(t, url, timeout)}
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

// dialogue is a request with a summary's instruction at its end, and breakpoints
// at the system prompt (1h) and the instruction (5m).
func dialogue() *Request {
	return &Request{
		Model: "claude-sonnet-4-5", MaxTokens: 4000,
		System: []Block{marked(strings.Repeat("You write code with care. ", 300), ttl1h)},
		Messages: []Message{
			{Role: roleUser, Content: []Block{Text("Please find out why the parser in src/parser/lexer.go loses the last line.")}},
			{Role: roleAssistant, Content: []Block{Text("I look at the lexer first, since it decides where lines end.")}},
			{Role: roleUser, Content: []Block{
				Text(strings.Repeat("func (l *lexer) next() rune { return l.src[l.pos] }\n", 60)),
				marked(instruction, ttl5m),
			}},
		},
	}
}

// failed is a failure with what was billed until then.
type failed struct {
	*Failure
	Billed   prompt.Usage
	Attempts int
}

// failure returns the failure that a call came to.
func failure(t testing.TB) func(*Reply, error) failed {
	return func(r *Reply, err error) failed {
		t.Helper()
		f := failed{Billed: r.Wasted, Attempts: r.Attempts}
		if !errors.As(err, &f.Failure) {
			t.Fatalf("error %v is no failure", err)
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("the key stands in the error %q", err)
		}
		return f
	}
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
	do    func(n int) (*Reply, error)
}

func (f *fake) Do(context.Context, *Request) (*Reply, error) {
	f.mu.Lock()
	f.calls++
	n := f.calls
	f.mu.Unlock()
	return f.do(n)
}
