package studies

import (
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// Compaction is one compaction of a session: what led to it, its effect on the
// context, and its payback. Sizes are tokens by the server's count.
type Compaction struct {
	Session string
	Thread  string
	Round   int // of the thread; it happened before this round's request
	File    string
	Line    int
	At      float64 // on the session's clock
	Layer   string
	What    string // compaction or truncation
	// Trigger is auto, manual, refused, idle, hint, or recorded for a repetition of
	// a recorded one. Measured was compared with Value, ≥.
	Trigger  string
	Measure  string
	Measured int64
	Value    int64
	Source   string // of its summary calls; empty without one
	Before   int64
	After    int64
	// Reported is the size the client shows afterwards if that differs from After:
	// version 1 takes the usage of the summary call for it.
	Reported int64
	// Since is the number of requests since the previous compaction, or since the
	// conversation began.
	Since int
	// Chain numbers the conversations of a session that were compacted, from 1;
	// Place is the compaction's place in it. A branch continues the chain of its
	// parent.
	Chain        int
	Place        int
	Recompaction bool   // what was compacted already held a summary
	Spiral       string // one of the Spiral… constants
	Payback
}

// Kinds of spirals: compactions in a row that lead nowhere.
const (
	// SpiralRefill: three times in a row the context was full again within three
	// requests of a compaction.
	SpiralRefill = "rapid refill"
	// SpiralUnpaid: at least three compactions in a row, each but the last one
	// followed by the next before it had paid back.
	SpiralUnpaid = "never paid back"
)

// Chains are the compactions of all sessions under one cell.
type Chains struct {
	Cell        string
	Strategy    string
	Compactions []Compaction
	// LostUSD is the cost of summary calls that led to no compaction.
	LostUSD float64
}

// ChainTotals sum up the compactions of a cell.
type ChainTotals struct {
	Compactions int
	PaidBack    int
	NetNegative int // cost more than they saved
	Unpriced    int // of models without a price: whether they paid back is unknown
	Spirals     int // chains with flagged compactions
	ChainMax    int
	// MedianPayback is the median number of calls until payback among those that
	// paid back, the lower of the two middle ones; 0 if none did.
	MedianPayback int
	CallUSD       float64
	RewriteUSD    float64
	GainUSD       float64
}

// Totals sums up c.
func (c *Chains) Totals() ChainTotals {
	t := ChainTotals{Compactions: len(c.Compactions)}
	var paid []int
	type run struct {
		session string
		chain   int
	}
	spirals := map[run]bool{}
	for i := range c.Compactions {
		x := &c.Compactions[i]
		if x.PaidAfter > 0 {
			paid = append(paid, x.PaidAfter)
		}
		if x.NetUSD() < 0 {
			t.NetNegative++
		}
		if !x.Priced() {
			t.Unpriced++
		}
		if x.Spiral != "" {
			spirals[run{x.Session, x.Chain}] = true
		}
		t.ChainMax = max(t.ChainMax, x.Place)
		t.CallUSD += x.CallCost.Total()
		t.RewriteUSD += x.RewriteUSD
		t.GainUSD += x.GainUSD
	}
	t.PaidBack, t.Spirals = len(paid), len(spirals)
	if len(paid) > 0 {
		slices.Sort(paid)
		t.MedianPayback = paid[(len(paid)-1)/2]
	}
	return t
}

// Told sums up c in words.
func (c *Chains) Told() []string {
	t := c.Totals()
	money := document.Amounts(t.CallUSD, t.RewriteUSD, t.GainUSD, c.LostUSD)
	line := document.Count(t.Compactions, "compaction")
	if t.Unpriced > 0 {
		line += fmt.Sprintf(", %d of models without a price", t.Unpriced)
	}
	if priced := t.Compactions - t.Unpriced; priced > 0 {
		line += fmt.Sprintf(": %d paid back (%s", t.PaidBack, document.Percent(float64(t.PaidBack)/float64(priced)))
		if t.PaidBack > 0 {
			line += fmt.Sprintf(", median after %s", document.Count(t.MedianPayback, "call"))
		}
		line += fmt.Sprintf("), %d net-negative; longest chain %d, %s", t.NetNegative, t.ChainMax,
			document.Count(t.Spirals, "spiral"))
	}
	balance := fmt.Sprintf("saved %s; calls cost %s and re-writing %s", money(t.GainUSD), money(t.CallUSD),
		money(t.RewriteUSD))
	if c.LostUSD > 0 {
		balance += fmt.Sprintf(", and calls that led to no compaction %s", money(c.LostUSD))
	}
	return []string{line, balance + ". NET values do not add up: each compares with waiting for the next compaction"}
}

// Payback is what a compaction cost and what the calls after it saved, until
// the next compaction or the end of the conversation. Money is USD at the
// prices of the calls themselves.
//
// Without the compaction the next request would have had Saved more tokens and
// would have read what was in the cache. With R tokens read instead of W, and
// prices r for reading and w for writing, it costs (w − r)·(W − R − Saved) more
// for rewriting, and r·Saved less for what it no longer carries. Each later
// call saves r·Saved, and w·Saved if the cache after the change had gone cold:
// it would have written those tokens again.
type Payback struct {
	Saved      int64        // tokens that the context lost; negative when it grew
	Calls      int          // summary calls, failed ones included
	Usage      prompt.Usage // of the summary calls
	CallCost   results.Cost // of the summary calls
	Front      int64        // before the change, which stayed unchanged
	Rewritten  int64
	RewriteUSD float64 // extra cost of rewriting over reading
	GainUSD    float64 // what the next and the later calls saved
	Later      int     // with the smaller context, the next one included
	PaidAfter  int     // calls until GainUSD had covered everything; 0 for never
	Context    int64   // of the last of these calls, tokens; 0 without one
	ReadPrice  float64 // of the last of these calls
}

// LaterCall is a call of the conversation after a compaction. Prices are USD a
// token.
type LaterCall struct {
	Read       int64   // tokens read from the cache
	Context    int64   // tokens of the request
	ReadPrice  float64 // of tokens read
	WritePrice float64 // of tokens that are not read, in the class they go into
}

// Next adds the request after the compaction. would is what it would have read
// without it, tokens.
func (p *Payback) Next(c *LaterCall, would int64) {
	rewritten := would - c.Read - p.Saved
	gain := float64(p.Saved) * c.ReadPrice
	if above := c.WritePrice - c.ReadPrice; rewritten > 0 {
		p.Rewritten, p.RewriteUSD = rewritten, float64(rewritten)*above
	} else {
		gain -= float64(rewritten) * above
	}
	p.addCall(c, gain)
}

// Add adds a later call.
func (p *Payback) Add(c *LaterCall) {
	price := c.WritePrice
	if c.Read > p.Front {
		price = c.ReadPrice
	}
	p.addCall(c, float64(p.Saved)*price)
}

func (p *Payback) addCall(c *LaterCall, gain float64) {
	p.GainUSD += gain
	p.Later++
	p.Context, p.ReadPrice = c.Context, c.ReadPrice
	if p.PaidAfter == 0 && p.GainUSD > 0 && p.NetUSD() >= 0 {
		p.PaidAfter = p.Later
	}
}

// CostUSD returns what the compaction cost: its calls and the re-writing, USD.
func (p *Payback) CostUSD() float64 { return p.CallCost.Total() + p.RewriteUSD }

// NetUSD returns what the compaction saved minus what it cost, USD.
func (p *Payback) NetUSD() float64 { return p.GainUSD - p.CostUSD() }

// Priced reports whether what the compaction saved has a price: a later call
// was of a model in the price table. Without a later call there is nothing to
// price.
func (p *Payback) Priced() bool { return p.Later == 0 || p.ReadPrice > 0 }

// Needed returns the number of calls that pay back the cost while the cache stays warm:
// the break-even of one clearing on a warm cache, including the summary call. It is false
// if the context did not shrink or prices are unknown.
func (p *Payback) Needed() (calls float64, ok bool) {
	each := float64(p.Saved) * p.ReadPrice
	if each <= 0 {
		return 0, false
	}
	return p.CostUSD() / each, true
}

// PaidText says after how many calls the compaction paid back: a figure, never, or that there is no price.
func (p *Payback) PaidText() string {
	switch {
	case !p.Priced():
		return "no price"
	case p.PaidAfter == 0:
		return "never"
	}
	return document.Whole(p.PaidAfter)
}
