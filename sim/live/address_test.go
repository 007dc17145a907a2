package live

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A base URL that would lead to another path than the API's is found before the first call, with
// what to write instead. Nothing but host and path is shown.
func TestBaseURL(t *testing.T) {
	key := NewSecret(canary)
	messages := func(url string) error {
		_, err := newAnthropic(Config{Key: key, BaseURL: url})
		return err
	}
	chat := func(url string) error {
		_, err := newOpenAI(Config{Key: key, BaseURL: url})
		return err
	}
	for _, tc := range []struct {
		kind func(string) error
		url  string
		want string // "" for one that is taken
	}{
		{messages, "", ""},
		{messages, "https://api.anthropic.com", ""},
		{messages, "http://localhost:4000/anthropic/", ""},
		{messages, "https://gateway.example/v1/account/anthropic", ""},
		{messages, "https://host ", "a blank or a line break"},
		{messages, "https://host/\n", "a blank or a line break"},
		{messages, "https://user:canary@host/?token=canary", "must not have a ? or a #"},
		{messages, "host:8080", "want http(s)://host"},
		{chat, "https://api.openai.com/v1", ""},
		{chat, "http://localhost:8000/v1/", ""},
		{chat, "https://host/v1beta/openai", ""},
		{chat, "https://host/api/paas/v4", ""},
		{chat, "https://host/chat/completions", ""},
		{chat, "https://host/v1/chat/completions", ""},
		{chat, "https://host/v1 ", "a blank or a line break"},
		{chat, "", "want http(s)://host"},
	} {
		err := tc.kind(tc.url)
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%q: %v, want %q", tc.url, err, tc.want)
		}
	}
}

// The path of the API is put behind the part that a base URL has already.
func TestPaths(t *testing.T) {
	var path string
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		w.WriteHeader(http.StatusTeapot)
	}))
	defer h.Close()
	for _, tc := range []struct {
		chat       bool
		base, want string
	}{
		{false, "", "/v1/messages"}, {false, "/", "/v1/messages"}, {false, "/v1", "/v1/messages"},
		{false, "/v1/messages/", "/v1/messages"}, {false, "/anthropic", "/anthropic/v1/messages"},
		{true, "", "/v1/chat/completions"}, {true, "/v1/", "/v1/chat/completions"}, {true, "/api/paas/v4", "/api/paas/v4/chat/completions"},
		{true, "/chat/completions", "/chat/completions"}, {true, "/v1beta/openai", "/v1beta/openai/chat/completions"},
	} {
		open := newAnthropic
		if tc.chat {
			open = newOpenAI
		}
		b, err := open(Config{BaseURL: h.URL + tc.base, Key: NewSecret(canary)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Do(context.Background(), dialogue()); err == nil || path != tc.want {
			t.Errorf("%q asks %s, want %s: %v", tc.base, path, tc.want, err)
		}
	}
}

// A key that no header can hold is refused, without being shown; white space
// around it does not belong to it.
func TestKeyThatCannotBeSent(t *testing.T) {
	for secret, ok := range map[string]bool{
		canary: true, " " + canary + "\n": true, canary[:8] + " " + canary[8:]: false, canary[:8] + "\n" + canary[8:]: false,
		canary + "\u00a0x": false, canary + "…": false, "\t\n": false,
	} {
		_, err := newAnthropic(Config{Key: NewSecret(secret)})
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("a key of %d bytes: %v", len(secret), err)
		}
		_, err = newOpenAI(Config{Key: NewSecret(secret), BaseURL: "https://api.anthropic.com/v1"})
		if blank := strings.TrimSpace(secret) == ""; (err == nil) != (ok || blank) {
			t.Errorf("a key of %d bytes for another server: %v", len(secret), err)
		}
	}
	if _, err := newOpenAI(Config{BaseURL: "https://api.openai.com/v1"}); err == nil || !strings.Contains(err.Error(), "needs a key") {
		t.Errorf("OpenAI without a key: %v", err)
	}
}
