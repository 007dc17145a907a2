package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/strategies/standard"
)

// Which generation stands for a client: its own where a preset's sources show the
// version, else the nearest; what is no version is newest, and an agent that no
// preset knows is taken for Claude Code (SPEC 0: 155k through 2.1.20, 167k from
// 2.1.25; summer clients of recordings and runs from 2.1.153 on, runs from 2.1.277 on).
func TestOwnGeneration(t *testing.T) {
	own, err := builtin(t).Strategy("own")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		agent, version, want string
		holds                bool
		variant              string
	}{
		{"claude-code", "1.0.62", "claude-code/1", true, ""},
		{"claude-code", "2.0.76", "claude-code/2.1.17", true, ""},
		{"claude-code", "2.1.20", "claude-code/2.1.17", true, ""},
		{"claude-code", "2.1.21", "claude-code/2.1.62", true, ""},
		{"claude-code", "1.0.128", "claude-code/1.0.128", true, ""},
		{"claude-code", "2.1.68", "claude-code/2.1.62", true, ""},
		{"claude-code", "2.1.69", "claude-code/2.1.80", true, ""},
		{"claude-code", "2.1.86", "claude-code/2.1.91", true, ""},
		{"claude-code", "2.1.152", "claude-code/2.1.91", true, ""},
		{"claude-code", "2.1.153", "claude-code/2026-08", true, ""},
		{"claude-code", "2.1.219", "claude-code/2026-08", true, ""},
		{"claude-code", "2.1.277", "claude-code/2.1.280", true, ""},
		{"claude-code", "2.1.290-beta.1", "claude-code/2.1.280", true, ""}, // documents have another, which own leaves alone
		{"claude-code", "2.1.303", "claude-code/2.1.280", true, ""},
		{"claude-code", "2.1.306", "claude-code/2.1.304", true, ""}, // whose bundle has no keepNoRound; that of 2.1.307 has
		{"claude-code", "2.1.307", "claude-code/2026-11", true, ""},
		{"claude-code", "", "claude-code/2026-11", true, ""},
		{"claude-code", "9.9.9", "claude-code/2026-11", true, ""}, // which nobody ran
		{"codex", "0.142.0", "codex/2026-08", true, ""},
		{"codex", "0.171.0", "codex/local", true, "local"},
		{"codex", "0.171.0", "codex/2026-08", true, "somehow"},
		{"opencode", "1.2.3", "opencode/2026-03", true, ""},
		{"opencode", "1.14.30", "opencode/2026-08", false, ""},
		{"opencode", "1.18.16", "opencode/2026-08", true, ""},
		{"opencode", "1.18.33", "opencode/2026-11", true, ""},
		{"pi", "dev", "pi/2026-11", true, ""},
		{"gemini-cli", "", "gemini-cli/2026-11", true, ""},
		{"gemini-cli", "0.52.0", "gemini-cli/2026-08", true, ""},
		{"cline", "3.0.65", "cline/2026-11", true, ""},
		{"cline", "3.0.62", "cline/2026-08", true, ""},
		{"kimi-code", "", "kimi-code", true, ""},
		{"qwen-code", "0.24.4", "qwen-code", true, ""},
		{"somebody", "2.1.17", "claude-code/2.1.17", true, ""},
	} {
		got := own.For(tc.agent, tc.version, tc.variant)
		if got.Name != tc.want || got.Generation.Holds(tc.version) != tc.holds {
			t.Errorf("%s %q: %s, its own %v; want %s, %v", tc.agent, tc.version, got.Name, got.Generation.Holds(tc.version), tc.want, tc.holds)
		}
	}
	if s, _ := builtin(t).Strategy("none"); s.For("codex", "1", "") != s {
		t.Error("a strategy of its own layers is for every session")
	}
}

// Half of each client's threshold, and halfway from it to the window.
func TestOwnThresholds(t *testing.T) {
	for _, tc := range []struct {
		agent, version string
		window, limit  int64
		want           [3]int64 // lower, own, higher
	}{
		{"claude-code", "2.1.17", 200_000, 0, [3]int64{77_500, 155_000, 177_500}},
		{"claude-code", "2.1.76", 200_000, 0, [3]int64{83_500, 167_000, 183_500}},
		{"claude-code", "2.1.76", 200_000, 90_000, [3]int64{45_000, 90_000, 145_000}}, // a setting that the recording shows
		{"claude-code", "2.1.219", 1_000_000, 0, [3]int64{483_500, 967_000, 983_500}},
		{"codex", "0.142", 258_400, 0, [3]int64{122_400, 244_800, 251_600}},
		{"pi", "0.5", 200_000, 0, [3]int64{91_808, 183_616, 191_808}},
	} {
		var got [3]int64
		for i, name := range []string{"own/lower", "own", "own/higher"} {
			s, err := builtin(t).Strategy(name)
			if err != nil {
				t.Fatal(err)
			}
			list := s.For(tc.agent, tc.version, "").Thresholds(&Reading{Window: tc.window, MaxOutput: 32_000, Limit: tc.limit})
			got[i] = list[slices.IndexFunc(list, func(th Threshold) bool { return th.Layer == standard.Compact })].Value
		}
		if got != tc.want {
			t.Errorf("%s %s: %v, want %v", tc.agent, tc.version, got, tc.want)
		}
	}
}

// The layers that a strategy of generations gives change the generations that have the layer, and
// leave the presets alone.
func TestOwnChanges(t *testing.T) {
	r := builtin(t)
	if err := r.AddPreset([]byte("name: x\nown: true\nlayers: [{microcompact: {keep_last: 7}}]"), "x.yaml"); err != nil {
		t.Fatal(err)
	}
	x, _ := r.Strategy("x")
	for _, s := range []*Strategy{x.For("claude-code", "2.1.40", ""), x.For("claude-code", "2.1.17", "")} {
		if p := s.Params(standard.Microcompact).(microcompactParams); p.KeepLast != 7 {
			t.Errorf("%s: keeps %d", s.Name, p.KeepLast)
		}
	}
	if s, _ := r.Strategy("claude-code/2.1.17"); s.Params(standard.Microcompact).(microcompactParams).KeepLast != 3 {
		t.Error("the preset has changed")
	}
	for text, want := range map[string]string{
		"own: true, layers: [{full-compact: {breaker: -1}}]":        "breaker -1 must not be negative",
		"own: true, layers: [], generation: {agent: codex}":         "own and generation exclude each other",
		"own: true, layers: [], exclusive: [[a, b]]":                "own and exclusive exclude each other",
		"layers: [{full-compact: {trigger: {fixed: 1, shift: 2}}}]": "shift",
	} {
		if err := r.AddPreset([]byte("{name: y, "+text+"}"), "y.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
