// Package costmodel turns token counts into money: prices by model, date and
// size of the request, and the facts about a model that go with them.
//
//	table, err := costmodel.Default()
//	price, err := table.Lookup("claude-opus-4-5-20251101", at) // names as recorded
//	rate := price.Standard()                                   // once per model and period
//	usd := rate.Cost(&usage)                                   // per call, by class
//
// # Where prices come from
//
// The built-in table, prices.yaml, is written by hand from the providers' pages and
// two public tables, which README.md names.
//
// # What is billed
//
//   - Every class of [prompt.Usage] has its own price. A class a provider does
//     not price apart is billed as plain input: reads and writes of a model
//     without a cache price, writes at providers that charge no write fee.
//   - Writes of an unstated lifetime are billed at the model's single write
//     price, or at its 5-minute price, the default lifetime.
//   - Tiers are chosen per request by all its input tokens and apply to the
//     whole request.
//   - Multipliers (batch, fast mode, geography) are facts about a model: the price of a
//     name includes those that it has in brackets at its end ("[fast]", "[us]", "[batch]").
//
// # Price files
//
// [Load] reads a file that adds models or overrides built-in ones. It may be one of two published lists, as they are:
// model_prices_and_context_window.json of LiteLLM and data.json of genai-prices. LiteLLM's has the prices of its day, which
// take the place of the newest built-in ones: older ones, with their dates, stay. Any other file is in YAML or
// JSON and has the form of prices.yaml:
//
//	schema: 1                    # required
//	as_of: 2026-11-01            # optional: date the prices were collected
//	models:
//	  my-model:                  # the name as recorded, or as in the table
//	    provider: acme           # optional, like all facts
//	    window: 200000           # tokens of input and output together
//	    max_input: 180000        # input tokens of a request, where they have a limit of their own
//	    max_output: 64000        # tokens
//	    min_cache: 1024          # tokens
//	    aliases: [my-model-2]    # other names of the same model
//	    batch: 0.5               # multipliers; leave out what is not offered
//	    geo_us: 1.1
//	    regional: 1.1
//	    prices:                  # required; a list, or one mapping if prices never changed
//	      - input: 3             # USD per million tokens; required
//	        output: 15           # required
//	        read: 0.3            # left out: billed as input
//	        write_5m: 3.75       # left out: as write; write_5m and write_1h go together
//	        write_1h: 6
//	        write: 3.75          # writes of another lifetime; left out: as write_5m, else as input
//	        storage: 4.5         # kept caches, USD per million tokens and hour
//	        search: 10           # searches of the web by the server, USD per thousand
//	        fast: 2              # multiplier of fast mode, also called priority
//	        tiers:               # for requests with more input tokens than above; the same prices
//	          - {above: 200000, input: 6, output: 22.5, read: 0.6, write_5m: 7.5, write_1h: 12, write: 7.5}
//	      - from: 2026-12-01     # date (UTC); only the first entry may be without one
//	        input: 2
//	        output: 10
package costmodel

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// The token classes that have prices of their own. All arrays over classes in this package are in
// this order, which is the order in result rows.
const (
	uncached   = iota // input neither read from nor written to the cache
	read              // input read from the cache
	write5m           // input written with a 5-minute lifetime
	write1h           // input written with a 1-hour lifetime
	writeOther        // input written with another or an unstated lifetime
	output            // output, thinking included
	numClasses
)

// perMillion is the number of tokens a listed price is for.
const perMillion = 1e6

// Rate is the price of one model at one time ready for a hot loop: resolve it
// once per model and price period with [Price.Standard]. The zero Rate bills nothing.
type Rate struct {
	base  [numClasses]float64 // USD per token
	tiers []rateTier          // ascending by above; shared, never written after construction
}

type rateTier struct {
	above    int64 // prompt tokens
	perToken [numClasses]float64
}

// Cost returns what one call costs, USD by class. The tier is chosen by all
// input tokens of the call — uncached, read and written — and applies to the
// whole call, output included; so u must be one call, not a sum of calls,
// unless the model has no tiers. It does not allocate.
func (r *Rate) Cost(u *prompt.Usage) [numClasses]float64 {
	p := r.PerToken(u.Input())
	return [numClasses]float64{
		uncached:   float64(u.Uncached) * p[uncached],
		read:       float64(u.Read) * p[read],
		write5m:    float64(u.Write5m) * p[write5m],
		write1h:    float64(u.Write1h) * p[write1h],
		writeOther: float64(u.WriteOther) * p[writeOther],
		output:     float64(u.Output) * p[output],
	}
}

// times returns the rate with all prices multiplied.
func (r *Rate) times(factor float64) Rate {
	out := Rate{base: r.base, tiers: slices.Clone(r.tiers)}
	for i := range out.base {
		out.base[i] *= factor
	}
	for k := range out.tiers {
		for i := range out.tiers[k].perToken {
			out.tiers[k].perToken[i] *= factor
		}
	}
	return out
}

// Unwritten returns by how much a call costs more, USD, if it writes all input that it
// did not read to the cache: 0 when its log has writes or the model bills none.
func (r *Rate) Unwritten(u prompt.Usage) float64 {
	if u.Writes() > 0 {
		return 0
	}
	p := r.PerToken(u.Input())
	return max(0, float64(u.Uncached)*(p[write5m]-p[uncached]))
}

// PerMTok returns the prices of a call with the given number of input tokens,
// USD per million tokens by class.
func (r *Rate) PerMTok(input int64) [numClasses]float64 {
	p := *r.PerToken(input)
	for i := range p {
		p[i] *= perMillion
	}
	return p
}

// Thresholds returns the numbers of input tokens above which another tier
// begins, ascending; empty for a flat price.
func (r *Rate) Thresholds() []int64 {
	var at []int64
	for i := range r.tiers {
		at = append(at, r.tiers[i].above)
	}
	return at
}

// PerToken returns the prices of a call with the given number of input tokens,
// USD per token by class. They belong to r: do not change them.
func (r *Rate) PerToken(input int64) *[numClasses]float64 {
	for i := len(r.tiers) - 1; i >= 0; i-- {
		if input > r.tiers[i].above {
			return &r.tiers[i].perToken
		}
	}
	return &r.base
}

// Latency models how long a call takes: a fixed time, a time for each input token that
// the server computes and one for each that it reads from the cache, and a rate of output
// tokens. The zero value takes no time.
type Latency struct {
	Base       time.Duration `yaml:"base" min:"0s" max:"1h" doc:"Time to the first token whatever the prompt."`
	PerFresh   time.Duration `yaml:"per_fresh_token" min:"0s" max:"1s" doc:"For every input token that is computed, written to the cache or not. The provider's own table of 2024 (100,000 tokens: 11.5 s, 2.4 s from the cache) gives 98µs; 0s for both leaves recorded times as they are."`
	PerCached  time.Duration `yaml:"per_cached_token" min:"0s" max:"1s" doc:"For every input token that is read from the cache. The same table gives 7µs."`
	OutputRate float64       `yaml:"output_rate" min:"0" max:"1e6" doc:"Output tokens per second; 0: output takes no time." unit:"tokens/s"`
}

// DefaultLatency returns the latency of the recorded Claude Code sessions
// (3,441 calls of 45 sessions, mostly Opus 4.5 and 4.6, early 2026): the
// regression of the time to the end of the response on input tokens not read,
// tokens read and output tokens by least absolute deviations, r² 0.66. With 90 %
// intervals from resampling sessions: 1.71 s (1.50–1.93), 30.4 µs (24.7–37.5),
// 7.6 µs (5.5–9.9) and 13.3 ms per output token (12.5–14.1), 75 tokens a second.
//
// The provider's own table is older: a prompt of 100,000 tokens of Claude 3.5
// Sonnet took 11.5 s to the first token and 2.4 s from the cache, which with the
// same base is 98 µs and 7 µs a token.
func DefaultLatency() Latency {
	return Latency{Base: 1710 * time.Millisecond, PerFresh: 30400, PerCached: 7600, OutputRate: 75}
}

// First returns the time from a request to its first token, ns.
func (l *Latency) First(u prompt.Usage) int64 { return int64(l.Base) + l.Prompt(u.Input(), u.Read) }

// Prompt returns the part of First that depends on the input, ns, given all of its tokens and
// those that are read.
func (l *Latency) Prompt(input, read int64) int64 {
	return int64(l.PerFresh)*(input-read) + int64(l.PerCached)*read
}

// Total returns the time from a request to the end of its response, ns.
func (l *Latency) Total(u prompt.Usage) int64 {
	total := l.First(u)
	if l.OutputRate > 0 {
		total += int64(float64(u.Output) / l.OutputRate * 1e9)
	}
	return total
}
