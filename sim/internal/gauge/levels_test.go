package gauge

import (
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// 001:244: max(0, round((limit − used)/limit × 100)).
func TestPercentLeft(t *testing.T) {
	for _, tc := range []struct {
		limit, used int64
		want        int
	}{
		{160_000, 0, 100},       // 200k at 80 %: the limit is 160k
		{160_000, 80_000, 50},   //
		{160_000, 160_000, 0},   //
		{160_000, 200_000, 0},   // never below 0
		{167_000, 147_000, 12},  // 11.98: at the warning level
		{187_000, 167_000, 11},  // 10.70: the same in v1
		{200_000, 177_000, 12},  // 11.5 rounds up: the blocking level without auto-compact
		{155_000, 154_999, 0},   //
		{200, 1, 100},           // 99.5 rounds up
		{0, 10, 0}, {-5, 10, 0}, // no limit
	} {
		if got := percentLeft(tc.limit, tc.used); got != tc.want {
			t.Errorf("%d of %d: %d %% left, want %d", tc.used, tc.limit, got, tc.want)
		}
	}
}

// The three conditions are each true or not (001:276: "each can be true independently").
// E3: a window of 200,000 compacts at 167,000, warns at 147,000 and blocks at 177,000;
// one of a million at 967,000, 947,000 and 977,000. Without auto-compact the limit is the
// window: blocking comes before the warning. 001:283: version 1 compacts at 187,000, and
// input never stops below that. All comparisons are ≥.
func TestLevels(t *testing.T) {
	const normal, warning, err, blocking = 1 << measures.LevelNormal, 1 << measures.LevelWarning, 1 << measures.LevelError, 1 << measures.LevelBlocking
	v := DefaultLevels()
	apart := v
	apart.Error = 10_000
	for _, tc := range []struct {
		levels        Levels
		limit, window int64
		used          int64
		want          At
	}{
		{v, 167_000, 200_000, 146_999, normal},
		{v, 167_000, 200_000, 147_000, warning | err}, // both lie 20,000 below
		{v, 167_000, 200_000, 176_999, warning | err},
		{v, 167_000, 200_000, 177_000, warning | err | blocking},
		{v, 967_000, 1_000_000, 946_999, normal},
		{v, 967_000, 1_000_000, 977_000, warning | err | blocking},
		{v, 200_000, 200_000, 176_999, normal},
		{v, 200_000, 200_000, 177_000, blocking},
		{v, 200_000, 200_000, 180_000, warning | err | blocking},
		{v, 187_000, 200_000, 186_999, warning | err}, // claude-code/1 waits for its own trigger
		{v, 187_000, 200_000, 187_000, warning | err | blocking},
		{v, 160_000, 200_000, 140_000, warning | err}, // 200k at 80 %
		{apart, 167_000, 200_000, 147_000, warning},
		{apart, 167_000, 200_000, 157_000, warning | err},
	} {
		if got := tc.levels.At(tc.limit, tc.window, 32_000, tc.used); got != tc.want {
			t.Errorf("%d of %d (window %d): %04b, want %04b", tc.used, tc.limit, tc.window, got, tc.want)
		}
	}
}

func TestLevelsValidate(t *testing.T) {
	if v := DefaultLevels(); len(spec.Validate(v)) > 0 {
		t.Error(spec.Validate(v))
	}
	v := Levels{Warning: -1, Error: -1, Blocking: -1, Output: -1}
	if errs := spec.Validate(v); len(errs) != 4 {
		t.Errorf("%d problems, want 4: %v", len(errs), errs)
	}
	v = Levels{Warning: 10_000, Error: 20_000}
	if errs := spec.Validate(v); len(errs) != 1 {
		t.Errorf("%v, want that error lies below warning", errs)
	}
}
