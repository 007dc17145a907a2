package confusion

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// What was named counts as right when the head had changed; a model when the
// model had.
func TestNamed(t *testing.T) {
	var b Matrix
	*b.Changed(FieldTools) = Missed{prompt.MissHead: 3, prompt.MissModel: 2, prompt.MissExpiry: 1}
	*b.Changed(FieldModel) = Missed{prompt.MissModel: 2, prompt.MissHead: 5}
	for f, want := range map[Field][2]int{FieldTools: {6, 3}, FieldModel: {7, 2}, FieldEffort: {0, 0}} {
		if got := [2]int{b.Named(f), b.NamedRight(f)}; got != want {
			t.Errorf("%s: %d named, %d right; want %v", f, got[0], got[1], want)
		}
	}
}
