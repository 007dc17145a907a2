package live

import (
	"strings"
	"testing"
	"time"
)

// What servers say about a prompt that is too long, in their own words.
func TestTooLong(t *testing.T) {
	anthropic := func(message string) string {
		return `{"type":"error","error":{"type":"invalid_request_error","message":"` + message + `"}}`
	}
	openAI := func(message string) string {
		return `{"error":{"message":"` + message + `","type":"invalid_request_error","code":"context_length_exceeded"}}`
	}
	for _, tc := range []struct {
		backend, body string
		status        int
		cause         Cause
		excess        int64
	}{
		{"anthropic", anthropic("prompt is too long: 210000 tokens > 200000 maximum"), 400, CauseTooLong, 10_000},
		{"anthropic", anthropic("prompt is too long: 1,000,001 tokens > 1,000,000 maximum"), 400, CauseTooLong, 1},
		{"anthropic", anthropic("input length and `max_tokens` exceed context limit: 188240 + 20000 > 200000, decrease input length or `max_tokens` and try again"), 400, CauseTooLong, 8240},
		{"anthropic", anthropic("input length and `max_tokens` exceed context limit: 9223372036854775807 + 20000 > 200000"), 400, CauseTooLong, 0},
		{"anthropic", anthropic("Input is too long for requested model."), 400, CauseTooLong, 0},
		{"anthropic", anthropic("prompt is too long: 190000 tokens > 200000 maximum"), 400, CauseTooLong, 0},
		{"anthropic", `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, 413, CauseTooLong, 0},
		{"anthropic", "<html>too large</html>", 413, CauseTooLong, 0},
		{"openai", openAI("This model's maximum context length is 128000 tokens. However, your messages resulted in 130500 tokens."), 400, CauseTooLong, 2500},
		{"openai", openAI("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion)."), 400, CauseTooLong, 904},
		{"openai", openAI("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens."), 400, CauseTooLong, 28_000},
		{"openai", `{"error":{"message":"the request exceeds the available context size","type":"x","code":400}}`, 400, CauseTooLong, 0},
		{"anthropic", anthropic("messages: roles must alternate"), 400, CauseRequest, 0},
		{"anthropic", anthropic("Your credit balance is too low to access the API."), 400, CauseAuth, 0},
		{"openai", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, 429, CauseAuth, 0},
	} {
		url := says(t, tc.status, tc.body)
		f := failure(t)(call(both(t, url, 0)[tc.backend], dialogue()))
		if f.Cause != tc.cause || f.Excess != tc.excess || f.Status != tc.status {
			t.Errorf("%s: %+v, want %q with an excess of %d", tc.body, f, tc.cause, tc.excess)
		}
	}
}

// How long servers ask to wait, in seconds.
func TestRetryAfter(t *testing.T) {
	for _, tc := range []struct {
		headers []string
		want    time.Duration
	}{
		{nil, 0},
		{[]string{"Retry-After", "7"}, 7 * time.Second},
		{[]string{"Retry-After", "0.5"}, 500 * time.Millisecond},
		{[]string{"Retry-After", "-3"}, 0},
		{[]string{"Retry-After", "soon"}, 0},
		{[]string{"Retry-After", "NaN"}, 0},
		{[]string{"Retry-After", "1e300"}, (1<<31 - 1) * time.Second},
		{[]string{"Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"}, 0},
	} {
		url := says(t, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, tc.headers...)
		for name, b := range both(t, url, 0) {
			if f := failure(t)(call(b, dialogue())); f.After != tc.want || f.Cause != CauseRate {
				t.Errorf("%s, %v: %+v, want to wait %v", name, tc.headers, f, tc.want)
			}
		}
	}
}

// A server's message is kept short and in one line.
func TestMessageIsCut(t *testing.T) {
	url := says(t, 500, `{"type":"error","error":{"type":"api_error","message":"`+strings.Repeat(`long\n`, 5000)+`"}}`)
	for name, b := range both(t, url, 0) {
		if f := failure(t)(call(b, dialogue())); len(f.Message) > 330 || strings.Contains(f.Message, "\n") {
			t.Errorf("%s: a message of %d bytes: %q", name, len(f.Message), f.Message)
		}
	}
}

// Of an error page no more than its beginning is read.
func TestLargeError(t *testing.T) {
	url := says(t, 500, strings.Repeat("x", 2<<20))
	b := anthropicAt(t, url, 0)
	if f := failure(t)(call(b, dialogue())); f.Cause != CauseServer || len(f.Message) > 330 {
		t.Errorf("%+v", f)
	}
}

// Configurations that cannot work are refused, and do not show what they hold.
func TestConfig(t *testing.T) {
	for _, url := range []string{"ftp://host", "host:1", "http://", "http://a b", "%"} {
		if _, err := newAnthropic(Config{Key: NewSecret(canary), BaseURL: url}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("base URL %q: %v", url, err)
		}
		if _, err := newOpenAI(Config{Key: NewSecret(canary), BaseURL: url}); err == nil {
			t.Errorf("base URL %q passes", url)
		}
	}
	if _, err := newAnthropic(Config{}); err == nil {
		t.Error("no key passes")
	}
}
