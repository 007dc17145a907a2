// Package recorder forwards requests of a program to the provider of its model, and writes each of them with its response
// into a request log. Streams pass through as they come. Headers, which hold keys, are never written.
package recorder

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The providers' own addresses, as their SDKs have them.
const (
	Anthropic = "https://api.anthropic.com"
	OpenAI    = "https://api.openai.com/v1"
)

// Upstreams are the base addresses that requests go to, as a client is given them.
type Upstreams struct {
	Anthropic string // of Anthropic's interface, before /v1/messages
	OpenAI    string // of OpenAI's, before /chat/completions and /responses
}

// A Recorder is a handler that forwards requests and records calls of models. It is safe for concurrent use.
type Recorder struct {
	anthropic, openAI *url.URL
	proxy             *httputil.ReverseProxy
	under             sync.WaitGroup // requests under way
	lines             chan *exchange
	written           chan error
	calls, failed     atomic.Int64
}

// maxGrown is the largest body that is believed to come before it does, bytes.
const maxGrown = 16 << 20

// queued is how many calls may wait to be written before the next one waits for the log.
const queued = 256

// New returns a recorder that writes to log, a line for each call, until it is closed.
func New(log io.Writer, to Upstreams) (*Recorder, error) {
	r := &Recorder{lines: make(chan *exchange, queued), written: make(chan error, 1)}
	var errs [2]error
	r.anthropic, errs[0] = base(to.Anthropic)
	r.openAI, errs[1] = base(to.OpenAI)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	r.anthropic.Path = strings.TrimSuffix(r.anthropic.Path, "/v1") // its clients add it
	if r.openAI.Path == "" {
		r.openAI.Path = "/v1"
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // a log that a person can read
	transport.WriteBufferSize, transport.ReadBufferSize = 64<<10, 64<<10
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns
	r.proxy = &httputil.ReverseProxy{
		Rewrite: r.rewrite, Transport: transport, FlushInterval: -1, ModifyResponse: takeStatus, ErrorHandler: refuse,
		ErrorLog: quiet,
	}
	go r.write(log)
	return r, nil
}

// base reads a base address.
func base(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is no address such as %s", text, Anthropic)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

// calls are the paths of calls of models. Other requests are forwarded and not written: some have keys in their bodies.
var calls = regexp.MustCompile(`/(messages|completions|responses)(/|$)`)

// ServeHTTP implements http.Handler.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.under.Add(1)
	defer r.under.Done()
	if req.Header.Get("Upgrade") != "" { // clients that try a WebSocket first take plain HTTP then
		http.Error(w, "sim record forwards plain HTTP alone", http.StatusUpgradeRequired)
		return
	}
	if req.Method != http.MethodPost || !calls.MatchString(req.URL.Path) {
		_ = http.NewResponseController(w).EnableFullDuplex() // else an answer ahead of the request's end breaks off
		r.proxy.ServeHTTP(w, req)
		return
	}
	x := &exchange{start: time.Now(), coding: req.Header.Get("Content-Encoding")}
	to := r.target(req)
	to.User = nil
	x.url = to.String()
	defer func() { // behind a stream that breaks, too
		x.end = time.Now()
		r.calls.Add(1)
		if x.status >= http.StatusBadRequest || x.status == 0 {
			r.failed.Add(1)
		}
		r.lines <- x
	}()
	var body bytes.Buffer
	body.Grow(int(min(max(req.ContentLength, 0), maxGrown)) + bytes.MinRead)
	_, err := body.ReadFrom(req.Body)
	if x.request = body.Bytes(); err != nil {
		x.failure = "the client broke off: " + err.Error()
		http.Error(w, x.failure, http.StatusBadRequest)
		return
	}
	out := req.WithContext(context.WithValue(req.Context(), exchangeKey{}, x))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.request)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength, out.TransferEncoding = int64(len(x.request)), nil
	r.proxy.ServeHTTP(w, out)
}

// target returns where a request goes: by its path, else by its headers.
func (r *Recorder) target(req *http.Request) *url.URL {
	rest := strings.TrimPrefix(req.URL.Path, "/v1")
	to := *r.openAI
	if strings.HasPrefix(rest, "/messages") || strings.HasPrefix(rest, "/complete") && !strings.HasPrefix(rest, "/completions") ||
		req.Header.Get("Anthropic-Version") != "" {
		to, rest = *r.anthropic, req.URL.Path
	}
	to.Path += rest
	return &to
}

// rewrite points a request to its target.
func (r *Recorder) rewrite(p *httputil.ProxyRequest) {
	to := r.target(p.In)
	to.RawQuery = p.In.URL.RawQuery
	p.Out.URL, p.Out.Host = to, ""
	p.Out.Header.Set("Accept-Encoding", "identity")
}

// takeStatus takes the status of a response and keeps what passes.
func takeStatus(resp *http.Response) error {
	if x, ok := resp.Request.Context().Value(exchangeKey{}).(*exchange); ok {
		x.status, x.encoding = resp.StatusCode, resp.Header.Get("Content-Encoding")
		resp.Body = &tapped{resp.Body, x}
	}
	return nil
}

// refuse tells a client, in the form of both interfaces, why a provider was not reached.
func refuse(w http.ResponseWriter, req *http.Request, err error) {
	text := "sim record got no answer: " + err.Error()
	body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": "api_error", "message": text}})
	if x, ok := req.Context().Value(exchangeKey{}).(*exchange); ok {
		x.failure = text
		if req.Context().Err() == nil {
			x.status = http.StatusBadGateway
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(body) // the client may be gone
}

// Calls returns how many calls were recorded, and how many of these failed.
func (r *Recorder) Calls() (all, failed int) { return int(r.calls.Load()), int(r.failed.Load()) }

// Close waits for the requests under way, which the caller has ended, and returns the first error of the log.
func (r *Recorder) Close() error {
	r.under.Wait()
	close(r.lines)
	return <-r.written
}

// quiet drops what the forwarder logs: clients that go away.
var quiet = log.New(io.Discard, "", 0)

type exchangeKey struct{}

// exchange is a request with its response.
type exchange struct {
	start, end        time.Time
	url               string // without a query, which may hold a key
	request, response []byte
	coding, encoding  string // of their bodies
	status            int    // 0 for no answer
	failure           string
}

// tapped is the body of a response of which what is read is kept.
type tapped struct {
	io.ReadCloser
	to *exchange
}

func (t *tapped) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.to.response = append(t.to.response, b[:n]...)
	return n, err //nolint:wrapcheck // it is the body's own
}

// write writes the calls until the recorder is closed. Behind an error it writes no more, and calls go on.
func (r *Recorder) write(log io.Writer) {
	w := bufio.NewWriterSize(log, 1<<16)
	var failed error
	for x := range r.lines {
		if failed != nil {
			continue
		}
		// Write an exchange as a line: {"start": …, "end": …, "request": {"method": …, "url": …, "body": …},
		// "response": {"status_code": …, "body": …}}. A body that is no JSON, such as a stream of events, is a text:
		// body_raw. Bodies are large and are copied as they are; w keeps its error.
		fmt.Fprintf(w, `{"start":%q,"end":%q,"request":{"method":"POST","url":%s`,
			x.start.UTC().Format(time.RFC3339Nano), x.end.UTC().Format(time.RFC3339Nano), quote(x.url))
		writeBody(w, x.request, x.coding)
		fmt.Fprintf(w, `},"response":{"status_code":%d`, x.status)
		writeBody(w, x.response, x.encoding)
		if x.failure != "" {
			fmt.Fprintf(w, `,"error":%s`, quote(x.failure))
		}
		_, _ = w.WriteString("}}\n")
		failed = w.Flush()
	}
	r.written <- failed
}

// writeBody writes a body under a coding as a member of an object.
func writeBody(w *bufio.Writer, body []byte, coding string) {
	if plain, err := decode(body, coding); err == nil {
		body = plain
	}
	switch {
	case len(body) == 0:
		return
	case !json.Valid(body):
		_, _ = w.WriteString(`,"body_raw":`)
		body = quote(string(body))
	default:
		_, _ = w.WriteString(`,"body":`)
		if bytes.ContainsAny(body, "\n\r") { // of white space: a line has none
			var line bytes.Buffer
			_ = json.Compact(&line, body) // it is valid
			body = line.Bytes()
		}
	}
	_, _ = w.Write(body)
}

// quote returns a text as JSON.
func quote(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text can be written
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decode undoes a coding of a body, as far as the body goes.
func decode(body []byte, coding string) ([]byte, error) {
	var r io.Reader
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		r = flate.NewReader(bytes.NewReader(body))
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
			r = d
		}
	default:
		return body, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // the body is written as it came
	}
	plain, err := io.ReadAll(r)
	if len(plain) > 0 {
		return plain, nil // of a body that was cut off, what there is
	}
	return nil, err //nolint:wrapcheck // see above
}
