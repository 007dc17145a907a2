package devserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/devserver"
)

// hand is a clock that a test sets.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// site is a server and how to ask it.
type site struct {
	*devserver.Server
	url   string
	clock *hand
	t     *testing.T
}

func serve(t *testing.T, o devserver.Options, faults ...string) *site {
	t.Helper()
	var err error
	if o.Faults, err = devserver.ParseFaults(faults...); err != nil {
		t.Fatal(err)
	}
	s := &site{clock: &hand{now: time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)}, t: t}
	o.Now = s.clock.Now
	if s.Server, err = devserver.New(o); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Server)
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// post sends a body to a path and returns status, headers and body.
func (s *site) post(path, body string, headers ...string) (int, http.Header, string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "dev")
	req.Header.Set("Authorization", "Bearer dev")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		text = append(text, "\n(broken: "+err.Error()+")"...)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// reply is what a test reads of an answer.
type reply struct {
	Content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Content string `json:"content"`
	} `json:"content"`
	Stop  string `json:"stop_reason"`
	Usage struct {
		Input int64 `json:"input_tokens"`
		Read  int64 `json:"cache_read_input_tokens"`
		Write int64 `json:"cache_creation_input_tokens"`
		Split struct {
			Short int64 `json:"ephemeral_5m_input_tokens"`
			Hour  int64 `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
		Output     int64 `json:"output_tokens"`
		Iterations []struct {
			Type  string `json:"type"`
			Input int64  `json:"input_tokens"`
		} `json:"iterations"`
	} `json:"usage"`
	Management struct {
		Edits []struct {
			Type   string `json:"type"`
			Uses   int    `json:"cleared_tool_uses"`
			Turns  int    `json:"cleared_thinking_turns"`
			Tokens int64  `json:"cleared_input_tokens"`
		} `json:"applied_edits"`
	} `json:"context_management"`
}

// ask returns the answer to a request that is fine.
func (s *site) ask(body string, headers ...string) reply {
	s.t.Helper()
	status, _, text := s.post("/v1/messages", body, headers...)
	var r reply
	if status != 200 {
		s.t.Fatalf("status %d: %s", status, text)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return r
}

// block writes a text block of so many tokens; each has 3 tokens and 0.3 a byte.
func block(name string, tokens int, marker string) string {
	text := fmt.Sprintf("%-*s", (tokens-3)*10/3, name)
	text = strings.ReplaceAll(text, " ", ".")
	if marker != "" {
		marker = `,"cache_control":{"type":"ephemeral","ttl":"` + marker + `"}`
	}
	return `{"type":"text","text":"` + text + `"` + marker + `}`
}

// user writes a request of one message with the blocks.
func user(model string, blocks ...string) string {
	return `{"model":"` + model + `","max_tokens":50,"messages":[{"role":"user","content":[` + strings.Join(blocks, ",") + `]}]}`
}
