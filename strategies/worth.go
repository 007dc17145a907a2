package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// worthParams refuse an edit that does not pay back: what it costs now must be less than
// what reading the tokens that it takes out would cost in so many calls. Prices are
// multiples of the price of an uncached input token; layers see no other price.
type worthParams struct {
	Calls  float64 `yaml:"calls" doc:"calls within which the edit must pay back; 0 for no such test" unit:"calls" min:"0" max:"1e6" off:"0"`
	Read   float64 `yaml:"read" doc:"price of a token read from the cache" min:"0" max:"10" needs:"calls"`
	Write  float64 `yaml:"write" doc:"price of a token written to it" min:"0" max:"10" needs:"calls"`
	Output float64 `yaml:"output" doc:"price of an output token" min:"0" max:"100" needs:"calls"`
}

// defaultWorth has the multipliers of Claude's prices for five minutes
// (platform.claude.com, pricing).
func defaultWorth() worthParams { return worthParams{Read: 0.1, Write: 1.25, Output: 5} }

// pays reports whether an edit pays back that takes out gone tokens, has resent tokens
// behind it written again, and needs a call at a price. In a cold cache all is written either way.
func (p *worthParams) pays(t *Turn, gone, resent int64, call float64) bool {
	if p.Calls == 0 {
		return true
	}
	now := call + (p.Write-p.Read)*float64(resent)
	if !t.Warm() {
		now = call - p.Write*float64(gone)
	}
	return now <= p.Calls*p.Read*float64(gone)
}

// unworthy says why a compaction about to start is not worth it; "" if it is.
func (l *compact) unworthy(t *Turn) string {
	p, s, c := &l.params, &l.call, t.Context
	gone := tokensBetween(c, s.low, s.high)
	if p.MinGain > 0 && float64(gone) < p.MinGain*float64(c.Tokens()) {
		return "too little to gain"
	}
	price := p.Worth.Read
	if way := p.Call[0]; way == wayStreaming || way == waySmallModel || !t.Warm() {
		price = 1
	}
	call := price*float64(tokensBetween(c, s.from, s.to)) + p.Worth.Output*p.Rent.Summary
	if p.Call[0] == wayNone {
		call = 0
	}
	if !p.Worth.pays(t, gone, tokensBetween(c, s.high, c.Len()), call) {
		return "it does not pay back in time"
	}
	return ""
}

// grown reports whether a summary is to be thrown away, as it is not smaller than what it
// stands for.
func (l *compact) grown(t *Turn, r *prompt.Result) bool {
	return l.params.Smaller && int64(r.Summary) >= tokensBetween(t.Context, l.call.low, l.call.high)
}

// localParams are the sizes of a text that a client composes itself in place of a summary:
// lists of files and commands, or a memory that the agent's own answers hold.
type localParams struct {
	Tokens int32 `yaml:"tokens" doc:"tokens of the text" unit:"tokens" min:"0"`
	Round  int32 `yaml:"per_round" doc:"tokens for each response that it stands for" unit:"tokens" min:"0"`
	Most   int32 `yaml:"most" doc:"most tokens of the text; 0 for no limit" unit:"tokens" min:"0"`
}

// compose returns the text for the entries [from, to).
func (p *localParams) compose(t *Turn, from, to int) prompt.Answer {
	n := p.Tokens + p.Round*int32(countRounds(t.Context, from, to))
	if p.Most > 0 {
		n = min(n, p.Most)
	}
	return prompt.Answer{Summary: n, Bytes: n * bytesPerToken, Digest: prompt.DigestString("local").ExtendInt(uint64(t.Thread)<<32 | uint64(t.Round))}
}
