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
	x, ok := s.Shift()
	if !ok || x.At != 30 || x.Low > 30 || x.High < 30 || x.High-x.Low > 4 || x.Before > 1.1 || x.After < 1.9 || x.Chance > 0.001 {
		t.Errorf("%+v", x)
	}
	list := series(90, 2, func(i int) float64 { return 1 + float64(i/30%2) }).Shifts(0.01)
	if len(list) != 2 || list[0].At != 30 || list[1].At != 60 || list[0].After != list[1].Before {
		t.Errorf("%+v, want changes at 30 and 60", list)
	}
}

// A change begins only where one may: at the start of a day, say, or of a version.
func TestShiftStarts(t *testing.T) {
	s := series(60, 3, func(i int) float64 { return 1 + float64(i/30) })
	s.Starts = []int{10, 28, 50}
	if x, ok := s.Shift(); !ok || x.At != 28 {
		t.Errorf("%+v, want 28", x)
	}
	for _, starts := range [][]int{nil, {1, 2, 58}} { // fewer than three units on a side
		s.Starts = starts
		if x, ok := s.Shift(); ok {
			t.Errorf("starts %v: %+v", starts, x)
		}
	}
	for name, s := range map[string]*Series{"nothing": {}, "constant": {Over: make([]float64, 9), Under: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, Starts: []int{4}}} {
		if x, ok := s.Shift(); ok {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

// Of 200 series without a change about 10 have one at a chance of 5 %: between 2 and 20 in 99.9 % of cases.
func TestShiftByChance(t *testing.T) {
	found := 0
	for seed := range uint64(200) {
		if x, ok := series(20, 100+seed, func(int) float64 { return 1 }).Shift(); ok && x.Chance <= 0.05 {
			found++
		}
	}
	if found < 2 || found > 20 {
		t.Errorf("%d of 200 series without a change have one", found)
	}
}
