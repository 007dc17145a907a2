// Package results holds what a run produces: one row per cell and session,
// call records on request, and the metrics that describe themselves.
package results

import "github.com/compactsim/compactsim/sim/prompt"

// Class is a token class that is billed at its own price.
type Class uint8

// Token classes.
const (
	ClassUncached Class = iota
	ClassRead
	ClassWrite5m
	ClassWrite1h
	ClassWriteOther
	ClassOutput
	NumClasses = 6
)

var classNames = [NumClasses]string{"uncached", "read", "write_5m", "write_1h", "write_other", "output"}

// String returns the lower-case name used in reports.
func (c Class) String() string { return classNames[min(int(c), NumClasses-1)] }

// Source is who made a call.
type Source uint8

// Sources of calls.
const (
	SourceMain          Source = iota // the main conversation
	SourceAgent                       // a sub-agent
	SourceBranch                      // a branch that was abandoned later
	SourceCompact                     // a summary call of a compaction
	SourceSessionMemory               // an update of the session memory
	SourceMemory                      // an extraction of memories at the end of a loop
	SourceDream                       // a consolidation of memories
	SourceSuggestion                  // a suggestion of the next prompt
	SourceSpeculation                 // a speculative answer to it
	SourceAgentSummary                // a summary of a sub-agent at work
	SourceReread                      // a response that reads stored content back
	SourceKeepalive                   // a request that only keeps entries alive
	SourceOther                       // any other call a layer made, and those that no log shows
	NumSources          = int(SourceOther) + 1
)

var sourceNames = [NumSources]string{
	"main", "agent", "branch", "compact", "session_memory", "extract_memories", "dream", "prompt_suggestion",
	"speculation", "agent_summary", "reread", "keepalive", "other",
}

// SourceOf returns the source of a call that a layer makes under a query source
// as the client names it, SourceOther for names without one of their own.
func SourceOf(name string) Source {
	for i := SourceCompact; i < SourceOther; i++ {
		if sourceNames[i] == name {
			return i
		}
	}
	return SourceOther
}

// String returns the lower-case name used in reports.
func (s Source) String() string { return sourceNames[min(int(s), NumSources-1)] }

// Cost is USD by token class.
type Cost [NumClasses]float64

// Total returns the sum over classes, USD.
func (c *Cost) Total() float64 {
	var t float64
	for _, v := range c {
		t += v
	}
	return t
}

// Add adds d to c.
func (c *Cost) Add(d *Cost) {
	for i, v := range d {
		c[i] += v
	}
}

// CallRecord is one call, simulated or recorded.
type CallRecord struct {
	Session  string
	Thread   int32 // index into the session's threads
	Round    int32 // index into the thread's rounds; -1 for a call a layer made
	Source   Source
	Model    string
	Start    int64 // ns on the session's clock
	End      int64 // ns on the session's clock
	Usage    prompt.Usage
	Expected int64 // tokens the thread's best prefix would have read
	Miss     prompt.MissClass
	First    bool // first call of its thread
	Context  int64
	Cost     Cost
}

// Row is what one strategy did on one session, or on several when added up.
// Token counts are tokens, costs USD, times seconds.
type Row struct {
	Strategy string
	Session  string
	Sessions int // sessions added up in this row

	Calls            int
	Usage            prompt.Usage
	CallsBySource    [NumSources]int
	UsageBySource    [NumSources]prompt.Usage
	CostByClass      Cost
	CostBySource     [NumSources]Cost
	Misses           int // calls that read less than the best prefix of their thread; first calls of a thread are not counted
	MissesByClass    [prompt.NumMissClasses]int
	MissedTokens     int64
	HitCalls         int // calls that read all of the best prefix of their thread
	LaterCalls       int // calls that are not the first of their thread
	Compactions      int
	Microcompactions int
	Recompactions    int // compactions of a context that already held a summary
	ChainMax         int // longest run of compactions on one thread
	PeakContext      int64
	Overflows        int // requests that a server refuses as too long; what no layer shortens is counted as answered
	OverWindow       int // sessions with at least one such request
	FailedCompaction int
	AddedLatency     float64            // s of waiting that context management added
	Waits            [NumWaits]float64  // the parts of AddedLatency, s
	SecondsAt        [NumLevels]float64 // s that main conversations spent at each level
	Left             Left               // of the client's limit, as it shows it
	Breaks           Breaks             // what the client's break detector says; empty when it does not run
	StorageUSD       float64
	// Counts are what happened beside the figures above.
	Counts [NumCounts]int64
	// Firings counts how often a layer acted, by its name.
	Firings map[string]int
	// Reasons counts failures and refusals of layers, as "layer: reason".
	Reasons         map[string]int
	LoggedOutputUSD float64 // billed rows: output as logged, without what was derived
	Unpriced        int     // calls of a model without a price
}

// Waited adds time that context management made a person wait, s.
func (r *Row) Waited(w Wait, seconds float64) {
	r.AddedLatency += seconds
	r.Waits[w] += seconds
}

// Add adds the figures of o to r; maxima are kept as maxima.
func (r *Row) Add(o *Row) {
	r.Sessions += o.Sessions
	r.Calls += o.Calls
	r.Usage.Add(o.Usage)
	for i := range r.CallsBySource {
		r.CallsBySource[i] += o.CallsBySource[i]
		r.UsageBySource[i].Add(o.UsageBySource[i])
		r.CostBySource[i].Add(&o.CostBySource[i])
	}
	r.CostByClass.Add(&o.CostByClass)
	r.Misses += o.Misses
	for i := range r.MissesByClass {
		r.MissesByClass[i] += o.MissesByClass[i]
	}
	r.MissedTokens += o.MissedTokens
	r.HitCalls += o.HitCalls
	r.LaterCalls += o.LaterCalls
	r.Compactions += o.Compactions
	r.Microcompactions += o.Microcompactions
	r.Recompactions += o.Recompactions
	r.ChainMax = max(r.ChainMax, o.ChainMax)
	r.PeakContext = max(r.PeakContext, o.PeakContext)
	r.Overflows += o.Overflows
	r.OverWindow += o.OverWindow
	r.FailedCompaction += o.FailedCompaction
	r.AddedLatency += o.AddedLatency
	for i, v := range o.Waits {
		r.Waits[i] += v
	}
	for i, v := range o.SecondsAt {
		r.SecondsAt[i] += v
	}
	r.Left.add(&o.Left)
	if o.Breaks != (Breaks{}) { // most runs have no detector, and there are hundreds of counts
		r.Breaks.Merge(&o.Breaks)
	}
	r.StorageUSD += o.StorageUSD
	for i, n := range o.Counts {
		r.Counts[i] += n
	}
	r.Firings = tally(r.Firings, o.Firings)
	r.Reasons = tally(r.Reasons, o.Reasons)
	r.LoggedOutputUSD += o.LoggedOutputUSD
	r.Unpriced += o.Unpriced
}

// tally adds the counts of src to dst, which is made when there is anything to add.
func tally(dst, src map[string]int) map[string]int {
	if dst == nil && len(src) > 0 {
		dst = make(map[string]int, len(src))
	}
	for name, n := range src {
		dst[name] += n
	}
	return dst
}

// LoggedUSD returns the cost of the calls that a log of the session shows: all
// but those of compactions and other layers, USD.
func (r *Row) LoggedUSD() float64 {
	var usd float64
	for s := SourceMain; s < SourceCompact; s++ {
		usd += r.CostBySource[s].Total()
	}
	return usd
}

// CostUSD returns the total cost, USD.
func (r *Row) CostUSD() float64 { return r.CostByClass.Total() + r.StorageUSD }
