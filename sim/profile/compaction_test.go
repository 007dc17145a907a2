package profile

import "testing"

// What comes behind a compaction beyond the restored parts is a draw from the compactions of
// the client's epoch or, with fewer than three there, of all.
func TestBehindCompaction(t *testing.T) {
	p := &Profile{
		Epochs: []string{"2.1.0", "2.1.38", "2.1.99"}, Switches: Switches{Behind: true},
		Compact: Compaction{N: 20, Remainder: []float64{0, 1000, 4000}, ByEpoch: []Remainder{
			{"2.1.38", []float64{500, 1500}, 3}, {"2.1.99", []float64{7000}, 2},
		}},
	}
	for _, c := range []struct {
		version string
		draw    float64
		want    int64
	}{
		{"2.1.5", 0, 0},
		{"2.1.5", 0.5, 1000},
		{"2.1.5", 1, 4000},
		{"2.1.50", 0.5, 1000},
		{"2.1.50", 0, 500},
		{"2.1.99", 1, 4000},
	} {
		if got := p.BehindCompaction(c.version, c.draw); got != c.want {
			t.Errorf("%s at %v: %d tokens, want %d", c.version, c.draw, got, c.want)
		}
	}
	few := *p
	few.Compact.N = leastCompactions - 1
	off := *p
	off.Switches.Behind = false
	for name, p := range map[string]*Profile{"few compactions": &few, "switched off": &off} {
		if got := p.BehindCompaction("2.1.50", 1); got != 0 {
			t.Errorf("%s: %d tokens, want 0", name, got)
		}
	}
}
