package live

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
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// testServer stands for servers of models: it answers in the shape of the Messages API and of chat completions, always streamed, and checks
// nothing but the key of the former, which must begin with "dev". Faults happen on demand. It answers calls, and keeps what it was asked.
type testServer struct {
	URL      string
	faults   []mishap
	mu       sync.Mutex
	requests []received
}

// received is a request that the server got.
type received struct {
	Header   http.Header
	Body     string
	Billed   prompt.Usage // also where the stream broke off
	Answered bool         // in full
}

// mishap is what goes wrong with the requests of some ordinals; none for all.
type mishap struct {
	kind, after string
	on          []string
}

// startServer serves until the test ends. A fault is written KIND[:RETRY-AFTER][@N,…]: without ordinals it meets all
// requests. KIND is an HTTP status, or one of
//
//	too-long                    the prompt is refused, with its size
//	reset, cut, error-event     the stream breaks off: the connection, in good order, with an error
//	stall, loris, flood         the stream stands still, goes on without content, or without end
//	empty, tool-call, refusal   the answer is complete, and odd
func startServer(t testing.TB, faults ...string) *testServer {
	s := &testServer{}
	for _, text := range faults {
		head, which, some := strings.Cut(text, "@")
		kind, after, _ := strings.Cut(head, ":")
		f := mishap{kind: kind, after: after}
		if some {
			f.on = strings.Split(which, ",")
		}
		s.faults = append(s.faults, f)
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// Requests returns what was asked so far.
func (s *testServer) Requests() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count returns how many requests came, and how many were answered.
func (s *testServer) Count() (requests, answered int) {
	for _, r := range s.Requests() {
		if requests++; r.Answered {
			answered++
		}
	}
	return requests, answered
}

// serving is a request while it is answered.
type serving struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	Messages  []struct {
		Role    string
		Content saidTexts
	}
	Compaction json.RawMessage

	w     http.ResponseWriter
	r     *http.Request
	chat  bool
	fault string
	input int64 // tokens
}

// saidTexts are the texts of a message.
type saidTexts []string

// UnmarshalJSON reads a string or a list of blocks.
func (c *saidTexts) UnmarshalJSON(b []byte) error {
	blocks := []struct{ Text string }{{}}
	if json.Unmarshal(b, &blocks[0].Text) != nil {
		_ = json.Unmarshal(b, &blocks) // what is neither has no texts
	}
	for _, k := range blocks {
		if k.Text != "" {
			*c = append(*c, k.Text)
		}
	}
	return nil
}

// ServeHTTP answers a request.
func (s *testServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &serving{w: w, r: r, chat: strings.HasSuffix(r.URL.Path, "/chat/completions")}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	s.mu.Lock()
	s.requests = append(s.requests, received{Header: r.Header, Body: string(body)})
	n := len(s.requests)
	s.mu.Unlock()
	for _, f := range s.faults {
		if len(f.on) > 0 && !slices.Contains(f.on, strconv.Itoa(n)) {
			continue
		}
		if c.fault = f.kind; f.after != "" {
			w.Header().Set("Retry-After", f.after)
		}
	}
	c.input = int64(len(body)/4 + 1)
	status, _ := strconv.Atoi(c.fault)
	switch {
	case json.Unmarshal(body, c) != nil:
		http.Error(w, "no JSON", http.StatusBadRequest)
	case !c.chat && !strings.HasPrefix(r.Header.Get("X-Api-Key"), "dev"):
		http.Error(w, "invalid key", http.StatusUnauthorized)
	case status > 0:
		http.Error(w, http.StatusText(status), status)
	case c.fault == "too-long":
		http.Error(w, fmt.Sprintf("prompt is too long: %d tokens > %d maximum", c.input, c.input/2), http.StatusBadRequest)
	default:
		c.stream(func(u prompt.Usage, answered bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.requests[n-1].Billed, s.requests[n-1].Answered = u, answered
		})
	}
}

var askedTitles = regexp.MustCompile(`(?m)^(?:\d{1,2}\. [^:\n]{3,60}|# [^\n]{3,60})`)

// summary is what a model might say: the sections that the last text names, of which the first quotes the first text.
func (c *serving) summary() string {
	var said saidTexts
	for _, m := range c.Messages {
		if m.Role != "system" {
			said = append(said, m.Content...)
		}
	}
	quote, last := said[0], said[len(said)-1]
	if len(c.Compaction) > 0 {
		last = "1. Current Work"
	}
	var b strings.Builder
	b.WriteString("<analysis>\n" + strings.Repeat("   - a step that was taken\n", 20) + "</analysis>\n\n<summary>\n")
	for _, title := range askedTitles.FindAllString(last, 10) {
		b.WriteString(title + ":\n" + quote[:min(len(quote), 1000)] + strings.Repeat("\n   - what matters here, in short", 4) + "\n")
		quote = ""
	}
	return strings.ToValidUTF8(b.String(), "") + "</summary>"
}

// odd are the reasons to stop of answers without text, by fault.
var odd = map[string]string{"empty": "end_turn", "tool-call": "tool_use", "refusal": "refusal"}

// answer returns the text of the answer, why it ends, and its usage: a quarter of the prompt is read.
func (c *serving) answer() (text, stop string, u prompt.Usage) {
	if stop = odd[c.fault]; stop == "" {
		text, stop = c.summary(), "end_turn"
		if most := 4 * c.MaxTokens; len(text) > most {
			text, stop = strings.ToValidUTF8(text[:most], ""), "max_tokens"
		}
	}
	u = prompt.Usage{Read: c.input / 4, Uncached: c.input - c.input/4, Output: int64(max(1, len(text)/4))}
	if !c.chat {
		u.Write1h, u.Write5m, u.Uncached = u.Read, u.Uncached-u.Read-1, 1
	}
	return text, stop, u
}

// pieces cuts a text and puts each piece, as JSON, into an event.
func pieces(text, event string) (list []string) {
	for r := []rune(text); len(r) > 0; r = r[min(400, len(r)):] {
		b, _ := json.Marshal(string(r[:min(400, len(r))])) // a string has a form
		list = append(list, strings.Replace(event, "PIECE", string(b), 1))
	}
	return list
}

// messages returns the events of the Messages API.
func (c *serving) messages(text, stop string, u prompt.Usage) []string {
	input := fmt.Sprintf(`"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d,`+
		`"ephemeral_1h_input_tokens":%d}`, u.Uncached, u.Read, u.Write5m, u.Write1h)
	output := fmt.Sprintf(`"output_tokens":%d`, u.Output)
	begin := `{"type":"content_block_start","content_block":{"type":"text"}}`
	said := pieces(text, `{"type":"content_block_delta","delta":{"type":"text_delta","text":PIECE}}`)
	switch {
	case len(c.Compaction) > 0: // its usage is that of a pass of its own
		output = fmt.Sprintf(`"iterations":[{"type":"compaction",%s,%s}]`, input, output)
		input, stop = `"input_tokens":0`, "compaction"
		said = pieces(text[:min(400, len(text))], `{"type":"content_block_start","content_block":{"type":"compaction","content":PIECE}}`)
	case stop == "tool_use":
		begin = `{"type":"content_block_start","content_block":{"type":"tool_use","name":"Read"}}`
	}
	start := fmt.Sprintf(`{"type":"message_start","message":{"id":"m","model":%q,"usage":{%s}}}`, c.Model, input)
	return append(append([]string{start, begin}, said...),
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{%s}}`, stop, output), `{"type":"message_stop"}`)
}

// completion returns the events of a chat completion.
func (c *serving) completion(text, stop string, u prompt.Usage) []string {
	chunk := func(choice, rest string) string {
		return fmt.Sprintf(`{"id":"c","model":%q,"choices":[%s]%s}`, c.Model, choice, rest)
	}
	begin := chunk(`{"delta":{"role":"assistant"}}`, "")
	if stop == "tool_use" {
		begin = chunk(`{"delta":{"tool_calls":[{"function":{"name":"Read"}}]}}`, "")
	}
	finish := map[string]string{"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}
	return append(append([]string{begin}, pieces(text, chunk(`{"delta":{"content":PIECE}}`, ""))...),
		chunk(fmt.Sprintf(`{"delta":{},"finish_reason":%q}`, finish[stop]), ""),
		chunk("", fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`,
			u.Input(), u.Output, u.Read)), "[DONE]")
}

// stream answers, or does what the fault makes of that in the middle, and notes what is billed ahead of the first and
// of the last event.
func (c *serving) stream(note func(u prompt.Usage, answered bool)) {
	text, stop, u := c.answer()
	events := c.messages(text, stop, u)
	if c.chat {
		events = c.completion(text, stop, u)
	}
	note(u, false)
	c.w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range events {
		if i == len(events)/2 && c.breaks(e) {
			return
		}
		if i == len(events)-1 {
			note(u, true)
		}
		if !c.send(e) {
			return
		}
	}
}

// send writes an event at once, and reports whether the client is there.
func (c *serving) send(data string) bool {
	_, err := io.WriteString(c.w, "data: "+data+"\n\n")
	return err == nil && http.NewResponseController(c.w).Flush() == nil
}

// breaks makes the faults of a stream ahead of an event, and reports whether that is its end.
func (c *serving) breaks(event string) bool {
	switch c.fault {
	case "reset":
		if conn, _, err := http.NewResponseController(c.w).Hijack(); err == nil {
			_ = conn.Close() // it is meant to break
		}
	case "cut":
	case "stall":
		<-c.r.Context().Done()
	case "loris":
		for c.send(`{"type":"ping"}`) && c.r.Context().Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
	case "flood":
		for c.send(event) {
		}
	case "error-event":
		c.send(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	default:
		return false
	}
	return true
}
