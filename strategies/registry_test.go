package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
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
	want := []string{"recorded", "auto-compact/167k", "auto-compact/155k", "truncate-oldest", "none"}
	if got := r.Presets(); !slices.Equal(got, want) {
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
		layers, err := s.Layers()
		if err != nil {
			t.Fatal(err)
		}
		if (len(layers) == 0) != (name == "none") {
			t.Errorf("%s has %d layers", name, len(layers))
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
		"head with a shared prefix": {
			"name: x\nlayers:\n  - full-compact: {trigger: {fixed: 5}, prefix: shared, head: 3}\n",
			[]string{"head belongs to prefix own"},
		},
		"unknown prefix": {"name: x\nlayers:\n  - recorded: {prefix: mine}\n", []string{"want shared or own"}},
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
	r.Define(Define("mine", "does nothing", params{Every: 3}, func(p params) Layer { return mine{p.Every} }))
	if err := r.AddPreset([]byte("name: own\nlayers:\n  - mine: {every: 7}\n"), "own.yaml"); err != nil {
		t.Fatal(err)
	}
	s, err := r.Strategy("own")
	if err != nil {
		t.Fatal(err)
	}
	layers, err := s.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if got := layers[0].(mine).every; got != 7 {
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
	a, _ := s.Layers()
	b, _ := s.Layers()
	a[0].(*compact).failures = 2
	if b[0].(*compact).failures != 0 {
		t.Error("two threads share a layer")
	}
}

// Restored files: the five last read, newest first, each cut to its budget,
// the total respected, failed reads left out (documents: 5 files, 5,000 tokens
// each, 50,000 in all).
func TestRestoredFiles(t *testing.T) {
	read := func(object int32, tokens int32, flags prompt.Flags) prompt.Block {
		return prompt.Block{Kind: prompt.KindToolResult, Op: prompt.OpRead, Object: object, Tokens: tokens, Bytes: tokens * 3, Flags: flags}
	}
	blocks := []prompt.Block{
		read(1, 900, 0), read(2, 8000, 0), read(3, 700, 0), read(4, 600, prompt.FlagError),
		read(5, 500, 0), read(1, 300, 0), read(6, 200, 0), read(7, 100, 0),
	}
	var turn Turn
	var arena prompt.Arena
	turn.Context = new(prompt.Context)
	turn.Context.Reset(blocks, &arena)
	for i := range blocks {
		turn.Context.Append(prompt.Ref(i))
	}
	type file struct{ object, tokens int32 }
	for name, tc := range map[string]struct {
		budget FileBudget
		want   []file
	}{
		"count":    {FileBudget{5, 5000, 50000}, []file{{7, 100}, {6, 200}, {1, 300}, {5, 500}, {3, 700}}},
		"cut":      {FileBudget{6, 5000, 50000}, []file{{7, 100}, {6, 200}, {1, 300}, {5, 500}, {3, 700}, {2, 5000}}},
		"total":    {FileBudget{6, 5000, 700}, []file{{7, 100}, {6, 200}, {1, 300}}},
		"no files": {FileBudget{0, 5000, 50000}, nil},
	} {
		var got []file
		for _, r := range tc.budget.restore(&turn, 0) {
			b := turn.Context.Block(r)
			got = append(got, file{b.Object, b.Tokens})
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
