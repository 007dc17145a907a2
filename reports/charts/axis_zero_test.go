package charts

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// An axis from just below zero begins at 0, not at −0.
func TestZeroTick(t *testing.T) {
	for _, unit := range []string{measures.UnitRatio, measures.UnitUSD, measures.UnitTokens, measures.UnitSeconds, measures.UnitCount} {
		for _, tick := range unitAxis(unit, -1e-12, 0.9, 4).Ticks {
			if strings.ContainsAny(tick.Label, "-−") || tick.Value == 0 && strings.ContainsAny(tick.Label, "123456789") {
				t.Errorf("%s: %v is labelled %q", unit, tick.Value, tick.Label)
			}
		}
	}
	if ticks := unitAxis(measures.UnitRatio, -0.2, 0.2, 4).Ticks; ticks[0].Label != "−20 %" || ticks[2].Label != "0 %" {
		t.Errorf("%+v", ticks)
	}
}
