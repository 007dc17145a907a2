package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// models answers either interface with summaries, and keeps what it was asked. What it does wrong is written KIND[@N,…]: without
// ordinals, with all requests. KIND is an HTTP status, or too-long, reset, cut, error-answer, empty or refusal.
type models struct {
	URL      string
	faults   []string
	mu       sync.Mutex
	requests []modelRequest
	answered int
}

// modelRequest is what models was asked.
type modelRequest struct {
	Header http.Header
	Body   string
}

// startModels serves until the test ends.
func startModels(t *testing.T, faults ...string) *models {
	m := &models{faults: faults}
	web := httptest.NewServer(m)
	t.Cleanup(web.Close)
	m.URL = web.URL
	return m
}

// Requests returns what was asked so far.
func (m *models) Requests() []modelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Count returns how many requests came, and how many were answered.
func (m *models) Count() (requests, answered int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests), m.answered
}

// fault keeps a request, and returns what goes wrong with it.
func (m *models) fault(r *http.Request, body []byte) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, modelRequest{r.Header, string(body)})
	for _, f := range m.faults {
		kind, on, some := strings.Cut(f, "@")
		if !some || slices.Contains(strings.Split(on, ","), strconv.Itoa(len(m.requests))) {
			return kind
		}
	}
	return ""
}

var askedTitles = regexp.MustCompile(`(?:\d{1,2}\. [^:\\]{3,60}|# [^\\]{3,60})`)

// ServeHTTP answers a request.
func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	fault, chat := m.fault(r, body), strings.HasSuffix(r.URL.Path, "/chat/completions")
	switch status, _ := strconv.Atoi(fault); {
	case !chat && !strings.HasPrefix(r.Header.Get("X-Api-Key"), "dev"):
		http.Error(w, "invalid key", http.StatusUnauthorized)
		return
	case status > 0:
		http.Error(w, http.StatusText(status), status)
		return
	case fault == "too-long":
		http.Error(w, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", len(body)/4, len(body)/8), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer := modelAnswer(fault, string(body), chat)
	switch fault {
	case "reset":
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() // it is meant to break
		}
	case "cut":
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		io.WriteString(w, answer[:len(answer)/2])
	case "error-answer":
		io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	default:
		m.mu.Lock()
		m.answered++
		m.mu.Unlock()
		io.WriteString(w, answer)
	}
}

// modelAnswer is an answer: the sections that the end of a request asks for, or what a fault has in their place.
func modelAnswer(fault, body string, chat bool) string {
	stop, text := map[string]string{"empty": "end_turn", "refusal": "refusal"}[fault], ""
	if stop == "" {
		stop, text = "end_turn", "<analysis>It went well.</analysis>\n<summary>\n"
		for _, title := range askedTitles.FindAllString(body[max(strings.LastIndex(body, `"text"`), strings.LastIndex(body, `"role"`)):], 10) {
			text += title + ":" + strings.Repeat("\n   - what matters here, in short", 4) + "\n"
		}
		text += "</summary>"
	}
	said, _ := json.Marshal(text) // a string has a form
	input := len(body)/4 + 1
	if chat {
		return fmt.Sprintf(`{"id":"c","model":"m","choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
			said, input, len(text)/4)
	}
	return fmt.Sprintf(`{"id":"m","model":"m","stop_reason":%q,"content":[{"type":"text","text":%s}],"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}`,
		stop, said, input-input/4, input/4, max(1, len(text)/4))
}
