// Package account keeps the books of a session: what its calls cost at the prices of their dates, what losses would cost, what each
// compaction pays back, and why layers did not act.
package account

import (
	"maps"
	"time"

	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Book is the account of a session. It keeps its storage between sessions. Times are ns on the cohort's clock.
type Book struct {
	Row    results.Row
	Models Models
	Record func(*results.CallRecord) // is told every call that has ended; nil for nobody
	Spends bool                      // Spent lists what each call costs
	Spent  []Spent

	session  *traces.Session
	origin   int64              // when the session begins
	firings  []int              // by layer of the strategy
	reasons  map[[2]string]int  // failures and refusals by layer and reason
	paybacks []payback          // one for each compaction, in order
	record   results.CallRecord // of the call that is told
	commands *commands          // shared by copies
}

// Begin opens the book of a session that begins at a time, with what its row says already. Models are the caller's to reset.
func (b *Book) Begin(s *traces.Session, origin int64, row results.Row) {
	b.Row, b.session, b.origin = row, s, origin
	if b.commands == nil || b.commands.session != s {
		b.commands = &commands{session: s}
	}
	clear(b.firings)
	clear(b.reasons)
	b.paybacks, b.Spent = b.paybacks[:0], b.Spent[:0]
}

// Spent is a call that cost something.
type Spent struct {
	Start int64 // ns on the session's clock
	USD   float64
	Model string
}

// spend adds a call to what is spent.
func (b *Book) spend(start int64, cost *results.Cost, model string) {
	if b.Spends {
		b.Spent = append(b.Spent, Spent{start, cost.Total(), model})
	}
}

// Layers makes room for the firings of so many layers.
func (b *Book) Layers(n int) {
	for len(b.firings) < n {
		b.firings = append(b.firings, 0)
	}
}

// CopyFrom makes b an independent copy, keeping b's storage.
func (b *Book) CopyFrom(o *Book) {
	list, firings, paybacks, spent := b.Models.List, b.firings, b.paybacks, b.Spent
	*b = *o
	b.Models.List, b.firings = append(list[:0], o.Models.List...), append(firings[:0], o.firings...)
	b.Spent = append(spent[:0], o.Spent...)
	b.paybacks, b.reasons = append(paybacks[:0], o.paybacks...), maps.Clone(o.reasons)
}

// Kind says whose a call is.
type Kind uint8

// Kinds of calls.
const (
	Recorded   Kind = iota // the recording has it
	Extra                  // the agent's own, and no recording has it
	Hidden                 // the client's own, which no log shows
	Awaited                // a layer's, which the conversation waits for
	Background             // a layer's, which runs beside the conversation
)

// ByLayer reports whether a layer made the call.
func (k Kind) ByLayer() bool { return k >= Awaited }

// Call is a call that the server has answered, or answers.
type Call struct {
	Kind    Kind
	First   bool // the first of its conversation
	Own     bool // of a layer: it sends what the conversation itself would send
	Source  measures.Source
	Model   int32
	Start   int64
	Outcome exchange.Outcome
	Context int64          // tokens of the request that count
	Rules   profile.Set    // that had something to say about the request
	Class   measures.Class // of what it does not read, when a compaction came before it
}

// Thread is what the account knows of a conversation. The zero value is of one without a compaction.
type Thread struct {
	last  int32 // 1 + index of the last compaction's balance, 0 for none
	calls summaries
}

// Inherit makes t the account of a conversation that goes on from another, whose compaction it saves for as well.
func (t *Thread) Inherit(o *Thread) { t.last = o.last }

// Sent notes what the balance of the last compaction needs to know of a request on its way: how tokens that are not read
// are billed, and what stayed ahead of the change.
func (b *Book) Sent(t *Thread, q *exchange.Request, c *Call) {
	if c.Kind.ByLayer() || t.last == 0 {
		return
	}
	c.Class = unreadClass(q, &c.Outcome)
	p := &b.paybacks[t.last-1]
	if at := int(q.Change.At); p.Later == 0 && at > 0 {
		p.Front = int64(q.Entries[min(at, len(q.Entries))-1].Cum)
	}
}

// ExpectLoss adds to the row what a call that is served at a time would cost more if it lost tokens of what it reads, times the
// rate of that. What it does not read it writes, or sends uncached if it writes nothing.
func (b *Book) ExpectLoss(model int32, at int64, rate float64, lost int64, u *prompt.Usage) {
	if lost <= 0 {
		return
	}
	price := b.Models.rate(model, b.date(at))
	if price == nil {
		return
	}
	p := price.PerToken(u.Input())
	b.Row.Figures[measures.ExpectedLossUSD] += rate * float64(lost) * max(0, p[writtenAs(u)]-p[measures.ClassRead])
}

// Ended adds a call of a conversation that has ended to the row.
func (b *Book) Ended(t *Thread, of *course.Course, c *Call, now int64) {
	at := b.date(c.Start)
	cost := b.Models.cost(c.Model, at, &c.Outcome.Usage)
	b.Row.Bill(c.Source, &c.Outcome.Usage, &cost)
	b.Row.Figures[measures.StorageUSD] += c.Outcome.Stored * b.Models.Of(c.Model).storage
	b.payBack(t, c, &cost)
	if c.Kind <= Extra {
		b.Row.Most(measures.PeakContext, c.Context)
		if !c.First || c.Outcome.Expected > 0 {
			b.Row.CountMiss(c.Outcome.Miss, c.Outcome.Shortfall())
		}
	}
	search, round := 0.0, int32(-1)
	if c.Kind == Recorded {
		round = of.Round
		b.advise(of, c, now)
		search = b.Models.search(b.session, of.Index, of.Round, at)
		b.Row.Figures[measures.SearchUSD] += search
		if of.Current().Usage.Input() == 0 {
			b.Row.Figures[measures.UnloggedInputUSD] += cost.Total() - cost[measures.ClassOutput]
		}
	}
	b.spend(c.Start-b.origin, &cost, b.Models.Of(c.Model).Name)
	if b.Record != nil {
		b.tell(results.CallRecord{
			Thread: of.Index, Round: round, Source: c.Source,
			Model: b.Models.Of(c.Model).Name, Start: c.Start - b.origin, End: now - b.origin,
			Usage: c.Outcome.Usage, Expected: c.Outcome.Expected, Miss: c.Outcome.Miss,
			First: c.First, Context: c.Context, Cost: cost, Search: search, Rules: uint16(c.Rules),
		})
	}
}

// tell hands out the record of a call of the session.
func (b *Book) tell(r results.CallRecord) {
	b.record = r
	b.record.Session = b.session.ID
	b.Record(&b.record)
}

// advise adds the calls of advisors while a recorded call was answered, which are as they were: what an advisor
// reads is its own context.
func (b *Book) advise(of *course.Course, c *Call, now int64) {
	s := b.session
	for i := range s.Advice {
		a := &s.Advice[i]
		if a.Thread != of.Index || a.Round != of.Round {
			continue
		}
		cost := b.Models.cost(b.Models.Named(a.Model, 0, s.StartTime()), b.date(c.Start), &a.Usage)
		b.Row.Bill(measures.SourceAdvisor, &a.Usage, &cost)
		b.spend(c.Start-b.origin, &cost, a.Model)
		if b.Record != nil {
			b.tell(results.CallRecord{
				Thread: of.Index, Round: -1, Source: measures.SourceAdvisor, Model: a.Model,
				Start: c.Start - b.origin, End: now - b.origin, Usage: a.Usage, Cost: cost,
			})
		}
	}
}

// Carry adds to the row the calls that no line shows and that come about whatever the strategy: those that the recording's sum
// tells of, and the ones about commands.
func (b *Book) Carry(commands bool) {
	for i := range b.session.Unshown {
		if c := &b.session.Unshown[i]; b.session.Given(c) {
			b.carry(c)
		}
	}
	if commands {
		list := b.commands.calls()
		for i := range list {
			b.carry(&list[i])
		}
	}
}

func (b *Book) carry(c *traces.UnshownCall) {
	cost := b.Models.cost(b.Models.Named(c.Model, 0, b.session.StartTime()), c.At, &c.Usage)
	b.Row.Bill(measures.SourceOther, &c.Usage, &cost)
	at := max(0, c.At-b.session.Start)
	b.spend(at, &cost, c.Model)
	if b.Record != nil {
		b.tell(results.CallRecord{
			Round: -1, Source: measures.SourceOther, Model: c.Model, Start: at, End: at,
			Usage: c.Usage, Expected: c.Usage.Read, Context: c.Usage.Input(), Cost: cost,
		})
	}
}

// Waited adds a time that somebody waited, ns, to the row.
func (b *Book) Waited(w measures.Wait, ns int64) { b.Row.Waited(w, float64(ns)/1e9) }

// Answered counts what a layer, given with its index, answered.
func (b *Book) Answered(layer int, name string, out strategies.Outcome) {
	switch out.Verdict {
	case strategies.Done:
		b.firings[layer]++
	case strategies.Failed:
		b.Refuse(name, out.Reason)
	}
}

// Refuse counts a reason for which somebody did not act.
func (b *Book) Refuse(layer, reason string) {
	if b.reasons == nil {
		b.reasons = map[[2]string]int{}
	}
	b.reasons[[2]string{layer, reason}]++
}

// Changed counts what a layer did to a context; measured says that needs are looked for.
func (b *Book) Changed(bd *strategies.Boundary, measured bool) {
	row := &b.Row
	row.Figures[measures.ClearedResults] += float64(bd.Cleared)
	saved := float64(max(0, bd.Before-bd.After))
	if measured && bd.Kind != strategies.BoundaryStore {
		row.Figures[measures.Needs+measures.ID(recall.Removed)] += saved
	}
	switch bd.Kind {
	case strategies.BoundaryStore:
	case strategies.BoundaryMicro:
		row.Figures[measures.Microcompactions]++
		row.Figures[measures.ClearedTokens] += saved
	case strategies.BoundaryServer:
		row.Figures[measures.ClearedTokens] += saved
	default:
		row.Figures[measures.Compactions]++
		if bd.Chained {
			row.Figures[measures.Recompactions]++
		}
	}
}

// Close completes the row of a strategy with some layers, and tells what became of each compaction.
func (b *Book) Close(layers []strategies.Layer, paid func(compaction int, p *studies.Payback)) {
	row := &b.Row
	row.Figures[measures.UnpricedCalls] = float64(b.Models.Unpriced)
	for key, n := range b.reasons {
		if row.Reasons == nil {
			row.Reasons = make(map[string]int, len(b.reasons))
		}
		row.Reasons[key[0]+": "+key[1]] = n
	}
	for layer, n := range b.firings {
		if n == 0 {
			continue
		}
		if row.Firings == nil {
			row.Firings = map[string]int{}
		}
		row.Firings[layers[layer].Name()] += n
	}
	for i := range b.paybacks {
		p := &b.paybacks[i].Payback
		if p.NetUSD() < 0 {
			row.Figures[measures.NetNegativeCompactions]++
		}
		if paid != nil {
			paid(i, p)
		}
	}
}

// date returns the date of a time in the recording, unix ns; 0 in a session without one.
func (b *Book) date(at int64) int64 {
	if b.session.Start == 0 {
		return 0
	}
	return b.session.Start + at - b.origin
}

// writtenAs returns the class in which messages of a call were written.
func writtenAs(u *prompt.Usage) measures.Class {
	switch {
	case u.Write5m > 0: // of two lifetimes messages have the shorter one
		return measures.ClassWrite5m
	case u.Write1h > 0:
		return measures.ClassWrite1h
	}
	return measures.ClassUncached
}

// Billed returns the row of what a session was billed: logged usage × price, without a
// model, with the summary calls that are logged and the calls that the client's own sum has
// beyond all lines. Outputs that the log does not have in full are derived. Prices hold at each
// call's date unless at is set.
func Billed(s *traces.Session, prices calls.Prices, at time.Time) results.Row {
	r := results.Row{Strategy: "billed", Session: s.ID, Figures: results.Figures{measures.Sessions: 1}}
	m := Models{Numbers: Numbers{}, Prices: prices, At: at}
	m.Reset(s)
	for i := range s.Threads {
		t := &s.Threads[i]
		src := OwnSource(t.Kind)
		for j := range t.Rounds {
			round := &t.Rounds[j]
			cost := m.cost(int32(round.Model), round.At, &round.Usage)
			r.Bill(src, &round.Usage, &cost)
			r.Most(measures.PeakContext, round.Usage.Input())
			r.Figures[measures.LoggedOutputUSD] += loggedOutput(round, cost[measures.ClassOutput])
			r.Figures[measures.UnloggedWritesUSD] += m.unwritten(s, round)
			r.Figures[measures.SearchUSD] += m.search(s, int32(i), int32(j), round.At)
		}
		countEvents(&r, t)
	}
	for i := range s.Summaries {
		c := &s.Summaries[i]
		cost := m.cost(m.Named(c.Model, 0, s.StartTime()), s.Threads[c.Thread].Events[c.Event].At, &c.Usage)
		r.Bill(measures.SourceCompact, &c.Usage, &cost)
		r.Figures[measures.LoggedOutputUSD] += cost[measures.ClassOutput]
	}
	for i := range s.Unshown {
		c := &s.Unshown[i]
		cost := m.cost(m.Named(c.Model, 0, s.StartTime()), c.At, &c.Usage)
		r.Bill(unshownSource(c), &c.Usage, &cost)
		r.Figures[measures.LoggedOutputUSD] += cost[measures.ClassOutput]
	}
	for i := range s.Advice {
		c := &s.Advice[i]
		cost := m.cost(m.Named(c.Model, 0, s.StartTime()), s.Threads[c.Thread].Rounds[c.Round].At, &c.Usage)
		r.Bill(measures.SourceAdvisor, &c.Usage, &cost)
		r.Figures[measures.LoggedOutputUSD] += cost[measures.ClassOutput]
	}
	r.Figures[measures.UnpricedCalls] = float64(m.Unpriced)
	return r
}

// unshownSource returns who made a call that no line shows.
func unshownSource(c *traces.UnshownCall) measures.Source {
	if c.Summary() {
		return measures.SourceCompact
	}
	return measures.SourceOther
}

// search returns what the searches of the web cost that the server made in a recorded call, USD, which every strategy
// makes as well.
func (m *Models) search(s *traces.Session, thread, round int32, at int64) (usd float64) {
	for i := range s.Searches {
		c := &s.Searches[i]
		if c.Thread != thread || c.Round != round {
			continue
		}
		if model := int32(s.Threads[thread].Rounds[round].Model); m.rate(model, at) != nil {
			usd += float64(c.Times) * m.Of(model).search
		}
	}
	return usd
}

// unwritten returns by how much a call to an automatic cache costs more, USD, if it
// writes what it does not read.
func (m *Models) unwritten(s *traces.Session, r *traces.Round) float64 {
	if agents.Of(s.Agent).Cache(s.Models[r.Model]) != facts.CacheAutomatic {
		return 0
	}
	if rate := m.rate(int32(r.Model), r.At); rate != nil {
		return rate.Unwritten(r.Usage)
	}
	return 0
}

// loggedOutput returns what the output of a call cost as logged, given what its
// final or derived output cost, USD.
func loggedOutput(r *traces.Round, cost float64) float64 {
	if r.Usage.Output == 0 {
		return 0
	}
	return cost * float64(r.Logged) / float64(r.Usage.Output)
}

// countEvents adds what the recorded agent did to its context ahead of a call. What no call
// follows changed none, and a simulation has no call to replay it at.
func countEvents(r *results.Row, t *traces.Thread) {
	compactions := 0
	for i := range t.Events {
		if int(t.Events[i].Round) >= len(t.Rounds) {
			continue
		}
		switch t.Events[i].Kind {
		case traces.EventCompact:
			compactions++
		case traces.EventMicrocompact:
			r.Figures[measures.Microcompactions]++
		}
	}
	r.Figures[measures.Compactions] += float64(compactions)
	r.Figures[measures.Recompactions] += float64(max(0, compactions-1))
	r.Most(measures.ChainMax, int64(compactions))
}

// OwnSource is the source of a conversation's own calls.
func OwnSource(k traces.ThreadKind) measures.Source {
	switch k {
	case traces.ThreadBranch:
		return measures.SourceBranch
	case traces.ThreadMain:
		return measures.SourceMain
	}
	return measures.SourceAgent
}
