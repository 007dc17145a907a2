package live

import (
	"testing"
)

// A call asks for no more output than the model can give, nor than its window
// leaves of what is sent; of a window that seems full for 1,024, which the
// server may refuse.
func TestMaxOutput(t *testing.T) {
	s := conversation("alpha")
	c := s.call()
	sent := int64(s.context.Tokens())
	sent += sent / 20 // a server may count more
	small := func(model string) int {
		if model == "small" {
			return 8192
		}
		return 0
	}
	for _, tc := range []struct {
		name   string
		opts   Options
		window int64
		asked  int32
		want   int
	}{
		{"the client's own", Options{}, 200_000, 0, 20_000},
		{"the call's own", Options{}, 200_000, 500, 500},
		{"a model that nothing is known of", Options{MaxOutputOf: small}, 200_000, 0, 20_000},
		{"the model's limit", Options{MaxOutputOf: small, Settings: Settings{Model: "small"}}, 200_000, 0, 8192},
		{"less than the model's limit", Options{MaxOutputOf: small, Settings: Settings{Model: "small"}}, 200_000, 500, 500},
		{"what the window leaves", Options{}, sent + 3000, 0, 3000},
		{"a full window", Options{}, sent / 2, 0, 1024},
		{"a full window and little to say", Options{}, sent / 2, 500, 500},
		{"the window of another model", Options{Settings: Settings{Model: "other"}}, sent + 3000, 0, 20_000},
		{"no window told", Options{}, 0, 0, 20_000},
	} {
		tc.opts.Calls = folder(t, t.TempDir(), Make)
		c.Window, c.Intent.MaxOutput = tc.window, tc.asked
		l := newLive(t, tc.opts)
		if p := l.opts.plan(c); p.maxOutput != tc.want {
			t.Errorf("%s: %d tokens, want %d", tc.name, p.maxOutput, tc.want)
		}
	}
}

// The model that takes the place of the session's does not take the place of a strategy's own.
func TestModel(t *testing.T) {
	c := conversation("alpha").call()
	l := newLive(t, Options{Calls: folder(t, t.TempDir(), Make), Settings: Settings{Model: "us.anthropic.mine-v1:0"}})
	if p := l.opts.plan(c); p.model != "us.anthropic.mine-v1:0" {
		t.Errorf("the session's model is asked as %q", p.model)
	}
	c.Intent.Model, c.Model = "claude-haiku-4-5", "claude-haiku-4-5"
	if p := l.opts.plan(c); p.model != "claude-haiku-4-5" {
		t.Errorf("the strategy's model is asked as %q", p.model)
	}
}

// Names as platforms and clients write them (platform.claude.com, models overview) become the
// names of the provider's own endpoint.
func TestAskedName(t *testing.T) {
	for recorded, want := range map[string]string{
		"claude-opus-4-6":                            "claude-opus-4-6",
		"claude-opus-4-6[1m]":                        "claude-opus-4-6",
		"claude-sonnet-4-5-20250929[1M]":             "claude-sonnet-4-5-20250929",
		"us.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5-20251101",
		"anthropic.claude-opus-4-6-v1":               "claude-opus-4-6",
		"us-gov.anthropic.claude-haiku-4-5-v1:0[1m]": "claude-haiku-4-5",
		"claude-opus-4-5@20251101":                   "claude-opus-4-5-20251101",
		"arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-4-6-v1": "claude-opus-4-6",
		"anthropic/claude-opus-4.6":                           "claude-opus-4-6",
		"anthropic/claude-sonnet-4.5:beta":                    "claude-sonnet-4-5",
		"openrouter/anthropic/claude-opus-4.5:thinking:nitro": "claude-opus-4-5",
		"claude-opus-4-6-fast":                                "claude-opus-4-6",
		"claude-4.5-sonnet":                                   "claude-sonnet-4-5",
		"databricks-claude-opus-4-1":                          "claude-opus-4-1",
		"claude-haiku-3-5":                                    "claude-3-5-haiku-20241022",
		"claude-3.7-sonnet":                                   "claude-3-7-sonnet-20250219",
		"claude-3-5-haiku@20241022":                           "claude-3-5-haiku-20241022",
		"claude-sonnet-4":                                     "claude-sonnet-4-20250514",
		"claude-sonnet-4-0":                                   "claude-sonnet-4-0",
		"gpt-5-codex":                                         "gpt-5-codex",
		"qwen-v2":                                             "qwen-v2",
		"":                                                    "",
	} {
		if got := askedName(Anthropic, recorded); got != want {
			t.Errorf("%q is asked as %q, want %q", recorded, got, want)
		}
	}
	// A gateway with OpenAI's interface has names of its own.
	for _, name := range []string{"anthropic/claude-opus-4.6:beta", "claude-haiku-3-5", "openai/gpt-5.5"} {
		if got := askedName(OpenAI, name); got != name {
			t.Errorf("%q is asked of a gateway as %q", name, got)
		}
	}
}
