// Package devserver is a server that speaks the Messages API and chat completions
// over real HTTP, for tests of what calls models and for trying it out without a
// key and without cost. It has no model: its answers are made of what it was
// asked, always in the same way.
//
//	POST /v1/messages          streamed or not
//	POST /v1/chat/completions  streamed or not
//	GET  /debug/counts         what was asked how often (Counts)
//
// Requests are checked as the API checks them. Usage comes from an estimate of
// tokens and from a prompt cache that was written from the provider's
// documentation alone: predictions of sim/promptcache are held against it, so
// the two share nothing. Faults happen on demand (Fault).
//
// A key has the form dev…; the part between the first two hyphens of
// dev-ACME-… names an organisation, whose requests share a cache.
package devserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/spec"
)

// Defaults of Options.
const (
	DefaultWindow        = 200_000
	DefaultSummaryTokens = 1500    // about half of the median summary of the recordings: tests are quicker
	defaultMaxOutput     = 128_000 // the longest output on offer
)

// Options configure a server. The zero value serves, with the defaults.
type Options struct {
	Window        int64         `yaml:"window" min:"0"`         // tokens of the longest prompt
	Latency       time.Duration `yaml:"latency" min:"0s"`       // time to the first token
	SummaryTokens int           `yaml:"summary_tokens" min:"0"` // tokens of a summary, its analysis included
	Seed          uint64        `yaml:"seed"`                   // of faults that meet a share of the requests

	MaxOutput int              `yaml:"max_output" min:"0"` // tokens a request may ask for; 0 for 128,000
	Models    []string         `yaml:"-"`                  // none for all that begin with claude-, gpt- or dev-
	Faults    []Fault          `yaml:"-"`
	Now       func() time.Time `yaml:"-"` // the cache's clock; nil for time.Now
}

// maxBody is the largest request in bytes, as documented.
const maxBody = 32 << 20

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux
	cache   cache
	mu      sync.Mutex
	counts  Counts
}

// New returns a server, or all that is wrong with the options.
func New(o Options) (*Server, error) {
	if err := spec.Err(spec.Validate(&o)); err != nil {
		return nil, fmt.Errorf("devserver: %w", err)
	}
	o.Window = cmp.Or(o.Window, DefaultWindow)
	o.SummaryTokens = cmp.Or(o.SummaryTokens, DefaultSummaryTokens)
	o.MaxOutput = cmp.Or(o.MaxOutput, defaultMaxOutput)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, mux: http.NewServeMux(), counts: Counts{Digests: map[string]Count{}}}
	s.mux.HandleFunc("POST /v1/messages", s.messages)
	s.mux.HandleFunc("POST /v1/chat/completions", s.completions)
	s.mux.HandleFunc("GET /debug/counts", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, s.Counts(), json.Deterministic(true)) // the client has gone
	})
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Counts counts what was asked, by the digest of a request's body.
type Counts struct {
	Requests int `json:"requests"`
	Answered int `json:"answered"`
	// Billed is what all prompts that were worked on are billed, with all that was said, also where the response
	// broke off.
	Billed  wire.Usage       `json:"billed"`
	Digests map[string]Count `json:"digests"`
}

// Count counts how often a request came, and how often it was answered in full.
type Count struct {
	Requests int `json:"requests"`
	Answered int `json:"answered"`
}

// Counts returns what was asked so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Digests = maps.Clone(c.Digests)
	return c
}

// count counts requests and answers, and returns the ordinal of the request.
func (s *Server) count(digest string, requests, answered int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Requests += requests
	s.counts.Answered += answered
	n := s.counts.Digests[digest]
	s.counts.Digests[digest] = Count{n.Requests + requests, n.Answered + answered}
	return s.counts.Requests
}

// bill counts what an answer is billed.
func (s *Server) bill(a *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(a.iterations) == 0 {
		s.counts.Billed.Add(&a.usage)
	}
	for _, it := range a.iterations {
		s.counts.Billed.Add(&it.Usage)
	}
}

// knows reports whether there is a model.
func (s *Server) knows(model string) bool {
	if len(s.options.Models) > 0 {
		return slices.Contains(s.options.Models, model)
	}
	return strings.HasPrefix(model, "claude-") || strings.HasPrefix(model, "gpt-") || strings.HasPrefix(model, "dev-")
}

// apiError is an error that the server answers with.
type apiError struct {
	status  int
	kind    string
	message string
	after   time.Duration // Retry-After, 0 for none
}

// invalid returns the error of a request that breaks a rule.
func invalid(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)}
}

// tooLong returns the error of a prompt beyond the window.
func tooLong(tokens, window int64) *apiError {
	return invalid("prompt is too long: %d tokens > %d maximum", tokens, window)
}

// call is one request while it is served.
type call struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	chat   bool
	digest string
	body   []byte
	org    string
	fault  *Fault
}

// begin reads a request, counts it and checks the key. It answers itself and returns nil when nothing is left to
// do.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, chat bool) *call {
	c := &call{server: s, w: w, r: r, chat: chat}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	sum := sha256.Sum256(body)
	c.body, c.digest = body, hex.EncodeToString(sum[:8])
	c.fault = pick(s.options.Faults, s.count(c.digest, 1, 0), s.options.Seed)
	key := r.Header.Get("X-Api-Key")
	if chat {
		key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	c.org = key
	if parts := strings.SplitN(key, "-", 3); len(parts) == 3 {
		c.org = parts[1]
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		c.fail(&apiError{status: http.StatusRequestEntityTooLarge, kind: "request_too_large",
			message: "Request exceeds the maximum size"})
	case err != nil: // the client has gone
	case !strings.HasPrefix(key, "dev"):
		c.fail(&apiError{
			status: http.StatusUnauthorized, kind: "authentication_error",
			message: "invalid x-api-key: this server takes keys that begin with dev",
		})
	case c.fault.when() == refusing:
		c.fail(c.fault.refusal(tokensOf(len(c.body)), s.options.Window))
	default:
		return c
	}
	return nil
}

// fail answers with an error.
func (c *call) fail(e *apiError) {
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	if e.after > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.after+time.Second-1)/time.Second), 10))
	}
	c.w.WriteHeader(e.status)
	body := e.body()
	if c.chat {
		body.Type = ""
	} else {
		body.RequestID = "req_" + c.digest
	}
	_ = json.MarshalWrite(c.w, body) // the client has gone
}

func (e *apiError) body() api.ErrorBody {
	return api.ErrorBody{Type: "error", Error: &api.Error{Type: e.kind, Message: e.message}}
}

// delay waits; it returns false when the client has gone.
func (c *call) delay(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.r.Context().Done():
		return false
	}
}
