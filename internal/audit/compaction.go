package audit

import (
	"slices"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Compaction is what one recorded compaction cost and gave. Where the summary call
// is not logged its cost is estimated twice. Warm, it reads the whole context from
// the cache; cold, it writes all of it. Both pay the summary as output.
type Compaction struct {
	Place   Place `json:"place"`
	Manual  bool  `json:"manual"`
	Before  int64 `json:"context_before"` // tokens of the context it replaced, the last response included
	After   int64 `json:"context_after"`  // of the next call
	Removed int64 `json:"removed_tokens"` // what every later call carried less
	Calls   int   `json:"later_calls"`    // until the next compaction or the end
	// CallWarm and CallCold bound the summary call. Where it is logged they are both
	// what it cost, which is in the bill shown; else it stands in no other sum of the
	// report. Rewrite is what the next call paid for writing what is left of the old
	// context instead of reading it.
	CallWarm float64 `json:"summary_call_warm_usd"`
	CallCold float64 `json:"summary_call_cold_usd"`
	Rewrite  float64 `json:"rewrite_usd"`
	// Gain is what later calls saved by carrying less, at what each paid for a token
	// of context.
	Gain float64 `json:"gain_usd"`
	// PaybackWarm and PaybackCold are the calls after which it had paid for itself;
	// 0 when it never did.
	PaybackWarm int `json:"payback_calls_warm"`
	PaybackCold int `json:"payback_calls_cold"`
	// Cold says which of the two the session's client is taken to do: a cold call
	// through 2.1.24, a warm one later (assumed).
	Cold bool `json:"assumed_cold"`
	// Logged says that the recording has the summary call.
	Logged bool `json:"summary_call_logged,omitzero"`
	// Measured is false for one without calls on both sides or without prices.
	Measured bool `json:"measured"`
}

// NetWarm and NetCold are what it gave less what it cost, USD.
func (c *Compaction) NetWarm() float64 { return c.Gain - c.Rewrite - c.CallWarm }

// NetCold is NetWarm for a cold summary call.
func (c *Compaction) NetCold() float64 { return c.Gain - c.Rewrite - c.CallCold }

// Net is what it gave less what it cost with the summary call that is assumed,
// USD.
func (c *Compaction) Net() float64 {
	if c.Cold {
		return c.NetCold()
	}
	return c.NetWarm()
}

// Payback returns the calls after which it had paid for itself with the summary
// call that is assumed; 0 when it never did.
func (c *Compaction) Payback() int {
	if c.Cold {
		return c.PaybackCold
	}
	return c.PaybackWarm
}

// compactions returns those of a thread. One without calls on both sides is
// counted with what is known. logged are the summary calls of the session that are.
func compactions(s *traces.Session, calls, logged []call) []Compaction {
	if len(calls) == 0 {
		return nil
	}
	t := calls[0].thread
	var list []Compaction
	for i := range t.Events {
		ev := &t.Events[i]
		if ev.Kind != traces.EventCompact {
			continue
		}
		out := Compaction{Place: placeOf(s, ev.File, ev.Line), Manual: ev.Manual, Before: int64(ev.PreTokens),
			Cold: cold(s)}
		at := int(ev.Round)
		if near := min(at, len(calls)-1); calls[near].out {
			continue
		}
		sum := slices.IndexFunc(s.Summaries, func(c traces.SummaryCall) bool { return c.Thread == calls[0].index && int(c.Event) == i })
		if out.Logged = sum >= 0; out.Logged {
			out.CallWarm = logged[sum].cost.Total()
			out.CallCold = out.CallWarm
		}
		if at == 0 || at >= len(calls) || !calls[at].model.known {
			list = append(list, out)
			continue
		}
		out.weigh(s, calls, at, ev)
		list = append(list, out)
	}
	return list
}

// weigh compares the calls before and after.
func (c *Compaction) weigh(s *traces.Session, calls []call, at int, ev *traces.Event) {
	before, next := &calls[at-1], &calls[at]
	c.Measured = true
	if own := before.r().Usage.Input() + before.r().Usage.Output; c.Before == 0 {
		c.Before = own
	}
	c.After = next.r().Usage.Input()
	summary := s.Tokens(ev.Summary)
	p := &before.price
	if out := float64(summary) * p[results.ClassOutput]; !c.Logged {
		c.CallWarm = float64(c.Before)*p[results.ClassRead] + out
		c.CallCold = float64(c.Before)*before.writePrice() + out
	}
	own := next.r().Input
	own.From += ev.Absorbed
	fresh := s.Tokens(own)
	c.Removed = max(0, c.Before-(c.After-fresh))
	c.Rewrite = float64(max(0, next.leave()-next.r().Usage.Read-fresh)) * max(0,
		next.fresh()-next.price[results.ClassRead])
	c.payback(calls, at)
}

// payback adds up what each later call saved, until the next compaction.
func (c *Compaction) payback(calls []call, at int) {
	for i := at; i < len(calls); i++ {
		if i > at && calls[i].acted.has(traces.EventCompact) {
			break
		}
		c.Calls++
		c.Gain += float64(c.Removed) * calls[i].carries(i > at)
		if c.PaybackWarm == 0 && c.NetWarm() >= 0 {
			c.PaybackWarm = c.Calls
		}
		if c.PaybackCold == 0 && c.NetCold() >= 0 {
			c.PaybackCold = c.Calls
		}
	}
}

// carries returns what a token that was there before costs in a call, USD: the
// price of reading it, or of writing it again for the share that was missed.
func (c *call) carries(missed bool) float64 {
	read := c.price[results.ClassRead]
	if !missed || c.left == 0 {
		return read
	}
	share := float64(c.missed) / float64(c.left)
	return read + share*max(0, c.fresh()-read)
}
