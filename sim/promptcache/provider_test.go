package promptcache

import "testing"

// Names are as recordings and the providers' price lists have them.
func TestProviderOf(t *testing.T) {
	for model, want := range map[string]string{
		"claude-opus-4-5": "anthropic", "us.anthropic.claude-opus-4-5": "anthropic", "anthropic/claude-sonnet-4.5": "anthropic",
		"gpt-5.3-codex": "openai", "codex-mini-latest": "openai", "o3": "openai", "openai/gpt-5.4": "openai",
		"deepseek-v4-flash": "deepseek", "gemini-3.1-pro-preview": "google", "muse-spark-1.2-contributor": "", "llama-4-o3": "", "": "",
	} {
		if got := ProviderOf(model); got != want {
			t.Errorf("%q is of %q, want %q", model, got, want)
		}
	}
}
