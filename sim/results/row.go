// Package results holds what a run produces: one row per cell and session,
// call records on request, and the metrics that describe themselves.
package results

import (
	"fmt"
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/confusion"
)

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
	SourceAdvisor                     // a model that another one asked while it answered
	sourceSessionMemory               // an update of the session memory
	sourceMemory                      // an extraction of memories at the end of a loop
	sourceDream                       // a consolidation of memories
	sourceSuggestion                  // a suggestion of the next prompt
	sourceSpeculation                 // a speculative answer to it
	sourceAgentSummary                // a summary of a sub-agent at work
	SourceReread                      // a response that reads stored content back, or brings what is missing
	SourceKeepalive                   // a request that only keeps entries alive
	SourceOther                       // any other call a layer made, and those that no log shows
	NumSources          = int(SourceOther) + 1
)

var sourceNames = [NumSources]string{
	"main", "agent", "branch", "compact", "advisor", "session_memory", "extract_memories", "dream", "prompt_suggestion",
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
	Search   float64 // USD for searches of the web, which Cost leaves out
	Rules    uint16  // the profile's rules that had something to say, a bit each (profile.Set)
}

// CountMiss counts a call that goes on where another ended: a hit, or a miss of tokens that the cache had, by class.
func (r *Row) CountMiss(class prompt.MissClass, tokens int64) {
	r.Figures[LaterCalls]++
	if class == prompt.MissNone {
		r.Figures[HitCalls]++
		return
	}
	r.Figures[Misses]++
	r.Figures[MissesByClass+ID(class)]++
	r.Figures[MissedTokens] += float64(tokens)
}

// Level is how full the client shows the window to be.
type Level uint8

// The levels, each without those above it.
const (
	LevelNormal   Level = iota
	LevelWarning        // the client warns
	LevelError          // the warning is red
	LevelBlocking       // the client takes no input
	numLevels     = 4
)

var levelNames = [numLevels]string{"normal", "warning", "error", "blocking"}

// String returns the lower-case name used in reports.
func (l Level) String() string { return levelNames[min(int(l), numLevels-1)] }

// Sharing says who shares a part of the input of a call.
type Sharing uint8

// The parts of the input, in their order.
const (
	SharingGlobal       Sharing = iota // every organisation: through the last marker for everyone
	SharingOrganisation                // the users of an organisation: through the last marker ahead of the messages
	SharingNone                        // the session alone: the rest
	numSharings         = 3
)

// What is counted of a part, by its place in the two figures of a Sharing.
const (
	sharedRead    ID = 0
	sharedWritten ID = 1
)

// Shares adds input of a call to a part, tokens.
func (r *Row) Shares(s Sharing, read, written int64) {
	r.Figures[SharedTokens+2*ID(s)+sharedRead] += float64(read)
	r.Figures[SharedTokens+2*ID(s)+sharedWritten] += float64(written)
}

// Wait is a part of the time that context management adds for a person.
type Wait uint8

// The parts of the added time.
const (
	WaitCompaction Wait = iota // for calls of a compaction
	WaitFirstToken             // for first tokens that come later or, when negative, earlier
	WaitOther                  // for other calls that block the conversation and for background calls
	numWaits       = 3
)

var waitNames = [numWaits]string{"compaction", "first_token", "other"}

// String returns the lower-case name used in reports.
func (w Wait) String() string { return waitNames[min(int(w), numWaits-1)] }

// Loop says what the agent of a row does where something was forgotten.
type Loop uint8

// The loops.
const (
	LoopNone   Loop = iota // the row repeats the recording
	LoopOpen               // the agent acts as recorded
	LoopClosed             // it fetches again what it needs and the context does not have
)

var loopNames = []string{"", "open", "closed"}

// String returns the name used in rows.
func (l Loop) String() string { return loopNames[min(int(l), len(loopNames)-1)] }

// Row is what one strategy did on one session, or on several when added up. Its figures are
// a vector that the ids index: token counts are tokens, costs USD, times seconds.
type Row struct {
	Strategy string
	Session  string
	// Organisation is the organisation of the session's user, "" where sessions have no users.
	Organisation string
	Loop         Loop
	Figures      Figures
	Breaks       confusion.Counts // what the client's break detector says
	// Firings counts how often a layer acted, by its name.
	Firings map[string]int
	// Reasons counts failures and refusals of layers, as "layer: reason".
	Reasons map[string]int
}

// Figures are the figures of a row by id. Counts are whole, and exact up to 2^53.
type Figures [NumFigures]float64

// N returns a count.
func (r *Row) N(id ID) int { return int(r.Figures[id]) }

// CallsBy returns the calls of a source.
func (r *Row) CallsBy(s Source) int { return r.N(CallsBySource + ID(s)) }

// Usage returns the tokens of all calls.
func (r *Row) Usage() prompt.Usage { return usageOf(r.Figures[Tokens:]) }

// UsageBy returns the tokens of the calls of a source.
func (r *Row) UsageBy(s Source) prompt.Usage {
	return usageOf(r.Figures[tokensBySource+NumClasses*ID(s):])
}

// CostByClass returns the place of what calls cost, storage and searches aside.
func (r *Row) CostByClass() *Cost { return (*Cost)(r.Figures[CostByClass:]) }

// CostBy returns the place of what the calls of a source cost.
func (r *Row) CostBy(s Source) *Cost { return (*Cost)(r.Figures[costBySource+NumClasses*ID(s):]) }

// MissesOf returns the misses of a class.
func (r *Row) MissesOf(m prompt.MissClass) int { return r.N(MissesByClass + ID(m)) }

// WaitFor returns a part of the added latency, s.
func (r *Row) WaitFor(w Wait) float64 { return r.Figures[Waits+ID(w)] }

// SecondsAt returns the time that main conversations spent at a level, s.
func (r *Row) SecondsAt(l Level) float64 { return r.Figures[SecondsAt+ID(l)] }

// Bill adds a call to the counts of calls, tokens and costs.
func (r *Row) Bill(s Source, u *prompt.Usage, cost *Cost) {
	f := &r.Figures
	f[Calls]++
	f[CallsBySource+ID(s)]++
	tokens := [NumClasses]float64{float64(u.Uncached), float64(u.Read), float64(u.Write5m), float64(u.Write1h),
		float64(u.WriteOther), float64(u.Output)}
	all, by := (*[NumClasses]float64)(f[Tokens:]), (*[NumClasses]float64)(f[tokensBySource+NumClasses*ID(s):])
	usd, usdBy := r.CostByClass(), r.CostBy(s)
	for c := range NumClasses {
		all[c] += tokens[c]
		by[c] += tokens[c]
		usd[c] += cost[c]
		usdBy[c] += cost[c]
	}
}

// usageOf returns the tokens at the beginning of a stretch of figures, by class.
func usageOf(f []float64) prompt.Usage {
	return prompt.Usage{Uncached: int64(f[ClassUncached]), Read: int64(f[ClassRead]), Write5m: int64(f[ClassWrite5m]),
		Write1h: int64(f[ClassWrite1h]), WriteOther: int64(f[ClassWriteOther]), Output: int64(f[ClassOutput])}
}

// SeeLeft adds a call at which the client shows percent of its limit as left, 0…100.
func (r *Row) SeeLeft(percent int) {
	r.Figures[LeftCalls]++
	r.Figures[leftSum] += float64(percent)
	r.Most(MostUsed, 100-int64(percent))
}

// Most makes a count at least n.
func (r *Row) Most(id ID, n int64) {
	if v := float64(n); v > r.Figures[id] {
		r.Figures[id] = v
	}
}

// Waited adds time that context management made a person wait, s.
func (r *Row) Waited(w Wait, seconds float64) {
	r.Figures[AddedLatency] += seconds
	r.Figures[Waits+ID(w)] += seconds
}

// Add adds the figures of o to r; maxima are kept as maxima.
func (r *Row) Add(o *Row) {
	var most [len(maxima)]float64
	for i, id := range maxima {
		most[i] = max(r.Figures[id], o.Figures[id])
	}
	for id, v := range o.Figures {
		r.Figures[id] += v
	}
	for i, id := range maxima {
		r.Figures[id] = most[i]
	}
	r.Breaks = r.Breaks.Plus(o.Breaks)
	addCounts(&r.Firings, o.Firings)
	addCounts(&r.Reasons, o.Reasons)
}

func addCounts(to *map[string]int, counts map[string]int) {
	if *to == nil && len(counts) > 0 {
		*to = make(map[string]int, len(counts))
	}
	for name, n := range counts {
		(*to)[name] += n
	}
}

// LoggedUSD returns the cost, USD, of the calls that a log of the session shows: the calls of the
// conversations, and the summary calls of compactions, the calls of advisors and the calls beside
// the conversation if billed has some. Searches of the web count with the calls that made them.
// Input that no log counts is left out, because nothing was billed for it.
func (r *Row) LoggedUSD(billed *Row) float64 {
	usd := r.Figures[SearchUSD] - r.Figures[UnloggedInputUSD]
	for _, s := range [...]Source{SourceCompact, SourceAdvisor, SourceOther} {
		if billed.CallsBy(s) > 0 {
			usd += r.CostBy(s).Total()
		}
	}
	for s := SourceMain; s < SourceCompact; s++ {
		usd += r.CostBy(s).Total()
	}
	return usd
}

// WholeUSD returns the total cost, USD, of all that the recordings did. It is an error if
// sessions ended early: then CostUSD covers less work than other rows do.
func (r *Row) WholeUSD() (float64, error) {
	if n := r.N(UnsimulatedCalls); n > 0 {
		return 0, fmt.Errorf("%d recorded calls were not simulated, as sessions ended early", n)
	}
	return r.CostUSD(), nil
}

// CostUSD returns the total cost, USD, of the calls that were simulated.
func (r *Row) CostUSD() float64 {
	return r.CostByClass().Total() + r.Figures[StorageUSD] + r.Figures[SearchUSD]
}

// DerivedText says what DerivedUSD is a part for, behind an amount of a bill.
const DerivedText = "estimated for outputs that the logs cut short"

// DerivedUSD returns the part of a bill, USD, for outputs whose logged counts are not final
// and are derived.
func (r *Row) DerivedUSD() float64 {
	return max(0, r.CostByClass()[ClassOutput]-r.Figures[LoggedOutputUSD])
}

// CutShort reports whether a conversation ended early, so that the row covers less work
// than the recording and its sums compare with no others.
func (r *Row) CutShort() bool { return r.N(UnsimulatedCalls) > 0 }

// OwnCalls returns the calls that the conversations themselves made.
func (r *Row) OwnCalls() int {
	return r.CallsBy(SourceMain) + r.CallsBy(SourceAgent) + r.CallsBy(SourceBranch)
}

// RankUSD returns the cost that ranks the row among others, USD: infinite when it was cut
// short.
func (r *Row) RankUSD() float64 {
	if r.CutShort() {
		return math.Inf(1)
	}
	return r.CostUSD()
}
