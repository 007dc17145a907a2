package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// beside are the keys of a scenario that a baseline does not depend on: its
// name, the sessions and the price file it names (both have their own digest),
// real calls, which a check does not make, and the strategies, which are part
// of the cells.
var beside = map[string][]string{
	"":         {"schema", "name", "doc", "strategies", "verify", "bound", "live"},
	"sessions": {"paths", "since", "until", "utc", "project", "model", "agent", "task", "generate"},
	"prices":   {"file"},
}

// scenarioDigest identifies the cells of a plan: their strategies in full and, of what
// surrounds them, everything that is not the default, so that a key which a later version
// adds changes no digest. A profile from a file is identified by its content.
func scenarioDigest(plan *scenarios.Plan) (string, error) {
	defaults, err := plain(scenarios.Default())
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for i := range plan.Design.Cells {
		c := &plan.Design.Cells[i]
		around, err := plain(c.Scenario)
		if err != nil {
			return "", err
		}
		if p := plan.Profiles[c.Scenario.Profile]; p != nil {
			var text bytes.Buffer
			if err := p.Write(&text); err != nil {
				return "", err
			}
			around["profile"] = text.String()
		}
		parts := []any{c.Name}
		for _, m := range c.Strategy.Members() {
			layers, err := layersOf(m)
			if err != nil {
				return "", err
			}
			parts = append(parts, layers)
		}
		line, err := json.Marshal(append(parts, unlike(around, defaults)), json.Deterministic(true))
		if err != nil {
			return "", fmt.Errorf("digest of cell %s: %w", c.Name, err)
		}
		h.Write(append(line, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// layersOf returns a strategy as maps, lists and values, without its name and
// description.
func layersOf(s *strategies.Strategy) (map[string]any, error) {
	text, err := s.YAML()
	if err != nil {
		return nil, err
	}
	var layers map[string]any
	if err := yaml.Unmarshal(text, &layers); err != nil {
		return nil, fmt.Errorf("digest of strategy %s: %w", s.Name, err)
	}
	for _, key := range strategies.HeadKeys() {
		if key != "name" {
			delete(layers, key)
		}
	}
	return layers, nil
}

// plain returns a scenario as maps, lists and values, without the keys in beside.
func plain(s any) (map[string]any, error) {
	text, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("digest of a scenario: %w", err)
	}
	var m map[string]any
	if err := yaml.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("digest of a scenario: %w", err)
	}
	for section, keys := range beside {
		at := m
		if section != "" {
			at, _ = m[section].(map[string]any)
		}
		for _, key := range keys {
			delete(at, key)
		}
	}
	return m, nil
}

// unlike returns the values of m that differ from those of was.
func unlike(m, was map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		inner, isMap := value.(map[string]any)
		before, wasMap := was[key].(map[string]any)
		switch {
		case isMap && wasMap:
			if changed := unlike(inner, before); len(changed) > 0 {
				out[key] = changed
			}
		case !reflect.DeepEqual(value, was[key]):
			out[key] = value
		}
	}
	return out
}

// pricesDigest identifies the prices of the models in use while the sessions
// lasted: those that were recorded, and those that strategies and scenario
// name. Models and periods that a newer table adds change nothing.
func pricesDigest(plan *scenarios.Plan, sessions []*traces.Session) (string, error) {
	named, err := namedModels(plan)
	if err != nil {
		return "", err
	}
	dates, err := priceDates(plan)
	if err != nil {
		return "", err
	}
	lines := map[string]bool{}
	for _, at := range dates {
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

// priceDates returns the price dates of the cells of a plan, each once; zero is
// the date of each call.
func priceDates(plan *scenarios.Plan) ([]time.Time, error) {
	var dates []time.Time
	for i := range plan.Design.Cells {
		at, err := plan.Design.Cells[i].Scenario.Prices.At.On()
		if err != nil {
			return nil, fmt.Errorf("prices.at: %w", err)
		}
		if !slices.Contains(dates, at) {
			dates = append(dates, at)
		}
	}
	return dates, nil
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
		layers, err := layersOf(c.Strategy)
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
