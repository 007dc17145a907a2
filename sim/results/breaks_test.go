package results

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// What was named counts as right when the head had changed; a model when the
// model had.
func TestNamed(t *testing.T) {
	var b Breaks
	b.Changed[BreakFieldTools] = [prompt.NumMissClasses]int{prompt.MissHead: 3, prompt.MissModel: 2, prompt.MissExpiry: 1}
	b.Changed[BreakFieldModel] = [prompt.NumMissClasses]int{prompt.MissModel: 2, prompt.MissHead: 5}
	for f, want := range map[BreakField][2]int{BreakFieldTools: {6, 3}, BreakFieldModel: {7, 2}, BreakFieldEffort: {0, 0}} {
		if got := [2]int{b.Named(f), b.NamedRight(f)}; got != want {
			t.Errorf("%s: %d named, %d right; want %v", f, got[0], got[1], want)
		}
	}
}

// Sums are those of the parts, counts beside the conversation included.
func TestMergedBreaks(t *testing.T) {
	a, b := sampleBreaks(), sampleBreaks()
	a.Merge(&b)
	if a.Broke() != 2*b.Broke() || a.Watched() != 2*b.Watched() || a.Named(BreakFieldEffort) != 2*b.Named(BreakFieldEffort) ||
		a.Beside[BreakServer] != 2*b.Beside[BreakServer] {
		t.Errorf("twice the sample is %+v", a)
	}
}

// A reason, a cause or a class of miss that this version does not know is an
// error, not a call less.
func TestUnknownBreaks(t *testing.T) {
	for want, l := range map[string]breaksLine{
		`unknown reason of a break "expiry_1d"`: {Calls: map[string]map[string]int{"expiry_1d": {"none": 1}}},
		`unknown cause of a break "weather"`:    {Changed: map[string]map[string]int{"weather": {"head": 1}}},
		`unknown miss class "moon"`:             {Calls: map[string]map[string]int{"server": {"moon": 1}}},
		`unknown reason of a break "x"`:         {Beside: map[string]int{"x": 1}},
	} {
		if _, err := l.breaks(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
