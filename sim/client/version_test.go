package client

import (
	"reflect"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces/facts"
)

// A version is one to three numbers; a future one is fine.
func TestCheckVersion(t *testing.T) {
	for _, good := range []string{"", "2", "2.1", "1.0.62", "2.1.17", "2.9.400", "9.0.0"} {
		if err := CheckVersion(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, hint := range map[string]string{
		"banana": "", "v2.1.17": `did you mean "2.1.17"?`, "2.1.x": `did you mean "2.1.1"?`, "2.1.17.3": `did you mean "2.1.17"?`,
		"2.1.": `did you mean "2.1.1"?`, " 2.1.17": `did you mean "2.1.17"?`, "-1": "", "2,1,17": `did you mean "2.1.17"?`,
	} {
		err := CheckVersion(bad)
		if err == nil || !strings.Contains(err.Error(), hint) || hint == "" && strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: %v, want the hint %q", bad, err, hint)
		}
	}
}

// What a recording gives for its version and is none counts as newest, and of one
// with a suffix the numbers count.
func TestForVersionOfOddNames(t *testing.T) {
	for odd, same := range map[string]string{"dev": "", "banana": "99", "1.0.62-beta.3": "1.0.62", "2.1.17 (Claude Code)": "2.1.17"} {
		if !reflect.DeepEqual(ForVersion(odd), ForVersion(same)) {
			t.Errorf("%q is not as %q", odd, same)
		}
	}
}

// Windows, pads and refusals by model and version, as 66 versions showed them on 2026-11-27. The estimate of 300 tokens is
// 400 with a pad of a third.
func TestModelsByVersion(t *testing.T) {
	for _, tc := range []struct {
		version, model string
		window, pad    int64
		waits          bool
	}{
		{"2.1.149", "claude-opus-4-7", 200_000, 300, false},
		{"2.1.152", "claude-opus-4-7", 1_000_000, 300, false},
		{"2.1.153", "claude-opus-4-7", 1_000_000, 300, true},
		{"2.1.259", "claude-opus-4-8", 1_000_000, 300, true},
		{"2.1.260", "claude-opus-4-7", 1_000_000, 300, false},
		{"2.1.332", "claude-opus-4-7", 1_000_000, 400, false},
		{"2.1.332", "claude-opus-5-5", 1_000_000, 400, false},
		{"2.1.332", "claude-haiku-5-5", 1_000_000, 400, false},
		{"2.1.332", "claude-sonnet-4-6", 200_000, 300, false},
		{"2.1.332", "claude-sonnet-4-6[1m]", 1_000_000, 300, false},
		{"2.1.152", "claude-opus-4-5-20251101", 200_000, 300, false},
		{"2.1.153", "claude-opus-4-5-20251101", 200_000, 300, true},
		{"2.1.332", "claude-sonnet-4-5", 200_000, 300, true},
		{"2.1.332", "claude-sonnet-4-20250514", 200_000, 300, true},
		{"2.1.332", "claude-haiku-4-5", 200_000, 300, true},
		{"2.1.162", "claude-opus-4-6", 200_000, 300, true},
		{"2.1.163", "claude-opus-4-6", 200_000, 300, false},
		{"", "claude-opus-4-6", 200_000, 300, false},
		{"", "claude-opus-4-1", 200_000, 300, true},
	} {
		c := ForVersion(tc.version)
		if got := c.Window(tc.model); got != tc.window {
			t.Errorf("%s %s: window %d, want %d", tc.version, tc.model, got, tc.window)
		}
		if got := c.Count.Pad(300, tc.model); got != tc.pad {
			t.Errorf("%s %s: counts %d, want %d", tc.version, tc.model, got, tc.pad)
		}
		if got := WaitsForRefusal(tc.version, tc.model); got != tc.waits {
			t.Errorf("%s %s: waits for a refusal: %v, want %v", tc.version, tc.model, got, tc.waits)
		}
	}
	if !SmallAlone("claude-opus-4-5") || SmallAlone("claude-sonnet-4-5") || SmallAlone("claude-opus-4-6") {
		t.Error("Opus 4.5 alone of the three has no larger window")
	}
	if c := Marking(1, facts.SizeWithNew); c.Window("claude-opus-5") != 0 || c.Count.Pad(300, "claude-opus-5") != 300 {
		t.Error("other clients have Claude Code's windows")
	}
}
