package live

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// However a key, a configuration or a backend is printed, the key is not there.
func TestKeyIsNeverPrinted(t *testing.T) {
	key := NewSecret(canary)
	a := anthropicAt(t, "http://127.0.0.1:1", 0)
	o := openAIAt(t, "http://127.0.0.1:1", 0)
	config := Config{Key: key}
	hidden := struct{ k Secret }{key} // fmt calls no method of what it finds here
	for _, v := range []any{key, &key, config, &config, hidden, &hidden, a, o, map[string]Secret{"k": key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "canary") || strings.Contains(s, fmt.Sprintf("%x", "canary")) {
				t.Errorf("%s of %T shows the key: %s", verb, v, s)
			}
		}
		if s, err := json.Marshal(v); err == nil && strings.Contains(string(s), "canary") {
			t.Errorf("JSON of %T shows the key: %s", v, s)
		}
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("call", "key", key, "config", config)
	if strings.Contains(log.String(), "canary") {
		t.Errorf("the log shows the key: %s", log.String())
	}
	if got := fmt.Sprintf("%v %s", key, config.Key); got != "[key] [key]" {
		t.Errorf("a key shows as %q", got)
	}
}

// A server that quotes the key, or a part, does not bring it into an error.
func TestKeyIsTakenOutOfMessages(t *testing.T) {
	for _, quoted := range []string{canary, canary[:14] + "…" + canary[len(canary)-9:]} {
		url := says(t, 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid key `+quoted+` given"}}`)
		for name, b := range both(t, url, 0) {
			reply, err := b.Do(context.Background(), dialogue())
			f := failure(t)(reply, err)
			for _, part := range []string{canary, canary[:14], canary[len(canary)-9:]} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("%s: %q shows %q", name, err, part)
				}
			}
			if !strings.Contains(f.Message, "[key]") || !f.Fatal() {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// Nor does a chat completion that quotes it, whole or in part.
func TestKeyIsTakenOutOfCompletions(t *testing.T) {
	for _, quoted := range []string{canary, canary[5:16]} {
		url := says(t, 200, `{"id":"`+canary+`","model":"m","choices":[{"message":{"content":"`+quoted+`"},"finish_reason":"stop"}]}`)
		reply, err := openAIAt(t, url, 0).Do(t.Context(), short(100))
		if err != nil {
			t.Fatal(err)
		}
		if shown := fmt.Sprintf("%+v", *reply); strings.Contains(shown, canary[5:13]) || !strings.Contains(string(reply.Text), "[key]") {
			t.Errorf("%q: %s", quoted, shown)
		}
	}
}
