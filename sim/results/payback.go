package results

import "github.com/compactsim/compactsim/sim/prompt"

// Payback is what a compaction cost and what the calls behind it saved, until
// the next compaction or the end of the conversation. Money is USD at the
// prices of the calls themselves.
//
// Without the compaction the next request would have had Saved tokens more and
// would have read what was in the cache. With R tokens read where W would have
// been, prices r for reading and w for writing, it costs (w − r)·(W − R − Saved)
// more for re-writing, and r·Saved less for what it no longer carries. Each
// later call saves r·Saved, and w·Saved when the cache behind the change had
// gone cold: it would have written those tokens again.
type Payback struct {
	Saved      int64        `json:"saved_tokens"` // tokens that the context lost; negative when it grew
	Calls      int          `json:"calls"`        // summary calls, failed ones included
	Usage      prompt.Usage `json:"-"`            // of the summary calls
	CallCost   Cost         `json:"-"`            // of the summary calls
	Front      int64        `json:"front_tokens"` // ahead of the change, which stayed as they were
	Rewritten  int64        `json:"rewritten_tokens"`
	RewriteUSD float64      `json:"rewrite_usd"`            // what re-writing those cost above reading them
	GainUSD    float64      `json:"gain_usd"`               // what the next and the later calls saved
	Later      int          `json:"later_calls"`            // with the smaller context, the next one included
	PaidAfter  int          `json:"payback_calls,omitzero"` // calls until GainUSD had covered everything; 0 for never
	Context    int64        `json:"context_at_end"`         // of the last of these calls, tokens; 0 without one
	ReadPrice  float64      `json:"read_usd_a_token"`       // of the last of these calls
}

// LaterCall is a call of the conversation behind a compaction. Prices are USD a
// token.
type LaterCall struct {
	Read       int64   // tokens read from the cache
	Context    int64   // tokens of the request
	ReadPrice  float64 // of tokens read
	WritePrice float64 // of tokens that are not read, in the class they go into
}

// Next adds the request that follows the compaction. would is what it would have
// read without it, tokens.
func (p *Payback) Next(c *LaterCall, would int64) {
	rewritten := would - c.Read - p.Saved
	gain := float64(p.Saved) * c.ReadPrice
	if above := c.WritePrice - c.ReadPrice; rewritten > 0 {
		p.Rewritten, p.RewriteUSD = rewritten, float64(rewritten)*above
	} else {
		gain -= float64(rewritten) * above
	}
	p.took(c, gain)
}

// Add adds a later call.
func (p *Payback) Add(c *LaterCall) {
	price := c.WritePrice
	if c.Read > p.Front {
		price = c.ReadPrice
	}
	p.took(c, float64(p.Saved)*price)
}

func (p *Payback) took(c *LaterCall, gain float64) {
	p.GainUSD += gain
	p.Later++
	p.Context, p.ReadPrice = c.Context, c.ReadPrice
	if p.PaidAfter == 0 && p.GainUSD > 0 && p.NetUSD() >= 0 {
		p.PaidAfter = p.Later
	}
}

// CostUSD returns what the compaction cost: its calls and the re-writing, USD.
func (p *Payback) CostUSD() float64 { return p.CallCost.Total() + p.RewriteUSD }

// NetUSD returns what the compaction saved less what it cost, USD.
func (p *Payback) NetUSD() float64 { return p.GainUSD - p.CostUSD() }

// Priced reports whether what the compaction saved has a price: a call behind
// it was of a model that the price table knows. Without a call behind it there
// is nothing to price.
func (p *Payback) Priced() bool { return p.Later == 0 || p.ReadPrice > 0 }

// Needed returns the calls it takes to pay back the cost while the cache stays
// warm: the break-even of one clear on a warm cache, with the summary call in
// it. It is false when the context did not shrink or nothing is known of prices.
func (p *Payback) Needed() (calls float64, ok bool) {
	each := float64(p.Saved) * p.ReadPrice
	if each <= 0 {
		return 0, false
	}
	return p.CostUSD() / each, true
}
