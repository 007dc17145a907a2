package check

import (
	"strings"
	"testing"
)

// What is wrong with a check file is said with its line, and all at once.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string][]string{
		"":              {"check.yaml: empty document"},
		"- a":           {"check.yaml:1: a check is a mapping"},
		"scenario: [a]": {"check.yaml:1: scenario takes a file"},
		"rulse: []": {`check.yaml:1: unknown key "rulse" (did you mean "rules"?)`, "check.yaml: a check needs a scenario",
			"check.yaml: a check needs rules"},
		"scenario: a\nrules:\n- metric: cache_hit_ration\n  min: 0.5\n- metric: cost_usd\n  mim: 1\n": {
			`check.yaml:3: rules[0].metric is unknown: "cache_hit_ration" (did you mean "cache_hit_ratio"?)`,
			`check.yaml:6: unknown key "mim" (did you mean "min"?)`},
		"scenario: a\nrules:\n- {metric: cost_usd, min: 1, max: 2}\n":                    {"check.yaml:3: rules[0]: a rule has one of", "this one has 2"},
		"scenario: a\nrules:\n- {min: 1}\n":                                              {"check.yaml:3: rules[0]: a rule needs a metric"},
		"scenario: a\nrules:\n- {metric: cost_usd, min: lots}\n":                         {`check.yaml:3: rules[0].min: want a number such as 0.92 or a percentage such as 1%, not "lots"`},
		"scenario: a\nrules:\n- {metric: cost_usd, max: .inf}\n":                         {`not ".inf"`},
		"scenario: a\nrules:\n- {metric: cost_usd, max: nan}\n":                          {`not "nan"`},
		"scenario: a\nrules:\n- {metric: cost_usd, max: 5%}\n":                           {"only a ratio is bounded by a percentage, cost_usd is in USD"},
		"scenario: a\nrules:\n- {metric: cost_usd, max_increase: -1%}\n":                 {"max_increase -1% must not be negative"},
		"scenario: a\nrules:\n- {metric: cost_usd, max: 1, group: projekt}\n":            {`group is unknown: "projekt" (did you mean "project"?); known: project, model, agent`},
		"scenario: a\nrules:\n- {metric: cache_hit_ratio, min: 92}\n":                    {"check.yaml:3: rules[0]: min 92: a ratio is at most 1, or 100%"},
		"scenario: a\nrules:\n- {metric: cache_hit_ratio, max: 920%}\n":                  {"check.yaml:3: rules[0]: max 920%: a ratio is at most 1"},
		"scenario: a\nrules:\n- {metric: cache_hit_ratio, max_decrease: 2}\n":            {"check.yaml:3: rules[0]: max_decrease 2: a ratio is at most 1"},
		"scenario: a\nlevel: 1e-17\nrules:\n- {metric: cost_usd, max: 1}\n":              {"check.yaml:2: level 1e-17 must lie in 0.0001…0.5"},
		"scenario: a\nrules:\n- {metric: hit, max: 1}\n":                                 {`metric is unknown: "hit" (did you mean "cache_hit_ratio" or "call_hit_ratio"`, "; docs/schema.md lists them all"},
		"scenario: a\nrules:\n- {metric: forgotten, max: 1}\n":                           {`metric is unknown: "forgotten"; docs/schema.md lists them all`},
		"scenario: a\nseeds: 1\nlevel: 2\nrules:\n- {metric: cost_usd, max: 1}\n":        {"check.yaml:2: seeds 1 must lie in 5…1000", "check.yaml:3: level 2 must lie in 0.0001…0.5"},
		"scenario: a\nunread: -1\nrules:\n- {metric: cost_usd, max: 1}\n":                {"check.yaml:2: unread -1 must not be negative"},
		"scenario: x\n<<: {rules: [{metric: cost_usd, max: 1}]}":                         {"check.yaml:2: the document: keys are not merged", "check.yaml: a check needs rules"},
		"scenario: x\n<<: {seeds: 1}\nrules: [{metric: cost_usd, max: 1}]":               {"check.yaml:2: the document: keys are not merged"},
		"scenario: x\nrules:\n- {metric: calls, metric: b}\n- {min: 1}\n":                {`check.yaml:3: key "metric" is repeated`, "check.yaml:4: rules[1]: a rule needs a metric"},
		"scenario: x\nrules:\n-\n- {min: 1}\n":                                           {"check.yaml:3: rules[0] holds nothing", "check.yaml:4: rules[1]: a rule needs a metric"},
		"scenario: x\nrules: {metric: calls}\n":                                          {"check.yaml:2: rules takes a list, not a mapping"},
		"scenario: a\nrules:\n- {metric: cost_usd, max: 1}\nrules:\n- {metric: calls}\n": {`key "rules" is repeated, first in line 2`},
	} {
		_, err := Parse([]byte(text), "check.yaml")
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: error %v, want %q", text, err, w)
			}
		}
	}
}

// A strategy that the scenario does not have is named with the nearest.
func TestNames(t *testing.T) {
	f := levels(t, "rules:\n- {metric: calls, max: 1, strategy: recored}\n")
	err := f.Names([]string{"billed", "recorded"})
	if want := `check.yaml:3: unknown strategy "recored" (did you mean "recorded"?)`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := f.Names([]string{"recored"}); err != nil {
		t.Error(err)
	}
}

// A pattern of cells takes slashes, a strategy all of its cells.
func TestTouches(t *testing.T) {
	f := levels(t, "rules:\n- {metric: calls, max: 1, strategy: 'auto-compact/* fixed=[12]*'}\n- {metric: calls, max: 2, strategy: none}\n")
	for cell, want := range map[string]bool{
		"auto-compact/167k fixed=1000": true, "auto-compact/167k fixed=3000": false, "none": true, "none seed=2": false, "billed": false,
	} {
		if got := f.Touches(cell, cell); got != want {
			t.Errorf("%s: %t, want %t", cell, got, want)
		}
	}
	if !f.Touches("none server.lookback=20", "none") || f.Touches("x", "recorded") {
		t.Error("a rule on a strategy is on all its cells and on no other")
	}
}
