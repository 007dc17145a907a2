package traces

import "github.com/compactsim/compactsim/sim/prompt"

// Rates estimate the true tokens of a block from its text: tokens per byte by
// kind and a fixed number per block.
type Rates struct {
	PerByte [prompt.NumKinds]float64
	Fixed   [prompt.NumKinds]float64
}

// DefaultRates are fitted inside 421 recorded Claude Code sessions, where the
// growth between two calls is known exactly.
func DefaultRates() Rates {
	var r Rates
	for k := range r.PerByte {
		r.PerByte[k] = 0.31
	}
	r.PerByte[prompt.KindText] = 0.26
	r.PerByte[prompt.KindThinking] = 0.30
	r.PerByte[prompt.KindToolUse] = 0.30
	r.Fixed[prompt.KindToolUse] = 54
	r.PerByte[prompt.KindToolResult] = 0.33
	r.PerByte[prompt.KindSummary] = 0.26
	r.PerByte[prompt.KindImage] = 0
	r.Fixed[prompt.KindImage] = 1600
	r.PerByte[prompt.KindDocument] = 0
	r.Fixed[prompt.KindDocument] = 2000
	return r
}

// Tokens returns the estimate for n bytes of content of kind k, at least 1 for
// content that is not empty.
func (r *Rates) Tokens(k prompt.Kind, n int) int {
	t := int(r.PerByte[k]*float64(n) + r.Fixed[k] + 0.5)
	if t == 0 && n > 0 {
		return 1
	}
	return t
}
