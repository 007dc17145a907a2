package calls

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

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
	list   []*Price // by Round.Model: that of the latest call
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

// of returns the model of a round with its price at the time of the round, or that of the
// round before it for one without a time. A price stays with the calls it was found for.
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
