package reports

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// By hand: up to 2 lie 2 of 4 and 0 of 3 values, and nowhere is the difference
// larger; samples without overlap are 1 apart, equal ones 0.
func TestCorpusDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{3, 3, 5}, 0.5},
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{1, 1, 2}, []float64{1, 1, 2}, 0},
		{[]float64{1, 1, 2, 2}, []float64{1, 2}, 0},
		{[]float64{0}, []float64{0, 1, 1, 1}, 0.75},
	} {
		if got := distance(tt.a, tt.b); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("distance of %v and %v is %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// The distance is symmetric, lies in 0…1 and is the largest difference found by
// looking at every value.
func TestCorpusDistanceIsTheLargestDifference(t *testing.T) {
	sample := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 9), func(n int) float64 { return float64(n) }), 1, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := slices.Sorted(slices.Values(sample.Draw(t, "a"))), slices.Sorted(slices.Values(sample.Draw(t, "b")))
		upTo := func(v []float64, x float64) float64 {
			n := 0
			for _, y := range v {
				if y <= x {
					n++
				}
			}
			return float64(n) / float64(len(v))
		}
		want := 0.0
		for x := range 10 {
			want = max(want, math.Abs(upTo(a, float64(x))-upTo(b, float64(x))))
		}
		if got := distance(a, b); math.Abs(got-want) > 1e-12 || got != distance(b, a) {
			t.Fatalf("distance %v, want %v", got, want)
		}
	})
}

func TestCompareCorpora(t *testing.T) {
	many := func(n int, from float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = from + float64(n-i)
		}
		return v
	}
	c := CompareCorpora(
		[]synthetic.Observation{{Name: synthetic.PerSession, Values: many(40, 0)}, {Name: "prompt", Unit: "tokens", Values: many(100, 0)}, {Name: "text", Values: many(3, 0)}, {Name: "image", Values: many(9, 0)}},
		[]synthetic.Observation{{Name: synthetic.PerSession, Values: many(50, 0)}, {Name: "prompt", Unit: "tokens", Values: many(100, 50)}, {Name: "text", Values: many(90, 0)}, {Name: "image"}},
	)
	c.Names = [2]string{"mine", "theirs"}
	if len(c.Dimensions) != 3 || c.Sessions != [2]int{40, 50} {
		t.Fatalf("%d dimensions, sessions %v", len(c.Dimensions), c.Sessions)
	}
	for i, want := range []string{"near", "differs", "few"} {
		if got := c.Dimensions[i].fit(); got != want {
			t.Errorf("%s (KS %v): %s, want %s", c.Dimensions[i].Name, c.Dimensions[i].KS, got, want)
		}
	}
	var table, svg, png bytes.Buffer
	if err := c.Sheet().Write(&table, "table"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "50.0 %  differs") || !strings.Contains(table.String(), "mine: 40 sessions; theirs: 50 sessions.") {
		t.Errorf("table:\n%s", table.String())
	}
	if err := CorpusChart(&svg, "svg", c); err != nil || !strings.Contains(svg.String(), "KS 50 % · differs") {
		t.Errorf("chart without the distance, error %v", err)
	}
	if err := CorpusChart(&png, "png", c); err != nil || !bytes.HasPrefix(png.Bytes(), []byte("\x89PNG")) {
		t.Errorf("no PNG, error %v", err)
	}
	if err := CorpusChart(&png, "png", &CorpusComparison{}); err == nil {
		t.Error("a chart of nothing is no error")
	}
}
