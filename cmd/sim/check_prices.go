package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/traces"
)

// pricesDigest identifies what the models in use cost while the sessions lasted:
// those that were recorded, and those that strategies and scenario name. Models
// and periods that a newer table adds change nothing.
func pricesDigest(plan *scenarios.Plan, sessions []*traces.Session) (string, error) {
	named, err := namedModels(plan)
	if err != nil {
		return "", err
	}
	lines := map[string]bool{}
	dated := map[time.Time]bool{} // cells at the same date have the same prices
	for i := range plan.Design.Cells {
		at, err := plan.Design.Cells[i].Scenario.Prices.At.On(time.Time{})
		if err != nil {
			return "", fmt.Errorf("digest of prices: %w", err)
		}
		if dated[at] {
			continue
		}
		dated[at] = true
		for _, s := range sessions {
			from, to := at, at
			if at.IsZero() {
				from, to = s.StartTime(), s.EndTime()
			}
			for _, model := range slices.Concat(s.Models, named) {
				addPrices(lines, plan.Prices, model, from, to)
			}
		}
	}
	h := sha256.New()
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintln(h, line)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// addPrices adds a line for each price of a model between two times.
func addPrices(lines map[string]bool, table *costmodel.Table, model string, from, to time.Time) {
	for {
		p, err := table.Lookup(model, from)
		if err != nil {
			lines[model+" has no price"] = true
			return
		}
		m, rate := &p.Model, p.Standard()
		line := fmt.Sprintf("%s: %d %d %d; %v %v %v; %v %v %v", model, m.Window, m.MaxOutput, m.MinCache,
			m.Batch, m.GeoUS, m.Regional, p.Fast, p.StoragePerMTokHour, rate.PerMTok(0))
		for _, above := range rate.Thresholds() {
			line += fmt.Sprintf("; above %d %v", above, rate.PerMTok(above+1))
		}
		lines[line] = true
		if p.Until.IsZero() || p.Until.After(to) {
			return
		}
		from = p.Until
	}
}

// namedModels returns the models that strategies and scenarios of a plan name.
func namedModels(plan *scenarios.Plan) ([]string, error) {
	words := map[string]bool{}
	for i := range plan.Design.Cells {
		c := &plan.Design.Cells[i]
		layers, err := layersOf(c)
		if err != nil {
			return nil, err
		}
		around, err := plain(c.Scenario)
		if err != nil {
			return nil, err
		}
		collect(words, layers)
		collect(words, around)
	}
	var models []string
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if _, err := plan.Prices.Lookup(word, time.Time{}); err == nil {
			models = append(models, word)
		}
	}
	return models, nil
}

// collect adds every text in a tree of maps and lists.
func collect(words map[string]bool, v any) {
	switch v := v.(type) {
	case string:
		words[v] = true
	case []any:
		for _, inner := range v {
			collect(words, inner)
		}
	case map[string]any:
		for _, inner := range v {
			collect(words, inner)
		}
	}
}
