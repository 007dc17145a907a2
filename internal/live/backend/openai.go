package backend

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// OpenAIConfig says how to reach an API of chat completions.
type OpenAIConfig struct {
	Key     Key          // none for servers that ask for none
	BaseURL string       // with the version, as http://localhost:8000/v1, or with all of the path, as http://localhost:8000/chat/completions
	Client  *http.Client // nil for one over http.DefaultTransport
	Limits  Limits
}

// OpenAI speaks the chat completions of OpenAI and of the servers that offer the
// same interface (vLLM, llama.cpp, gateways). What such an interface has no word
// for is left out: cache breakpoints, betas, thinking, the server's own compaction
// and edits. The zero value is not usable.
type OpenAI struct {
	client   *http.Client
	config   OpenAIConfig
	endpoint string
}

// NewOpenAI returns a backend for chat completions. It reports a base URL that
// names no version or one twice, and a key that cannot be sent or that OpenAI's
// own server misses.
func NewOpenAI(c OpenAIConfig) (*OpenAI, error) {
	endpoint, err := chatURL(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("backend: base URL of the chat completions: %w", err)
	}
	if err := c.Key.check(); err != nil {
		return nil, fmt.Errorf("backend: key of the chat completions: %w", err)
	}
	if c.Key.IsZero() && ownServer(c.BaseURL) {
		return nil, errors.New("backend: OpenAI's own server needs a key")
	}
	c.Limits = c.Limits.withDefaults()
	return &OpenAI{client: newClient(c.Client, c.Limits), config: c, endpoint: endpoint}, nil
}

// Do sends one request, once, and reads the stream to its end.
func (o *OpenAI) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	body, err := o.body(r)
	if err != nil {
		return nil, fmt.Errorf("backend: request to %s: %w", r.Model, err)
	}
	attempt, cancel := context.WithTimeoutCause(ctx, o.config.Limits.Timeout, errTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(attempt, http.MethodPost, o.endpoint, body)
	if err != nil {
		return nil, unanswered(err, false, o.config.Key)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if !o.config.Key.IsZero() {
		req.Header.Set("Authorization", "Bearer "+o.config.Key.secret())
	}
	c := completion{began: time.Now(), most: mostOutput(r)}
	resp, err := o.client.Do(req)
	if err != nil {
		return nil, o.cut(ctx, attempt, err, false, &c)
	}
	defer resp.Body.Close()
	if f := o.refused(resp); f != nil {
		if ctx.Err() != nil {
			return nil, ended(ctx, 1, wire.Usage{})
		}
		return nil, f
	}
	err = events(resp.Body, o.config.Limits.MaxResponse, c.take)
	if c.refusal != nil {
		f := c.refusal.failure(o.config.Key)
		f.Billed = c.billed()
		return nil, f
	}
	if err != nil || !c.done {
		return nil, o.cut(ctx, attempt, err, true, &c)
	}
	reply := c.finish()
	estimateUncounted(r, reply, c.bytes)
	return reply, nil
}

// cut returns why there is no complete answer.
func (o *OpenAI) cut(ctx, attempt context.Context, err error, answered bool, c *completion) error {
	if ctx.Err() != nil {
		return ended(ctx, 1, c.billed())
	}
	if err == nil {
		err = errors.New("the stream ended before its last event")
	}
	if attempt.Err() != nil {
		err = causeOr(attempt, err)
	}
	f := unanswered(err, answered, o.config.Key)
	f.Billed = c.billed()
	return f
}

// refused returns the failure of a response that is an error, or no stream.
func (o *OpenAI) refused(resp *http.Response) *wire.Failure {
	if resp.StatusCode < http.StatusMultipleChoices {
		return notStream(resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRead))
	if err != nil && len(text) == 0 {
		text = []byte(http.StatusText(resp.StatusCode))
	}
	r := refusal{status: resp.StatusCode, message: string(text), header: resp.Header}
	var body chatError
	if json.Unmarshal(text, &body) == nil {
		r.kind, r.message = body.kind(), body.message(r.message)
	}
	return r.failure(o.config.Key)
}

// chatError is how a server tells an error. Servers differ in the type of code.
type chatError struct {
	Error struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	} `json:"error"`
}

// kind returns the code when it is one that we know, the type otherwise.
func (e *chatError) kind() string {
	if code, ok := e.Error.Code.(string); ok {
		if _, known := kinds[code]; known {
			return code
		}
	}
	return e.Error.Type
}

func (e *chatError) message(otherwise string) string {
	if e.Error.Message == "" {
		return otherwise
	}
	return e.Error.Message
}

// events calls take with the data of every event of a stream until it returns
// an error or the stream ends. A last event without the blank line behind it is
// not complete, and left out, but for the word that nothing more comes: some
// gateways send that as their last line.
func events(r io.Reader, limit int64, take func(data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, int(limit)+1)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if len(data) > 0 {
				if err := take(data); err != nil {
					return err
				}
			}
			data = data[:0]
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	if err := lines.Err(); err != nil || string(data) != streamEnd {
		return err
	}
	return take(data)
}
