package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// genaiProvider is what is used of a provider in genai-prices' data.json: USD
// per million tokens.
type genaiProvider struct {
	ID     string       `json:"id"`
	Models []genaiModel `json:"models"`
}

type genaiModel struct {
	ID     string      `json:"id"`
	Window int         `json:"context_window,omitempty"`
	Prices genaiPrices `json:"prices"`
}

// genaiPrices is one set of prices, or several with the day each begins.
type genaiPrices []genaiPeriod

type genaiPeriod struct {
	Constraint *genaiConstraint `json:"constraint,omitempty"`
	Prices     struct {
		Input   *genaiPrice `json:"input_mtok,omitempty"`
		Read    *genaiPrice `json:"cache_read_mtok,omitempty"`
		Write   *genaiPrice `json:"cache_write_mtok,omitempty"`
		Write1h *genaiPrice `json:"cache_write_1h_mtok,omitempty"`
		Output  *genaiPrice `json:"output_mtok,omitempty"`
	} `json:"prices"`
}

type genaiConstraint struct {
	StartDate string `json:"start_date,omitempty"`
	StartTime string `json:"start_time,omitempty"` // prices by time of day are not supported
}

func (p *genaiPrices) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		return json.Unmarshal(b, (*[]genaiPeriod)(p))
	}
	var one genaiPeriod
	if err := json.Unmarshal(b, &one.Prices); err != nil {
		return err
	}
	*p = genaiPrices{one}
	return nil
}

func (p genaiPrices) MarshalJSON() ([]byte, error) {
	if len(p) == 1 && p[0].Constraint == nil {
		return json.Marshal(p[0].Prices)
	}
	return json.Marshal([]genaiPeriod(p))
}

// genaiPrice is a number, or a base with tiers by size of the prompt.
type genaiPrice struct {
	Base  float64     `json:"base"`
	Tiers []genaiTier `json:"tiers"`
}

type genaiTier struct {
	Start int     `json:"start"` // prompt tokens above which the price holds
	Price float64 `json:"price"`
}

func (p *genaiPrice) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		type plain genaiPrice
		return json.Unmarshal(b, (*plain)(p))
	}
	return json.Unmarshal(b, &p.Base)
}

func (p genaiPrice) MarshalJSON() ([]byte, error) {
	if len(p.Tiers) == 0 {
		return json.Marshal(p.Base)
	}
	type plain genaiPrice
	return json.Marshal(plain(p))
}

// above returns the price of prompts just above the given size.
func (p *genaiPrice) above(size int) float64 {
	if p == nil {
		return 0
	}
	v := p.Base
	for _, t := range p.Tiers {
		if t.Start <= size {
			v = t.Price
		}
	}
	return v
}

func (m *genaiModel) periods() ([]period, error) {
	var out []period
	for _, g := range m.Prices {
		p := period{prices: g.at(0)}
		if c := g.Constraint; c != nil {
			if c.StartTime != "" {
				return nil, fmt.Errorf("genai-prices model %s: prices by time of day are not supported", m.ID)
			}
			p.from = c.StartDate
		}
		for _, size := range g.sizes() {
			p.tiers = append(p.tiers, tier{above: size, prices: g.at(size)})
		}
		out = append(out, p)
	}
	return out, nil
}

func (g *genaiPeriod) at(size int) prices {
	q := &g.Prices
	p := prices{"input": q.Input.above(size), "read": q.Read.above(size), "output": q.Output.above(size)}
	if q.Write1h != nil {
		p["write_5m"], p["write_1h"] = q.Write.above(size), q.Write1h.above(size)
	} else {
		p["write"] = q.Write.above(size)
	}
	return p.stated()
}

func (g *genaiPeriod) sizes() []int {
	var sizes []int
	q := &g.Prices
	for _, p := range []*genaiPrice{q.Input, q.Read, q.Write, q.Write1h, q.Output} {
		if p == nil {
			continue
		}
		for _, t := range p.Tiers {
			sizes = append(sizes, t.Start)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}
