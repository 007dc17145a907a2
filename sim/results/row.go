// Package results holds what a run produces: one row per cell and session,
// call records on request, and the metrics that describe themselves.
package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Cost is USD by token class.
type Cost [measures.NumClasses]float64

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
	Source   measures.Source
	Model    string
	Start    int64 // ns on the session's clock
	End      int64 // ns on the session's clock
	Usage    prompt.Usage
	Expected int64 // tokens the thread's best prefix would have read
	Miss     exchange.MissClass
	First    bool // first call of its thread
	Context  int64
	Cost     Cost
	Search   float64 // USD for searches of the web, which Cost leaves out
	Rules    uint16  // the profile's rules that had something to say, a bit each (profile.Set)
}

// CountMiss counts a call that goes on where another ended: a hit, or a miss of tokens that the cache had, by class.
func (r *Row) CountMiss(class exchange.MissClass, tokens int64) {
	r.Figures[measures.LaterCalls]++
	if class == exchange.MissNone {
		r.Figures[measures.HitCalls]++
		return
	}
	r.Figures[measures.Misses]++
	r.Figures[measures.MissesByClass+measures.ID(class)]++
	r.Figures[measures.MissedTokens] += float64(tokens)
}

// Shares adds input of a call to a part, tokens.
func (r *Row) Shares(s measures.Sharing, read, written int64) {
	r.Figures[measures.SharedTokens+2*measures.ID(s)+measures.SharedRead] += float64(read)
	r.Figures[measures.SharedTokens+2*measures.ID(s)+measures.SharedWritten] += float64(written)
}

// Row is what one strategy did on one session, or on several when added up. Its figures are
// a vector that the ids index: token counts are tokens, costs USD, times seconds.
type Row struct {
	Strategy string
	Session  string
	// Organisation is the organisation of the session's user, "" where sessions have no users.
	Organisation string
	Loop         measures.Loop
	Figures      Figures
	Breaks       confusion.Counts // what the client's break detector says
	// Firings counts how often a layer acted, by its name.
	Firings map[string]int
	// Reasons counts failures and refusals of layers, as "layer: reason".
	Reasons map[string]int
}

// Figures are the figures of a row by id. Counts are whole, and exact up to 2^53.
type Figures [measures.NumFigures]float64

// Lookup returns the figure of the metric with a name, in the metric's unit: see Metrics. It is false for
// an unknown name, and where the row has no sample of the figure.
func (r *Row) Lookup(name string) (float64, bool) {
	m, ok := LookupMetric(name)
	if !ok {
		return 0, false
	}
	return m.Value(r)
}

// N returns a count.
func (r *Row) N(id measures.ID) int { return int(r.Figures[id]) }

// CallsBy returns the calls of a source.
func (r *Row) CallsBy(s measures.Source) int { return r.N(measures.CallsBySource + measures.ID(s)) }

// Usage returns the tokens of all calls.
func (r *Row) Usage() prompt.Usage { return usageOf(r.Figures[measures.Tokens:]) }

// UsageBy returns the tokens of the calls of a source.
func (r *Row) UsageBy(s measures.Source) prompt.Usage {
	return usageOf(r.Figures[measures.TokensBySource+measures.NumClasses*measures.ID(s):])
}

// CostByClass returns the place of what calls cost, storage and searches aside.
func (r *Row) CostByClass() *Cost { return (*Cost)(r.Figures[measures.CostByClass:]) }

// CostBy returns the place of what the calls of a source cost.
func (r *Row) CostBy(s measures.Source) *Cost {
	return (*Cost)(r.Figures[measures.CostBySource+measures.NumClasses*measures.ID(s):])
}

// MissesOf returns the misses of a class.
func (r *Row) MissesOf(m exchange.MissClass) int { return r.N(measures.MissesByClass + measures.ID(m)) }

// WaitFor returns a part of the added latency, s.
func (r *Row) WaitFor(w measures.Wait) float64 { return r.Figures[measures.Waits+measures.ID(w)] }

// SecondsAt returns the time that main conversations spent at a level, s.
func (r *Row) SecondsAt(l measures.Level) float64 {
	return r.Figures[measures.SecondsAt+measures.ID(l)]
}

// Bill adds a call to the counts of calls, tokens and costs.
func (r *Row) Bill(s measures.Source, u *prompt.Usage, cost *Cost) {
	f := &r.Figures
	f[measures.Calls]++
	f[measures.CallsBySource+measures.ID(s)]++
	tokens := [measures.NumClasses]float64{float64(u.Uncached), float64(u.Read), float64(u.Write5m), float64(u.Write1h),
		float64(u.WriteOther), float64(u.Output)}
	all, by := (*[measures.NumClasses]float64)(f[measures.Tokens:]), (*[measures.NumClasses]float64)(f[measures.TokensBySource+measures.NumClasses*measures.ID(s):])
	usd, usdBy := r.CostByClass(), r.CostBy(s)
	for c := range measures.NumClasses {
		all[c] += tokens[c]
		by[c] += tokens[c]
		usd[c] += cost[c]
		usdBy[c] += cost[c]
	}
}

// usageOf returns the tokens at the beginning of a stretch of figures, by class.
func usageOf(f []float64) prompt.Usage {
	return prompt.Usage{Uncached: int64(f[measures.ClassUncached]), Read: int64(f[measures.ClassRead]), Write5m: int64(f[measures.ClassWrite5m]),
		Write1h: int64(f[measures.ClassWrite1h]), WriteOther: int64(f[measures.ClassWriteOther]), Output: int64(f[measures.ClassOutput])}
}

// SeeLeft adds a call at which the client shows percent of its limit as left, 0…100.
func (r *Row) SeeLeft(percent int) {
	r.Figures[measures.LeftCalls]++
	r.Figures[measures.LeftSum] += float64(percent)
	r.Most(measures.MostUsed, 100-int64(percent))
}

// Most makes a count at least n.
func (r *Row) Most(id measures.ID, n int64) {
	if v := float64(n); v > r.Figures[id] {
		r.Figures[id] = v
	}
}

// Waited adds time that context management made a person wait, s.
func (r *Row) Waited(w measures.Wait, seconds float64) {
	r.Figures[measures.AddedLatency] += seconds
	r.Figures[measures.Waits+measures.ID(w)] += seconds
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
	usd := r.Figures[measures.SearchUSD] - r.Figures[measures.UnloggedInputUSD]
	for _, s := range [...]measures.Source{measures.SourceCompact, measures.SourceAdvisor, measures.SourceOther} {
		if billed.CallsBy(s) > 0 {
			usd += r.CostBy(s).Total()
		}
	}
	for s := measures.SourceMain; s < measures.SourceCompact; s++ {
		usd += r.CostBy(s).Total()
	}
	return usd
}

// WholeUSD returns the total cost, USD, of all that the recordings did. It is an error if
// sessions ended early: then CostUSD covers less work than other rows do.
func (r *Row) WholeUSD() (float64, error) {
	if n := r.N(measures.UnsimulatedCalls); n > 0 {
		return 0, fmt.Errorf("%s not simulated, as sessions ended early", numbers.Counted(n, "recorded call was", "recorded calls were"))
	}
	return r.CostUSD(), nil
}

// CostUSD returns the total cost, USD, of the calls that were simulated.
func (r *Row) CostUSD() float64 {
	return r.CostByClass().Total() + r.Figures[measures.StorageUSD] + r.Figures[measures.SearchUSD]
}

// DerivedUSD returns the part of a bill, USD, for outputs whose logged counts are not final and are derived.
func (r *Row) DerivedUSD() float64 {
	return max(0, r.CostByClass()[measures.ClassOutput]-r.Figures[measures.LoggedOutputUSD])
}

// CutShort reports whether a conversation ended early, so that the row covers less work
// than the recording and its sums compare with no others.
func (r *Row) CutShort() bool { return r.N(measures.UnsimulatedCalls) > 0 }

// OwnCalls returns the calls that the conversations themselves made.
func (r *Row) OwnCalls() int {
	return r.CallsBy(measures.SourceMain) + r.CallsBy(measures.SourceAgent) + r.CallsBy(measures.SourceBranch)
}

// RankUSD returns the cost that ranks the row among others, USD: infinite when it was cut short.
func (r *Row) RankUSD() float64 {
	if r.CutShort() {
		return math.Inf(1)
	}
	return r.CostUSD()
}

// Unfit returns why the strategy could do nothing in the session of the row, "" if it could.
func (r *Row) Unfit() string {
	if len(r.Firings) > 0 {
		return ""
	}
	for reason := range r.Reasons {
		if _, why, ok := strings.Cut(reason, ": "+measures.NotRun); ok {
			return why
		}
	}
	return ""
}

// agree returns an error for every figure that r holds twice, as a sum and in parts, in two ways, and for every share
// of more than the whole. Such a row was changed by hand or cut, and each figure would lead to another verdict. Only
// readers call it: a writer has no reason to withhold what it computed.
func (r *Row) agree() error {
	var errs []error
	same := func(what, by string, whole, parts any) {
		errs = append(errs, fmt.Errorf("%s is %+v, but by %s %+v", what, whole, by, parts))
	}
	whole := func(id measures.ID, name, by string, parts measures.ID, n int) {
		s := sum{}
		for _, v := range r.Figures[parts : parts+measures.ID(n)] {
			s.add(v)
		}
		if !s.is(r.Figures[id]) {
			same(name, by, r.Figures[id], s.of)
		}
	}
	whole(measures.Calls, measures.NameCalls, measures.BySource, measures.CallsBySource, measures.NumSources)
	whole(measures.Misses, measures.NameMisses, measures.ByClass, measures.MissesByClass, exchange.NumMissClasses)
	var tokens prompt.Usage
	for s := range measures.Source(measures.NumSources) {
		u := r.UsageBy(s)
		tokens.Add(&u)
	}
	if all := r.Usage(); tokens != all {
		same("tokens", measures.BySource, all, tokens)
	}
	for c, usd := range r.CostByClass() {
		parts := sum{}
		for s := range measures.Source(measures.NumSources) {
			parts.add(r.CostBy(s)[c])
		}
		if !parts.is(usd) {
			same("cost_usd_by_class."+measures.ClassNames[c], measures.BySource, usd, parts.of)
		}
	}
	whole(measures.AddedLatency, measures.NameAddedLatency, measures.ByPart, measures.Waits, measures.NumWaits)
	switch {
	case r.N(measures.HitCalls) > r.N(measures.LaterCalls):
		errs = append(errs, fmt.Errorf("hit_calls is %d of %d later_calls", r.N(measures.HitCalls), r.N(measures.LaterCalls)))
	case r.N(measures.LeftSum) > 100*r.N(measures.LeftCalls) || r.N(measures.MostUsed) > 100:
		errs = append(errs, fmt.Errorf("percent_left is %d%% in sum and %d%% used over %s",
			r.N(measures.LeftSum), r.N(measures.MostUsed), document.Count(r.N(measures.LeftCalls), "call")))
	}
	return errors.Join(errs...)
}

// sum is a sum of floating-point numbers that knows how far its rounding may go.
type sum struct{ of, size float64 }

func (s *sum) add(v float64) { s.of, s.size = s.of+v, s.size+math.Abs(v) }

// is reports whether another order of adding could give whole. Rounding is below
// the number of terms × 2⁻⁵³ of their size, and no row has ten million calls.
func (s *sum) is(whole float64) bool {
	return math.Abs(whole-s.of) <= 1e-9*max(s.size, math.Abs(whole))
}

// validate returns everything that keeps r from being encoded.
func (r *Run) validate() error { return r.validateCells((*Cell).validate) }

// validateCells is validate with another way to look at a cell.
func (r *Run) validateCells(validate func(*Cell) error) error {
	var errs []error
	seen := map[string]bool{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if seen[c.Cell] {
			errs = append(errs, fmt.Errorf("cell %q occurs twice", c.Cell))
		}
		seen[c.Cell] = true
		errs = append(errs, validate(c))
	}
	for _, n := range r.Notes {
		if n.Cell != "" && !seen[n.Cell] {
			errs = append(errs, fmt.Errorf("note %q: unknown cell %q", n.Text, n.Cell))
		}
	}
	for _, s := range r.Workload.Quality {
		errs = append(errs, finite("share of "+s.Of+" "+s.What, s.Value))
	}
	e := &r.ModelError
	errs = append(errs, finite("billed_usd", e.BilledUSD), finite("recorded_usd", e.RecordedUSD),
		finite("low", e.Low), finite("high", e.High), finite("gross", e.Gross), finite("session_spread", e.Spread))
	return errors.Join(errs...)
}

// validate checks the name of c, its settings and its figures. A total can hide what is wrong with a row.
func (c *Cell) validate() error {
	if err := c.validateTotal(); err != nil {
		return err
	}
	for _, r := range c.Rows.All() {
		if err := rowForm.Check(r.line(c.Cell)); err != nil {
			return fmt.Errorf("cell %q, session %q: %w", c.Cell, r.Session, err)
		}
	}
	return nil
}

// validateTotal checks all of c but its rows.
func (c *Cell) validateTotal() error {
	if c.Cell == "" || c.Strategy == "" {
		return fmt.Errorf("cell %q of strategy %q: both need a name", c.Cell, c.Strategy)
	}
	if i := slices.IndexFunc(c.Unmeasured, func(name string) bool { return !known(name) }); i >= 0 {
		return fmt.Errorf("cell %q: unknown unmeasured metric %q", c.Cell, c.Unmeasured[i])
	}
	if c.Sessions < 0 || c.Sessions > maxSessions {
		return fmt.Errorf("cell %q: %d sessions", c.Cell, c.Sessions)
	}
	if err := rowForm.Check(c.Total.line(c.Cell)); err != nil {
		return fmt.Errorf("cell %q: %w", c.Cell, err)
	}
	return nil
}

// maxSessions is the largest count of sessions that is read and written.
const maxSessions = 1 << 53

func finite(what string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%s is %v", what, v)
	}
	return nil
}
