package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/scenarios"
)

// beside are the keys of a scenario that a baseline does not depend on: what it
// is called, which sessions it names and where prices stand (both have a digest
// of their own), and the strategies, which stand in the cells.
var beside = map[string][]string{
	"":         {"schema", "name", "doc", "strategies", "verify"},
	"sessions": {"paths", "since", "until", "utc", "project", "model", "agent", "generate"},
	"prices":   {"file"},
}

// scenarioDigest identifies the cells of a plan: their strategies in full, and
// of what surrounds them all that is not the default, so that a key which a later
// version adds changes no digest. A profile from a file counts by what is in it.
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
		layers, err := layersOf(c)
		if err != nil {
			return "", err
		}
		line, err := json.Marshal([]any{c.Name, layers, unlike(around, defaults)}, json.Deterministic(true))
		if err != nil {
			return "", fmt.Errorf("digest of cell %s: %w", c.Name, err)
		}
		h.Write(append(line, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// layersOf returns the strategy of a cell as maps, lists and values, without what
// is said about it.
func layersOf(c *scenarios.Cell) (map[string]any, error) {
	text, err := c.Strategy.YAML()
	if err != nil {
		return nil, err
	}
	var layers map[string]any
	if err := yaml.Unmarshal(text, &layers); err != nil {
		return nil, fmt.Errorf("digest of strategy %s: %w", c.Strategy.Name, err)
	}
	delete(layers, "doc")
	delete(layers, "rank")
	return layers, nil
}

// plain returns a scenario as maps, lists and values, without what is beside it.
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

// unlike returns what of m is not as in was.
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
