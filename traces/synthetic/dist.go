package synthetic

import (
	"math"
	"sort"
)

// Dist is a size or a time of a workload: log-normal, which has the heavy tail
// that recorded sizes have, or drawn from quantiles. Without a median and
// without quantiles it is always Min.
type Dist struct {
	Median float64 `yaml:"median,omitempty" doc:"half of the draws are below"`
	Sigma  float64 `yaml:"sigma,omitempty" doc:"standard deviation of the logarithm; 0 is a constant"`
	Min    float64 `yaml:"min,omitempty" doc:"least draw"`
	Max    float64 `yaml:"max,omitempty" doc:"largest draw; 0 is no limit"`
	// Quantiles stand at equal steps of the share from 0 to 1. Between two that
	// are above 0 the logarithm is drawn, as suits a tail.
	Quantiles []float64 `yaml:"quantiles,omitempty,flow" doc:"values at equal steps of the share, instead of median and sigma"`
}

// quantile returns the value below which a share u of the draws lies.
func (d *Dist) quantile(u float64) float64 {
	if d.constant() || len(d.Quantiles) > 0 {
		return d.valueAt(u, 0) // dear, and not asked for
	}
	return d.valueAt(u, math.Erfinv(2*u-1))
}

// valueAt is quantile for those who have the inverse error function of 2u − 1.
func (d *Dist) valueAt(u, erfinv float64) float64 {
	var x float64
	switch {
	case len(d.Quantiles) > 0:
		x = between(d.Quantiles, u)
	case d.Median > 0:
		x = d.Median * math.Exp(d.Sigma*math.Sqrt2*erfinv)
	}
	x = max(x, d.Min)
	if d.Max > 0 {
		x = min(x, d.Max)
	}
	return x
}

// constant reports whether all draws are the same.
func (d *Dist) constant() bool {
	return len(d.Quantiles) == 0 && (d.Sigma == 0 || d.Median == 0)
}

// between interpolates values at equal steps.
func between(values []float64, u float64) float64 {
	at := u * float64(len(values)-1)
	i := min(int(at), len(values)-1)
	a, b := values[i], values[min(i+1, len(values)-1)]
	at -= float64(i)
	if a > 0 && b > 0 {
		return a * math.Pow(b/a, at)
	}
	return a + (b-a)*at
}

// top returns the largest draw that is to be reckoned with: one in 2³² without
// a limit.
func (d *Dist) top() float64 { return d.quantile(1 - 1.0/(1<<32)) }

// bottom returns the least draw that is to be reckoned with.
func (d *Dist) bottom() float64 { return d.quantile(1e-9) }

// distCells is the number of steps in which a distribution is tabulated. The
// outermost ones, where the tail is, are computed.
const distCells = 256

// sampler draws from a Dist by table: a draw is an interpolation. None lies beyond
// what is to be reckoned with.
type sampler struct {
	dist     Dist
	constant bool
	table    [distCells + 1]float64
}

func newSampler(d Dist) *sampler {
	s := &sampler{dist: d, constant: d.constant()}
	if !s.constant {
		s.dist.Min, s.dist.Max = d.bottom(), d.top()
	}
	for i := range s.table {
		u := min(max(float64(i)/distCells, 1e-9), 1-1e-9)
		s.table[i] = d.quantile(u)
	}
	return s
}

// at returns the value at a share in (0, 1).
func (s *sampler) at(u float64) float64 {
	x := u * distCells
	i := int(x)
	if i == 0 || i >= distCells-1 { // a share rounded up to 1 lies behind the last cell
		return s.dist.quantile(u)
	}
	return s.table[i] + (x-float64(i))*(s.table[i+1]-s.table[i])
}

// spot draws for one place in a session, as dice do, at a third of the cost: the
// place is hashed once for all purposes.
type spot uint64

// at returns the draws for a place.
func (d dice) at(id uint64) spot { return spot(mix(mix(uint64(d)) ^ id)) }

func (s spot) bits(p purpose) uint64 { return mix(uint64(s) ^ uint64(p)*0xd1342543de82ef95) }

// unit returns a number in the open interval (0, 1).
func (s spot) unit(p purpose) float64 { return (float64(s.bits(p)>>11) + 0.5) / (1 << 53) }

// below returns an integer in [0, n); n must be positive.
func (s spot) below(p purpose, n int) int { return int(s.bits(p) % uint64(n)) }

// hit reports an event of the given probability.
func (s spot) hit(p purpose, share float64) bool { return share > 0 && s.unit(p) < share }

// draw returns a value of a distribution.
func (s spot) draw(from *sampler, p purpose) float64 {
	if from.constant {
		return from.table[0]
	}
	return from.at(s.unit(p))
}

// count returns a value of a distribution, rounded, at least 1.
func (s spot) count(from *sampler, p purpose) int { return max(1, int(s.draw(from, p)+0.5)) }

// chooser picks an index by weight.
type chooser []float64 // running sums of the weights

func (c *chooser) add(weight float64) {
	sum := weight
	if n := len(*c); n > 0 {
		sum += (*c)[n-1]
	}
	*c = append(*c, sum)
}

// at returns the index at a share in (0, 1).
func (c chooser) at(u float64) int {
	u *= c[len(c)-1]
	if len(c) <= 16 {
		for i, sum := range c {
			if u < sum {
				return i
			}
		}
		return len(c) - 1
	}
	return min(sort.SearchFloat64s(c, u), len(c)-1)
}
