package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

// beside are the keys of a scenario, and the sections, that a baseline does not depend on: its name, the
// sessions and the price file it names (sessions and rates are compared by themselves), real calls, which a
// check does not make, and the strategies, which are part of the cells.
var beside = regexp.MustCompile(`^(schema|name|doc|strategies|verify|bound|live.*|sessions\.(paths|since|until|utc|project|model|agent|task|generate.*)|prices\.file)$`)

// scenarioDigest identifies the cells of a plan: their strategies in full and, of what
// surrounds them, everything that is not the default, so that a key which a later version
// adds changes no digest. A profile from a file is identified by its content.
func scenarioDigest(plan *scenarios.Plan) (string, error) {
	defaults := scenarios.Default()
	h := sha256.New()
	for i := range plan.Design.Cells {
		c := &plan.Design.Cells[i]
		parts := []any{c.Name}
		for _, m := range c.Strategy.Members() {
			layers, err := layersOf(m)
			if err != nil {
				return "", err
			}
			parts = append(parts, layers)
		}
		for _, d := range spec.Diff(c.Scenario, &defaults) {
			if !beside.MatchString(d.Path) {
				parts = append(parts, d.Path, d.A)
			}
		}
		if p := plan.Profiles[c.Scenario.Profile]; p != nil {
			var text bytes.Buffer
			if err := p.Write(&text); err != nil {
				return "", err
			}
			parts = append(parts, text.String())
		}
		line, err := json.Marshal(parts, json.Deterministic(true))
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
