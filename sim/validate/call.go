package validate

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Class is the situation a call is predicted in: the first of the list that
// applies, so that a prompt after an expiry counts as expiry.
type Class uint8

// The classes of a call.
const (
	ClassFirst        Class = iota // first call of a thread that has no earlier context
	ClassCompaction                // the messages were replaced by a summary
	ClassMicrocompact              // tool results were cleared
	ClassRewind                    // the context went back: an abandoned branch, or a shrink no line explains
	ClassModel                     // another model than the thread's last call
	ClassExpiry                    // more than the lifetime since the last response ended
	ClassSubAgent                  // any other call of a sub-agent
	ClassToolResult                // any other call that answers tool results alone
	ClassPrompt                    // any other call that answers a person, a refused tool call with words included
	ClassOther                     // a retry or a continuation
	numClasses
)

var classNames = [numClasses]string{
	"first_call", "after_compaction", "after_microcompact", "rewind", "model_switch", "after_expiry",
	"sub_agent", "after_tool_result", "after_prompt", "other",
}

// String returns the name used in reports.
func (c Class) String() string { return classNames[min(c, numClasses-1)] }

// Call is one call of a recorded conversation with its prediction.
type Call struct {
	Session        string
	Agent          string
	Version, Model string
	Entry          string // how the client was started
	inFile
	Thread            string
	Kind              traces.ThreadKind
	Round             int
	Class             Class
	TTL               exchange.TTL
	TierKnown         bool         // the recording says for how long it wrote
	Spread            bool         // the recording has the input of several calls together
	Gap               int64        // ns since the thread's last response ended
	Since             int64        // ns since the request of that response
	Context           int64        // input tokens, recorded and predicted alike
	Left              int64        // tokens the recording's last call of the thread left in the cache: read + written
	Predicted, Actual prompt.Usage // Output is 0
	Naive             prompt.Usage // by the naive rule
	Miss              exchange.MissClass
	costs
	Rules profile.Set // that applied

	recorded
}

// costs are what the input of a call costs, USD; 0 and Priced false for a model without a price.
type costs struct {
	PredictedUSD, ActualUSD, NaiveUSD float64
	LossUSD                           float64 // average additional cost by losses
	Priced                            bool

	ifRead struct{ nothing, left float64 } // what the input costs if nothing is read, and if all that was left is, USD
	cost   results.Cost                    // predicted, output included
}

// inFile is where a call stands in a file.
type inFile struct {
	File string
	Name string // of the call, without the session's id (calls.Name)
	Line int
}

// recorded is what the recording says of a call beside its usage.
type recorded struct {
	cause    calls.Cause // why the call read less than the call before had left, as the table of its session says
	open     bool        // the cache promises no lifetime, or the pause is not recorded
	Prompted bool        // by a person
}

// close reports whether a read is within 1 % of the context of the recorded one.
func (c *Call) close(read int64) bool {
	d := max(read-c.Actual.Read, c.Actual.Read-read)
	return float64(d) <= within*float64(c.Context)
}

// Error returns the predicted less the recorded read, tokens.
func (c *Call) Error() int64 { return c.Predicted.Read - c.Actual.Read }

// collapseShare is the share of the remaining prefix below which a read counts
// as collapsed.
const collapseShare = 0.9

// Kept reports whether the recording read at least nine tenths of what the thread had left.
func (c *Call) Kept() bool { return float64(c.Actual.Read) >= collapseShare*float64(c.Left) }

// Collapsed reports whether the recording read less than nine tenths of what
// the thread had left for no visible reason: within the lifetime, with the same
// model, no event, and no change of the request in the model either.
func (c *Call) Collapsed() bool {
	switch c.Class {
	case ClassToolResult, ClassPrompt, ClassSubAgent, ClassOther:
		return !c.Spread && !c.Changed() && !c.Kept()
	}
	return false
}

// Changed reports whether the client sends something different in the model
// too: another head, or other messages from a hooked tool call on.
func (c *Call) Changed() bool {
	return c.Miss == exchange.MissHead || c.Miss == exchange.MissEdit && (c.Rules.Has(profile.RuleHook) || c.Rules.Has(profile.RuleTeam))
}

// callOf returns a line of the table without what the model expects.
func callOf(l *calls.Call) Call {
	s, r, why := l.Session, l.Recorded, l.Cause()
	c := Call{
		Session: s.ID, Agent: s.Agent, Version: s.Version(), Model: s.Models[r.Model], Entry: s.Entry,
		recorded: recorded{why, l.Automatic() || why == calls.CauseUnknown, r.Trigger == traces.TriggerPrompt},
		inFile:   inFile{File: l.File(), Line: int(r.Line)}, Thread: l.Thread.ID, Kind: l.Thread.Kind, Round: int(l.Round), TTL: l.Billed(),
		TierKnown: r.Flags&signs.TierAssumed == 0 && !l.Automatic(), Gap: r.Wait, Context: r.Usage.Input(),
		Actual: input(r.Usage), Class: classOf(l), Spread: r.Flags&signs.Spread != 0,
	}
	if l.Before != nil {
		c.Left, c.Since = l.Before.Leaves(), c.Gap+l.Before.Recorded.Stream
	}
	if c.File != "" {
		c.Name = calls.Name("", r.File, r.Line)
	}
	if c.Naive = naive(&c, l); l.Plain {
		c.Naive = c.Naive.Plain()
	}
	return c
}

func input(u prompt.Usage) prompt.Usage { u.Output = 0; return u }

func classOf(l *calls.Call) Class {
	kind := l.Thread.Kind
	switch {
	case l.Before == nil:
		return ClassFirst
	case l.Acted.Has(traces.EventCompact):
		return ClassCompaction
	case l.Acted.Has(traces.EventMicrocompact):
		return ClassMicrocompact
	case l.Acted.Has(traces.EventShrink), kind == traces.ThreadBranch && l.First():
		return ClassRewind
	case l.Switched():
		return ClassModel
	case !l.Continues():
		return ClassExpiry
	case kind == traces.ThreadAgent, kind == traces.ThreadOrphan:
		return ClassSubAgent
	case l.Prompted():
		return ClassPrompt
	case l.Recorded.Trigger == traces.TriggerToolResult:
		return ClassToolResult
	}
	return ClassOther
}

// naive predicts a call by the simplest possible rule, given the true totals:
// it reads all that the thread's last call left cached if the gap is within the
// lifetime, else nothing, and writes the rest.
func naive(c *Call, l *calls.Call) prompt.Usage {
	u := prompt.Usage{Uncached: min(int64(l.Recorded.Tail), c.Context)}
	if l.Before != nil && c.Gap <= profile.Life(l.Tier) {
		u.Read = min(c.Left, c.Context-u.Uncached)
	}
	if rest := c.Context - u.Uncached - u.Read; c.TTL == exchange.TTL1h {
		u.Write1h = rest
	} else {
		u.Write5m = rest
	}
	return u
}

// Clock says which clock a lifetime fits: of calls whose prefix is half to twice as old as the lifetime, by either clock, how
// many are on the wrong side of the edge. A call of an age beyond the lifetime is wrong if it reads nine tenths of what was left, a younger one if
// it does not.
type Clock struct {
	Provider  string  `json:"provider"`
	Model     string  `json:"model,omitempty"`  // of an automatic cache, whose lifetimes go by model
	Life      float64 `json:"lifetime_seconds"` // asked for, or of the server's file
	Calls     int     `json:"calls"`
	FromEnd   int     `json:"wrong_from_end"`   // the age counts from the end of the response before
	FromStart int     `json:"wrong_from_start"` // and from the start of its request
}

// clock counts a call by the lifetime that it tells of.
func (r *Report) clock(c *Call) {
	at, ok := c.clock()
	if !ok {
		return
	}
	near := func(age int64) bool { return 2*seconds(age) >= at.Life && seconds(age) <= 2*at.Life }
	if !near(c.Gap) && !near(c.Since) {
		return
	}
	k := slices.IndexFunc(r.Clocks, func(o Clock) bool { return o.Provider == at.Provider && o.Model == at.Model && o.Life == at.Life })
	if k < 0 {
		k, r.Clocks = len(r.Clocks), append(r.Clocks, at)
	}
	of, read := &r.Clocks[k], c.Kept()
	of.Calls++
	of.FromEnd += index(read == (seconds(c.Gap) > at.Life))
	of.FromStart += index(read == (seconds(c.Since) > at.Life))
}

// clock returns the lifetime of what a call is due to read; ok is false for a call that says nothing about that lifetime.
func (c *Call) clock() (at Clock, ok bool) {
	at.Provider = cmp.Or(promptcache.ProviderOf(c.Model), "another provider")
	if at.Life = seconds(profile.Life(c.TTL)); !c.TierKnown {
		at.Model, at.Life = c.Model, seconds(servers.Recorded(c.Model).Retention)
	}
	return at, c.aged() && at.Life > 0
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// clockTable has one line for each lifetime, nil without any.
func (r *Report) clockTable() *document.Table {
	if len(r.Clocks) == 0 {
		return nil
	}
	t := &document.Table{Columns: document.Left("LIFETIME OF", "MODEL")}
	t.Columns = append(t.Columns, document.Right("", "LIFETIME", "N", "WRONG FROM END", "WRONG FROM START")...)
	for i := range r.Clocks {
		c := &r.Clocks[i]
		t.Rows = append(t.Rows, []any{c.Provider, cmp.Or(c.Model, "all"), document.Seconds(c.Life), c.Calls, c.FromEnd, c.FromStart})
	}
	t.Notes = []string{"N: calls whose prefix is half to twice as old as the lifetime. WRONG: calls that read a prefix older than the lifetime, or lost " +
		"a younger one. FROM END, FROM START: age counts from the end of the response before, or from the start of its request."}
	return t
}
