package recorder_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/recorder"
)

const (
	question = `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`
	answer   = `{"id":"m1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"yes"}],` +
		`"usage":{"input_tokens":12,"output_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":900}}`
)

// recording is a recorder in front of a server, and its log.
type recording struct {
	*recorder.Recorder
	front *httptest.Server
	log   string
	file  *os.File
}

// record starts a recorder in front of an address.
func record(t *testing.T, upstream string) *recording {
	t.Helper()
	r := &recording{log: filepath.Join(t.TempDir(), "log.jsonl")}
	var err error
	if r.file, err = os.Create(r.log); err != nil {
		t.Fatal(err)
	}
	if r.Recorder, err = recorder.New(r.file, recorder.Upstreams{Anthropic: upstream, OpenAI: upstream}); err != nil {
		t.Fatal(err)
	}
	r.front = httptest.NewServer(r.Recorder)
	return r
}

// ends stops the recorder and returns the lines of its log.
func (r *recording) ends(t *testing.T) (lines []string) {
	t.Helper()
	r.front.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_ = r.file.Close()
	text, err := os.ReadFile(r.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no line of JSON: %.200q", line)
		}
		lines = append(lines, line)
	}
	return lines
}

// ask sends a request with a key and returns the response.
func (r *recording) ask(t *testing.T, path, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.front.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "sk-canary")
	req.Header.Set("Authorization", "Bearer sk-canary")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // a broken stream ends in an error
	return resp.StatusCode, string(text)
}

// Requests go by their path, headers and queries reach the server and not the log, and what is no call of a model is not
// written.
func TestForwards(t *testing.T) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(req.Method, " ", req.URL.RequestURI(), " ", req.Header.Get("X-Api-Key"), " ", len(body)))
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	r := record(t, server.URL)
	for _, path := range []string{"/v1/messages?key=sk-canary", "/v1/chat/completions", "/responses", "/v1/oauth/token", "/v1/messages/count_tokens"} {
		if status, text := r.ask(t, path, question); status != 200 || text != answer {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	lines := r.ends(t)
	n := fmt.Sprint(" sk-canary ", len(question))
	want := []string{
		"POST /v1/messages?key=sk-canary" + n, "POST /v1/chat/completions" + n, "POST /v1/responses" + n, "POST /v1/oauth/token" + n,
		"POST /v1/messages/count_tokens" + n,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server got\n%q, want\n%q", got, want)
	}
	if log := strings.Join(lines, ""); len(lines) != 4 || strings.Contains(log, "canary") || strings.Contains(log, "oauth") ||
		!strings.Contains(log, `"request":{"method":"POST","url":"`+server.URL+`/v1/messages","body":`+question) {
		t.Errorf("%d lines, want 4 and no key:\n%s", len(lines), log)
	}
	if all, failed := r.Calls(); all != 4 || failed != 0 {
		t.Errorf("%d calls, %d failed", all, failed)
	}
}

// A stream arrives while it is sent: the server sends its second event when the client has read the first. The log reads
// as a session with the counts of the stream.
func TestStreamPassesAndIsRead(t *testing.T) {
	read := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":%s}\n\n", answer)
		w.(http.Flusher).Flush()
		<-read
		fmt.Fprint(w, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}\n\n")
	}))
	defer server.Close()
	r := record(t, server.URL)
	resp, err := http.Post(r.front.URL+"/v1/messages", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || lines.Text() != "event: message_start" {
		t.Fatalf("first comes %q", lines.Text())
	}
	close(read)
	rest := ""
	for lines.Scan() { // to the end
		rest += lines.Text()
	}
	if lines.Err() != nil || !strings.Contains(rest, "42") {
		t.Errorf("the client gets %q: %v", rest, lines.Err())
	}
	r.ends(t)
	c, err := agents.Read(t.Context(), traces.Options{}, r.log)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Sessions) != 1 || c.Sessions[0].Agent != facts.Requests {
		t.Fatalf("read as %d sessions", len(c.Sessions))
	}
	u := c.Sessions[0].Threads[0].Rounds[0].Usage
	if u.Uncached != 12 || u.Write5m+u.Write1h != 900 || u.Output != 42 {
		text, _ := os.ReadFile(r.log)
		t.Errorf("usage %+v, want 12 uncached, 900 written and 42 of output: %s", u, text)
	}
}

// What goes wrong is told to the client and written: a server that is away, one that answers nonsense, one that breaks off,
// and a WebSocket, which is refused.
func TestFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := "http://" + l.Addr().String()
	_ = l.Close()
	nonsense := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "?!\x00\r\n\r\n")
			_ = c.Close()
		}
	}))
	defer nonsense.Close()
	breaks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9999")
		_, _ = io.WriteString(w, "event: first\n")
	}))
	defer breaks.Close()
	for name, tc := range map[string]struct {
		upstream string
		status   int
		has      string
	}{
		"away": {away, 502, `"error":"sim record got no answer: `}, "nonsense": {nonsense.URL, 502, `"status_code":502`},
		"breaks off": {breaks.URL, 200, `"body_raw":"event: first\n"`},
	} {
		r := record(t, tc.upstream)
		status, text := r.ask(t, "/v1/messages", question)
		if status != tc.status || status == 502 && !strings.Contains(text, `"type":"error"`) {
			t.Errorf("%s: the client gets %d %s", name, status, text)
		}
		if lines := r.ends(t); len(lines) != 1 || !strings.Contains(lines[0], tc.has) {
			t.Errorf("%s: the log has %q, want %s", name, lines, tc.has)
		}
	}
	r := record(t, away)
	if status, _ := r.ask(t, "/v1/responses", "", "Connection", "Upgrade", "Upgrade", "websocket"); status != http.StatusUpgradeRequired {
		t.Errorf("a WebSocket gets %d", status)
	}
	if lines := r.ends(t); len(lines) > 0 {
		t.Errorf("a WebSocket is written: %q", lines)
	}
}

// A client that goes away in the middle of a stream leaves what had come.
func TestClientGoesAway(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "event: first\n\n")
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}))
	defer server.Close()
	r := record(t, server.URL)
	resp, err := http.Post(r.front.URL+"/v1/messages", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(resp.Body, make([]byte, 5))
	_ = resp.Body.Close()
	if lines := r.ends(t); len(lines) != 1 || !strings.Contains(lines[0], `"body_raw":"event: first\n\n"`) {
		t.Errorf("the log has %q", lines)
	}
}

// Bodies in a coding are written plain and forwarded as they came; 100 MB pass.
func TestBodies(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, question)
	_ = z.Close()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	large := 100 << 20
	if testing.Short() {
		large = 5 << 20
	}
	for name, tc := range map[string]struct{ body, coding, written string }{
		"gzip":        {zipped.String(), "gzip", question},
		"zstd":        {string(e.EncodeAll([]byte(question), nil)), "zstd", question},
		"white space": {"{\n \"model\" : \"x\" }", "", `{"model":"x"}`},
		"large":       {`{"messages":"` + strings.Repeat("x", large) + `"}`, "", `{"messages":"xxx`},
		"no JSON":     {"\x00?\n", "", `"body_raw":"\u0000?\n"`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if body, _ := io.ReadAll(req.Body); string(body) != tc.body || req.Header.Get("Content-Encoding") != tc.coding {
				t.Errorf("%s: the server gets %d bytes, want %d", name, len(body), len(tc.body))
			}
			_, _ = io.WriteString(w, answer)
		}))
		r := record(t, server.URL)
		if status, text := r.ask(t, "/v1/messages", tc.body, "Content-Encoding", tc.coding); status != 200 || text != answer {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if lines := r.ends(t); len(lines) != 1 || !strings.Contains(lines[0], tc.written) {
			t.Errorf("%s: the log has %.300q, want %s", name, lines, tc.written)
		}
		server.Close()
	}
}

// Addresses that are none are refused, and a base path stays.
func TestUpstreams(t *testing.T) {
	for _, wrong := range []string{"", "api.anthropic.com", "ftp://x", "http://", "http://x?a=b", "http://[::1"} {
		if _, err := recorder.New(io.Discard, recorder.Upstreams{Anthropic: wrong, OpenAI: recorder.OpenAI}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { path = req.URL.Path }))
	defer server.Close()
	for _, tc := range []struct{ base, ask, want string }{
		{"/api/v1", "/v1/messages", "/api/v1/messages"}, {"/api/v1", "/v1/chat/completions", "/api/v1/chat/completions"},
		{"/openai", "/v1/responses", "/openai/responses"}, {"/", "/v1/responses/compact", "/v1/responses/compact"},
		{"", "/v1/models", "/v1/models"}, {"/gate", "/v1/messages/count_tokens", "/gate/v1/messages/count_tokens"},
	} {
		r := record(t, server.URL+tc.base)
		r.ask(t, tc.ask, question)
		if path != tc.want {
			t.Errorf("%s at %s goes to %s, want %s", tc.ask, tc.base, path, tc.want)
		}
		r.ends(t)
	}
}
