package devserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Defaults of Options.
const (
	DefaultWindow        = 200_000
	DefaultSummaryTokens = 1500    // about half of the median summary of the recordings: tests are quicker
	DefaultMaxOutput     = 128_000 // the longest output on offer
)

// Options configure a server. The zero value serves.
type Options struct {
	Models        []string // known names; none for all that begin with claude-, gpt- or dev-
	Window        int64    // tokens of the longest prompt; 0 for DefaultWindow
	HideExcess    bool     // refuse longer prompts without saying how long they are
	Latency       time.Duration
	SummaryTokens int // of a summary, its analysis included; 0 for DefaultSummaryTokens
	MaxOutput     int // the most that a request may ask for, tokens; 0 for DefaultMaxOutput
	Faults        []Fault
	Seed          uint64           // of faults with a probability
	Now           func() time.Time // nil for time.Now; the cache's clock
}

// maxBody is the largest request in bytes, as documented.
const maxBody = 32 << 20

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	options Options
	mux     *http.ServeMux
	cache   cache
	chunks  chunkCache
	counts  counter
}

// New returns a server. It reports all that is wrong with the options.
func New(o Options) (*Server, error) {
	var errs []error
	if o.Window < 0 {
		errs = append(errs, fmt.Errorf("window %d must not be negative", o.Window))
	}
	if o.Latency < 0 {
		errs = append(errs, fmt.Errorf("latency %v must not be negative", o.Latency))
	}
	if o.SummaryTokens < 0 {
		errs = append(errs, fmt.Errorf("summary of %d tokens: must not be negative", o.SummaryTokens))
	}
	if o.MaxOutput < 0 {
		errs = append(errs, fmt.Errorf("output of %d tokens: must not be negative", o.MaxOutput))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("devserver: %w", err)
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.SummaryTokens == 0 {
		o.SummaryTokens = DefaultSummaryTokens
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/messages", s.messages)
	s.mux.HandleFunc("POST /v1/chat/completions", s.completions)
	s.mux.HandleFunc("GET /debug/counts", s.debug)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Counts returns what was asked so far.
func (s *Server) Counts() Counts { return s.counts.snapshot() }

func (s *Server) debug(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, s.Counts(), json.Deterministic(true)) // the client has gone
}

// call is one request while it is served.
type call struct {
	server  *Server
	w       http.ResponseWriter
	r       *http.Request
	ordinal int
	digest  string
	body    []byte
	org     string
	fault   *Fault
}

// begin reads a request, counts it and checks who sends it. It answers itself
// and returns nil when there is nothing more to do.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, key string, fail func(*call, *apiError)) *call {
	c := &call{server: s, w: w, r: r}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	sum := sha256.Sum256(body)
	c.body, c.digest = body, hex.EncodeToString(sum[:8])
	c.ordinal = s.counts.begin(c.digest)
	var large *http.MaxBytesError
	org, known := organisation(key)
	c.org = org
	c.fault = pick(s.options.Faults, c.ordinal, s.options.Seed)
	switch {
	case errors.As(err, &large):
		fail(c, &apiError{status: http.StatusRequestEntityTooLarge, kind: "request_too_large", message: "Request exceeds the maximum size"})
	case err != nil:
		return nil // the client has gone
	case !known:
		fail(c, &apiError{status: http.StatusUnauthorized, kind: "authentication_error", message: "invalid x-api-key: this server takes keys that begin with dev"})
	case c.fault != nil && c.fault.refuses():
		fail(c, c.fault.refusal(c.estimate(), s.options.Window))
	default:
		return c
	}
	return nil
}

// estimate returns the tokens of a request that is not looked at.
func (c *call) estimate() int64 { return tokensOf(len(c.body)) }

// organisation returns whose cache a key uses.
func organisation(key string) (org string, ok bool) {
	if !strings.HasPrefix(key, "dev") {
		return "", false
	}
	parts := strings.SplitN(key, "-", 3)
	if len(parts) == 3 {
		return parts[1], true
	}
	return key, true
}

// knows reports whether there is a model.
func (s *Server) knows(model string) bool {
	if len(s.options.Models) > 0 {
		return slices.Contains(s.options.Models, model)
	}
	for _, prefix := range []string{"claude-", "gpt-", "dev-"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

// delay waits for the first token; it returns false when the client has gone.
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
