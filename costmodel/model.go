package costmodel

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Model is what a table knows about a model besides its prices. A zero figure
// means that no source states it.
type Model struct {
	Name      string // canonical name, as listed in the table
	Provider  string // "anthropic", "openai", "google", "deepseek", or what a price file says
	Window    int    // input tokens a request may hold at the server
	MaxOutput int    // output tokens a response may hold
	MinCache  int    // tokens a prefix needs to be cached
	// Multipliers on all classes, 0 where the model does not have the option.
	Batch    float64 // batch processing
	GeoUS    float64 // inference restricted to the United States
	Regional float64 // a regional or multi-region endpoint, or regional processing

	periods []period // ascending by from; the first holds for all earlier time too
}

// period is what a model costs from one date to the next.
type period struct {
	from    time.Time // zero for a first one whose date is not known
	fast    float64   // multiplier of fast mode, 0 when not offered
	storage float64   // USD per million tokens and hour
	rate    Rate
}

// Price is what a model costs at one time.
type Price struct {
	Model Model
	From  time.Time // start of the period these prices are listed for; zero if open
	Until time.Time // end of that period, exclusive; zero if open
	// Fast is the multiplier of fast mode in this period, 0 when the model
	// refuses it, 1 when it accepts the option and runs at standard speed.
	Fast float64
	// StoragePerMTokHour is what an explicitly created cache costs while it
	// is kept, USD per million tokens and hour; 0 when there is no such fee.
	StoragePerMTokHour float64
	// LongContext is set for a name that ended in "[1m]": the client
	// asked for the 1M window.
	LongContext bool
	// Regional is set for the name of a regional or
	// multi-region endpoint ("us.anthropic.…"). The price does not include
	// the surcharge: set Modifiers.Regional to add it.
	Regional bool

	rate Rate
}

// Early reports whether a time lies ahead of all prices that the table lists for
// the model: these are its first.
func (p *Price) Early(at time.Time) bool { return at.Before(p.From) }

// Standard returns the rate without modifiers.
func (p *Price) Standard() Rate { return p.rate }

// Cost returns what one call costs without modifiers, USD by class; see
// [Rate.Cost].
func (p *Price) Cost(u prompt.Usage) [NumClasses]float64 { return p.rate.Cost(u) }

func (m *Model) price(at time.Time) Price {
	i := len(m.periods) - 1
	for i > 0 && at.Before(m.periods[i].from) {
		i--
	}
	d := &m.periods[i]
	p := Price{Model: *m, From: d.from, Fast: d.fast, StoragePerMTokHour: d.storage, rate: d.rate}
	if i+1 < len(m.periods) {
		p.Until = m.periods[i+1].from
	}
	return p
}
