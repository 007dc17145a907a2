package main

import (
	"time"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/prompt"
)

// pricesNow are the prices of a plan as they are today: real calls are made now,
// whenever their sessions were.
type pricesNow struct {
	plan *scenarios.Plan
	now  time.Time
}

func newPricesNow(plan *scenarios.Plan) pricesNow { return pricesNow{plan, time.Now()} }

// usd returns the price of a usage, USD; 0 for a model without a price.
func (p pricesNow) usd(model string, u prompt.Usage) float64 {
	price, err := p.plan.Prices.Lookup(model, p.now)
	if err != nil {
		return 0
	}
	sum := 0.0
	for _, usd := range price.Cost(u) {
		sum += usd
	}
	return sum
}

// known reports whether a model has a price.
func (p pricesNow) known(model string) bool {
	_, err := p.plan.Prices.Lookup(model, p.now)
	return err == nil
}

// maxOutput returns the most tokens that a model can answer, 0 when no source
// states it.
func (p pricesNow) maxOutput(model string) int {
	price, err := p.plan.Prices.Lookup(model, p.now)
	if err != nil {
		return 0
	}
	return price.Model.MaxOutput
}

// minTokens returns the shortest prefix that a model caches, tokens; 1,024, which
// most of them have, when no source states it.
func (p pricesNow) minTokens(model string) int32 {
	price, err := p.plan.Prices.Lookup(model, p.now)
	if err != nil || price.Model.MinCache == 0 {
		return 1024
	}
	return int32(price.Model.MinCache)
}
