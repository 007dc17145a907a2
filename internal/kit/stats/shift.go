package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Series are units in order, each with its part of a ratio: over all units the ratio is the sum of Over divided by the sum
// of Under. A unit with nothing Under has no part in it.
type Series struct {
	Over, Under []float64
	// Starts are the units at which a change may begin, ascending.
	Starts []int
}

// Shift is a change of the ratio of a series from one unit on.
type Shift struct {
	At            int     // first unit after the change
	Low, High     int     // 95 % interval of At
	Before, After float64 // the ratio of the units on both sides
	Chance        float64 // with which units in random order show as large a change somewhere
}

const (
	leastSide     = 3    // units on each side of a change
	leastShuffles = 1999 // of the units; more where smaller chances are asked for
	enoughAlike   = 20   // shuffles with as large a change, behind which no more are needed (Besag and Clifford 1991)
	redraws       = 400  // for the interval of the place
	changedSeed   = 7    // of the random order
	intervalTail  = 0.025
	same          = 1e-9 // part by which sizes differ through rounding alone
)

// Shift finds where the ratio of the series changed most, by the largest standardised cumulative sum of deviations from the ratio
// of all units (Page 1955), and the chance of as large a change when the units come in random order, which can be as small as half of
// the chance that is asked for; of a larger one it is only said that it is larger. The interval of the place comes from units redrawn on
// both sides of the place; it is the place alone where the chance is larger than asked for. Shift is false where no change may begin with enough units on both sides.
func (s *Series) Shift(chance float64) (Shift, bool) {
	n := len(s.Over)
	order := make([]int, n)
	weights := make([]int, n)
	for i := range order {
		order[i], weights[i] = i, 1
	}
	all, ok := s.sum(weights) // in every order
	if !ok {
		return Shift{}, false
	}
	at, most := s.largest(order, weights, -1, all, math.Inf(1))
	if at < 0 || most == 0 {
		return Shift{}, false
	}
	draw := rand.New(rand.NewPCG(changedSeed, uint64(n)))
	tried, alike := 0, 0
	shuffles, enough := max(leastShuffles, int(math.Ceil(2/chance))), enoughAlike
	if enoughAlike > chance*float64(shuffles) { // however the shuffles end, more than chance allows are as large already
		enough = min(enough, int(chance*float64(shuffles+1)))
	}
	for tried < shuffles && alike < enough {
		draw.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		if _, m := s.largest(order, weights, -1, all, most*(1-same)); m > most*(1-same) {
			alike++
		}
		tried++
	}
	shift := Shift{At: at, Before: s.ratio(0, at), After: s.ratio(at, n), Chance: float64(alike+1) / float64(tried+1)}
	if alike == enoughAlike {
		shift.Chance = float64(alike) / float64(tried)
	}
	if shift.Low, shift.High = at, at; shift.Chance <= chance {
		shift.Low, shift.High = s.interval(at, draw)
	}
	return shift, true
}

// interval returns where the change begins when the units of both sides are redrawn.
func (s *Series) interval(at int, draw *rand.Rand) (low, high int) {
	n := len(s.Over)
	order, weights := make([]int, n), make([]int, n)
	for i := range order {
		order[i] = i
	}
	var places []int
	for range redraws {
		clear(weights)
		for i := range n {
			if i < at {
				weights[draw.IntN(at)]++
			} else {
				weights[at+draw.IntN(n-at)]++
			}
		}
		if all, ok := s.sum(weights); ok {
			if place, _ := s.largest(order, weights, at, all, math.Inf(1)); place >= 0 {
				places = append(places, place)
			}
		}
	}
	if len(places) == 0 {
		return at, at
	}
	slices.Sort(places)
	tail := int(intervalTail * float64(len(places)))
	return min(at, places[tail]), max(at, places[len(places)-1-tail])
}

// sums are what does not depend on the order of units.
type sums struct{ under, mean, spread float64 }

// sum returns the sums of units, each counted as often as its weight; false where no place can have a change.
func (s *Series) sum(weights []int) (all sums, ok bool) {
	var over float64
	for i, w := range weights {
		over += float64(w) * s.Over[i]
		all.under += float64(w) * s.Under[i]
	}
	if all.under == 0 {
		return all, false
	}
	all.mean = over / all.under
	for i, w := range weights {
		d := s.Over[i] - all.mean*s.Under[i]
		all.spread += float64(w) * d * d
	}
	return all, all.spread != 0
}

// largest returns the place of the largest change of the units in an order, each counted as often as its weight, and how large it is; -1
// for none. Among places with equal changes, as on both sides of a unit without weight, it prefers the known place. It stops at
// a change that is larger than enough.
func (s *Series) largest(order, weights []int, known int, all sums, enough float64) (at int, most float64) {
	under, mean, spread := all.under, all.mean, all.spread
	at = -1
	var sum, so float64
	next := 0
	for i, k := range order {
		for next < len(s.Starts) && s.Starts[next] < i {
			next++
		}
		if next < len(s.Starts) && s.Starts[next] == i && i >= leastSide && len(order)-i >= leastSide {
			if share := so / under; share > 0 && share < 1 {
				if size := sum * sum / (spread * share * (1 - share)); size > most*(1+same) || i == known && size > most*(1-same) {
					if at, most = i, size; most > enough {
						return at, most
					}
				}
			}
		}
		w := float64(weights[k])
		sum += w * (s.Over[k] - mean*s.Under[k])
		so += w * s.Under[k]
	}
	return at, most
}

// ratio returns the ratio of units from one place up to another.
func (s *Series) ratio(from, to int) float64 {
	var over, under float64
	for i := from; i < to; i++ {
		over, under = over+s.Over[i], under+s.Under[i]
	}
	if under == 0 {
		return math.NaN()
	}
	return over / under
}

// Shifts finds the changes of a series whose chance is at most so large, in order: the largest, then changes on both of its sides.
func (s *Series) Shifts(chance float64) []Shift {
	shift, ok := s.Shift(chance)
	if !ok || shift.Chance > chance {
		return nil
	}
	list := []Shift{shift}
	n := len(s.Over)
	for _, side := range [][2]int{{0, shift.At}, {shift.At, n}} {
		part := s.part(side[0], side[1])
		for _, x := range part.Shifts(chance) {
			x.At, x.Low, x.High = x.At+side[0], x.Low+side[0], x.High+side[0]
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b Shift) int { return cmp.Compare(a.At, b.At) })
	for i := range list { // each change is told against its neighbours
		from, to := 0, n
		if i > 0 {
			from = list[i-1].At
		}
		if i+1 < len(list) {
			to = list[i+1].At
		}
		list[i].Before, list[i].After = s.ratio(from, list[i].At), s.ratio(list[i].At, to)
	}
	return list
}

// part returns the units from one place up to another.
func (s *Series) part(from, to int) *Series {
	p := &Series{Over: s.Over[from:to], Under: s.Under[from:to]}
	for _, at := range s.Starts {
		if at > from && at < to {
			p.Starts = append(p.Starts, at-from)
		}
	}
	return p
}
