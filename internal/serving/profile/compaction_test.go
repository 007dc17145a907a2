package profile

import "testing"

// The size behind a compaction is two fifths of the opening and what is beyond it: the
// median of the client's epoch, in which that of all epochs counts for ten
// compactions.
func TestContextBehind(t *testing.T) {
	p := &Profile{Epochs: []string{"2.1.0", "2.1.38"}, Switches: Switches{Behind: true}}
	p.Compact.Beyond = Estimate{Value: 30_000, N: 20}
	p.Compact.ByEpoch = []Beyond{{"2.1.38", Estimate{Value: 36_000, N: 5}}}
	for _, c := range []struct {
		version string
		want    int64
	}{
		{"2.1.50", 16_000 + (10*30_000+5*36_000)/15},
		{"2.1.5", 16_000 + 30_000}, // an epoch without compactions
	} {
		if got := p.ContextBehind(c.version, 40_000); got != c.want {
			t.Errorf("%s: %d tokens, want %d", c.version, got, c.want)
		}
	}
	few := *p
	few.Compact.Beyond.N = leastCompactions - 1
	off := *p
	off.Switches.Behind = false
	for name, p := range map[string]*Profile{"few compactions": &few, "switched off": &off} {
		if got := p.ContextBehind("2.1.50", 40_000); got != 0 {
			t.Errorf("%s: %d tokens, want 0", name, got)
		}
	}
}
