package fetch

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// A prose file of 10,000 bytes and 3,000 tokens, and a table of 10,000 bytes of which lines show 3,300 tokens and the total 2,500
// more: 8,800 tokens in 20,000 bytes are 0.44 a byte. Each file counts beside 2,000 bytes of the session's rate: the table has
// (5,800 + 880) / 12,000 = 0.557, the prose (3,000 + 880) / 12,000 = 0.323. A call with two results says nothing of their files, and a
// short result nothing at all.
func TestDensity(t *testing.T) {
	var d Density
	if got := d.Of(1); got != 0 {
		t.Errorf("%g tokens a byte of nothing, want 0", got)
	}
	result := func(object, tokens, bytes int32) prompt.Block {
		return prompt.Block{Kind: prompt.KindToolResult, Object: object, Tokens: tokens, Bytes: bytes}
	}
	d.Add([]prompt.Block{result(1, 3000, 10_000)})
	d.Add([]prompt.Block{result(2, 3300, 10_000), {Kind: prompt.KindUnseen, Object: -1, Tokens: 2500}})
	d.Add([]prompt.Block{result(1, 900, 900)})
	for object, want := range map[int32]float64{-1: 0.44, 1: 0.3233, 2: 0.5567, 3: 0.44} {
		if got := d.Of(object); math.Abs(got-want) > 1e-4 {
			t.Errorf("object %d: %g tokens a byte, want %g", object, got, want)
		}
	}
	d.Add([]prompt.Block{result(1, 4400, 5000), result(2, 4400, 5000)})
	if got := d.Of(3); math.Abs(got-17_600.0/30_000) > 1e-9 {
		t.Errorf("%g tokens a byte, want 0.587", got)
	}
	if got := d.Of(1); math.Abs(got-(3000+2000*17_600.0/30_000)/12_000) > 1e-9 {
		t.Errorf("%g tokens a byte of the prose, want 0.348", got)
	}
}
