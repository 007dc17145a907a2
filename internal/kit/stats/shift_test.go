package stats

import (
	"math/rand/v2"
	"testing"
)

// series returns n units, each with the ratio of its place, with noise of a tenth.
func series(n int, seed uint64, ratio func(i int) float64) *Series {
	draw := rand.New(rand.NewPCG(seed, 1))
	s := &Series{}
	for i := range n {
		under := 1 + 9*draw.Float64()
		s.Under = append(s.Under, under)
		s.Over = append(s.Over, under*ratio(i)*(1+0.1*draw.NormFloat64()))
		if i > 0 {
			s.Starts = append(s.Starts, i)
		}
	}
	return s
}

// A ratio that doubles at unit 30 of 60 is found there; one that doubles and falls back is two changes.
func TestShift(t *testing.T) {
	s := series(60, 1, func(i int) float64 { return 1 + float64(i/30) })
	x, ok := s.Shift(0.05)
	if !ok || x.At != 30 || x.Low > 30 || x.High < 30 || x.High-x.Low > 4 || x.Before > 1.1 || x.After < 1.9 || x.Chance > 0.001 {
		t.Errorf("%+v", x)
	}
	list := series(90, 2, func(i int) float64 { return 1 + float64(i/30%2) }).Shifts(0.01)
	if len(list) != 2 || list[0].At != 30 || list[1].At != 60 || list[0].After != list[1].Before {
		t.Errorf("%+v, want changes at 30 and 60", list)
	}
}

// The chance asked for may be smaller than one in the shuffles that are usual: a clear change is found all the same.
func TestShiftSmallChance(t *testing.T) {
	s := series(60, 1, func(i int) float64 { return 1 + float64(i/30) })
	if list := s.Shifts(1e-4); len(list) != 1 || list[0].Chance > 1e-4 {
		t.Errorf("%+v, want one change", list)
	}
}

// Of the 20 ways in which three of six units come first, two have as large a change, these three and the other three first: a chance
// of 0.1, although sums in another order are rounded otherwise.
func TestShiftTies(t *testing.T) {
	s := &Series{Over: []float64{0.1, 0.2, 0.3, 0.7, 0.8, 1}, Under: []float64{1, 1, 1, 1, 1, 1}, Starts: []int{3}}
	if x, ok := s.Shift(0.01); !ok || x.Chance < 0.05 || x.Chance > 0.2 {
		t.Errorf("%+v", x)
	}
}

// A change begins only where one may: at the start of a day, say, or of a version.
func TestShiftStarts(t *testing.T) {
	s := series(60, 3, func(i int) float64 { return 1 + float64(i/30) })
	s.Starts = []int{10, 28, 50}
	if x, ok := s.Shift(0.05); !ok || x.At != 28 {
		t.Errorf("%+v, want 28", x)
	}
	for _, starts := range [][]int{nil, {1, 2, 58}} { // fewer than three units on a side
		s.Starts = starts
		if x, ok := s.Shift(0.05); ok {
			t.Errorf("starts %v: %+v", starts, x)
		}
	}
	for name, s := range map[string]*Series{"nothing": {}, "constant": {Over: make([]float64, 9), Under: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, Starts: []int{4}}} {
		if x, ok := s.Shift(0.05); ok {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

// Of 200 series without a change about 10 have one at a chance of 5 %: between 2 and 20 in 99.9 % of cases. Nobody looks for where the
// change of another one may lie.
func TestShiftByChance(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		if x, ok := series(20, 100+seed, func(int) float64 { return 1 }).Shift(0.05); ok && x.Chance <= 0.05 {
			found++
		} else if ok && x.High > x.Low {
			t.Errorf("a change by a chance of %g has an interval, %+v", x.Chance, x)
		}
	}
	if found < 2 || found > 20 {
		t.Errorf("%d of 200 series without a change have one", found)
	}
}
