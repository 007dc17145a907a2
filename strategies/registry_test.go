package strategies

import (
	"slices"
	"strings"
	"testing"
)

func builtin(t *testing.T) *Registry {
	t.Helper()
	r, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBuiltinPresets(t *testing.T) {
	r := builtin(t)
	want := []string{
		"recorded", "own", "own/lower", "own/higher", "auto-compact/167k", "auto-compact/155k", "break-even", "auto-compact/small-model", "session-memory", "partial/up-to", "partial/from", "truncate-oldest",
		"tool-storage", "microcompact/v1", "microcompact/2.1", "time-microcompact", "api-context", "cached-microcompact", "keepalive",
		"memory-extraction", "dream", "end-of-turn", "fork-agents", "coordinator",
		"claude-code/1", "claude-code/1.0.128", "claude-code/2.1", "claude-code/2.1.17", "claude-code/2.1.62", "claude-code/2.1.80", "claude-code/2.1.91", "claude-code/2026-03", "claude-code/2026-08", "claude-code/2.1.280", "claude-code/2.1.304", "claude-code/2026-10", "claude-code/2026-11",
		"codex/2026-08", "opencode/2026-03", "opencode/2026-08", "opencode/2026-11", "pi/2026-03", "pi/2026-11", "gemini-cli/2026-08", "gemini-cli/2026-11", "none",
	}
	got := slices.DeleteFunc(r.Presets(), func(name string) bool { return r.presets[name].group != "" })
	if !slices.Equal(got, want) {
		t.Errorf("presets %v, want %v", got, want)
	}
	for _, name := range want {
		s, err := r.Strategy(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Doc == "" {
			t.Errorf("%s says nothing about itself", name)
		}
		for _, m := range s.Members() {
			if layers := m.Layers(); (len(layers) == 0) != (name == "none") {
				t.Errorf("%s has %d layers", m.Name, len(layers))
			}
		}
	}
}

// preset returns the strategy of a preset.
func preset(t *testing.T, r *Registry, name string) *Strategy {
	t.Helper()
	s, err := r.Strategy(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What lists need of a preset is as its file says when read whole.
func TestListedAsRead(t *testing.T) {
	r := builtin(t)
	for name, l := range r.presets {
		s := preset(t, r, name)
		if s.Name != l.name || s.Group != l.group || s.rank != l.rank || (s.Generation.Agent != "") != l.generation {
			t.Errorf("%s: listed as %q of group %q, rank %d, generation %t", s.Name, l.name, l.group, l.rank, l.generation)
		}
	}
}

func TestUnknownStrategyNamesTheNearest(t *testing.T) {
	_, err := builtin(t).Strategy("auto-compact/165k")
	if err == nil || !strings.Contains(err.Error(), `did you mean "auto-compact/167k"?`) {
		t.Errorf("error %v", err)
	}
}

// Every problem of a preset is reported with its line, in one go.
func TestPresetProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"unknown layer": {
			"name: x\nlayers:\n  - full-compct: {}\n",
			[]string{`unknown layer "full-compct" (did you mean "full-compact"?)`},
		},
		"unknown parameter": {
			"name: x\nlayers:\n  - full-compact:\n      trigger: {fixed: 5}\n      brekaer: 3\n",
			[]string{`p.yaml:5: unknown key "brekaer" (did you mean "breaker"?)`},
		},
		"wrong values": {
			"name: x\nlayers:\n  - full-compact: {trigger: {fixed: -5}, breaker: -1}\n",
			[]string{"fixed -5 must not be negative", "breaker -1 must not be negative"},
		},
		"no name":       {"layers: []\n", []string{"preset has no name"}},
		"two in one":    {"name: x\nlayers:\n  - {full-compact: {trigger: {fixed: 5}}, truncate-oldest: {}}\n", []string{"a layer is one key"}},
		"two documents": {"name: x\nlayers: []\n---\nname: y\n", []string{"more than one document"}},
		"fork and small model": {
			"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5}, call: [fork, small-model], small_model: {model: ''}}\n",
			[]string{"fork shares the session model's cache, small-model cannot", "small_model.model is not given"},
		},
		"no way to call":     {"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5}, call: []}\n", []string{"has no way to make the summary call"}},
		"unknown way":        {"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5}, call: [frok]}\n", []string{`unknown value "frok" (did you mean "fork"?)`}},
		"keep over total":    {"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5}, attachments: {files: {each: 9, total: 5}, skills: {each: 9, total: 5}}}\n", []string{"files.each 9 is more than total 5", "skills.each 9 is more than total 5"}},
		"never reached":      {"name: x\nlayers:\n  - full-compact: {trigger: {fraction: 1}}\n", []string{"never reached"}},
		"always reached":     {"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5, less: 6}}\n", []string{"always reached"}},
		"ignored override":   {"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5, pct_override: 101}}\n", []string{"pct_override 101 must lie in 0…100"}},
		"unknown source":     {"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5}, barred: [compactt]}\n", []string{`has the unknown source "compactt"`}},
		"nothing to clear":   {"name: x\nlayers:\n  - microcompact: {trigger: {fixed: 5}, tools: [], threshold: 0, keep_last: -1}\n", []string{"tools names none", "threshold 0", "keep_last -1 must not be negative"}},
		"a layer twice":      {"name: x\nlayers:\n  - recorded: {}\n  - recorded: {}\n", []string{"layer recorded is listed twice"}},
		"a group of one":     {"name: x\nlayers:\n  - first_of: [recorded: {}]\n", []string{"at least two layers"}},
		"a group in one":     {"name: x\nlayers:\n  - first_of: [recorded: {}, first_of: []]\n", []string{"first_of inside first_of"}},
		"exclusive":          {"name: x\nlayers:\n  - recorded: {}\nexclusive: [[recorded, full-compact]]\n", []string{`no layer "full-compact" in this preset`}},
		"unknown in a group": {"name: x\nlayers:\n  - first_of:\n      - recorded: {}\n      - full-compact:\n          trigger: {fixed: 5}\n          brekaer: 3\n", []string{`p.yaml:7: unknown key "brekaer" (did you mean "breaker"?)`}},
		"unknown prefix":     {"name: x\nlayers:\n  - recorded: {prefix: mine}\n", []string{"want shared or own"}},
	} {
		err := builtin(t).AddPreset([]byte(tc.text), "p.yaml")
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v does not say %q", name, err, want)
			}
		}
	}
}

// A layer of one's own is added to the registry and named by a preset, without
// a change to this package.
func TestOwnLayer(t *testing.T) {
	type params struct {
		Every int `yaml:"every"`
	}
	r := builtin(t)
	own := Define("mine", "does nothing", params{Every: 3}, func(p params) Layer { return mine{p.Every} })
	if err := r.Define(own); err != nil {
		t.Fatal(err)
	}
	if err := r.Define(own); err == nil || !strings.Contains(err.Error(), "mine is defined already") {
		t.Errorf("a second definition of one name: %v", err)
	}
	if err := r.AddPreset([]byte("name: own\nlayers:\n  - mine: {every: 7}\n"), "own.yaml"); err != nil {
		t.Fatal(err)
	}
	s, err := r.Strategy("own")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Layers()[0].(mine).every; got != 7 {
		t.Errorf("parameter %d, want 7", got)
	}
}

type mine struct{ every int }

func (mine) Name() string   { return "mine" }
func (m mine) Clone() Layer { return m }
func (mine) Reset()         {}

// A trigger value that no preset shares by accident: building twice gives
// independent layers.
func TestLayersAreFresh(t *testing.T) {
	s, err := builtin(t).Strategy("auto-compact/167k")
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Layers(), s.Layers()
	a[0].(*compact).failures = 2
	if b[0].(*compact).failures != 0 {
		t.Error("two threads share a layer")
	}
}

// Values that no release knows have the name of the last one; messages go where a summary
// takes their place or nothing does.
func TestNamesOfWhatHappens(t *testing.T) {
	if a, b := Verdict(99).String(), BoundaryKind(99).String(); a != "waiting" || b != "storage" {
		t.Errorf("%q and %q", a, b)
	}
	for k, want := range map[BoundaryKind]bool{BoundaryCompact: true, boundaryTruncate: true, BoundaryMicro: false, BoundaryServer: false, BoundaryStore: false} {
		if k.Compacts() != want {
			t.Errorf("%v: %v", k, k.Compacts())
		}
	}
}
