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
	var l litellmModel
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
	m.window = cmp.Or(o.Window, l.Window, g.window())
	m.MaxOutput = cmp.Or(o.MaxOutput, l.MaxOutput, c.MaxOutput)
	m.MinCache = cmp.Or(o.MinCache, l.MinCache, c.MinCache, provider.MinCache)
	m.Regional = cmp.Or(c.Regional, l.Regional)
	if m.batch == 0 && l.Batch != 0 {
		m.batch = round(l.Batch / l.Input)
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

func (l *litellmModel) period() period {
	p := period{prices: litellmPrices(l.Input, l.Read, l.Write, l.Write1h, l.Output)}
	if l.Input200 != 0 {
		p.tiers = append(p.tiers, tier{200_000, litellmPrices(l.Input200, l.Read200, l.Write200, l.Write1h200, l.Output200)})
	}
	if l.Input272 != 0 {
		p.tiers = append(p.tiers, tier{272_000, litellmPrices(l.Input272, l.Read272, l.Write272, 0, l.Output272)})
	}
	return p
}

// litellmPrices turns USD per token into USD per million tokens.
func litellmPrices(input, read, write, write1h, output float64) prices {
	p := prices{"input": round(input * 1e6), "read": round(read * 1e6), "output": round(output * 1e6)}
	if write1h != 0 {
		p["write_5m"], p["write_1h"] = round(write*1e6), round(write1h*1e6)
	} else {
		p["write"] = round(write * 1e6)
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
