package results

import (
	"slices"
)

// Compaction is one compaction of a session: what led to it, what it did to the
// context, and what became of it. Sizes are tokens by the server's count.
type Compaction struct {
	Session string  `json:"session"`
	Thread  string  `json:"thread"`
	Round   int     `json:"round"` // of the thread, ahead of whose request it happened
	File    string  `json:"file,omitzero"`
	Line    int     `json:"line,omitzero"`
	At      float64 `json:"at_seconds"` // on the session's clock
	Layer   string  `json:"layer"`
	What    string  `json:"what"` // compaction or truncation
	// Trigger is auto, manual, refused, idle, hint, or recorded for one that is
	// repeated because the recording has it. Measured was compared with Value, ≥.
	Trigger  string `json:"trigger"`
	Measure  string `json:"measure,omitzero"`
	Measured int64  `json:"measured,omitzero"`
	Value    int64  `json:"value,omitzero"`
	Source   string `json:"call_source,omitzero"` // of its summary calls; empty without one
	Before   int64  `json:"before_tokens"`
	After    int64  `json:"after_tokens"`
	// Reported is the size the client shows afterwards where that is not After:
	// version 1 takes the usage of the summary call for it.
	Reported int64 `json:"reported_tokens,omitzero"`
	// Since are the requests since the compaction before, or since the
	// conversation began.
	Since int `json:"since_requests"`
	// Chain numbers the conversations of a session that were compacted, from 1;
	// Place is the compaction's place in it. A branch goes on with the chain of
	// its parent.
	Chain        int    `json:"chain"`
	Place        int    `json:"place"`
	Recompaction bool   `json:"recompaction"`    // what was compacted already held a summary
	Spiral       string `json:"spiral,omitzero"` // one of the Spiral… constants
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
	Cell        string       `json:"cell"`
	Strategy    string       `json:"strategy"`
	Compactions []Compaction `json:"compactions"`
	// LostUSD is what summary calls cost that led to no compaction.
	LostUSD float64 `json:"lost_usd"`
}

// ChainTotals sum up the compactions of a cell.
type ChainTotals struct {
	Compactions int `json:"compactions"`
	PaidBack    int `json:"paid_back"`
	NetNegative int `json:"net_negative_compactions"` // cost more than they saved
	Unpriced    int `json:"unpriced"`                 // of models without a price: neither paid nor not
	Spirals     int `json:"spirals"`                  // chains with flagged compactions
	ChainMax    int `json:"chain_max"`
	// MedianPayback is the median number of calls of those that paid back, the
	// lower of two in the middle; 0 when none did.
	MedianPayback int     `json:"median_payback_calls"`
	CallUSD       float64 `json:"call_usd"`
	RewriteUSD    float64 `json:"rewrite_usd"`
	GainUSD       float64 `json:"gain_usd"`
	NetUSD        float64 `json:"net_usd"` // less what was lost in calls without a compaction
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
		t.NetUSD += x.NetUSD()
	}
	t.NetUSD -= c.LostUSD
	t.PaidBack, t.Spirals = len(paid), len(spirals)
	if len(paid) > 0 {
		slices.Sort(paid)
		t.MedianPayback = paid[(len(paid)-1)/2]
	}
	return t
}
