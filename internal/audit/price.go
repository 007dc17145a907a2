package audit

import (
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

// pricer prices the calls of one session, each at its own date.
type pricer struct {
	prices Prices
	list   []priced // by Round.Model
}

type priced struct {
	name  string
	price costmodel.Price
	rate  costmodel.Rate
	known bool
}

func newPricer(prices Prices, s *traces.Session) *pricer {
	p := &pricer{prices: prices}
	for _, name := range s.Models {
		m := priced{name: name}
		if price, err := prices.Lookup(name, s.StartTime()); err == nil {
			m.price, m.rate, m.known = price, price.Standard(), true
		}
		p.list = append(p.list, m)
	}
	return p
}

// of returns the model of a round with its price at the time of the round.
func (p *pricer) of(r *traces.Round) *priced {
	m := &p.list[r.Model]
	if m.known && r.At > 0 && !m.holds(r.At) {
		if price, err := p.prices.Lookup(m.name, time.Unix(0, r.At).UTC()); err == nil {
			m.price, m.rate = price, price.Standard()
		}
	}
	return m
}

// holds reports whether the price at hand is that of a time, unix ns.
func (m *priced) holds(at int64) bool {
	p := &m.price
	return (p.From.IsZero() || p.From.UnixNano() <= at) && (p.Until.IsZero() || at < p.Until.UnixNano())
}

// cost returns what usage costs, USD; nothing for a model without a price.
func (m *priced) cost(u prompt.Usage) results.Cost {
	if !m.known {
		return results.Cost{}
	}
	return m.rate.Cost(u)
}

// perToken returns the prices of a request of so many input tokens, USD a token.
func (m *priced) perToken(input int64) results.Cost {
	if !m.known {
		return results.Cost{}
	}
	list := results.Cost(m.rate.PerMTok(input))
	for i := range list {
		list[i] /= 1e6
	}
	return list
}
