package live

import (
	"context"
	"fmt"
	"github.com/compactsim/compactsim/sim/prompt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// chunks is a stream of a completion of ten bytes, and what comes behind it.
func chunks(rest string) string {
	return `data: {"id":"c1","model":"m","choices":[{"delta":{"content":"0123456789"}}]}` + "\n\n" +
		`data: {"id":"c1","model":"m","choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n" + rest
}

const counted = `data: {"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":70,"completion_tokens":3}}` + "\n\n"

// A stream may end with its last word and no line behind it; one that ends
// without the word is broken.
func TestLastLineOfAStream(t *testing.T) {
	for _, tc := range []struct {
		rest string
		ok   bool
	}{
		{counted + "data: [DONE]\n\n", true},
		{counted + "data: [DONE]\n", true},
		{counted + "data: [DONE]", true},
		{counted, false},
		{counted + "data: [DO", false},
	} {
		b := openAIAt(t, says(t, 200, chunks(tc.rest), "Content-Type", "text/event-stream"), limit{})
		reply, err := b.Do(context.Background(), short(100))
		if !tc.ok {
			if f := failure(t)(reply, err); f.Cause != CauseBroken {
				t.Errorf("%q: %v", tc.rest, err)
			}
			continue
		}
		if err != nil || reply.Text != "0123456789" || reply.Estimated || reply.Usage != (prompt.Usage{Uncached: 70, Output: 3}) {
			t.Errorf("%q: %+v, %v", tc.rest, reply, err)
		}
	}
}

// What a server does not count is estimated and said to be: ten bytes of output
// are 3 tokens at four bytes each, the request's estimate is 240.
func TestUncountedIsEstimated(t *testing.T) {
	for _, tc := range []struct {
		usage string
		want  prompt.Usage
	}{
		{"", prompt.Usage{Uncached: 240, Output: 3}},
		{`data: {"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":70}}` + "\n\n", prompt.Usage{Uncached: 70, Output: 3}},
		{`data: {"id":"c1","model":"m","choices":[],"usage":{"completion_tokens":5}}` + "\n\n", prompt.Usage{Uncached: 240, Output: 5}},
	} {
		b := openAIAt(t, says(t, 200, chunks(tc.usage+"data: [DONE]\n\n"), "Content-Type", "text/event-stream"), limit{})
		reply, err := b.Do(context.Background(), short(100))
		if err != nil || !reply.Estimated || reply.Usage != tc.want {
			t.Errorf("%q: %+v, %v; want %+v", tc.usage, reply, err, tc.want)
		}
	}
}

// Reasoning is part of the completion's tokens, never more than these.
func TestReasoning(t *testing.T) {
	for reasoning, want := range map[string]int64{"30": 30, "900": 50, "-1": 0} {
		usage := `data: {"id":"c1","model":"m","choices":[],"usage":{"prompt_tokens":70,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":` + reasoning + `}}}` + "\n\n"
		b := openAIAt(t, says(t, 200, chunks(usage+"data: [DONE]\n\n"), "Content-Type", "text/event-stream"), limit{})
		reply, err := b.Do(context.Background(), short(100))
		if err != nil || reply.Thinking != want || reply.Usage.Output != 50 {
			t.Errorf("%s: %+v, %v", reasoning, reply, err)
		}
	}
}

// An answer with counts that no call can have is refused, and none of them is booked: a budget
// must not grow by them. A stream that broke off is booked as estimated.
func TestAbsurdCountsAreRefused(t *testing.T) {
	const start = `data: {"type":"message_start","message":{"id":"m1","model":"m","usage":%s}}` + "\n\n"
	const end = `data: {"type":"message_stop"}` + "\n\n"
	for _, usage := range []string{
		`{"input_tokens":-1000000000,"output_tokens":5}`,
		`{"input_tokens":70,"output_tokens":3000000000}`,
		`{"input_tokens":70,"iterations":[{"type":"message","input_tokens":-5}]}`,
	} {
		url := says(t, 200, fmt.Sprintf(start, usage)+end, "Content-Type", "text/event-stream")
		reply, err := anthropicAt(t, url, limit{}).Do(t.Context(), short(100))
		if f := failure(t)(reply, err); f.Cause != CauseServer || f.Billed != (prompt.Usage{}) {
			t.Errorf("%s: %+v", usage, f)
		}
		url = says(t, 200, fmt.Sprintf(start, usage), "Content-Type", "text/event-stream")
		reply, err = anthropicAt(t, url, limit{}).Do(t.Context(), short(100))
		if f := failure(t)(reply, err); f.Billed != (prompt.Usage{Uncached: 235}) { // the estimate
			t.Errorf("%s, broken off: %+v", usage, f)
		}
	}
	for _, usage := range []string{
		`{"prompt_tokens":-1000000000,"completion_tokens":5}`,
		`{"prompt_tokens":70,"completion_tokens":3000000000}`,
		`{"prompt_tokens":9000000000000,"completion_tokens":5}`,
	} {
		url := says(t, 200, chunks(`data: {"id":"c1","choices":[],"usage":`+usage+"}\n\ndata: [DONE]\n\n"), "Content-Type", "text/event-stream")
		reply, err := openAIAt(t, url, limit{}).Do(t.Context(), short(100)) // ten bytes were said
		if f := failure(t)(reply, err); f.Cause != CauseServer || f.Billed != (prompt.Usage{Output: 3}) {
			t.Errorf("%s: %+v", usage, f)
		}
	}
}

// An answer is complete with its last event, whatever the server does then.
func TestStreamThatStaysOpen(t *testing.T) {
	hold := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, chunks(counted+"data: [DONE]\n\n"))
		w.(http.Flusher).Flush()
		<-hold
	}))
	defer h.Close()
	defer close(hold)
	reply, err := openAIAt(t, h.URL, limit{Idle: 5 * time.Second}).Do(t.Context(), short(100))
	if err != nil || reply.Total > 4*time.Second {
		t.Errorf("%+v, %v", reply, err)
	}
}
