package account

import (
	"math"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
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
	Prices   Prices
	At       time.Time // fixed date of the prices; zero: each call's own
	Minimum  int32     // shortest prefix that the server keeps, tokens; 0: each model's own
	Numbers  Numbers
	List     []Model
	Unpriced int // calls
}

// Prices say what a model costs at a time.
type Prices interface {
	Lookup(model string, at time.Time) (costmodel.Price, error)
}

// Model is what is known of a model.
type Model struct {
	Name      string
	ID        uint32 // the same for the same name in all sessions
	MinCache  int32  // shortest prefix that is kept, tokens
	Window    int64  // tokens
	MaxInput  int64  // limit of the input alone, tokens; 0 for none
	MaxOutput int64  // tokens
	Waits     bool   // the session's client compacts its conversations only where the server refuses a request
	rate      costmodel.Rate
	storage   float64 // price of keeping a cache, USD per million tokens and hour
	search    float64 // price of a search of the web by the server, USD
	from      int64   // of the period that the rate holds for, unix ns
	until     int64   // its end
	known     bool
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
	}
	if m.Minimum > 0 {
		o.MinCache = m.Minimum
	}
	m.List = append(m.List, o)
}

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
func (o *Model) take(p *costmodel.Price) {
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
func (o *Model) holds(at int64) bool {
	return at <= 0 || o.from <= at && at < o.until
}
