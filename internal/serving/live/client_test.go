package live

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// A summary comes back whole, with what it cost, from either interface; a quarter of the input was read.
func TestAnswerOfEither(t *testing.T) {
	s := startServer(t)
	for name, b := range both(t, s.URL, limit{}) {
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
		if reply.First <= 0 || reply.Total < reply.First {
			t.Errorf("%s: first token after %v, end after %v", name, reply.First, reply.Total)
		}
	}
	if requests, answered := s.Count(); requests != 2 || answered != 2 {
		t.Errorf("%d requests, %d answered", requests, answered)
	}
}

// What is sent: every field in its place, schemas and inputs byte by byte, the beta
// that a compaction needs as a header, no tool_choice, and nothing from the environment.
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
	*r.Messages[0].Content[0].Text = "<b>\xff</b>" // no valid text
	r.Compaction = &Compaction{Type: "summarize"}
	failure(t)(call(anthropicAt(t, h.URL, limit{}), r))
	for _, want := range []string{
		`"model":"claude-sonnet-4-5"`, `"max_tokens":4000`, `"stream":true`,
		`"cache_control":{"type":"ephemeral","ttl":"1h"}`, `"cache_control":{"type":"ephemeral","ttl":"5m"}`,
		`"input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`,
		`"input":{"path":"src/parser/lexer.go"}`, `"text":"<b>�</b>"`, `"tool_use_id":"t1"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the request lacks %s:\n%s", want, body)
		}
	}
	for _, not := range []string{"tool_choice", "is_error", "thinking", "output_config", "context_management"} {
		if strings.Contains(body, not) {
			t.Errorf("the request holds %s, which nobody asked for:\n%s", not, body)
		}
	}
	if betas != BetaOnDemand || key != canary || stray != "" {
		t.Errorf("betas %q, key %q, stray headers %q", betas, key, stray)
	}
}

// A compaction on demand has a field of its own.
func TestCompactionRequest(t *testing.T) {
	url, body := refusing(t)
	b := anthropicAt(t, url, limit{})
	for instructions, want := range map[string]string{"": `"compaction":{"type":"summarize"}`, "Keep names.": `"compaction":{"type":"summarize","instructions":"Keep names."}`} {
		r := dialogue()
		r.Compaction = &Compaction{Type: "summarize", Instructions: instructions}
		failure(t)(call(b, r))
		if !strings.Contains(body(), want) {
			t.Errorf("the request lacks %s:\n%s", want, body())
		}
	}
}

// What is thought is told apart from the answer: as counted, or as what the rest
// leaves of the output.
func TestThinkingAnswer(t *testing.T) {
	stream := func(usage string) string {
		return "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"x\",\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"twelve bytes\"}}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":100" + usage + "}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	}
	// Twelve bytes are three tokens where nothing is counted: 97 of 100 are left.
	for usage, want := range map[string]int64{"": 97, `,"output_tokens_details":{"thinking_tokens":60}`: 60, `,"output_tokens_details":{"thinking_tokens":600}`: 100} {
		url := says(t, 200, stream(usage), "Content-Type", "text/event-stream")
		reply, err := anthropicAt(t, url, limit{}).Do(context.Background(), dialogue())
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

// A server-side compaction comes as text of its own with a pass of its own,
// which the counts of the call leave out, and its bill does not.
func TestCompactionAnswer(t *testing.T) {
	r := dialogue()
	r.Compaction = &Compaction{Type: "summarize"}
	reply, err := anthropicAt(t, startServer(t).URL, limit{}).Do(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Compaction == "" || reply.Passes != 1 || reply.Compacted != reply.Usage.Output {
		t.Fatalf("reply %+v", reply)
	}
	sum := reply.Usage
	if sum.Write1h == 0 || sum.Output == 0 {
		t.Errorf("the compaction took %+v", sum)
	}
	if reply.StopReason != "compaction" || reply.Text != "" {
		t.Errorf("reply %+v: want nothing but the compaction", reply)
	}
}

// limits returns limits that a fault runs into, and no other response.
func limits(fault string) limit {
	l := limit{}
	if strings.HasPrefix(fault, "stall") || strings.HasPrefix(fault, "loris") {
		l.Idle, l.Timeout = 500*time.Millisecond, time.Second
	}
	return l
}

// What goes wrong in a response, and what is known of it then.
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
		{"error-event", CauseOverloaded, 200},
		{"flood", CauseTooLarge, 0},
		{"stall", CauseTimeout, 0},
		{"loris", CauseTimeout, 0},
		{"too-long", CauseTooLong, 400},
	} {
		s := startServer(t, tc.fault)
		for name, b := range both(t, s.URL, limits(tc.fault)) {
			before, _ := s.Count()
			reply, err := b.Do(context.Background(), dialogue())
			f := failure(t)(reply, err)
			if f.Cause != tc.cause || f.Status != tc.status || f.Attempts != 1 {
				t.Errorf("%s from %s: %+v, want %q with status %d", tc.fault, name, f, tc.cause, tc.status)
			}
			// A stream that is slow is cut by its whole time only.
			if want := map[string]string{"stall": "no byte", "loris": "took too long"}[tc.fault]; !strings.Contains(f.Message, want) {
				t.Errorf("%s from %s: %q, want %q", tc.fault, name, f.Message, want)
			}
			if after, answered := s.Count(); after != before+1 || answered != 0 {
				t.Errorf("%s from %s: %d requests after %d, %d answered: want one more request", tc.fault, name, after, before, answered)
			}
			if begun := tc.status == 0 || tc.status == 200; name == "anthropic" && begun && f.Billed.Write1h == 0 {
				t.Errorf("%s: the stream began, and nothing is known of what it cost: %+v", tc.fault, f)
			}
		}
	}
}

// Answers that are complete and yet no summary are replies.
func TestOddAnswers(t *testing.T) {
	for _, tc := range []struct {
		fault, stop string
		tools       []string
	}{
		{"empty", "end_turn", nil},
		{"tool-call", "tool_use", []string{"Read"}},
		{"refusal", "refusal", nil},
	} {
		for name, b := range both(t, startServer(t, tc.fault).URL, limit{}) {
			r := dialogue()
			reply, err := b.Do(context.Background(), r)
			if err != nil {
				t.Errorf("%s from %s: %v", tc.fault, name, err)
				continue
			}
			if reply.Text != "" || reply.StopReason != tc.stop || !slices.Equal(reply.ToolCalls, tc.tools) {
				t.Errorf("%s from %s: %+v", tc.fault, name, reply)
			}
		}
	}
}

// An answer that reaches the limit of output says so.
func TestMaxTokens(t *testing.T) {
	for name, b := range both(t, startServer(t).URL, limit{}) {
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
	for name, b := range both(t, startServer(t, "loris").URL, limit{}) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		reply, err := b.Do(ctx, dialogue())
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "anthropic" && reply.Wasted.Write1h == 0 {
			t.Errorf("%s: nothing is known of what the call cost: %+v", name, reply)
		}
	}
}

// A server that nobody runs.
func TestNoServer(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	for name, b := range both(t, h.URL, limit{}) {
		if f := failure(t)(call(b, dialogue())); f.Cause != CauseNetwork || !f.Passing() {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A page of a website is no answer, and asking again would not make it one.
func TestNoStream(t *testing.T) {
	url := says(t, 200, "<html>Welcome</html>", "Content-Type", "text/html")
	for name, b := range both(t, url, limit{}) {
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
		for name, b := range both(t, url, limit{}) {
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
		Anthropic: startEvent + blockEvent + deltaEvent("Well.") + endEvents,
		OpenAI:    chunks(counted + "data: [DONE]\n\n"),
	} {
		var asked []string
		client, err := NewClient(Config{
			Settings: Settings{Provider: provider}, Key: NewSecret(canary), BaseURL: "https://models.example.org",
			Transport: answers(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, r.URL.String())
				return &http.Response{
					StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
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
