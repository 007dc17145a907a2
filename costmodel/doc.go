// Package costmodel turns token counts into money: prices by model, date and
// size of the request, and the facts about a model that go with them.
//
//	table, err := costmodel.Default()
//	price, err := table.Lookup("claude-opus-4-5-20251101", at) // names as recorded
//	rate := price.Standard()                                   // once per model and period
//	usd := rate.Cost(usage)                                    // per call, by class
//
// # Where prices come from
//
// The built-in table, prices.yaml, is generated from the folder source by
// go generate: trimmed copies of two public tables, an overlay with newer
// values that wins where they differ, and a hand-written catalogue of names,
// dates and multipliers, each with its source. source/README.md describes how to
// renew them.
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
//   - Modifiers (batch, fast mode, geography) multiply all classes and stack.
//
// # Price files
//
// [Load] reads a file that adds models or overrides built-in ones, in YAML or
// JSON. It has the form of prices.yaml:
//
//	schema: 1                    # required
//	as_of: 2026-11-01            # optional: date the prices were collected
//	models:
//	  my-model:                  # the name as recorded, or as in the table
//	    provider: acme           # optional, like all facts
//	    window: 200000           # input tokens a request may hold
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
//	        fast: 2              # multiplier of fast mode
//	        tiers:               # for requests with more input tokens than above; the same prices
//	          - {above: 200000, input: 6, output: 22.5, read: 0.6, write_5m: 7.5, write_1h: 12, write: 7.5}
//	      - from: 2026-12-01     # date (UTC); only the first entry may be without one
//	        input: 2
//	        output: 10
package costmodel
