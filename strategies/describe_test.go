package strategies

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// What show prints is a preset: read back, it has equal parameters, and prints
// the same again.
func TestYAMLRoundTrip(t *testing.T) {
	r := builtin(t)
	for _, name := range r.Presets() {
		s, _ := r.Strategy(name)
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again := &Registry{layers: r.layers, presets: maps.Clone(r.presets)}
		if err := again.AddPreset(text, "shown.yaml"); err != nil {
			t.Errorf("%s cannot be read back: %v\n%s", name, err, text)
			continue
		}
		back, _ := again.Strategy(name)
		if back.Order() != s.Order() || back.Doc != s.Doc || back.rank != s.rank || !slices.Equal(back.Bars(), s.Bars()) {
			t.Errorf("%s: %q, want %q", name, back.Order(), s.Order())
		}
		for i, c := range s.layers {
			if diff := cmp.Diff(c.params, back.layers[i].params); diff != "" {
				t.Errorf("%s: layer %s differs (−want +got):\n%s", name, c.def.Name, diff)
			}
		}
		if second, _ := back.YAML(); string(second) != string(text) {
			t.Errorf("%s prints differently the second time", name)
		}
		if d := s.Diff(back); len(d) != 0 {
			t.Errorf("%s differs from itself: %v", name, d)
		}
	}
}

// Every parameter of every layer says what it is, and is printed.
func TestParametersAreDocumented(t *testing.T) {
	r := builtin(t)
	for _, name := range r.Layers() {
		params := r.layers[name].Params()
		var list []*spec.Field
		spec.Fields(params, func(f *spec.Field) {
			if !f.Nested() {
				list = append(list, f)
			}
		})
		if len(list) == 0 || list[0].Path != "enabled" {
			t.Errorf("%s: parameters %v", name, list)
		}
		c := configured{def: r.layers[name], params: params}
		text, err := (&Strategy{Name: "x", layers: []configured{c}}).YAML()
		if err != nil {
			t.Fatal(err)
		}
		lines := regexp.MustCompile(`\n +# `).ReplaceAllString(string(text), " ") // a long meaning takes several
		for _, p := range list {
			if p.Doc == "" {
				t.Errorf("%s.%s says nothing about itself", name, p.Path)
			}
			key := p.Path[strings.LastIndexByte(p.Path, '.')+1:]
			if !strings.Contains(lines, " "+p.Doc) || !strings.Contains(string(text), key+": "+p.Text()+"\n") {
				t.Errorf("%s.%s: %s is not printed with its meaning", name, p.Path, p.Text())
			}
		}
	}
}

func TestDiff(t *testing.T) {
	r := builtin(t)
	a, _ := r.Strategy("auto-compact/167k")
	b, _ := r.Strategy("auto-compact/155k")
	want := []struct{ Path, A, B string }{
		{Path: "full-compact.trigger.output_cap", A: "20000", B: "32000"},
		{Path: "full-compact.reactive", A: "true", B: "false"},
		{Path: "full-compact.breaker", A: "3", B: "0"},
		{Path: "full-compact.call", A: "[fork, streaming]", B: "[streaming]"},
		{Path: "full-compact.prompt_too_long.retries", A: "3", B: "0"},
		{Path: "full-compact.attachments.files.over_budget", A: "skip", B: "stop"},
	}
	if diff := cmp.Diff(want, a.Diff(b)); diff != "" {
		t.Error(diff)
	}
	n, _ := r.Strategy("none")
	c, _ := r.Strategy("claude-code/1")
	if got, want := n.Diff(c), []struct{ Path, A, B string }{{Path: "layers", A: "", B: "microcompact else full-compact"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Strategies of generations differ in what they change.
func TestDiffOfGenerations(t *testing.T) {
	r := builtin(t)
	lower, _ := r.Strategy("own/lower")
	higher, _ := r.Strategy("own/higher")
	want := []struct{ Path, A, B string }{
		{Path: "full-compact", A: "{trigger: {shift: -0.5}}", B: "{trigger: {shift: 0.5}}"},
		{Path: "microcompact", A: "{trigger: {shift: -0.5}}", B: "{trigger: {shift: 0.5}}"},
	}
	if got := lower.Diff(higher); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The levels at which the presets act at 200,000 and 32,000.
func TestThresholds(t *testing.T) {
	r := builtin(t)
	for name, want := range map[string][]int64{
		"recorded": nil, "none": nil,
		"auto-compact/167k": {167_000}, "auto-compact/155k": {155_000}, "auto-compact/small-model": {167_000},
		"truncate-oldest": {167_000}, "claude-code/1": {187_000, 187_000},
		"claude-code/2.1": {135_000, 155_000, 155_000}, "claude-code/2026-03": {167_000, 167_000},
		"claude-code/2026-08": {167_000}, "claude-code/2026-10": {167_000},
		// 18/19; less 32,000; less 16,384; 0.5.
		"codex/2026-08": {189_474}, "opencode/2026-08": {168_000}, "pi/2026-11": {183_616}, "gemini-cli/2026-08": {100_000},
	} {
		s, err := r.Strategy(name)
		if err != nil {
			t.Fatal(err)
		}
		reading := &Reading{Window: 200_000, MaxOutput: 32_000}
		var got []int64
		for _, th := range s.Thresholds(reading) {
			got = append(got, th.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if err := s.ValidateFor(reading); err != nil {
			t.Error(err)
		}
	}
	// Five files of 5,000 and 25,000 of skills against a trigger at 50,000.
	err := r.AddPreset([]byte("name: keeps\nlayers:\n  - full-compact: {trigger: {fixed: 50000}}\n"), "keeps.yaml")
	if err != nil {
		t.Fatal(err)
	}
	keeps, _ := r.Strategy("keeps")
	if err := keeps.ValidateFor(&Reading{Window: 200_000}); err == nil || !strings.Contains(err.Error(), "up to 50000 tokens are not below the trigger at 50000") {
		t.Errorf("what comes back reaches the trigger: %v", err)
	}
	s, _ := r.Strategy("claude-code/2.1")
	if err := s.ValidateFor(&Reading{Window: 40_000, MaxOutput: 32_000}); err == nil ||
		!strings.Contains(err.Error(), "layer microcompact") || !strings.Contains(err.Error(), "layer full-compact") {
		t.Errorf("at a window of 40,000: %v", err)
	}
}

// A first_of group bars what stands behind the layer that acted; exclusive
// layers bar each other; a layer that is off leaves no trace.
func TestBars(t *testing.T) {
	const layers = `
  - first_of:
      - microcompact: {trigger: {fixed: 1}%s}
      - full-compact: {trigger: {fixed: 1}}
  - truncate-oldest: {trigger: {fixed: 1}}
`
	for name, tc := range map[string]struct {
		text  string
		names []string
		bars  []uint64
	}{
		"group": {strings.ReplaceAll(layers, "%s", ""),
			[]string{"microcompact", "full-compact", "truncate-oldest"}, []uint64{0b010, 0, 0}},
		"exclusive": {strings.ReplaceAll(layers, "%s", "") + "exclusive: [[truncate-oldest, full-compact]]\n",
			[]string{"microcompact", "full-compact", "truncate-oldest"}, []uint64{0b010, 0b100, 0b010}},
		"off": {strings.ReplaceAll(layers, "%s", ", enabled: false"),
			[]string{"full-compact", "truncate-oldest"}, []uint64{0, 0}},
	} {
		r := builtin(t)
		if err := r.AddPreset([]byte("name: test\nlayers:"+tc.text), "test.yaml"); err != nil {
			t.Fatal(err)
		}
		s, _ := r.Strategy("test")
		built := s.Layers()
		var names []string
		for _, l := range built {
			names = append(names, l.Name())
		}
		if !slices.Equal(names, tc.names) || !slices.Equal(s.LayerNames(), tc.names) || !slices.Equal(s.Bars(), tc.bars) {
			t.Errorf("%s: %v, %v, bars %b; want %v, bars %b", name, names, s.LayerNames(), s.Bars(), tc.names, tc.bars)
		}
	}
}
