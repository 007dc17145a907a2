package strategies

import (
	"regexp"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// fastModel names the small model of the family of a session's model.
const fastModel = "fast"

// families are the small models of the makers, by what their models' names have, behind what a platform or a
// gateway puts before them, the most special first: what clients take for titles and summaries (qwen-code 00b481a,
// goose 0036b81, Letta 1131535 summarizer_config.py).
var families = []struct {
	model *regexp.Regexp
	fast  string
}{
	{family(`claude-(?:[a-z]+-)?3\b`), "claude-3-5-haiku-20241022"},
	{family(`claude-`), "claude-haiku-4-5"},
	{family(`gpt-4`), "gpt-4.1-mini"},
	{family(`gpt-[0-9]`), "gpt-5-mini"},
	{family(`gemini-`), "gemini-2.5-flash"},
}

// family returns a pattern for the names of models, in any case, that begin with one, behind a prefix or none.
func family(begin string) *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|[/.:-])` + begin) }

// fast returns the name of the model that a call of a layer asks: fast stands for the small
// one of the family of the session's model, and for that model itself, which is counted,
// where none is known.
func fast(t *Turn, layer, model string) string {
	if model != fastModel {
		return model
	}
	if name := smallOf(t.Model); name != "" {
		return name
	}
	t.Refuse(layer, measures.NotFast+"no fast one of its family is known")
	return ""
}

// smallOf returns the small model of a model's family, "" where none is known.
func smallOf(model string) string {
	for _, f := range families {
		if f.model.MatchString(model) {
			return f.fast
		}
	}
	return ""
}
