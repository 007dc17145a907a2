package live

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// completionOf is a completion of ten bytes with a usage.
func completionOf(usage string) string {
	return `{"id":"c1","model":"m","choices":[{"message":{"content":"0123456789"},"finish_reason":"stop"}]` + usage + `}`
}

const counted = `,"usage":{"prompt_tokens":70,"completion_tokens":3}`

// What a server does not count is estimated and said to be: ten bytes of output
// are 3 tokens at four bytes each, the request's estimate is 231.
func TestUncountedIsEstimated(t *testing.T) {
	for _, tc := range []struct {
		usage     string
		want      prompt.Usage
		estimated bool
	}{
		{counted, prompt.Usage{Uncached: 70, Output: 3}, false},
		{"", prompt.Usage{Uncached: 231, Output: 3}, true},
		{`,"usage":null`, prompt.Usage{Uncached: 231, Output: 3}, true},
		{`,"usage":{"prompt_tokens":70}`, prompt.Usage{Uncached: 70, Output: 3}, true},
		{`,"usage":{"completion_tokens":5}`, prompt.Usage{Uncached: 231, Output: 5}, true},
	} {
		b := openAIAt(t, says(t, 200, completionOf(tc.usage)), 0)
		reply, err := b.Do(context.Background(), short(100))
		if err != nil || reply.Estimated != tc.estimated || reply.Usage != tc.want {
			t.Errorf("%q: %+v, %v; want %+v", tc.usage, reply, err, tc.want)
		}
	}
}

// Reasoning is part of the completion's tokens, never more than these.
func TestReasoning(t *testing.T) {
	for reasoning, want := range map[string]int64{"30": 30, "900": 50, "-1": 0} {
		usage := `,"usage":{"prompt_tokens":70,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":` + reasoning + `}}`
		reply, err := openAIAt(t, says(t, 200, completionOf(usage)), 0).Do(context.Background(), short(100))
		if err != nil || reply.Thinking != want || reply.Usage.Output != 50 {
			t.Errorf("%s: %+v, %v", reasoning, reply, err)
		}
	}
}

// An answer with counts that no call can have is refused. What is booked is at most what the
// call may cost: the server worked, and a budget must not grow by absurd counts.
func TestAbsurdCountsAreRefused(t *testing.T) {
	refused := func(b Backend, usage string) {
		t.Helper()
		reply, err := b.Do(t.Context(), short(100))
		if f := failure(t)(reply, err); f.Cause != CauseBroken || f.Billed.Input() < 0 || f.Billed.Input() > 1000 || f.Billed.Output > 100 {
			t.Errorf("%s: %+v", usage, f)
		}
	}
	for _, usage := range []string{`{"input_tokens":-1000000000,"output_tokens":5}`, `{"input_tokens":70,"output_tokens":3000000000}`} {
		refused(anthropicAt(t, says(t, 200, messageOf("Well.", usage)), 0), usage)
	}
	for _, usage := range []string{
		`{"prompt_tokens":-1000000000,"completion_tokens":5}`,
		`{"prompt_tokens":70,"completion_tokens":3000000000}`,
		`{"prompt_tokens":9000000000000,"completion_tokens":5}`,
	} {
		refused(openAIAt(t, says(t, 200, completionOf(`,"usage":`+usage)), 0), usage)
	}
}
