package account

import (
	"math"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Numbers are numbers of models by name, from 1, that all sessions share.
type Numbers map[string]uint32

// number returns the number of a model, the next free one for a new name.
func (m Numbers) number(name string) uint32 {
	n, ok := m[name]
	if !ok {
		n = uint32(len(m) + 1)
		m[name] = n
	}
	return n
}

// Models are the models of a session with what the loop needs of each.
type Models struct {
	Prices   calls.Prices
	At       time.Time // fixed date of the prices; zero: each call's own
	Minimum  int32     // shortest prefix that the server keeps, tokens; 0: each model's own
	Numbers  Numbers
	List     []Model
	Unpriced int // calls
}

// Model is what is known of a model.
type Model struct {
	Name      string
	ID        uint32 // the same for the same name in all sessions
	MinCache  int32  // shortest prefix that is kept, tokens
	Window    int64  // tokens
	Answered  int64  // largest request that the recording's server answered beyond the window, tokens; 0 for none
	MaxInput  int64  // limit of the input alone, tokens; 0 for none
	MaxOutput int64  // tokens
	// NamedOutput is the output that a client names that has no limit of its own, tokens: all of a model of Anthropic, whose interface
	// refuses requests without max_tokens; 0 for models of other makers.
	NamedOutput int64
	Waits       bool // the session's client compacts its conversations only where the server refuses a request
	rate        costmodel.Rate
	storage     float64 // price of keeping a cache, USD per million tokens and hour
	search      float64 // price of a search of the web by the server, USD
	from        int64   // of the period that the rate holds for, unix ns
	until       int64   // its end
	known       bool
}

// Reset resolves the models of a session. Calls of a model without a price are
// counted and cost nothing.
func (m *Models) Reset(s *traces.Session) {
	m.List, m.Unpriced = m.List[:0], 0
	at := m.At
	if at.IsZero() {
		at = s.StartTime()
	}
	for _, name := range s.Models {
		m.add(name, at)
	}
	if m.Minimum == 0 {
		m.lowerMinimums(s)
	}
}

// lowerMinimums lowers the minimum of each model to the shortest prefix that a recorded call read, or read and wrote: gateways and
// servers of other makers keep shorter ones than the model's maker documents.
func (m *Models) lowerMinimums(s *traces.Session) {
	for i := range s.Threads {
		for k := range s.Threads[i].Rounds {
			r := &s.Threads[i].Rounds[k]
			o, u := &m.List[r.Model], r.Usage
			for _, kept := range [...]int64{u.Read, u.Input() - u.Uncached} {
				if r.Counted() && kept > 0 && kept < int64(o.MinCache) {
					o.MinCache = int32(kept)
				}
			}
		}
	}
}

// add resolves a model at a time and appends it.
func (m *Models) add(name string, at time.Time) {
	o := Model{Name: name, ID: m.Numbers.number(name), MinCache: defaultMinCache, MaxOutput: client.MaxOutput}
	if p, err := m.Prices.Lookup(name, at); err == nil {
		o.take(&p)
		if p.Model.MinCache > 0 { // 0: no source states it
			o.MinCache = int32(p.Model.MinCache)
		}
		o.MaxInput = int64(p.Model.MaxInput)
		if p.Model.MaxOutput > 0 {
			o.MaxOutput = min(o.MaxOutput, int64(p.Model.MaxOutput))
		}
		if p.Model.Provider == "anthropic" {
			o.NamedOutput = int64(p.Model.MaxOutput)
		}
	}
	if m.Minimum > 0 {
		o.MinCache = m.Minimum
	}
	m.List = append(m.List, o)
}

// Room returns the tokens of the largest request that the server answers: the window's, unless it answered more.
func (m *Model) Room() int64 { return max(m.Window, m.Answered) }

// Named returns the index of a model that a layer asks for by name, which need
// not be one of the session's. Its window is its own.
func (m *Models) Named(name string, window int64, start time.Time) int32 {
	for i := range m.List {
		if m.List[i].Name == name {
			return int32(i)
		}
	}
	at := m.At
	if at.IsZero() {
		at = start
	}
	m.add(name, at)
	m.List[len(m.List)-1].Window = window
	return int32(len(m.List) - 1)
}

// defaultMinCache is the minimum cacheable prefix of a model the price table does not know,
// tokens: the minimum of most models (platform.claude.com, prompt caching).
const defaultMinCache = 1024

// Of returns a model by its index in the session.
func (m *Models) Of(i int32) *Model { return &m.List[i] }

// cost prices a call at its own date. One of a model without a price costs
// nothing and is counted.
func (m *Models) cost(i int32, at int64, u *prompt.Usage) results.Cost {
	rate := m.rate(i, at)
	if rate == nil {
		m.Unpriced++
		return results.Cost{}
	}
	return rate.Cost(u)
}

// rate returns the prices of a model at a date, nil when it has none. It looks them up
// again when the date lies outside the period of the present price. It is valid until the
// next call.
func (m *Models) rate(i int32, at int64) *costmodel.Rate {
	o := m.Of(i)
	if !o.known {
		return nil
	}
	if m.At.IsZero() && !o.holds(at) {
		if p, err := m.Prices.Lookup(o.Name, time.Unix(0, at).UTC()); err == nil {
			o.take(&p)
		}
	}
	return &o.rate
}

// take makes p the present price.
func (m *Model) take(p *costmodel.Price) {
	m.rate, m.known, m.from, m.until = p.Standard(), true, math.MinInt64, math.MaxInt64
	m.storage, m.search = p.StoragePerMTokHour, p.Search
	if !p.From.IsZero() {
		m.from = p.From.UnixNano()
	}
	if !p.Until.IsZero() {
		m.until = p.Until.UnixNano()
	}
}

// holds reports whether the present price is the price at a time, unix ns; it is when the call has
// no time.
func (m *Model) holds(at int64) bool {
	return at <= 0 || m.from <= at && at < m.until
}

// Claude Code through 2.1.62 asks a small model about Bash commands, in calls that no log shows: what a command may do, once for
// each that it does not know as harmless, through 2.1.49; and which files an output has shown, for each command that ended
// without an error, in a request that carries the command and the output (eleven versions from 1.0.128 to 2.1.62 run against
// a server on loopback, 2026-11-27 and -28).
const (
	lastOutputCall = "2.1.62"
	lastPolicyCall = "2.1.49"
	lastHaiku35    = "2.0.15" // 2.0.20 asks Haiku 4.5
	lastUnmarked   = "2.1.15" // 2.1.20 marks the output: what is large enough is written
	// policyTokens and outputTokens are the texts around a command, and around a command and its output: 3.3 and 1.2 kB.
	policyTokens, outputTokens = 830, 300
	// policyAnswer and outputAnswer are what the model answers, tokens. Assumed: a prefix of the command, and a few paths.
	policyAnswer, outputAnswer = 20, 40
	// minHaiku45 is the shortest prefix of Haiku 4.5 that is kept, tokens (platform.claude.com, prompt caching).
	minHaiku45 = 4096
)

// CommandCalls returns the calls of the small model beside the commands of a session. Which commands the client knows as harmless
// no line shows: all are taken to be asked about once.
func CommandCalls(s *traces.Session) (list []traces.UnshownCall) {
	version := s.Version()
	within := func(last string) bool { return profile.Compare(version, last) <= 0 }
	if s.Agent != facts.ClaudeCode || version == "" || s.Summed || !within(lastOutputCall) {
		return nil
	}
	model := "claude-haiku-4-5"
	if within(lastHaiku35) {
		model = "claude-haiku-3-5"
	}
	policy, marked := within(lastPolicyCall), !within(lastUnmarked)
	asked := map[prompt.Digest]bool{}
	for i := range s.Threads {
		commands := map[int32]*prompt.Block{}
		for j := range s.Threads[i].Rounds {
			r := &s.Threads[i].Rounds[j]
			add := func(tokens, answer int32) {
				list = append(list, traces.UnshownCall{
					Thread: int32(i), Event: -1, Model: model, At: r.At, Line: r.Line, File: r.File,
					Usage: prompt.Usage{Uncached: int64(tokens), Output: int64(answer)},
				})
			}
			for k := r.Input.From; k < r.Input.To; k++ {
				b := &s.Blocks[k]
				c := commands[b.Call]
				if b.Kind != prompt.KindToolResult || c == nil {
					continue
				}
				if policy && !asked[c.Digest] {
					asked[c.Digest] = true
					add(policyTokens+c.Tokens, policyAnswer)
				}
				if b.Flags&prompt.FlagError == 0 {
					add(outputTokens+c.Tokens+b.Tokens, outputAnswer)
					if u := &list[len(list)-1].Usage; marked && u.Uncached >= minHaiku45 {
						u.Uncached, u.Write5m = 0, u.Uncached
					}
				}
			}
			for k := r.Reply.From; k < r.Reply.To; k++ {
				if b := &s.Blocks[k]; b.Kind == prompt.KindToolUse && b.Call != 0 && s.Tools[b.Tool] == "Bash" {
					commands[b.Call] = b
				}
			}
		}
	}
	return list
}

// commands are the calls about commands of a session, which are found once for all copies of a run.
type commands struct {
	session *traces.Session
	found   bool
	list    []traces.UnshownCall
}

func (c *commands) calls() []traces.UnshownCall {
	if !c.found {
		c.list, c.found = CommandCalls(c.session), true
	}
	return c.list
}

// payback is what a compaction of a session cost and saved, as far as the
// session has come.
type payback struct {
	studies.Payback
	would int64 // 1 + tokens that its call read on the conversation's own prefix, 0 without one
	warm  bool  // the conversation's entries were within their lifetime when it began
}

// summaries are the calls of a compaction under way on a thread.
type summaries struct {
	calls int
	usage prompt.Usage
	cost  results.Cost
	start int64 // of the first, ns on the cohort's clock
	would int64 // as in payback
}

// payBack adds a finished call to the balance of the compaction before it, or of
// the one under way.
func (b *Book) payBack(t *Thread, c *Call, cost *results.Cost) {
	switch {
	case c.Kind.ByLayer():
		if c.Kind == Awaited && c.Source == measures.SourceCompact {
			t.calls.add(c, cost)
		}
	case c.Kind != Hidden:
		t.calls = summaries{}
		if t.last > 0 {
			b.paybacks[t.last-1].land(b.Models.Of(c.Model), c)
		}
	}
}

func (s *summaries) add(f *Call, cost *results.Cost) {
	if s.calls == 0 {
		s.start = f.Start
	}
	if f.Own && s.would == 0 {
		s.would = 1 + f.Outcome.Usage.Read
	}
	s.calls++
	s.usage.Add(&f.Outcome.Usage)
	s.cost.Add(cost)
}

// land adds a call of the conversation.
func (p *payback) land(m *Model, f *Call) {
	prices := m.rate.PerToken(f.Outcome.Usage.Input())
	c := studies.LaterCall{
		Read: f.Outcome.Usage.Read, Context: f.Context,
		ReadPrice: prices[measures.ClassRead], WritePrice: prices[f.Class],
	}
	if p.Later > 0 {
		p.Add(&c)
		return
	}
	would := c.Read
	switch {
	case p.would > 0:
		would = p.would - 1
	case p.warm:
		would = f.Outcome.Expected
	}
	p.Next(&c, would)
}

// Compacted begins the balance of a compaction of a conversation, which counts in its chain already. deleted are the tokens
// that requests had left out.
func (b *Book) Compacted(t *Thread, of *course.Course, bd *strategies.Boundary, now, deleted int64) {
	b.Row.Most(measures.ChainMax, int64(of.Chain))
	made, start := &t.calls, now
	if made.calls > 0 {
		start = made.start
	}
	p := payback{would: made.would, warm: of.Started && start-of.LastEnd <= profile.Life(of.TTL)}
	p.Saved, p.Calls, p.Usage, p.CallCost = bd.Before-bd.After, made.calls, made.usage, made.cost
	if p.warm {
		p.Saved -= deleted
	}
	b.paybacks = append(b.paybacks, p)
	t.last = int32(len(b.paybacks))
	*made = summaries{}
}

// unreadClass returns the class in which most of a request is billed that is
// not read.
func unreadClass(r *exchange.Request, out *exchange.Outcome) measures.Class {
	n := len(r.Markers)
	switch {
	case n > 0 && r.Markers[n-1].TTL == exchange.TTL1h:
		return measures.ClassWrite1h
	case n > 0:
		return measures.ClassWrite5m
	case out.Usage.WriteOther > 0:
		return measures.ClassWriteOther
	}
	return measures.ClassUncached
}
