package synthetic

import (
	"math"
	"sync"
)

// load is a quantity drawn many times in a session.
type load struct {
	mean float64 // of the draws, or a little more
	top  float64 // the largest to be reckoned with
}

// load returns what the draws of a distribution come to.
func (d *Dist) load() load { return d.loadAs(func(x float64) float64 { return x }) }

// counts returns the same for draws that are rounded and at least 1.
func (d *Dist) counts() load {
	return d.loadAs(func(x float64) float64 { return max(1, math.Floor(x+0.5)) })
}

// loadAs bounds the mean of draws that are rounded from above, by the values at the
// upper ends of steps.
func (d *Dist) loadAs(rounded func(float64) float64) load {
	if d.constant() {
		return always(rounded(d.quantile(0.5)))
	}
	var l load
	for _, s := range loadSteps() {
		l.top = rounded(d.valueAt(s.share, s.erfinv))
		l.mean += l.top * s.width
	}
	l.mean = min(l.mean, l.top)
	return l
}

// loadStep is one of the steps by which loads are bounded.
type loadStep struct {
	share, width float64 // upper end and width
	erfinv       float64 // of twice the share less 1: by far the dearest of a quantile
}

// loadSteps returns the steps in order: even ones, and in the last of 256, where the
// tail is, ones that halve. The last two end at the same share: one draw in 2³² is not
// reckoned with.
var loadSteps = sync.OnceValue(func() []loadStep {
	const steps, tail, last = 256, 8, 32 // 2⁸ steps
	var list []loadStep
	add := func(share, width float64) {
		list = append(list, loadStep{share, width, math.Erfinv(2*share - 1)})
	}
	for i := 1; i < steps; i++ {
		add(float64(i)/steps, 1.0/steps)
	}
	for k := tail; k < last; k++ {
		add(1-math.Ldexp(1, -k-1), math.Ldexp(1, -k-1))
	}
	add(1-math.Ldexp(1, -last), math.Ldexp(1, -last))
	return list
})

// always is the load of a constant.
func always(x float64) load { return load{x, x} }

// and adds another load to each draw.
func (l load) and(m load) load { return load{l.mean + m.mean, l.top + m.top} }

// sometimes leaves a share of the draws, the others are 0.
func (l load) sometimes(share float64) load {
	if share <= 0 {
		return load{}
	}
	return load{l.mean * min(share, 1), l.top}
}

// atMost bounds each draw.
func (l load) atMost(x float64) load { return load{min(l.mean, x), min(l.top, x)} }

// scaled multiplies each draw.
func (l load) scaled(x float64) load { return load{l.mean * x, l.top * x} }

// each returns the load of a draw for each of a number that is drawn itself.
func (l load) each(number load) load { return load{l.mean * number.mean, l.top * number.top} }

// sum returns what n draws come to at most: all are the largest, or their sum is
// one in 2³² by Bernstein's inequality (1924), with no more said of the variance
// than what mean and bound say.
func (l load) sum(n float64) float64 {
	const rare = 32 * math.Ln2
	return min(n*l.top, n*l.mean+math.Sqrt(2*rare*n*l.mean*l.top)+2*rare/3*l.top)
}
