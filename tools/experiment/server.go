package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A callRow is one call as the server billed it. A bill keeps them without names of members, to be short.
type callRow struct {
	Kind    string // main, compact or side
	Thread  string // of the script
	Step    int    // of main calls: place among the thread's main calls
	Model   string
	At      int64 // ms since the first call, pauses included
	Usage   usage
	Fetched int // things that the agent fetched because the request lacked them
	Again   int // how many of the fetched things it had been shown before
}

// A server stands in for the models of both providers: it answers the n-th main call of a thread with the thread's n-th step,
// whatever the client took out of the context in between, and bills it by the provider's documented cache. Its agent reads again
// what a step needs and the request lacks.
type server struct {
	script  *Script
	dialect dialect

	mu      sync.Mutex
	shift   time.Duration // by which pauses have moved the clock
	begun   time.Time
	marked  markedCache
	chunked chunkedCache
	places  map[string]*place
	rows    []callRow
	bodies  func(n int, body []byte) // called with each request that is billed, if not nil
	sent    []sent
	before  []part // of the last request
}

// A sent is a request as the caches saw it: its blocks named by their hash, and those that it has in common with the request
// before it only counted.
type sent struct {
	Model string `json:"model"`
	Key   string `json:"key,omitempty"` // of the cache, which a client may give
	At    int64  `json:"at"`            // ms since the first call
	Same  int    `json:"same"`
	Then  []part `json:"then"`
}

// A part is a block of a request.
type part struct {
	Hash   string `json:"hash"`
	Tokens int    `json:"tokens"`
	TTL    int    `json:"ttl,omitempty"` // of its marker, s
	Run    byte   `json:"run,omitempty"`
}

// A place is where a thread's agent is.
type place struct {
	calls     int // main calls so far
	step      int
	summaries int
	tried     map[string]int // fetches for needs of the step
	shown     map[Op]bool
}

// now returns the time of the simulated clock.
func (s *server) now() time.Time { return time.Now().Add(s.shift) }

// pause lets time pass for the caches.
func (s *server) pause(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift += d
}

// A wire is the interface of one provider.
type wire interface {
	// parse takes a request apart.
	parse(body map[string]any, density float64) request
	// answer writes the reply.
	answer(w http.ResponseWriter, r *request, a reply)
}

// A request is what the server needs to know of one.
type request struct {
	model    string
	cacheKey string
	blocks   []block
	words    string // of all messages, in order
	last     string // of the last message
	tools    int
	stream   bool
	trigger  bool // an item that asks for a compaction
}

// A reply is what the server says.
type reply struct {
	n         int // number of the call
	text      string
	calls     []toolCall
	usage     usage
	compacted bool // a reply to a trigger
}

// A toolCall is a use of a tool in a client's words.
type toolCall struct {
	name  string
	input any // a string for tools that take free text
}

var threadName = regexp.MustCompile(`thread:([a-z0-9-]+)`)

// kind returns what a request is for. A client asks for a summary with a text that says so.
func (r *request) kind() string {
	ask := strings.ToLower(r.last)
	switch {
	case r.trigger, strings.Contains(ask, "<analysis>"), strings.Contains(ask, "detailed summary of"), strings.Contains(ask, "<state_snapshot>"),
		strings.Contains(ask, "create a handoff summary"):
		return "compact"
	case r.tools > 0:
		return "main"
	case strings.Contains(ask, "summar") || len(r.words) > 12000:
		return "compact"
	}
	return "side"
}

// serve answers one request.
func (s *server) serve(w http.ResponseWriter, wr wire, body []byte) error {
	var parsed map[string]any
	if err := json.Unmarshal(body, &parsed); err != nil {
		return err
	}
	r := wr.parse(parsed, s.script.Density)
	s.mu.Lock()
	now := s.now()
	if s.begun.IsZero() {
		s.begun, s.places = now, map[string]*place{}
	}
	if total := sum(r.blocks); total > window(r.model) {
		s.mu.Unlock()
		return fmt.Errorf("prompt is too long: %d tokens > %d maximum", total, window(r.model))
	}
	row := callRow{Kind: r.kind(), Model: r.model, At: now.Sub(s.begun).Milliseconds(), Step: -1}
	if m := threadName.FindStringSubmatch(r.words); m != nil {
		row.Thread = m[1]
	}
	t := s.script.thread(row.Thread)
	a := reply{n: len(s.rows) + 1, text: "A short title"}
	if t == nil && row.Kind != "side" {
		s.mu.Unlock()
		return fmt.Errorf("no thread of the script is named in the request")
	}
	p := s.places[row.Thread]
	if p == nil {
		p = &place{tried: map[string]int{}, shown: map[Op]bool{}}
		s.places[row.Thread] = p
	}
	switch row.Kind {
	case "main":
		row.Step = p.calls
		step, again := p.next(t, r.words)
		a.text = step.Say
		for _, op := range step.Ops {
			a.calls = append(a.calls, s.dialect.call(op))
		}
		if again >= 0 {
			row.Fetched, row.Again = len(step.Ops), again
		}
	case "compact":
		a.text = s.dialect.summary(t.summary(p.summaries))
		p.summaries++
		a.compacted = r.trigger
	}
	if _, ok := wr.(messages); ok {
		row.Usage = s.marked.bill(r.model, r.blocks, now)
	} else {
		s.chunked.idle = 30 * time.Minute
		row.Usage = s.chunked.bill(r.model, r.cacheKey, r.blocks, now)
	}
	s.keep(&r, row.At)
	row.Usage.Output = tokens(a.text, s.script.Density) + 8
	for _, c := range a.calls {
		row.Usage.Output += tokens(c.name+text(c.input), s.script.Density) + 10
	}
	a.usage = row.Usage
	s.rows = append(s.rows, row)
	if s.bodies != nil {
		s.bodies(a.n, body)
	}
	s.mu.Unlock()
	if s.dialect == copilot { // its summaries are written while the conversation goes on, so that what a call takes counts
		time.Sleep(duration(a.usage))
	}
	wr.answer(w, &r, a)
	return nil
}

// duration returns how long a call takes, as the recordings behind docs/latency.md had it.
func duration(u usage) time.Duration {
	return 1710*time.Millisecond + time.Duration(u.prompt()-u.Read)*30400*time.Nanosecond + time.Duration(u.Read)*7600*time.Nanosecond +
		time.Duration(u.Output)*time.Second/75
}

// keep notes the blocks of a request.
func (s *server) keep(r *request, at int64) {
	parts := make([]part, len(r.blocks))
	for i, b := range r.blocks {
		h := sha256.Sum256([]byte(b.text))
		parts[i] = part{Hash: hex.EncodeToString(h[:8]), Tokens: b.tokens, TTL: int(b.ttl.Seconds()), Run: b.run}
	}
	same := 0
	for same < len(parts) && same < len(s.before) && parts[same] == s.before[same] {
		same++
	}
	s.sent = append(s.sent, sent{Model: r.model, Key: r.cacheKey, At: at, Same: same, Then: parts[same:]})
	s.before = parts
}

// next returns what the agent does at a main call whose request has these words, and of a fetch how many of the things had
// been shown before; -1 if it is the step itself. It fetches for one need of a step at most twice.
func (p *place) next(t *Thread, words string) (Step, int) {
	p.calls++
	if p.step >= len(t.Steps) {
		return Step{Say: "Nothing is left to do."}, -1
	}
	step, again := t.Steps[p.step], 0
	var fetch []Op
	for _, n := range step.Needs {
		if strings.Contains(words, n.Mark) || p.tried[n.Mark] == 2 {
			continue
		}
		op := n.Show
		if p.tried[n.Mark]++; op.Do == read && p.tried[n.Mark] == 2 {
			op.Do = show // the client may say that the file has not changed since it was read
		}
		if p.shown[n.Show] {
			again++
		}
		fetch = append(fetch, op)
		p.shown[n.Show] = true
	}
	if fetch != nil {
		return Step{Say: fmt.Sprintf("Look again before step %d.", p.step+1), Ops: fetch}, again
	}
	p.step++
	for _, op := range step.Ops {
		p.shown[op] = true
	}
	return step, -1
}

// window returns the tokens that a model takes.
func window(model string) int {
	switch {
	case strings.HasPrefix(model, "gpt-"):
		return 272_000
	case model == "claude-opus-4-7":
		return 1_000_000
	}
	return 200_000
}

func sum(blocks []block) int {
	n := 0
	for _, b := range blocks {
		n += b.tokens
	}
	return n
}

// ServeHTTP answers the interfaces of both providers.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "zstd" {
		d, err := zstd.NewReader(r.Body)
		if err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		defer d.Close()
		in = d
	}
	body, err := io.ReadAll(in)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	var wr wire
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		_, _ = io.WriteString(w, `{"object":"list","models":[],"data":[],"has_more":false}`)
		return
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages"):
		wr = messages{}
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/count_tokens"):
		var parsed map[string]any
		if err := json.Unmarshal(body, &parsed); err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		w.Header().Set("Content-Type", "application/json") // else Claude Code takes its own estimate, and restores larger files
		fmt.Fprintf(w, `{"input_tokens":%d}`, sum(messages{}.parse(parsed, s.script.Density).blocks))
		return
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses"):
		wr = responses{}
	default:
		refuse(w, http.StatusNotFound, fmt.Errorf("%s %s is not served", r.Method, r.URL.Path))
		return
	}
	if err := s.serve(w, wr, body); err != nil {
		refuse(w, http.StatusBadRequest, err)
	}
}

// refuse answers with an error in the form of both providers.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": err.Error()}})
}
