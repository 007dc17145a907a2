// Package calls is the table of a session's recorded calls: one line each, with what was billed, what the previous call
// had left in the cache and this one did not read, why, and beside it what the cache model expects of the same request.
//
//	table := calls.Of(session, prices)
//	row, err := sim.Predict(table, config) // the columns of the model, where they are asked for
//
// What a call had in the cache and did not read is missed, and costs the difference between writing and reading it. The
// causes are those the recording shows: logged events, the model, and the pause compared with the billed lifetime.
// Audits, validations, explanations and the counts of misses of billed rows are projections of this table.
package calls

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Table has the recorded calls of a session.
type Table struct {
	Session *traces.Session
	Threads [][]Call // by thread and round
	// Apart are the calls that belong to no thread: logged summary calls of compactions, in the order of
	// Session.Summaries, then calls that no line shows, in the order of Session.Unshown, then calls of
	// advisors, in the order of Session.Advice.
	Apart []Call
}

// Call is one recorded call.
type Call struct {
	Session  *traces.Session
	Thread   *traces.Thread
	Index    int32         // of the thread
	Round    int32         // of the thread
	Recorded *traces.Round // usage, file and line
	Source   measures.Source
	// Before is the call that left the context which this one continues: the previous one of
	// its thread, or for the first of a branch the one it leaves; nil for none.
	Before *Call
	// Resumed says that a call of another session left that context (traces.Thread.Left).
	Resumed bool
	At, End int64 // unix ns of request and end of response; 0 when unknown
	Back    bool  // the clock ran back just before it
	Untimed bool
	Gap     int64        // ns of the pause of people and tools before it; −1 for first calls and if unknown
	Tier    exchange.TTL // lifetime of what was in the cache before it
	Acted   Events       // what the agent did to its context before the request
	Out     bool         // outside the reported period: it is compared, and costs nothing

	paid

	Reason confusion.Reason // of the client's break detector

	Predicted *Prediction // nil until sim.Predict, and for a call that the model does not reach

	// Plain says that writes to the cache are billed as plain input (agents.Unwritten).
	Plain bool

	ahead int64 // tokens before the first block that was cleared; −1 if unknown
	think bool  // the client switched thinking on or off and keeps the messages of both apart
}

// paid is what a call cost, and what it missed.
type paid struct {
	Model    *Price
	Cost     results.Cost // USD, by class
	Search   float64      // USD for searches of the web by the server, which Cost leaves out
	PerToken results.Cost // USD a token, by class
	Left     int64        // tokens the previous call of the thread had left in the cache
	Missed   int64        // of these, tokens sent again and not read
	MissUSD  float64      // paid for writing them instead of reading
}

// Events is a set of kinds of event.
type Events uint8

// Has reports whether a kind is in the set.
func (e Events) Has(k traces.EventKind) bool { return e&(1<<k) != 0 }

// First reports whether the call is the first of its thread.
func (c *Call) First() bool { return c.Round == 0 }

// Automatic reports whether the provider caches by itself, in steps, and bills no writes.
func (c *Call) Automatic() bool {
	model := ""
	if i := int(c.Recorded.Model); i < len(c.Session.Models) {
		model = c.Session.Models[i]
	}
	return agents.CacheOf(c.Session, model) == facts.CacheAutomatic
}

// File returns the file of the call's line, "" if unknown.
func (c *Call) File() string {
	if int(c.Recorded.File) < len(c.Session.Files) {
		return c.Session.Files[c.Recorded.File]
	}
	return ""
}

// Fresh returns the price of a token that was not read, USD, as the call paid it.
func (c *Call) Fresh() float64 {
	u := &c.Recorded.Usage
	n := u.Uncached + u.Writes()
	if n == 0 {
		return c.PerToken[measures.ClassUncached]
	}
	return (c.Cost[measures.ClassUncached] + c.written()) / float64(n)
}

// written returns what the call paid for writing, USD.
func (c *Call) written() float64 {
	return c.Cost[measures.ClassWrite5m] + c.Cost[measures.ClassWrite1h] + c.Cost[measures.ClassWriteOther]
}

// WritePrice returns the price of a written token in a call, USD; for a call
// that wrote nothing, the price of the lifetime in force.
func (c *Call) WritePrice() float64 {
	if n := c.Recorded.Usage.Writes(); n > 0 {
		return c.written() / float64(n)
	}
	if c.Tier == exchange.TTL1h {
		return c.PerToken[measures.ClassWrite1h]
	}
	return c.PerToken[measures.ClassWrite5m]
}

// Leaves returns the tokens a call leaves in the cache: what it read and wrote, or all that
// was sent where the provider caches by itself and logs no writes.
func (c *Call) Leaves() int64 { return c.leaves(&c.Recorded.Usage) }

// leaves is Leaves for a call of the same client.
func (c *Call) leaves(u *prompt.Usage) int64 {
	if c.Plain || c.Automatic() {
		return u.Input()
	}
	return u.Read + u.Writes()
}

// Billed returns the lifetime that a call was billed for, or the lifetime of what it read when it wrote nothing.
func (c *Call) Billed() exchange.TTL {
	switch u := &c.Recorded.Usage; {
	case u.Write1h > 0:
		return exchange.TTL1h
	case u.Writes() > 0:
		return exchange.TTL5m
	}
	return c.Tier
}

// Switched reports whether the call goes to another model than the one before it.
func (c *Call) Switched() bool { return c.Before != nil && c.Recorded.Model != c.Before.Recorded.Model }

// Continues reports whether the call goes on where the one before it ended: by the same model,
// within the lifetime, with the context as it was left.
func (c *Call) Continues() bool {
	edited := c.Acted.Has(traces.EventCompact) || c.Acted.Has(traces.EventMicrocompact) || c.Acted.Has(traces.EventShrink)
	back := c.Thread.Kind == traces.ThreadBranch && c.First()
	return c.Before != nil && !edited && !back && !c.Switched() && c.Recorded.Wait <= profile.Life(c.Tier)
}

// Prompted reports whether the call answers a person, a refused tool call with words included.
func (c *Call) Prompted() bool {
	return c.Recorded.Trigger == traces.TriggerPrompt || c.Session.Content(c.Recorded).Person
}

// near is the tolerance of Near, as a share of the context.
const near = 0.01

// Near reports whether a read, tokens, is within 1 % of the context of the recorded one.
func (c *Call) Near(read int64) bool {
	u := &c.Recorded.Usage
	return math.Abs(float64(read-u.Read)) <= near*float64(u.Input())
}

// Prediction is what the cache model expects of a recorded call.
type Prediction struct {
	Usage    prompt.Usage // the output is the recorded one
	Expected int64        // tokens the thread's best prefix would have read
	Miss     exchange.MissClass
	Cost     results.Cost // USD, by class
	Rules    profile.Set  // that applied
}

// Records returns the recorded calls in the form of simulated calls, with what was billed in the
// place of what was expected.
func (t *Table) Records() []results.CallRecord {
	var list []results.CallRecord
	for _, thread := range t.Threads {
		start := int64(0)
		for i := range thread {
			c := &thread[i]
			if c.At > 0 { // a call without a time stands at the time of the call before it
				start = c.At - t.Session.Start
			}
			list = append(list, results.CallRecord{
				Session: t.Session.ID, Thread: c.Index, Round: c.Round, Source: c.Source, Model: c.Model.Name, Start: start,
				End: start + c.Recorded.Stream, Usage: c.Recorded.Usage, Expected: c.Left, Miss: c.Class(), First: c.First(),
				Context: c.Recorded.Usage.Input(), Cost: c.Cost, Search: c.Search,
			})
		}
	}
	return list
}

// Prices says what a model costs at a time.
type Prices interface {
	Lookup(model string, at time.Time) (costmodel.Price, error)
}

// Price is what a model costs at the date of a call.
type Price struct {
	Name  string // of the model
	Known bool   // false for a model without a price, whose calls cost nothing
	Rate  costmodel.Rate
	price costmodel.Price
}

// pricer prices the calls of one session, each at its own date.
type pricer struct {
	prices Prices
	list   []*Price // by Round.Model: the price of the latest call
}

func newPricer(prices Prices, s *traces.Session) *pricer {
	p := &pricer{prices: prices}
	for _, name := range s.Models {
		p.named(name, s.StartTime())
	}
	return p
}

// named returns the index of a model in the list, and adds a new one.
func (p *pricer) named(name string, at time.Time) uint16 {
	if i := slices.IndexFunc(p.list, func(m *Price) bool { return m.Name == name }); i >= 0 {
		return uint16(i)
	}
	p.list = append(p.list, p.lookup(name, at))
	return uint16(len(p.list) - 1)
}

func (p *pricer) lookup(name string, at time.Time) *Price {
	m := &Price{Name: name}
	if price, err := p.prices.Lookup(name, at); err == nil {
		m.price, m.Rate, m.Known = price, price.Standard(), true
	}
	return m
}

// of returns the model of a round with its price at the time of the round, or at the time of the
// round before it for a round without a time. A price stays with the calls it was found for.
func (p *pricer) of(r *traces.Round) *Price {
	m := p.list[r.Model]
	if m.Known && r.At > 0 && !m.holds(r.At) {
		if other := p.lookup(m.Name, time.Unix(0, r.At).UTC()); other.Known {
			p.list[r.Model] = other
			return other
		}
	}
	return m
}

// holds reports whether the price applies at a time, unix ns.
func (m *Price) holds(at int64) bool {
	p := &m.price
	return (p.From.IsZero() || p.From.UnixNano() <= at) && (p.Until.IsZero() || at < p.Until.UnixNano())
}

// Of returns what usage costs, USD; nothing for a model without a price.
func (m *Price) Of(u prompt.Usage) results.Cost {
	if !m.Known {
		return results.Cost{}
	}
	return m.Rate.Cost(&u)
}

// perToken returns the prices of a request of so many input tokens, USD a token.
func (m *Price) perToken(input int64) results.Cost {
	if !m.Known {
		return results.Cost{}
	}
	return *m.Rate.PerToken(input)
}

// Tally counts the calls of a bill by what they are: of conversations, as verbs that replay sessions count them, of advisors, summary
// calls, and further calls that no line of a recording shows.
type Tally struct {
	Calls     int `json:"calls,omitzero"`
	Unshown   int `json:"unshown_calls,omitzero"`
	Advice    int `json:"advisor_calls,omitzero"`
	Summaries int `json:"summary_calls,omitzero"`
}

// TallyBy counts the calls of a bill by who made them.
func TallyBy(calls func(measures.Source) int) (t Tally) {
	for s := range measures.Source(measures.NumSources) {
		*t.of(s) += calls(s)
	}
	return t
}

// of returns where the calls of a source count.
func (t *Tally) of(s measures.Source) *int {
	switch s {
	case measures.SourceCompact:
		return &t.Summaries
	case measures.SourceAdvisor:
		return &t.Advice
	case measures.SourceOther:
		return &t.Unshown
	}
	return &t.Calls
}

// Add counts a call.
func (t *Tally) Add(c *Call) { *t.of(c.Source)++ }

// Sum returns all calls.
func (t Tally) Sum() int { return t.Calls + t.Unshown + t.Advice + t.Summaries }

// String says how many calls there are of each kind.
func (t Tally) String() string {
	parts := []string{document.Count(t.Calls, "call")}
	if t.Unshown > 0 {
		parts = append(parts, document.Count(t.Unshown, "call")+" that no line shows")
	}
	if t.Advice > 0 {
		parts = append(parts, document.Count(t.Advice, "advisor call"))
	}
	if t.Summaries > 0 {
		parts = append(parts, document.Count(t.Summaries, "summary call"))
	}
	return document.And(parts)
}

// Unpriced counts calls of a bill whose models have no price.
type Unpriced struct {
	Tally
	models map[string]bool
}

// Add counts a call if it is in the bill and its model has no price.
func (u *Unpriced) Add(c *Call) {
	if c.Out || c.Model.Known {
		return
	}
	if u.models == nil {
		u.models = map[string]bool{}
	}
	u.models[c.Model.Name] = true
	u.Tally.Add(c)
}

// Models returns the names of the models, sorted.
func (u *Unpriced) Models() []string { return slices.Sorted(maps.Keys(u.models)) }

// UnpricedCalls says that a bill lacks calls of models without a price, "" for none.
func UnpricedCalls(t Tally, models []string) string {
	if t == (Tally{}) {
		return ""
	}
	return fmt.Sprintf("not in the bill: %s of models without a price (%s); --price-as bills them as another model", t, document.Few(models))
}

// UnpricedSearches says how many searches of the web by servers the prices have no rate for, "" for none: searches in
// sessions none of whose models has a rate. Bodies of sessions need not be in memory.
func UnpricedSearches(prices Prices, sessions []*traces.Session) string {
	n := 0
	for _, s := range sessions {
		if s.Quality.WebSearches > 0 && !slices.ContainsFunc(s.Models, func(name string) bool {
			price, err := prices.Lookup(name, s.StartTime())
			return err == nil && price.Search > 0
		}) {
			n += s.Quality.WebSearches
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("not in the bill: web searches by the server (%s), for which the price table has no rate", document.Whole(int64(n)))
}

// Name names the call at or after a line of a recording, in the form that a person gives: the session's id, "/" and the
// number of its file from 1 unless that is the first, ":" and the line.
func Name(id string, file uint16, line int32) string {
	if file > 0 {
		id += "/" + strconv.Itoa(int(file)+1)
	}
	return id + ":" + strconv.Itoa(int(line))
}

// ParseName takes the name of a call apart; its session may be the beginning of an id.
// It is not ok for the name of a session alone.
func ParseName(name string) (id string, file uint16, line int32, ok bool) {
	at := strings.LastIndexByte(name, ':')
	n, err := strconv.ParseInt(name[at+1:], 10, 32)
	if at < 0 || err != nil || n < 1 {
		return name, 0, 0, false
	}
	id = name[:at]
	if at = strings.LastIndexByte(id, '/'); at >= 0 {
		if k, err := strconv.ParseUint(id[at+1:], 10, 16); err == nil && k > 1 {
			return id[:at], uint16(k - 1), int32(n), true
		}
	}
	return id, 0, int32(n), true
}
