package confusion

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// What was named counts as right when the head had changed; a model when the
// model had.
func TestNamed(t *testing.T) {
	var b Matrix
	*b.Changed(FieldTools) = Missed{exchange.MissHead: 3, exchange.MissModel: 2, exchange.MissExpiry: 1}
	*b.Changed(FieldModel) = Missed{exchange.MissModel: 2, exchange.MissHead: 5}
	for f, want := range map[Field][2]int{FieldTools: {6, 3}, FieldModel: {7, 2}, FieldEffort: {0, 0}} {
		if got := [2]int{b.Named(f), b.NamedRight(f)}; got != want {
			t.Errorf("%s: %d named, %d right; want %v", f, got[0], got[1], want)
		}
	}
}
