package strategies

import (
	"testing"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// The documented levels at a window of 200,000 and an output limit of 32,000.
func TestAutoThreshold(t *testing.T) {
	k := newTalk()
	for _, tc := range []struct {
		layer string
		kind  traces.ThreadKind
		want  int64
	}{
		{"full-compact: {trigger: {reserve: 13000}}", traces.ThreadMain, 187_000},
		{"full-compact: {trigger: {reserve: 13000, reserve_output: true}}", traces.ThreadMain, 155_000},
		{"full-compact: {trigger: {reserve: 13000, reserve_output: true, output_cap: 20000}}", traces.ThreadMain, 167_000},
		{"full-compact: {trigger: {reserve: 13000, pct_override: 80}}", traces.ThreadMain, 160_000},
		{"full-compact: {trigger: {reserve: 13000}, auto: false}", traces.ThreadMain, 0},
		{"full-compact: {trigger: {reserve: 13000}, subagents: false}", traces.ThreadAgent, 0},
		{"full-compact: {trigger: {measure: rounds, fixed: 40}}", traces.ThreadMain, 0},
		{"truncate-oldest: {trigger: {reserve: 13000, reserve_output: true, output_cap: 20000}}", traces.ThreadMain, 167_000},
		{"truncate-oldest: {trigger: {measure: idle, fixed: 40}}", traces.ThreadMain, 0},
	} {
		k.Kind = tc.kind
		got, ok := layer(t, tc.layer).(AutoThreshold).AutoThreshold(&k.Turn)
		if got != tc.want || ok != (tc.want > 0) {
			t.Errorf("%s: %d, %v; want %d", tc.layer, got, ok, tc.want)
		}
	}
}

// Recorded clients compacted at 187,000 (001), 155,000 through 2.1.20 and
// 167,000 from 2.1.25 on (recordings).
func TestAutoThresholdOfRecordings(t *testing.T) {
	k := newTalk()
	for release, want := range map[string]int64{"1.0.62": 187_000, "2.0.64": 155_000, "2.1.20": 155_000, "2.1.25": 167_000, "": 167_000} {
		k.Version = release
		if got, ok := new(recorded).AutoThreshold(&k.Turn); got != want || !ok {
			t.Errorf("version %q: %d, want %d", release, got, want)
		}
	}
	k.Agent, k.Reading.Window = facts.Codex, 258_400
	if got, _ := new(recorded).AutoThreshold(&k.Turn); got != 244_800 {
		t.Errorf("codex: %d, want 0.9 × 272,000", got)
	}
}
