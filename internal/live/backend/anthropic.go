package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// AnthropicURL is where Anthropic's own API is.
const AnthropicURL = "https://api.anthropic.com/"

// AnthropicConfig says how to reach a Messages API.
type AnthropicConfig struct {
	Key     Key
	BaseURL string       // "" for AnthropicURL
	Client  *http.Client // nil for one over http.DefaultTransport
	Limits  Limits
	// ToolChoiceNone sends tool_choice none with requests that deny tools. That
	// makes tool calls impossible, and is part of the cache's key: what a request
	// without it wrote behind the system prompt is not read.
	ToolChoiceNone bool
}

// Anthropic speaks the Messages API through Anthropic's SDK, which neither
// retries nor looks into the environment here. The zero value is not usable.
type Anthropic struct {
	client anthropic.Client
	config AnthropicConfig
}

// NewAnthropic returns a backend for a Messages API. It reports a base URL to
// which the path of the API cannot be put, and a key that is missing or cannot be
// sent.
func NewAnthropic(c AnthropicConfig) (*Anthropic, error) {
	if c.BaseURL == "" {
		c.BaseURL = AnthropicURL
	}
	if err := checkMessagesURL(c.BaseURL); err != nil {
		return nil, fmt.Errorf("backend: base URL of the Messages API: %w", err)
	}
	if c.Key.IsZero() {
		return nil, errors.New("backend: the Messages API needs a key")
	}
	if err := c.Key.check(); err != nil {
		return nil, fmt.Errorf("backend: key of the Messages API: %w", err)
	}
	c.Limits = c.Limits.withDefaults()
	client := anthropic.NewClient(
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0),
		option.WithBaseURL(c.BaseURL),
		option.WithAPIKey(c.Key.secret()),
		option.WithHTTPClient(newClient(c.Client, c.Limits)),
	)
	return &Anthropic{client: client, config: c}, nil
}

// Do sends one request, once, and reads the stream to its end.
func (a *Anthropic) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	body, err := a.body(r)
	if err != nil {
		return nil, fmt.Errorf("backend: request to %s: %w", r.Model, err)
	}
	attempt, cancel := context.WithTimeoutCause(ctx, a.config.Limits.Timeout, errTimeout)
	defer cancel()
	var resp *http.Response
	began := time.Now()
	var opts []option.RequestOption
	if len(r.Betas) > 0 {
		opts = append(opts, option.WithHeader("anthropic-beta", strings.Join(r.Betas, ",")))
	}
	// The path is that of the SDK's beta service, whose events are read; its own
	// parameters would be copied several times.
	err = a.client.Post(attempt, "v1/messages?beta=true", body, &resp, opts...)
	stream := ssestream.NewStream[anthropic.BetaRawMessageStreamEventUnion](ssestream.NewDecoder(resp), err)
	if resp != nil {
		defer resp.Body.Close()
	}
	if f := a.refused(stream.Err(), resp); f != nil {
		return nil, f
	}
	m := message{began: began, most: mostOutput(r)}
	for stream.Err() == nil && stream.Next() {
		event := stream.Current()
		m.take(&event)
	}
	reply, err := m.finish(ctx, attempt, stream.Err(), resp != nil, a.config.Key)
	if err == nil {
		estimateUncounted(r, reply, m.bytes)
	}
	return reply, err
}

// refused returns the failure of a response that is an error, or no stream.
func (a *Anthropic) refused(err error, resp *http.Response) *wire.Failure {
	var api *anthropic.Error
	switch {
	case errors.As(err, &api):
		return said(api).failure(a.config.Key)
	case err != nil || resp == nil:
		return nil
	case resp.StatusCode >= http.StatusMultipleChoices:
		return refusal{status: resp.StatusCode, message: "the server points elsewhere, where the key is not sent", header: resp.Header}.failure(a.config.Key)
	}
	return notStream(resp)
}

// notStream returns a failure when a response is not a stream of events: asking
// the same server again would not help.
func notStream(resp *http.Response) *wire.Failure {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind == "text/event-stream" {
		return nil
	}
	return &wire.Failure{Cause: wire.CauseRequest, Status: resp.StatusCode, Attempts: 1,
		Message: fmt.Sprintf("the answer is %q, not a stream of events: is the base URL that of such an API?", clip(kind))}
}

// said returns what the API's error says.
func said(e *anthropic.Error) refusal {
	r := refusal{status: e.StatusCode, kind: string(e.Type()), message: e.RawJSON()}
	if e.Response != nil {
		r.header = e.Response.Header
	}
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(e.RawJSON()), &body) == nil && body.Error.Message != "" {
		r.message = body.Error.Message
	}
	return r
}
