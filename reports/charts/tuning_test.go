package charts

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// Six sessions say what a choice saves, and not always what so few could show: such figures are null, and the rest is written.
func TestUnknownFiguresOfASearch(t *testing.T) {
	cost, _ := results.LookupMetric(measures.NameCost)
	found := &studies.Tuning{Run: &results.Run{}, Objective: cost,
		HeldOut: studies.Gain{Share: 0.25, Low: math.Inf(-1), High: 0.5, Level: 0.95, Detectable: math.NaN()}}
	var b bytes.Buffer
	if err := document.Indented(publishedTuning(found))(&b); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(b.String()), "")
	if want := `"held_out":{"share":0.25,"low":null,"high":0.5,"level":0.95,"detectable":null}`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
