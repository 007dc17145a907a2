package validate

import (
	"testing"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// A preset that is driven by the recording leaves, in the place of every recorded
// compaction of a main thread, as much as the profile says of the thread's
// opening; without a profile it leaves what its parts add up to.
func TestMeasuredContextBehind(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	text := "name: measured\nlayers:\n  - full-compact: {trigger: {fixed: 167000}, measured: true}\n"
	if err := registry.AddPreset([]byte(text), "measured.yaml"); err != nil {
		t.Fatal(err)
	}
	preset, err := registry.Strategy("measured")
	if err != nil {
		t.Fatal(err)
	}
	p := fitted(t)
	p.Switches = profile.Switches{Behind: true}
	n := 0
	for _, s := range samples(t) {
		if s.Agent != traces.AgentClaudeCode {
			continue
		}
		_, measured, err := drive(WithProfile(cell(t), p), preset, s, true)
		if err != nil {
			t.Fatal(err)
		}
		_, parts, err := drive(cell(t), preset, s, true)
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
				want := p.ContextBehind(s.Version(), s.Tokens(th.Prefix)) + int64(th.Rounds[ev.Round].Tail)
				if got := measured[at]; got != want {
					t.Errorf("%s: %d tokens behind a compaction, want %d", s.ID, got, want)
				}
				if parts[at] == want {
					t.Errorf("%s: the profile changes nothing", s.ID)
				}
				n++
			}
		}
	}
	if n == 0 {
		t.Fatal("the samples have no automatic compaction")
	}
}
