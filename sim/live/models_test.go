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

// testServer stands for servers of models: it answers in the shape of the Messages API and of chat completions, and checks
// nothing but the Messages API's key, which must begin with "dev". Faults happen on demand. It answers calls, and keeps what it was asked.
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
	Billed   prompt.Usage // also where the answer broke off
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
//	reset, cut, error-answer    the answer breaks off: the connection, before its length; it is an error
//	stall, loris, flood         the answer does not come, comes byte by byte, or has no end
//	empty, refusal              the answer is complete, and odd
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
		c.send(func(u prompt.Usage, answered bool) {
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
	var b strings.Builder
	b.WriteString("<analysis>\n" + strings.Repeat("   - a step that was taken\n", 20) + "</analysis>\n\n<summary>\n")
	for _, title := range askedTitles.FindAllString(last, 10) {
		b.WriteString(title + ":\n" + quote[:min(len(quote), 1000)] + strings.Repeat("\n   - what matters here, in short", 4) + "\n")
		quote = ""
	}
	return strings.ToValidUTF8(b.String(), "") + "</summary>"
}

// odd are the reasons to stop of answers without text, by fault.
var odd = map[string]string{"empty": "end_turn", "refusal": "refusal"}

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

// body returns the answer in the form of its interface.
func (c *serving) body(text, stop string, u prompt.Usage) string {
	said, _ := json.Marshal(text) // a string has a form
	if c.chat {
		finish := map[string]string{"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter"}
		return fmt.Sprintf(`{"id":"c","model":%q,"choices":[{"message":{"role":"assistant","content":%s},"finish_reason":%q}],`+
			`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`,
			c.Model, said, finish[stop], u.Input(), u.Output, u.Read)
	}
	return fmt.Sprintf(`{"id":"m","model":%q,"stop_reason":%q,"content":[{"type":"text","text":%s}],"usage":{"input_tokens":%d,`+
		`"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d},"output_tokens":%d}}`,
		c.Model, stop, said, u.Uncached, u.Read, u.Write5m, u.Write1h, u.Output)
}

// send answers, or does what the fault makes of that, and notes what is billed.
func (c *serving) send(note func(u prompt.Usage, answered bool)) {
	text, stop, u := c.answer()
	body, flush := c.body(text, stop, u), http.NewResponseController(c.w).Flush
	c.w.Header().Set("Content-Type", "application/json")
	note(u, false)
	switch c.fault {
	case "reset":
		if conn, _, err := http.NewResponseController(c.w).Hijack(); err == nil {
			_ = conn.Close() // it is meant to break
		}
	case "cut":
		c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		io.WriteString(c.w, body[:len(body)/2])
	case "stall":
		<-c.r.Context().Done()
	case "loris":
		for c.r.Context().Err() == nil {
			if _, err := io.WriteString(c.w, " "); err != nil || flush() != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	case "flood":
		for err := error(nil); err == nil; _, err = io.WriteString(c.w, body) {
		}
	case "error-answer":
		io.WriteString(c.w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	default:
		note(u, true)
		io.WriteString(c.w, body)
	}
}
