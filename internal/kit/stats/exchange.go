package stats

import "math"

// manyPairs is the number of sessions that differ from which the sum of exchanged differences is
// taken as normal.
const manyPairs = 200

// exchanged returns the chance of a sum of differences as far from 0 as theirs if the sides of each
// session were exchanged at random, as they may be where there is no difference (Fisher 1935), and
// the standard deviation of that sum. The chance is the tail beyond the saddle point of the cumulants (Lugannani and Rice 1980), which is close also
// where a single one of all exchanges is as far.
func exchanged(differences []float64) (chance, deviation float64) {
	unit := largest(differences)
	if unit == 0 || !finite(unit) {
		return 1, 0
	}
	var sum, most, squares float64
	sizes := make([]float64, 0, len(differences)) // in the unit, of sessions that differ
	for _, d := range differences {
		if d != 0 {
			d /= unit
			sizes = append(sizes, math.Abs(d))
			sum, most, squares = sum+d, most+math.Abs(d), squares+d*d
		}
	}
	sum, deviation = math.Abs(sum), unit*math.Sqrt(squares)
	least := math.Exp2(float64(1 - len(sizes)))
	switch {
	case len(sizes) > manyPairs:
		return max(least, 2*normalShare(-sum/math.Sqrt(squares))), deviation
	case sum >= most*(1-1e-9):
		return least, deviation
	}
	// Newton's method comes to the saddle point from below, as the first derivative is concave.
	at := 0.0
	for range 60 {
		first, second, _ := cumulants(sizes, at)
		step := (sum - first) / second
		if at += step; step <= 1e-9*at {
			break
		}
	}
	_, second, zeroth := cumulants(sizes, at)
	w, u := math.Sqrt(max(0, 2*(at*sum-zeroth))), at*math.Sqrt(second)
	if w < 1e-3 || u == 0 {
		return 1, deviation
	}
	tail := normalShare(-w) + math.Exp(-w*w/2)/math.Sqrt(2*math.Pi)*(1/u-1/w)
	return min(1, max(least, 2*tail)), deviation
}

// cumulants returns the derivatives of the cumulants of a sum with random signs, and these themselves.
func cumulants(sizes []float64, at float64) (first, second, zeroth float64) {
	for _, x := range sizes {
		e := math.Exp(-2 * at * x)
		slope := (1 - e) / (1 + e) // the hyperbolic tangent
		first += x * slope
		second += x * x * (1 - slope*slope)
		zeroth += at*x + math.Log1p(e) - math.Ln2
	}
	return first, second, zeroth
}
