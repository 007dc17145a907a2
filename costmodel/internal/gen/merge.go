package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
)

// model is a row of the table.
type model struct {
	catalogModel
	window  int
	batch   float64
	periods []period
}

// period is a set of prices and the day it begins, empty for the first.
type period struct {
	from          string
	prices        prices
	tiers         []tier
	fast, storage float64
}

type tier struct {
	above  int
	prices prices
}

// prices holds USD per million tokens by key of the table.
type prices map[string]float64

// stated drops prices of 0, by which the sources say that there is no price of
// its own: the tokens are billed as input.
func (p prices) stated() prices {
	maps.DeleteFunc(p, func(_ string, v float64) bool { return v == 0 })
	return p
}

// merge makes the rows of the table. Prices by date come from genai-prices,
// others from LiteLLM, or from genai-prices for models LiteLLM has wrong or
// lacks; the overlay replaces what they say of the present; amendments come
// last.
func (s *sources) merge() ([]model, error) {
	var models []model
	for _, c := range s.catalog.Models {
		m, err := s.model(c)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", c.Name, err)
		}
		models = append(models, m)
	}
	named := func(name string) int {
		return slices.IndexFunc(models, func(m model) bool { return m.Name == name })
	}
	for provider, list := range s.overlay.Models {
		for name := range list {
			if i := named(name); i < 0 || models[i].Provider != provider {
				return nil, fmt.Errorf("the overlay has %s of %s, the catalogue has not", name, provider)
			}
		}
	}
	for _, a := range s.catalog.Amendments {
		for _, name := range a.Models {
			i := named(name)
			if i < 0 {
				return nil, fmt.Errorf("an amendment is for %s, which the catalogue has not", name)
			}
			models[i].amend(&a)
		}
	}
	for i := range models {
		models[i].periods = coalesce(models[i].periods)
	}
	return models, nil
}

func (s *sources) model(c catalogModel) (model, error) {
	provider, ok := s.catalog.Providers[c.Provider]
	if !ok {
		return model{}, fmt.Errorf("the catalogue has no provider %s", c.Provider)
	}
	m := model{catalogModel: c, batch: provider.Batch}
	var g *genaiModel
	if c.Genai != "" {
		if g = s.genaiModel(c.Provider, c.Genai); g == nil {
			return m, fmt.Errorf("genai-prices has no model %s of %s", c.Genai, c.Provider)
		}
		var err error
		if m.periods, err = g.periods(); err != nil {
			return m, err
		}
	}
	var l litellmModel // of which all figures are 0 when it is nil
	if c.LiteLLM != "" {
		if l, ok = s.litellm[c.LiteLLM]; !ok {
			return m, fmt.Errorf("LiteLLM has no model %s", c.LiteLLM)
		}
		if len(m.periods) < 2 {
			m.periods = []period{l.period()}
		}
	}
	o, overlaid := s.overlay.Models[c.Provider][c.Name]
	if overlaid {
		if err := m.overlay(&o); err != nil {
			return m, err
		}
	}
	if len(m.periods) == 0 {
		return m, fmt.Errorf("no source has a price")
	}
	m.window = cmp.Or(o.Window, int(l["max_input_tokens"]), g.window())
	m.MaxOutput = cmp.Or(o.MaxOutput, int(l["max_output_tokens"]), c.MaxOutput)
	m.MinCache = cmp.Or(o.MinCache, int(l["prompt_cache_min_tokens"]), c.MinCache, provider.MinCache)
	m.Regional = cmp.Or(c.Regional, l["regional_processing_uplift_multiplier_us"])
	if batch := l["input_cost_per_token_batches"]; m.batch == 0 && batch != 0 {
		m.batch = round(batch / l[litellmInput])
	}
	return m, nil
}

// overlay puts the newest prices in place of the last period; earlier ones
// stay. So a rise that was scheduled and cancelled disappears, and a price
// that held before some day remains.
func (m *model) overlay(o *overlayModel) error {
	p := period{prices: o.list(), storage: o.Storage}
	for _, t := range o.Tiers {
		p.tiers = append(p.tiers, tier{above: t.Above, prices: t.list()})
	}
	if o.BatchInput != 0 && (o.BatchInput != o.Input*m.batch || o.BatchOutput != o.Output*m.batch) {
		return fmt.Errorf("overlay: batch prices %g/%g are not %g of %g/%g",
			o.BatchInput, o.BatchOutput, m.batch, o.Input, o.Output)
	}
	if o.Fast != nil {
		p.fast = o.Fast.Input / o.Input
		if o.Fast.Output != p.fast*o.Output {
			return fmt.Errorf("overlay: fast mode multiplies input and output differently")
		}
	}
	if n := len(m.periods); n > 0 {
		p.from = m.periods[n-1].from
		m.periods = m.periods[:n-1]
	}
	if o.Then == nil {
		m.periods = append(m.periods, p)
		return nil
	}
	last, err := time.Parse(time.DateOnly, o.ValidTo)
	if err != nil {
		return fmt.Errorf("overlay: valid_to: %w", err)
	}
	// What the other source scheduled for the same day is what then states.
	next := period{from: last.AddDate(0, 0, 1).Format(time.DateOnly), prices: o.Then.list(), storage: o.Then.Storage}
	if n := len(m.periods); n > 0 && p.from >= next.from {
		p.from = m.periods[n-1].from
		m.periods = m.periods[:n-1]
	}
	m.periods = append(m.periods, p, next)
	return nil
}

func (o *overlayPrices) list() prices {
	return prices{
		"input": o.Input, "read": o.Read, "write_5m": o.Write5m, "write_1h": o.Write1h, "write": o.Write, "output": o.Output,
	}.stated()
}

func (l litellmModel) period() period {
	p := period{prices: l.prices("")}
	for _, t := range []struct {
		size   int
		suffix string
	}{{200_000, above200k}, {272_000, above272k}} {
		if l[litellmInput+t.suffix] != 0 {
			p.tiers = append(p.tiers, tier{t.size, l.prices(t.suffix)})
		}
	}
	return p
}

// prices returns USD per million tokens of requests of a size.
func (l litellmModel) prices(suffix string) prices {
	at := func(key string) float64 { return round(l[key+suffix] * 1e6) }
	return listed(at(litellmInput), at(litellmRead), at(litellmWrite), at(litellmWrite1h), at(litellmOutput))
}

// listed returns prices by key of the table. A write price is alone where
// there is none for an hour.
func listed(input, read, write, write1h, output float64) prices {
	p := prices{"input": input, "read": read, "output": output, "write": write}
	if write1h != 0 {
		delete(p, "write")
		p["write_5m"], p["write_1h"] = write, write1h
	}
	return p.stated()
}

// round takes away what the multiplication of decimal fractions adds.
func round(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// amend splits the periods at the ends of the amendment's span and changes
// those inside.
func (m *model) amend(a *amendment) {
	m.split(a.From)
	m.split(a.Until)
	for i := range m.periods {
		p := &m.periods[i]
		if p.from < a.From || a.Until != "" && p.from >= a.Until {
			continue
		}
		if a.Fast != nil {
			p.fast = *a.Fast
		}
		if a.Storage != nil {
			p.storage = *a.Storage
		}
		if a.Tiers == nil {
			continue
		}
		p.tiers = nil
		for _, t := range a.Tiers {
			list := maps.Clone(prices(t))
			delete(list, "above")
			p.tiers = append(p.tiers, tier{int(t["above"]), list})
		}
	}
}

// split makes day, unless empty, the beginning of a period.
func (m *model) split(day string) {
	if day == "" {
		return
	}
	i, found := slices.BinarySearchFunc(m.periods, day, func(p period, day string) int { return cmp.Compare(p.from, day) })
	if found {
		return
	}
	p := m.periods[i-1]
	p.from = day
	m.periods = slices.Insert(m.periods, i, p)
}

// coalesce drops periods that change nothing.
func coalesce(ps []period) []period {
	out := ps[:1:1]
	for _, p := range ps[1:] {
		same := out[len(out)-1]
		same.from = p.from
		if !reflect.DeepEqual(same, p) {
			out = append(out, p)
		}
	}
	return out
}

func (s *sources) genaiModel(provider, id string) *genaiModel {
	for i := range s.genai {
		if s.genai[i].ID != provider {
			continue
		}
		for j := range s.genai[i].Models {
			if s.genai[i].Models[j].ID == id {
				return &s.genai[i].Models[j]
			}
		}
	}
	return nil
}

func (m *genaiModel) window() int {
	if m == nil {
		return 0
	}
	return m.Window
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
	return listed(q.Input.above(size), q.Read.above(size), q.Write.above(size), q.Write1h.above(size), q.Output.above(size))
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
