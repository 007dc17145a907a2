package validate

import (
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// A preset that is driven by the recording leaves, in the place of every recorded
// compaction of a main thread, its parts and the remainder of the profile, here 1,234 tokens.
func TestRemainderBehindRecordedCompactions(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	text := "name: remainder\nlayers:\n  - full-compact: {trigger: {fixed: 167000}, remainder: true}\n"
	if err := registry.AddPreset([]byte(text), "remainder.yaml"); err != nil {
		t.Fatal(err)
	}
	preset, err := registry.Strategy("remainder")
	if err != nil {
		t.Fatal(err)
	}
	p := fitted(t)
	p.Switches = profile.Switches{Behind: true}
	p.Compact = profile.Compaction{N: 10, Remainder: []float64{1234}}
	n := 0
	for _, s := range samples(t) {
		if s.Agent != facts.ClaudeCode {
			continue
		}
		_, measured, err := drive(validatetest.Cell(t).WithProfile(p), preset, s, true)
		if err != nil {
			t.Fatal(err)
		}
		_, parts, err := drive(validatetest.Cell(t), preset, s, true)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Threads {
			th := &s.Threads[i]
			for _, ev := range th.Events {
				if ev.Kind != traces.EventCompact || ev.Manual || th.Kind != traces.ThreadMain || int(ev.Round) >= len(th.Rounds) {
					continue
				}
				at := place{int32(i), ev.Round}
				if got := measured[at] - parts[at]; got != 1234 {
					t.Errorf("%s: %d tokens more than the parts behind a compaction, want 1234", s.ID, got)
				}
				n++
			}
		}
	}
	if n == 0 {
		t.Fatal("the samples have no automatic compaction")
	}
}
