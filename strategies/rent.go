package strategies

import "github.com/compactsim/compactsim/sim/prompt"

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
	if t.TTL == prompt.TTL1h {
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
