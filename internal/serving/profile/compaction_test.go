package profile

import "testing"

// Behind a compaction a conversation that opened with 40,000 tokens, 20,000 of them its head,
// opens with the head and seven tenths of the rest; where the version's static prefix is
// longer than the head, with that. What comes beyond is a draw from the compactions of the
// client's epoch or, with fewer than three there, of all.
func TestBehindCompaction(t *testing.T) {
	p := &Profile{
		Epochs: []string{"2.1.0", "2.1.38", "2.1.99"}, Switches: Switches{Behind: true},
		Static: []Versioned{{"2.1.0", Estimate{Value: 15_000}}, {"2.1.99", Estimate{Value: 30_000}}},
		Compact: Compaction{N: 20, Remainder: []float64{0, 1000, 4000}, ByEpoch: []Remainder{
			{"2.1.38", []float64{500, 1500}, 3}, {"2.1.99", []float64{7000}, 2},
		}},
	}
	for _, c := range []struct {
		version          string
		draw             float64
		again, remainder int64
	}{
		{"2.1.5", 0, 20_000 + 14_000, 0},
		{"2.1.5", 0.5, 20_000 + 14_000, 1000},
		{"2.1.5", 1, 20_000 + 14_000, 4000},
		{"2.1.50", 0.5, 20_000 + 14_000, 1000},
		{"2.1.50", 0, 20_000 + 14_000, 500},
		{"2.1.99", 1, 30_000 + 7_000, 4000},
	} {
		again, remainder, ok := p.BehindCompaction(c.version, 20_000, 40_000, c.draw)
		if !ok || again != c.again || remainder != c.remainder {
			t.Errorf("%s at %v: %d and %d tokens, want %d and %d", c.version, c.draw, again, remainder, c.again, c.remainder)
		}
	}
	few := *p
	few.Compact.N = leastCompactions - 1
	off := *p
	off.Switches.Behind = false
	for name, p := range map[string]*Profile{"few compactions": &few, "switched off": &off} {
		if _, _, ok := p.BehindCompaction("2.1.50", 20_000, 40_000, 0); ok {
			t.Errorf("%s: says something", name)
		}
	}
}
