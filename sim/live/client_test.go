package live

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A summary comes back whole, with what it cost, from either interface; a quarter of the input was read.
func TestAnswerOfEither(t *testing.T) {
	s := startServer(t)
	for name, b := range both(t, s.URL, 0) {
		reply, err := b.Do(context.Background(), dialogue())
		if err != nil {
			t.Fatal(err)
		}
		u := reply.Usage
		if split := name == "anthropic"; u.Read != u.Input()/4 || u.Output <= 300 || split != (u.Write1h > 0 && u.Write5m > 0 && u.Uncached == 1) {
			t.Errorf("%s: usage %+v", name, u)
		}
		for _, want := range []string{"<analysis>", "<summary>", "1. Primary Request and Intent:", "5. Pending Tasks:", "src/parser/lexer.go"} {
			if !strings.Contains(string(reply.Text), want) {
				t.Errorf("%s: the answer lacks %q:\n%s", name, want, reply.Text)
			}
		}
		if reply.StopReason != "end_turn" || reply.Model != "claude-sonnet-4-5" || reply.ID == "" || reply.Attempts != 1 {
			t.Errorf("%s: reply %+v", name, reply)
		}
		if reply.Total <= 0 {
			t.Errorf("%s: it ends after %v", name, reply.Total)
		}
	}
	if requests, answered := s.Count(); requests != 2 || answered != 2 {
		t.Errorf("%d requests, %d answered", requests, answered)
	}
}

// What is sent: every field in its place, nothing besides, and nothing from the environment.
func TestAnthropicRequest(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of-somebody-else")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Stray: yes")
	var body, betas, key, stray string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := new(strings.Builder)
		if err := r.Write(buf); err != nil {
			t.Error(err)
		}
		_, body, _ = strings.Cut(buf.String(), "\r\n\r\n")
		betas, key = r.Header.Get("Anthropic-Beta"), r.Header.Get("X-Api-Key")
		stray = r.Header.Get("Authorization") + r.Header.Get("X-Stray") + r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusTeapot)
	}))
	defer h.Close()
	r := dialogue()
	r.Messages[0].Content[0].Text = "<b>\xff</b>" // no valid text
	failure(t)(call(anthropicAt(t, h.URL, 0), r))
	for _, want := range []string{
		`"model":"claude-sonnet-4-5"`, `"max_tokens":4000`, `"text":"<b>�</b>"`,
		`"cache_control":{"type":"ephemeral","ttl":"1h"}`, `"cache_control":{"type":"ephemeral","ttl":"5m"}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the request lacks %s:\n%s", want, body)
		}
	}
	for _, not := range []string{"tool", "stream", "thinking", "output_config", "context_management"} {
		if strings.Contains(body, not) {
			t.Errorf("the request holds %s, which nobody asked for:\n%s", not, body)
		}
	}
	if betas != "" || key != canary || stray != "" {
		t.Errorf("betas %q, key %q, stray headers %q", betas, key, stray)
	}
}

// messageOf is an answer of the Messages API with a text and a usage.
func messageOf(text, usage string) string {
	quoted, _ := json.Marshal(text) // a string has a form
	return `{"id":"m","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":` + string(quoted) + `}],"usage":` + usage + `}`
}

// What is thought is a part of the output, as counted and never more.
func TestThinkingAnswer(t *testing.T) {
	for usage, want := range map[string]int64{"": 0, `,"output_tokens_details":{"thinking_tokens":60}`: 60, `,"output_tokens_details":{"thinking_tokens":600}`: 100} {
		url := says(t, 200, messageOf("twelve bytes", `{"input_tokens":9,"output_tokens":100`+usage+`}`))
		reply, err := anthropicAt(t, url, 0).Do(context.Background(), dialogue())
		if err != nil || reply.Thinking != want {
			t.Errorf("%q: %+v, %v; want %d tokens of thinking", usage, reply, err, want)
		}
	}
}

func call(b Backend, r *Request) (*Reply, error) { return b.Do(context.Background(), r) }

func do(b Backend, r *Request) error {
	_, err := call(b, r)
	return err
}

// timeoutOf returns a timeout that a fault runs into, and no other response.
func timeoutOf(fault string) time.Duration {
	if strings.HasPrefix(fault, "stall") || strings.HasPrefix(fault, "loris") {
		return 300 * time.Millisecond
	}
	return 0
}

// What goes wrong in a response, and what is known about the response then.
func TestFaultsOfAServer(t *testing.T) {
	for _, tc := range []struct {
		fault  string
		cause  Cause
		status int
	}{
		{"429:7", CauseRate, 429},
		{"500", CauseServer, 500},
		{"503", CauseServer, 503},
		{"529", CauseOverloaded, 529},
		{"401", CauseAuth, 401},
		{"403", CauseAuth, 403},
		{"402", CauseAuth, 402},
		{"404", CauseModel, 404},
		{"422", CauseRequest, 422},
		{"reset", CauseBroken, 0},
		{"cut", CauseBroken, 0},
		{"error-answer", CauseOverloaded, 200},
		{"flood", CauseTooLarge, 0},
		{"stall", CauseTimeout, 0},
		{"loris", CauseTimeout, 0},
		{"too-long", CauseTooLong, 400},
	} {
		s := startServer(t, tc.fault)
		for name, b := range both(t, s.URL, timeoutOf(tc.fault)) {
			before, _ := s.Count()
			reply, err := b.Do(context.Background(), dialogue())
			f := failure(t)(reply, err)
			if f.Cause != tc.cause || f.Status != tc.status || f.Attempts != 1 {
				t.Errorf("%s from %s: %+v, want %q with status %d", tc.fault, name, f, tc.cause, tc.status)
			}
			if f.Cause == CauseTimeout && !strings.Contains(f.Message, "took too long") {
				t.Errorf("%s from %s: %q", tc.fault, name, f.Message)
			}
			if after, answered := s.Count(); after != before+1 || answered != 0 {
				t.Errorf("%s from %s: %d requests after %d, %d answered: want one more request", tc.fault, name, after, before, answered)
			}
			if begun := tc.status == 0; begun && f.Billed.Input() == 0 {
				t.Errorf("%s from %s: the server began, and nothing is booked: %+v", tc.fault, name, f)
			}
		}
	}
}

// Answers that are complete and yet no summary are replies.
func TestOddAnswers(t *testing.T) {
	for _, tc := range []struct {
		fault, stop string
	}{
		{"empty", "end_turn"},
		{"refusal", "refusal"},
	} {
		for name, b := range both(t, startServer(t, tc.fault).URL, 0) {
			r := dialogue()
			reply, err := b.Do(context.Background(), r)
			if err != nil {
				t.Errorf("%s from %s: %v", tc.fault, name, err)
				continue
			}
			if reply.Text != "" || reply.StopReason != tc.stop {
				t.Errorf("%s from %s: %+v", tc.fault, name, reply)
			}
		}
	}
}

// An answer that reaches the limit of output says so.
func TestMaxTokens(t *testing.T) {
	for name, b := range both(t, startServer(t).URL, 0) {
		r := dialogue()
		r.MaxTokens = 100
		reply, err := b.Do(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if reply.StopReason != "max_tokens" || reply.Usage.Output > 100 {
			t.Errorf("%s: %+v", name, reply)
		}
	}
}

// When the caller gives up, the error is the context's, and says what was
// billed.
func TestCallerGivesUp(t *testing.T) {
	var leave context.CancelFunc
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // the whole request is there, and so is billed
		leave()
		<-r.Context().Done()
	}))
	defer server.Close()
	for name, b := range both(t, server.URL, 0) {
		ctx, cancel := context.WithCancel(context.Background())
		leave = cancel
		reply, err := b.Do(ctx, dialogue())
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if reply.Wasted.Input() == 0 {
			t.Errorf("%s: nothing is known of what the call cost: %+v", name, reply)
		}
	}
}

// A server that nobody runs.
func TestNoServer(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	for name, b := range both(t, h.URL, 0) {
		if f := failure(t)(call(b, dialogue())); f.Cause != CauseNetwork || !f.Passing() {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A page of a website is no answer, and asking again would not make it one.
func TestNoAnswer(t *testing.T) {
	url := says(t, 200, "<html>Welcome</html>", "Content-Type", "text/html")
	for name, b := range both(t, url, 0) {
		if f := failure(t)(call(b, dialogue())); f.Cause != CauseRequest || !strings.Contains(f.Message, "text/html") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A redirection is not followed: the key would go along.
func TestNoRedirection(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := says(t, status, "", "Location", other.URL)
		for name, b := range both(t, url, 0) {
			if f := failure(t)(call(b, dialogue())); f.Passing() || asked {
				t.Errorf("%d from %s: %+v, the other server was asked: %v", status, name, f, asked)
			}
		}
	}
}

// answers is a network whose servers are all this function.
type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Both interfaces are behind the transport that a configuration gives: nothing else sends.
func TestTransport(t *testing.T) {
	for provider, body := range map[string]string{
		Anthropic: messageOf("Well.", `{"input_tokens":70,"output_tokens":5}`),
		OpenAI:    completionOf(counted),
	} {
		var asked []string
		client, err := NewClient(Config{
			Settings: Settings{Provider: provider}, Key: NewSecret(canary), BaseURL: "https://models.example.org",
			Transport: answers(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.URL.String())
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(strings.NewReader(body)), Request: r,
				}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Do(t.Context(), short(100))
		if err != nil || reply.Usage.Uncached != 70 || len(asked) != 1 || !strings.HasPrefix(asked[0], "https://models.example.org/v1/") {
			t.Errorf("%s: %+v, %v, asked %q", provider, reply, err, asked)
		}
	}
}
