package sim

import (
	"math"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// account adds a finished call to the row.
func (l *Loop) account(t *thread, f *flight) {
	cost := t.replay.models.cost(f.model, t.replay.date(f.start), &f.outcome.Usage)
	src, r := f.source, &t.replay.row
	r.Bill(src, &f.outcome.Usage, &cost)
	r.Figures[results.StorageUSD] += f.outcome.Stored * t.replay.models.of(f.model).storage
	l.payBack(t, f, &cost)
	l.detect(t, f)
	if f.layer < 0 && !f.hidden {
		r.Most(results.PeakContext, f.context)
		if !f.first || f.outcome.Expected > 0 {
			r.CountMiss(f.outcome.Miss, f.outcome.Shortfall())
		}
	}
	search := 0.0
	if f.recorded() {
		l.advised(t, f)
		search = t.replay.models.search(t.replay.session, t.Index, t.Round, t.replay.date(f.start))
		r.Figures[results.SearchUSD] += search
		if t.replay.session.Threads[t.Index].Rounds[t.Round].Usage.Input() == 0 {
			r.Figures[results.UnloggedInputUSD] += cost.Total() - cost[results.ClassOutput]
		}
	}
	if l.config.Record == nil {
		return
	}
	l.record = results.CallRecord{
		Session: t.replay.session.ID, Thread: t.Index, Round: t.Round, Source: src,
		Model: t.replay.models.of(f.model).name, Start: t.replay.now(f.start), End: t.replay.now(l.clock.now),
		Usage: f.outcome.Usage, Expected: f.outcome.Expected, Miss: f.outcome.Miss,
		First: f.first, Context: f.context, Cost: cost, Search: search, Rules: uint16(f.rules),
	}
	if !f.recorded() {
		l.record.Round = -1
	}
	l.config.Record(&l.record)
}

// recorded reports whether the call is one that the recording has.
func (f *flight) recorded() bool { return f.layer < 0 && !f.hidden && f.extra == (extra{}) }

// expectLoss adds to the row what the call that was just served would cost more if it
// lost what it may lose, times the probability of that. What it does
// not read it writes, or sends uncached if it writes nothing.
func (l *Loop) expectLoss(t *thread, model int32, rate float64, u *prompt.Usage) {
	if rate <= 0 {
		return
	}
	lost := t.hidden.Lost(&l.request, u.Read)
	if lost <= 0 {
		return
	}
	price := t.replay.models.rate(model, t.replay.date(l.clock.now))
	if price == nil {
		return
	}
	p := price.PerToken(u.Input())
	t.replay.row.Figures[results.ExpectedLossUSD] += rate * float64(lost) * max(0, p[writtenAs(u)]-p[results.ClassRead])
}

// advised adds the calls of advisors while a recorded call was answered, which are as they were: what an advisor
// reads is its own context.
func (l *Loop) advised(t *thread, f *flight) {
	s := t.replay.session
	for i := range s.Advice {
		c := &s.Advice[i]
		if c.Thread != t.Index || c.Round != t.Round {
			continue
		}
		model := t.replay.models.named(c.Model, 0, s.StartTime())
		cost := t.replay.models.cost(model, t.replay.date(f.start), &c.Usage)
		t.replay.row.Bill(results.SourceAdvisor, &c.Usage, &cost)
		if l.config.Record != nil {
			l.record = results.CallRecord{
				Session: s.ID, Thread: t.Index, Round: -1, Source: results.SourceAdvisor, Model: c.Model,
				Start: t.replay.now(f.start), End: t.replay.now(l.clock.now), Usage: c.Usage, Cost: cost,
			}
			l.config.Record(&l.record)
		}
	}
}

// modelNumbers are numbers of models by name, from 1, that all sessions share.
type modelNumbers map[string]uint32

// number returns the number of a model, the next free one for a new name.
func (m modelNumbers) number(name string) uint32 {
	n, ok := m[name]
	if !ok {
		n = uint32(len(m) + 1)
		m[name] = n
	}
	return n
}

// models are the models of a session with what the loop needs of each.
type models struct {
	prices   Prices
	at       time.Time // fixed date of the prices; zero: each call's own
	minimum  int32     // shortest prefix that the server keeps, tokens; 0: each model's own
	ids      modelNumbers
	list     []model
	unpriced int
}

type model struct {
	name      string
	id        uint32 // the same for the same name in all sessions
	minCache  int32
	window    int64
	maxInput  int64 // limit of the input alone, tokens; 0 for none
	maxOutput int64
	rate      costmodel.Rate
	storage   float64 // price of keeping a cache, USD per million tokens and hour
	search    float64 // price of a search of the web by the server, USD
	from      int64   // of the period that the rate holds for, unix ns
	until     int64   // its end
	known     bool
	waits     bool // the session's client compacts its conversations only where the server refuses a request
}

// reset resolves the models of a session. Calls of a model without a price are
// counted and cost nothing.
func (m *models) reset(s *traces.Session) {
	m.list, m.unpriced = m.list[:0], 0
	at := m.at
	if at.IsZero() {
		at = s.StartTime()
	}
	for _, name := range s.Models {
		m.add(name, at)
	}
	if m.minimum == 0 {
		m.lowerMinimums(s)
	}
}

// lowerMinimums lowers the minimum of each model to the shortest prefix that a recorded call read, or read and wrote: gateways and
// servers of other makers keep shorter ones than the model's maker documents.
func (m *models) lowerMinimums(s *traces.Session) {
	for i := range s.Threads {
		for k := range s.Threads[i].Rounds {
			r := &s.Threads[i].Rounds[k]
			o, u := &m.list[r.Model], r.Usage
			for _, kept := range [...]int64{u.Read, u.Input() - u.Uncached} {
				if r.Counted() && kept > 0 && kept < int64(o.minCache) {
					o.minCache = int32(kept)
				}
			}
		}
	}
}

// add resolves a model at a time and appends it.
func (m *models) add(name string, at time.Time) {
	o := model{name: name, id: m.ids.number(name), minCache: defaultMinCache, maxOutput: client.MaxOutput}
	if p, err := m.prices.Lookup(name, at); err == nil {
		o.take(&p)
		if p.Model.MinCache > 0 { // 0: no source states it
			o.minCache = int32(p.Model.MinCache)
		}
		o.maxInput = int64(p.Model.MaxInput)
		if p.Model.MaxOutput > 0 {
			o.maxOutput = min(o.maxOutput, int64(p.Model.MaxOutput))
		}
	}
	if m.minimum > 0 {
		o.minCache = m.minimum
	}
	m.list = append(m.list, o)
}

// named returns the index of a model that a layer asks for by name, which need
// not be one of the session's. Its window is its own.
func (m *models) named(name string, window int64, start time.Time) int32 {
	for i := range m.list {
		if m.list[i].name == name {
			return int32(i)
		}
	}
	at := m.at
	if at.IsZero() {
		at = start
	}
	m.add(name, at)
	m.list[len(m.list)-1].window = window
	return int32(len(m.list) - 1)
}

// defaultMinCache is the minimum cacheable prefix of a model the price table does not know,
// tokens: the minimum of most models (platform.claude.com, prompt caching).
const defaultMinCache = 1024

// of returns a model by its index in the session.
func (m *models) of(i int32) *model { return &m.list[i] }

// cost prices a call at its own date. One of a model without a price costs
// nothing and is counted.
func (m *models) cost(i int32, at int64, u *prompt.Usage) results.Cost {
	rate := m.rate(i, at)
	if rate == nil {
		m.unpriced++
		return results.Cost{}
	}
	return rate.Cost(u)
}

// rate returns the prices of a model at a date, nil when it has none. It looks them up
// again when the date lies outside the period of the present price. It is valid until the
// next call.
func (m *models) rate(i int32, at int64) *costmodel.Rate {
	o := m.of(i)
	if !o.known {
		return nil
	}
	if m.at.IsZero() && !o.holds(at) {
		if p, err := m.prices.Lookup(o.name, time.Unix(0, at).UTC()); err == nil {
			o.take(&p)
		}
	}
	return &o.rate
}

// take makes p the present price.
func (o *model) take(p *costmodel.Price) {
	o.rate, o.known, o.from, o.until = p.Standard(), true, math.MinInt64, math.MaxInt64
	o.storage, o.search = p.StoragePerMTokHour, p.Search
	if !p.From.IsZero() {
		o.from = p.From.UnixNano()
	}
	if !p.Until.IsZero() {
		o.until = p.Until.UnixNano()
	}
}

// holds reports whether the present price is the price at a time, unix ns; it is when the call has
// no time.
func (o *model) holds(at int64) bool {
	return at <= 0 || o.from <= at && at < o.until
}

// Billed returns the row of what a session was billed: logged usage × price, without a
// model, with the summary calls that are logged and the calls that the client's own sum has
// beyond all lines. Outputs that the log does not have in full are derived. Prices hold at each
// call's date unless at is set.
func Billed(s *traces.Session, prices Prices, at time.Time) results.Row {
	r := results.Row{Strategy: "billed", Session: s.ID, Figures: results.Figures{results.Sessions: 1}}
	m := models{ids: modelNumbers{}, prices: prices, at: at}
	m.reset(s)
	for i := range s.Threads {
		t := &s.Threads[i]
		src := ownSource(t.Kind)
		for j := range t.Rounds {
			round := &t.Rounds[j]
			cost := m.cost(int32(round.Model), round.At, &round.Usage)
			r.Bill(src, &round.Usage, &cost)
			r.Most(results.PeakContext, round.Usage.Input())
			r.Figures[results.LoggedOutputUSD] += loggedOutput(round, cost[results.ClassOutput])
			r.Figures[results.UnloggedWritesUSD] += m.unwritten(s, round)
			r.Figures[results.SearchUSD] += m.search(s, int32(i), int32(j), round.At)
		}
		countEvents(&r, t)
	}
	for i := range s.Summaries {
		c := &s.Summaries[i]
		cost := m.cost(m.named(c.Model, 0, s.StartTime()), s.Threads[c.Thread].Events[c.Event].At, &c.Usage)
		r.Bill(results.SourceCompact, &c.Usage, &cost)
		r.Figures[results.LoggedOutputUSD] += cost[results.ClassOutput]
	}
	for i := range s.Unshown {
		c := &s.Unshown[i]
		cost := m.cost(m.named(c.Model, 0, s.StartTime()), c.At, &c.Usage)
		r.Bill(unshownSource(c), &c.Usage, &cost)
		r.Figures[results.LoggedOutputUSD] += cost[results.ClassOutput]
	}
	for i := range s.Advice {
		c := &s.Advice[i]
		cost := m.cost(m.named(c.Model, 0, s.StartTime()), s.Threads[c.Thread].Rounds[c.Round].At, &c.Usage)
		r.Bill(results.SourceAdvisor, &c.Usage, &cost)
		r.Figures[results.LoggedOutputUSD] += cost[results.ClassOutput]
	}
	r.Figures[results.UnpricedCalls] = float64(m.unpriced)
	return r
}

// unshownSource returns who made a call that no line shows.
func unshownSource(c *traces.UnshownCall) results.Source {
	if c.Summary() {
		return results.SourceCompact
	}
	return results.SourceOther
}

// carry adds to the row the calls that no line shows and that come about whatever the strategy.
func (s *replay) carry(l *Loop) {
	if s.cut {
		return
	}
	for i := range s.session.Unshown {
		if c := &s.session.Unshown[i]; s.session.Given(c) {
			s.carryCall(l, c)
		}
	}
	if p := s.hidden.Profile; p != nil && p.Switches.Hidden {
		list := commandCalls(s.session)
		for i := range list {
			s.carryCall(l, &list[i])
		}
	}
}

func (s *replay) carryCall(l *Loop, c *traces.UnshownCall) {
	model := s.models.named(c.Model, 0, s.session.StartTime())
	cost := s.models.cost(model, c.At, &c.Usage)
	s.row.Bill(results.SourceOther, &c.Usage, &cost)
	if l.config.Record == nil {
		return
	}
	at := max(0, c.At-s.session.Start)
	l.record = results.CallRecord{
		Session: s.session.ID, Round: -1, Source: results.SourceOther, Model: c.Model, Start: at, End: at,
		Usage: c.Usage, Expected: c.Usage.Read, Context: c.Usage.Input(), Cost: cost,
	}
	l.config.Record(&l.record)
}

// search returns what the searches of the web cost that the server made in a recorded call, USD, which every strategy
// makes as well.
func (m *models) search(s *traces.Session, thread, round int32, at int64) (usd float64) {
	for i := range s.Searches {
		c := &s.Searches[i]
		if c.Thread != thread || c.Round != round {
			continue
		}
		if model := int32(s.Threads[thread].Rounds[round].Model); m.rate(model, at) != nil {
			usd += float64(c.Times) * m.of(model).search
		}
	}
	return usd
}

// unwritten returns by how much a call to an automatic cache costs more, USD, if it
// writes what it does not read.
func (m *models) unwritten(s *traces.Session, r *traces.Round) float64 {
	if agents.Of(s.Agent).Cache(s.Models[r.Model]) != traces.CacheAutomatic {
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
			r.Figures[results.Microcompactions]++
		}
	}
	r.Figures[results.Compactions] += float64(compactions)
	r.Figures[results.Recompactions] += float64(max(0, compactions-1))
	r.Most(results.ChainMax, int64(compactions))
}

// timed returns how long a call takes to its first token and in all, ns. The time that the
// summariser states comes before the time of the call's input. A known answer takes the time that
// it states, or else what the latency model gives; a call made for real takes
// as long as it took.
func (l *Loop) timed(t *thread, c *call, u *prompt.Usage) (first, total int64) {
	first, total = c.answer.First, max(c.answer.First, c.answer.Total)
	switch {
	case c.extra != (extra{}):
		return l.modelled(c, u)
	case c.layer < 0:
		return l.shifted(t, first, total, u)
	case c.answer.Measured != nil: // by the clock of whoever made the call
	case !c.known:
		input := l.config.Latency.Prompt(u.Input(), u.Read)
		return first + input, total + input
	case total == 0:
		return l.modelled(c, u)
	}
	return first, total
}

// modelled returns the times that the latency model gives a call.
func (l *Loop) modelled(c *call, u *prompt.Usage) (first, total int64) {
	v := *u
	v.Output = int64(c.answer.Output)
	return l.config.Latency.First(v), l.config.Latency.Total(v)
}

// shifted returns the recorded times of a conversation's call, moved by what the server
// has to compute more, or less, than it did in the recording, and adds the difference to
// the waiting of the row. It moves no first token ahead of the model's base.
func (l *Loop) shifted(t *thread, first, total int64, u *prompt.Usage) (int64, int64) {
	was := &t.Current().Usage
	input := was.Input()
	if input == 0 {
		return first, total // nobody knows what the recorded server did
	}
	m := &l.config.Latency
	moved := max(first+m.Prompt(u.Input(), u.Read)-m.Prompt(input, was.Read), min(first, int64(m.Base)))
	t.replay.row.Waited(results.WaitFirstToken, float64(moved-first)/1e9)
	return moved, total + moved - first
}

// waited adds the time from a point on to the waiting of the row.
func (l *Loop) waited(t *thread, from int64, w results.Wait) {
	t.replay.row.Waited(w, float64(l.clock.now-from)/1e9)
}

// waitOf returns the part that the waiting for a layer's call belongs to.
func waitOf(source string) results.Wait {
	if source == results.SourceCompact.String() {
		return results.WaitCompaction
	}
	return results.WaitOther
}
