package promptcache

import "strings"

// providers are the names of providers, and what the names of their models begin with
// behind the part that names a gateway or a region.
var providers = [...]struct {
	name     string
	prefixes []string
}{
	{"anthropic", []string{"claude"}},
	{"openai", []string{"gpt", "codex", "chatgpt", "o1", "o3", "o4"}},
	{"deepseek", []string{"deepseek"}},
	{"google", []string{"gemini"}},
}

// ProviderOf returns the provider of a model, whoever sells it; "" for one that is not known.
func ProviderOf(model string) string {
	for _, p := range providers {
		for _, prefix := range p.prefixes {
			if begins(model, prefix) {
				return p.name
			}
		}
	}
	return ""
}

// begins reports whether a part of a model's name begins with a prefix: the whole, or what
// follows a slash or a dot, as in anthropic/claude-opus-4-5 and us.anthropic.claude-opus-4-5.
func begins(model, prefix string) bool {
	for {
		if strings.HasPrefix(model, prefix) {
			return true
		}
		i := strings.IndexAny(model, "/.")
		if i < 0 {
			return false
		}
		model = model[i+1:]
	}
}
