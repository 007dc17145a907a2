package strategies

import "strings"

// fastModel names the small model of the family of a session's model.
const fastModel = "fast"

// NotFast begins the reason of a layer that asks another model than the fast one.
const NotFast = "asked the session's model: "

// families are the small models of the makers, by the beginning of their models' names, the
// most special first: what clients take for titles and summaries (qwen-code 00b481a, goose
// 0036b81, Letta 1131535 summarizer_config.py).
var families = []struct{ model, fast string }{
	{"claude-3", "claude-3-5-haiku-20241022"},
	{"claude-", "claude-haiku-4-5"},
	{"gpt-4", "gpt-4.1-mini"},
	{"gpt-", "gpt-5-mini"},
	{"gemini-", "gemini-2.5-flash"},
}

// fast returns the name of the model that a call of a layer asks: fast stands for the small
// one of the family of the session's model, and for that model itself, which is counted,
// where none is known.
func fast(t *Turn, layer, model string) string {
	if model != fastModel {
		return model
	}
	for _, f := range families {
		if strings.HasPrefix(t.Model, f.model) {
			return f.fast
		}
	}
	t.Refuse(layer, NotFast+"no fast one of its family is known")
	return ""
}
