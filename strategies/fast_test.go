package strategies

import "testing"

// Whatever a gateway or a platform puts before a name, the small model is one of the model's family.
func TestSmallModelOfAFamily(t *testing.T) {
	for model, want := range map[string]string{
		"claude-opus-4-6":                            "claude-haiku-4-5",
		"anthropic/claude-opus-4.6:beta":             "claude-haiku-4-5",
		"us.anthropic.claude-opus-4-5-20251101-v1:0": "claude-haiku-4-5",
		"databricks-claude-opus-4-1":                 "claude-haiku-4-5",
		"claude-3-7-sonnet-20250219":                 "claude-3-5-haiku-20241022",
		"claude-sonnet-3-7":                          "claude-3-5-haiku-20241022",
		"anthropic/claude-3.7-sonnet":                "claude-3-5-haiku-20241022",
		"openrouter/openai/gpt-5.5":                  "gpt-5-mini",
		"GPT-4o":                                     "gpt-4.1-mini",
		"google/gemini-3-pro":                        "gemini-2.5-flash",
		"gpt-oss-120b":                               "", // not a model of OpenAI's own service
		"notclaude-x":                                "",
		"":                                           "",
	} {
		if got := smallOf(model); got != want {
			t.Errorf("%q: the small model is %q, want %q", model, got, want)
		}
	}
}
