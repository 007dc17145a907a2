package codex

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// DefaultRates are fitted on recorded sessions of gpt-5.5 and gpt-5.6-sol,
// growth between two calls on the bytes of tool results: 0.243–0.267 tokens a
// byte and 22–35 a result, median residual 13–21 tokens. The reply needs no
// estimate: the usage tells its tokens and those of its reasoning.
func DefaultRates() traces.Rates {
	r := traces.DefaultRates()
	r.PerByte[prompt.KindToolResult], r.Fixed[prompt.KindToolResult] = 0.25, 25
	r.PerByte[prompt.KindToolUse], r.Fixed[prompt.KindToolUse] = 0.27, 20
	r.PerByte[prompt.KindText] = 0.24
	r.PerByte[prompt.KindPrompt] = 0.27
	r.PerByte[prompt.KindSummary] = 0.25
	// First calls leave ≈ 0.22 a byte for the client's Markdown.
	r.PerByte[prompt.KindAttachment] = 0.22
	return r
}
