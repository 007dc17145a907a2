package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

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
	if i := lastSummary(c); p.Keep.Beyond && i >= Body(c) && gone <= int64(c.At(i).Tokens) {
		return "no more than the summary before it"
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

// rentParams are the parameters of an online policy that rents or buys: what the
// tokens that a compaction would take out have cost since the last one is rent,
// and the compaction is bought when the rent has reached its price. Prices are
// multiples of the price of an uncached input token.
type rentParams struct {
	Enabled bool    `yaml:"enabled" doc:"compact as soon as reading what a compaction would take out has cost as much as the compaction; the trigger holds beside it"`
	Ratio   float64 `yaml:"ratio" doc:"price of the compaction that the rent has to reach; at 1 the two together are at most twice the rent of one that knew the future, for one compaction of a known price" above:"0" max:"100" needs:"enabled"`
	Read    float64 `yaml:"read" doc:"price of a token read from the cache" min:"0" max:"10" needs:"enabled"`
	Write   float64 `yaml:"write" doc:"price of a token written for five minutes" min:"0" max:"10" needs:"enabled"`
	Write1h float64 `yaml:"write_1h" doc:"price of a token written for an hour" min:"0" max:"10" needs:"enabled"`
	Output  float64 `yaml:"output" doc:"price of an output token" min:"0" max:"100" needs:"enabled"`
	Summary float64 `yaml:"summary" doc:"output tokens expected of the summary call" unit:"tokens" min:"0" max:"1e6" needs:"enabled"`
	Behind  float64 `yaml:"behind" doc:"tokens expected after the first compaction beside the head; later ones go by the last" unit:"tokens" min:"0" max:"1e7" needs:"enabled"`
}

// defaultRent has the multipliers of Claude's prices (platform.claude.com, pricing), and
// the output and the size after compactions of the recordings.
func defaultRent() rentParams {
	return rentParams{Ratio: 1, Read: 0.1, Write: 1.25, Write1h: 2, Output: 5, Summary: 4900, Behind: 12_000}
}

// rent is what a thread has paid since its last compaction.
type rent struct {
	paid   float64 // in prices of an uncached input token
	behind float64 // tokens behind the head after the last compaction; 0 before it
}

// due adds the rent of the coming request and reports whether to buy the compaction
// instead.
func (p *rentParams) due(t *Turn, r *rent, way Way) bool {
	if !p.Enabled {
		return false
	}
	size := float64(t.Reading.Values[MeasureClientTokens])
	head := float64(tokensBetween(t.Context, 0, t.Context.Messages()))
	behind := p.Behind
	if r.behind > 0 {
		behind = r.behind
	}
	excess := size - head - behind
	if excess <= 0 {
		return false
	}
	if r.paid >= p.Ratio*p.price(t, size, head, behind, way) {
		return true
	}
	r.paid += p.Read * excess
	return false
}

// price returns what a compaction before a request costs beyond the request as it is: the
// call, and writing what comes back. Where the cache has expired, a context is written
// either way.
func (p *rentParams) price(t *Turn, size, head, behind float64, way Way) float64 {
	write, prefix := p.Write, p.Read
	if t.TTL == exchange.TTL1h {
		write = p.Write1h
	}
	if !t.Warm() {
		prefix = write
	}
	call := prefix
	if way == wayStreaming || way == waySmallModel {
		call = 1 // under a head of its own, and nothing is written
	}
	return call*size + p.Output*p.Summary + prefix*head + write*behind - prefix*size
}

// noteSize notes the size of the context after a compaction.
func (r *rent) noteSize(t *Turn) {
	r.paid = 0
	r.behind = float64(tokensBetween(t.Context, t.Context.Messages(), t.Context.Len()))
}
