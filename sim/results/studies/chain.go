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

// Explanation says what one strategy did on one session, call by call, and
// why.
type Explanation struct {
	Schema   int             `json:"schema"`
	Session  string          `json:"session"`
	Strategy string          `json:"strategy"`
	Agent    string          `json:"agent"`
	Version  string          `json:"version"`
	Window   int64           `json:"window_tokens"`
	Calls    []ExplainedCall `json:"calls"`
	TurnEnds TurnEnds        `json:"turn_ends,omitzero"`
	// BilledUSD is logged usage × price. ModelUSD is what the model makes of the recording, and
	// ModelHiddenUSD the part for calls that no log has.
	BilledUSD      float64 `json:"billed_usd"`
	ModelUSD       float64 `json:"model_usd"`
	ModelHiddenUSD float64 `json:"model_hidden_usd"`
}

// TurnEnds are the calls that the client is expected to make beside the conversation, such as at the end of turns, and that
// no log shows. They have no number.
type TurnEnds struct {
	Calls   int     `json:"calls"`
	CostUSD float64 `json:"cost_usd"`
}

// ExplainedCall is one call with what led to it and how the server served it.
// Times are seconds on the session's clock, tokens true tokens.
type ExplainedCall struct {
	Number  int     `json:"call"` // from 1, in the order of requests
	Thread  string  `json:"thread"`
	Kind    string  `json:"thread_kind"`
	Round   int     `json:"round"` // of the thread; a layer's call was made before this round
	Source  string  `json:"source"`
	Layer   string  `json:"layer,omitzero"` // layer that made the call; empty for the conversation's own
	Trigger string  `json:"after"`          // what the conversation's call answers
	Model   string  `json:"model"`
	File    string  `json:"file,omitzero"`
	Line    int     `json:"line,omitzero"`
	Start   float64 `json:"start_seconds"`
	End     float64 `json:"end_seconds"`
	Idle    float64 `json:"idle_seconds"` // since the thread's last response ended
	Steps   []Step  `json:"steps,omitempty"`
	Change  *Edited `json:"change,omitempty"` // first change in what had been sent
	Served
	Expected int64   `json:"expected_tokens"`   // the thread's best prefix would have read
	Miss     string  `json:"miss"`              // class of the shortfall, "none"
	Detector string  `json:"detector,omitzero"` // the client's break detector on a break, "" for none
	First    bool    `json:"first"`             // first call of its thread
	CostUSD  float64 `json:"cost_usd"`
	Again    bool    `json:"again,omitzero"`   // the agent fetches again, in a call that no recording has
	Billed   *Billed `json:"billed,omitempty"` // the recorded call; nil for one that no log has
	// Segments are the request's entries in order, joined while kind, form
	// and cache class stay the same: of the call that was asked for.
	Segments []Segment `json:"segments,omitempty"`
}

// Served is how the input of a call was served, and what it answered.
type Served struct {
	Context  int64 `json:"context_tokens"`
	Uncached int64 `json:"uncached_tokens"`
	Read     int64 `json:"read_tokens"`
	Write5m  int64 `json:"write_5m_tokens"`
	Write1h  int64 `json:"write_1h_tokens"`
	Output   int64 `json:"output_tokens"`
}

// Shortfall returns the tokens expected from the cache and not read.
func (c *ExplainedCall) Shortfall() int64 { return max(0, c.Expected-c.Read) }

// Split is how the input of a call was served, what it cost, and what it missed.
type Split struct {
	Uncached int64   `json:"uncached_tokens"`
	Read     int64   `json:"read_tokens"`
	Write5m  int64   `json:"write_5m_tokens"` // or of a lifetime that the log does not say
	Write1h  int64   `json:"write_1h_tokens"`
	CostUSD  float64 `json:"cost_usd"`
	Left     int64   `json:"left_tokens"`   // that the call before had left in the cache
	Missed   int64   `json:"missed_tokens"` // of these, sent again and not read
	Cause    string  `json:"miss"`          // class of the miss, "none"
}

// Billed is what was billed for a recorded call, and what the cache model expects for it.
type Billed struct {
	Split
	Output   int64   `json:"output_tokens"`
	Logged   int64   `json:"logged_output_tokens"`
	MissUSD  float64 `json:"miss_usd"`          // for writing what was missed
	Evidence string  `json:"evidence,omitzero"` // of the cause
	// Confidence says how the cause is known, as calls.Confidence does; empty for none.
	Confidence string `json:"confidence,omitzero"`
	Server     string `json:"server,omitzero"` // its verdict on the prefix if it names a difference
	New        int64  `json:"new_tokens"`      // that no earlier request had
	Unseen     int64  `json:"unseen_tokens"`   // of these, in no line of the recording
	Model      *Split `json:"model,omitempty"` // nil for a call that the model does not reach
	// Notes say how well the call is counted, and what other models did while it was answered.
	Notes []string `json:"notes,omitempty"`
}

// Step is one thing that happened before a call: a trigger that was evaluated,
// a layer that answered, or a change of the context.
type Step struct {
	Layer   string `json:"layer"`
	Hook    string `json:"hook,omitzero"`
	Measure string `json:"measure,omitzero"` // of a trigger
	// Measured was compared with Value, ≥; Fired is the result.
	Measured int64  `json:"measured,omitzero"`
	Value    int64  `json:"value,omitzero"`
	Fired    bool   `json:"fired,omitzero"`
	Verdict  string `json:"verdict,omitzero"` // of a hook: done, declined, failed, pending
	Reason   string `json:"reason,omitzero"`
	Boundary string `json:"boundary,omitzero"` // what happened to the context: compaction, microcompaction, truncation
	Before   int64  `json:"before_tokens,omitzero"`
	After    int64  `json:"after_tokens,omitzero"`
	// Remainder are the tokens of After that recordings have beyond what the client is known to restore.
	Remainder int64 `json:"remainder_tokens,omitzero"`
	Chained   bool  `json:"chained,omitzero"` // the compacted context already held a summary
}

// Edited is where a request first differs from the previous one of its thread.
type Edited struct {
	Position int    `json:"position"` // entry, from 0
	Kind     string `json:"kind"`     // of the entry now there
	Cause    string `json:"cause"`
	Ahead    int64  `json:"unchanged_tokens"` // tokens before it
	Behind   int64  `json:"behind_tokens"`    // tokens from it on
}

// Segment is a run of entries of a request.
type Segment struct {
	Kind   string `json:"kind"`
	Form   string `json:"form,omitzero"` // "" for verbatim
	Blocks int    `json:"blocks"`
	Tokens int64  `json:"tokens"`
	Class  string `json:"class"`           // read, write_5m, write_1h, uncached
	Marker bool   `json:"marker,omitzero"` // a cache marker follows its last entry
}
