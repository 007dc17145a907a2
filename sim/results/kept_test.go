package results

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// A row is kept as it is, whatever its figures are: whole, broken, negative, beyond what whole numbers hold, or none.
func TestRowsAreKeptWhole(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	odd := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 127, 128, 1<<53 - 1, 1 << 53, 1e300, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64}
	for range 200 {
		want := &Row{Strategy: "own", Session: "s", Organisation: "o", Loop: measures.LoopClosed, Breaks: confusion.Counts{{N: 2, At: 3}},
			Firings: map[string]int{"clear": 2}, Reasons: map[string]int{"clear: idle": 1}}
		for id := range want.Figures {
			if draw.IntN(3) == 0 {
				want.Figures[id] = odd[draw.IntN(len(odd))]
			}
		}
		rows := Rows{}.With(&Row{Session: "other"}, want)
		got := rows.At(1)
		for id, v := range want.Figures {
			if math.Float64bits(v) != math.Float64bits(got.Figures[id]) {
				t.Fatalf("figure %d is %v, want %v", id, got.Figures[id], v)
			}
		}
		if got.Figures = want.Figures; !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
}

// A row of a simulated session takes at most a quarter of the memory that its figures take.
func TestRowsAreSmall(t *testing.T) {
	row := usual("own", "1356fdc2-9e7f-4c43-b1c4-000000000001")
	if n := len(pack(&row).figures); n > int(reflect.TypeFor[Figures]().Size())/4 {
		t.Errorf("a row of %d figures takes %d bytes", measures.NumFigures, n)
	}
}
